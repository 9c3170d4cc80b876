"""A trained policy as a plain function of observations: NumPy in, NumPy out, no JAX.

    policy = drspcrl.load_policy("runs/Hopper-sac-vanilla-s0")
    action = policy(observation)

The file is `policy.safetensors`: the layers of a small network, the normaliser of its observations
and the bounds of its actions as tensors; what to make of them as one JSON text beside them.
"""

import json
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from drspcrl import files, zoo
from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.reading import parse_json

Kind = Literal["tanh_gaussian", "tanh", "gaussian"]
Activation = Literal["relu", "tanh"]

POLICY_FILE = "policy.safetensors"
FORMAT_VERSION = 1
METADATA_KEY = "drspcrl-policy"
LOG_STD_RANGE = (-5.0, 2.0)
"""Where a tanh-Gaussian policy keeps its log standard deviation, by squashing it smoothly."""

_VECTORS = ("action_low", "action_high", "observation_mean", "observation_scale", "noise_log_std")


@dataclass(frozen=True)
class Policy:
    """A multilayer perceptron that acts.

    With y the network's output for (observation − mean)/scale, clipped to ±`observation_clip`:

    | kind | y | deterministic | stochastic |
    |---|---|---|---|
    | `tanh_gaussian` (SAC) | mean m, raw log std | tanh m | tanh(m + std·z) |
    | `tanh` (DDPG, TD3) | m | tanh m | clip(tanh m + std·z) |
    | `gaussian` (PPO) | m | clip m | clip(m + std·z) |

    All of it in units where actions lie in [−1, 1]; the bounds then stretch it to the task's.

    Attributes:
        kind: what the output means, see above.
        activation: between the layers.
        layers: (kernel [in, out], bias [out]) of each layer.
        action_low: lower bounds of the actions, [A].
        action_high: upper bounds of the actions, [A].
        observation_mean: subtracted from the observation, [O].
        observation_scale: divides what is left, [O].
        observation_clip: bound on the normalised observation, inf for none.
        noise_log_std: log std of the action noise where it does not depend on the state, [A].
        critic: the critic that it was trained with, where its run's checkpoint has it; for attacks.
        without_critic: why there is none.
    """

    kind: Kind
    activation: Activation
    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    action_low: np.ndarray
    action_high: np.ndarray
    observation_mean: np.ndarray
    observation_scale: np.ndarray
    observation_clip: float
    noise_log_std: np.ndarray
    critic: Any = None
    without_critic: str = ""

    def __post_init__(self) -> None:
        _check(self)

    def __repr__(self) -> str:
        sizes = [len(self.layers[0][0]), *(len(bias) for _, bias in self.layers)]
        network = f"{'→'.join(map(str, sizes))} {self.activation}"
        return (
            f"<Policy {self.kind}, {network}: "
            f"{self.observation_size} observations → {self.action_size} actions>"
        )

    @property
    def observation_size(self) -> int:
        """Numbers in one observation."""
        return len(self.observation_mean)

    @property
    def action_size(self) -> int:
        """Numbers in one action."""
        return len(self.action_low)

    def __call__(
        self,
        observations: np.ndarray,
        *,
        deterministic: bool = True,
        generator: np.random.Generator | None = None,
    ) -> np.ndarray:
        """Act.

        Args:
            observations: one observation [O] or any batch of them [..., O].
            deterministic: the mean action; otherwise a sample of the training policy's.
            generator: where the sample's noise comes from.

        Returns:
            Actions [..., A] within the task's bounds, float32.

        Raises:
            InputError: observations of another size, or a sample without a generator.
        """
        observations = np.asarray(observations)
        if observations.ndim < 1 or observations.shape[-1] != self.observation_size:
            raise InputError(
                f"observations have shape {observations.shape}; this policy takes "
                f"[..., {self.observation_size}]"
            )
        if not deterministic and generator is None:
            raise InputError("a stochastic action needs generator=numpy.random.default_rng(seed)")
        mean, log_std = self._distribution(self._normalise(observations))
        if generator is not None and not deterministic:
            noise = np.exp(log_std) * generator.standard_normal(mean.shape, np.float32)
        else:
            noise = np.float32(0.0)
        return stretch(self._squash(mean, noise), self.action_low, self.action_high)

    def vjp(
        self, observations: np.ndarray
    ) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """What the deterministic action is made of, and its gradient: a vector-Jacobian product.

        The outputs g are tanh m where actions are squashed; a Gaussian policy's are m/std, neither
        clipped nor in the task's units, so that |g − g'|²/2 is the KL divergence of two actions.

        Args:
            observations: [n, O].

        Returns:
            g [n, A], and the function from c [n, A] to ∂⟨c, g⟩/∂observations [n, O].
        """
        x = self._normalise(observations)
        output, back = perceptron_vjp(self.layers, self.activation, x)
        mean = output[..., : self.action_size]
        if self.kind == "gaussian":
            outputs, slope = mean * np.exp(-self.noise_log_std), np.exp(-self.noise_log_std)
        else:
            outputs = np.tanh(mean)
            slope = np.float32(1.0) - outputs * outputs
        inside = np.abs(x) < np.float32(self.observation_clip)

        def pullback(cotangent: np.ndarray) -> np.ndarray:
            of_output = np.zeros_like(output)
            of_output[..., : self.action_size] = cotangent * slope
            return np.where(inside, back(of_output), np.float32(0.0)) / self.observation_scale

        return outputs, pullback

    def _normalise(self, observations: np.ndarray) -> np.ndarray:
        # In the training's order and precision: single precision first, then the statistics.
        centred = observations.astype(np.float32) - self.observation_mean
        clip = np.float32(self.observation_clip)
        return np.clip(centred / self.observation_scale, -clip, clip)

    def _distribution(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        for kernel, bias in self.layers[:-1]:
            x = x @ kernel + bias
            x = np.maximum(x, np.float32(0.0)) if self.activation == "relu" else np.tanh(x)
        kernel, bias = self.layers[-1]
        output = x @ kernel + bias
        if self.kind != "tanh_gaussian":
            return output, self.noise_log_std
        mean, raw = np.split(output, 2, axis=-1)
        low, high = (np.float32(bound) for bound in LOG_STD_RANGE)
        return mean, low + (high - low) * (np.tanh(raw) + np.float32(1.0)) / np.float32(2.0)

    def _squash(self, mean: np.ndarray, noise: np.ndarray | np.float32) -> np.ndarray:
        if self.kind == "tanh_gaussian":
            return np.tanh(mean + noise)
        centre = np.tanh(mean) if self.kind == "tanh" else mean
        return np.clip(centre + noise, np.float32(-1.0), np.float32(1.0))


def perceptron_vjp(
    layers: Sequence[tuple[np.ndarray, np.ndarray]], activation: Activation, x: np.ndarray
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """A perceptron's output at x [n, inputs], and the function from c to ∂⟨c, output⟩/∂x."""
    hidden = []
    for kernel, bias in layers[:-1]:
        x = x @ kernel + bias
        x = np.maximum(x, np.float32(0.0)) if activation == "relu" else np.tanh(x)
        hidden.append(x)
    kernel, bias = layers[-1]

    def pullback(cotangent: np.ndarray) -> np.ndarray:
        gradient = cotangent @ kernel.T
        for (inner, _), h in zip(reversed(layers[:-1]), reversed(hidden), strict=True):
            slope = h > 0 if activation == "relu" else np.float32(1.0) - h * h
            gradient = (gradient * slope) @ inner.T
        return gradient

    return x @ kernel + bias, pullback


def stretch(unit: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Actions from [−1, 1] to a task's bounds, which rounding must not leave."""
    middle, half = (high + low) / np.float32(2.0), (high - low) / np.float32(2.0)
    return np.clip(middle + half * unit, low, high)


def load_policy(path: str | Path) -> Policy:
    """Load a policy without importing JAX.

    Args:
        path: a run folder, a `policy.safetensors`, or `zoo:NAME` (see `drspcrl.zoo`).

    Raises:
        InputError: there is none, or it is damaged, or newer than this version reads; or a run
            folder has a link in its place.
    """
    path = zoo.located(path)
    in_folder = path.is_dir()
    file = path / POLICY_FILE if in_folder else path
    if not os.path.lexists(file):
        hint = "; give one run folder below it" if in_folder else ""
        raise InputError(f"{file} does not exist{hint}")
    tensors, metadata = _read(file, follow=not in_folder)
    try:
        return _assemble(tensors, metadata)
    except InputError as error:
        raise InputError(f"{file} is no usable policy: {error}") from None


def save_policy(path: str | Path, policy: Policy, *, half: bool = False) -> None:
    """Write a policy to `path`, aside first and then renamed, so that it is never half there.

    Args:
        path: the file.
        policy: what to write.
        half: layers in half precision, half the size; they are read as single precision again.

    Raises:
        InputError: weights are too large for half precision.
    """
    from safetensors.numpy import save

    most = np.finfo(np.float16).max
    if half and any(np.abs(values).max() > most for values in sum(policy.layers, ())):
        raise InputError(f"{path} cannot be written in half precision: a weight is above {most}")

    tensors: dict[str, np.ndarray] = {
        name: np.ascontiguousarray(getattr(policy, name), np.float32) for name in _VECTORS
    }
    for i, layer in enumerate(policy.layers):
        for name, values in zip(("kernel", "bias"), layer, strict=True):
            kept = np.ascontiguousarray(values, np.float16 if half else np.float32)
            tensors[f"layers.{i}.{name}"] = kept
    described = {
        "format_version": FORMAT_VERSION,
        "kind": policy.kind,
        "activation": policy.activation,
        "observation_clip": repr(float(policy.observation_clip)),
    }
    # Safetensors keeps metadata in no order; as one entry, equal policies are equal files.
    metadata = {METADATA_KEY: json.dumps(described)}
    files.write_durably(Path(path), save(tensors, metadata))


def _read(file: Path, follow: bool) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        # Read here: safetensors would follow a link, and wait for a FIFO.
        content = files.read_bytes(file, follow=follow)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    try:
        tensors = load(content)
        described = _metadata(content).get(METADATA_KEY, "{}")
    except (SafetensorError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{file} cannot be read as safetensors: {brief(error)}") from None
    try:
        metadata = parse_json(described)
    except InputError:
        metadata = None
    if not isinstance(metadata, dict):
        raise InputError(f"{file} is no usable policy: its description is not readable")
    return tensors, metadata


def _metadata(content: bytes) -> Mapping[str, str]:
    """The texts in the header of a file that was found to be safetensors.

    It begins with the header's length as a 64-bit number; the header is JSON.
    """
    (length,) = struct.unpack_from("<Q", content)
    return parse_json(content[8 : 8 + length]).get("__metadata__") or {}


def _assemble(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> Policy:
    version = metadata.get("format_version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InputError(f"its format_version is {shown(version)}, where a whole number is needed")
    if version > FORMAT_VERSION:
        raise InputError(
            f"its format_version {version} is newer than the {FORMAT_VERSION} that this drspcrl "
            "reads; update drspcrl"
        )
    try:
        count = sum(name.startswith("layers.") for name in tensors) // 2
        return Policy(
            kind=metadata["kind"],  # checked on construction
            activation=metadata["activation"],
            layers=tuple(
                (_single(tensors[f"layers.{i}.kernel"]), _single(tensors[f"layers.{i}.bias"]))
                for i in range(count)
            ),
            observation_clip=float(metadata["observation_clip"]),
            action_low=tensors["action_low"],
            action_high=tensors["action_high"],
            observation_mean=tensors["observation_mean"],
            observation_scale=tensors["observation_scale"],
            noise_log_std=tensors["noise_log_std"],
        )
    except KeyError as error:
        raise InputError(f"it has no {error.args[0]}") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(brief(error)) from None


def _single(values: np.ndarray) -> np.ndarray:
    """Half precision as single, which changes no value; anything else as it is."""
    return values.astype(np.float32) if values.dtype == np.float16 else values


def _check(policy: Policy) -> None:
    for name, allowed in (("kind", get_args(Kind)), ("activation", get_args(Activation))):
        if getattr(policy, name) not in allowed:
            raise InputError(
                f"{name} is {shown(getattr(policy, name))}; it must be one of {allowed}"
            )
    if not policy.layers or any(k.ndim != 2 or b.shape != k.shape[1:] for k, b in policy.layers):
        raise InputError("layers must be pairs of a kernel [in, out] and a bias [out]")
    sizes = [policy.layers[0][0].shape[0], *(kernel.shape[1] for kernel, _ in policy.layers)]
    inputs = [kernel.shape[0] for kernel, _ in policy.layers]
    outputs = np.shape(policy.action_low)[0] if np.ndim(policy.action_low) == 1 else -1
    twice = 2 if policy.kind == "tanh_gaussian" else 1
    if inputs != sizes[:-1] or sizes[-1] != twice * outputs:
        raise InputError(
            f"layers of sizes {shown(sizes)} do not fit each other or {outputs} actions"
        )
    shapes = {name: np.shape(getattr(policy, name)) for name in _VECTORS}
    expected = dict.fromkeys(_VECTORS, (outputs,))
    expected |= {"observation_mean": (sizes[0],), "observation_scale": (sizes[0],)}
    if shapes != expected:
        raise InputError(f"vectors have the shapes {shapes}; needed are {expected}")
    arrays = [*(getattr(policy, name) for name in _VECTORS), *sum(policy.layers, ())]
    if any(a.dtype != np.float32 or not np.isfinite(a).all() for a in arrays):
        raise InputError("all tensors must be finite numbers of single precision")
    if not policy.observation_clip > 0 or np.any(policy.observation_scale <= 0):
        raise InputError("observation_clip and observation_scale must be positive")
    if np.any(policy.action_low >= policy.action_high):
        raise InputError("action_low must be below action_high")
