"""The policy in a file that Stable-Baselines3 saved: its weights alone, so that no code runs.

`model.save` writes a zip archive with `policy.pth` (the networks' tensors) and `data` (JSON; what
has no form in JSON is a pickle in it, beside a text that describes it). The tensors are read by
`tensors`, of `data` only the texts. From these an `MlpPolicy` of PPO, A2C, SAC, TD3 or DDPG becomes
a `drspcrl.policy.Policy`; for everything else there is `load`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.evaluation.foreign.tensors import open_archive, read_member, read_tensors
from drspcrl.policy import Activation, Kind, Policy
from drspcrl.reading import parse_json

OTHERWISE = (
    "load it with its own library, by --trust (which runs the code in the file) or in a function "
    "of yours, --policy my_module:function"
)
_NO_NOISE = -20.0
_ACTIVATIONS: dict[str, Activation] = {"ReLU": "relu", "Tanh": "tanh"}


@dataclass(frozen=True)
class Normaliser:
    """What VecNormalize does to observations: clip((o − mean)/√(variance + epsilon), ±clip)."""

    mean: np.ndarray
    variance: np.ndarray
    epsilon: float = 1e-8
    clip: float = 10.0

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Normalise observations [..., O]."""
        scaled = (observations - self.mean) / np.sqrt(self.variance + self.epsilon)
        return np.clip(scaled, -self.clip, self.clip).astype(np.float32)


@dataclass(frozen=True)
class _Form:
    """How one family of learners names the parts of its actor.

    Attributes:
        kind: What `Policy` calls such an actor.
        activation: What is between its layers unless the file says otherwise.
        hidden: Its layers, by number.
        last: The heads of its last layer, side by side; none where that is numbered too.
        other: Parts that do not act.
    """

    kind: Kind
    activation: Activation
    hidden: re.Pattern[str]
    last: tuple[str, ...]
    other: re.Pattern[str]


_CRITICS = re.compile(r"(critic|critic_target|actor_target)\..+|actor\.log_std\.(weight|bias)")
_FORMS = {
    # The mean alone of SAC: its spread is bounded in another way than `Policy` does.
    "SAC": _Form(
        "tanh", "relu", re.compile(r"actor\.latent_pi\.(\d+)\.weight"), ("actor.mu",), _CRITICS
    ),
    "TD3": _Form("tanh", "relu", re.compile(r"actor\.mu\.(\d+)\.weight"), (), _CRITICS),
    "PPO": _Form(
        "gaussian", "tanh", re.compile(r"mlp_extractor\.policy_net\.(\d+)\.weight"),
        ("action_net",), re.compile(r"(mlp_extractor\.)?value_net\..+|log_std"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class SavedModel:
    """What is read of a file.

    Attributes:
        learner: `PPO`, `A2C`, `SAC`, `TD3` (or DDPG, which saves the same).
        tensors: All tensors of the policy.
        data: The JSON beside them; its pickles stay what they are, texts.
    """

    learner: str
    tensors: Mapping[str, np.ndarray]
    data: Mapping[str, Any]


def read_saved(content: bytes) -> SavedModel:
    """Read a file of `model.save`.

    Raises:
        InputError: it is none, or damaged.
    """
    archive = open_archive(content)
    missing = [name for name in ("data", "policy.pth") if name not in archive.namelist()]
    if missing:
        raise InputError(f"it has no {missing[0]}, which model.save of Stable-Baselines3 writes")
    data = parse_json(read_member(archive, "data"))
    if not isinstance(data, dict):
        raise InputError("its data is damaged: it holds no mapping of names to values")
    tensors = read_tensors(read_member(archive, "policy.pth"))
    return SavedModel(_learner(tensors, data), tensors, data)


def _learner(tensors: Mapping[str, np.ndarray], data: Mapping[str, Any]) -> str:
    if "action_net.weight" in tensors:
        return "PPO" if "clip_range" in data else "A2C"
    if "actor.mu.weight" in tensors:
        return "SAC"
    if any(re.match(r"actor\.mu\.\d", name) for name in tensors):
        return "TD3"
    raise InputError(
        f"it holds no actor of PPO, A2C, SAC, TD3 or DDPG (it begins with "
        f"{shown(sorted(tensors)[:2])}); {OTHERWISE}"
    )


def policy_of(
    saved: SavedModel, low: np.ndarray, high: np.ndarray, normaliser: Normaliser | None = None
) -> Policy:
    """The policy, for actions between the task's bounds.

    Args:
        saved: What the file holds.
        low: Lower bounds of the actions, [A].
        high: Upper bounds of the actions, [A].
        normaliser: What was done to observations in its training.

    Raises:
        InputError: it is no MlpPolicy, or has parts that are not known here.
    """
    form = _FORMS["PPO" if saved.learner == "A2C" else saved.learner]
    _check_settings(saved.data)
    activation = _activation(saved.data, form)
    layers = _layers(saved.tensors, form)
    size, actions = layers[0][0].shape[0], layers[-1][0].shape[1]
    if np.shape(low) != (actions,):
        raise InputError(
            f"it gives {actions} action{'s' * (actions != 1)}, and the task takes an action of "
            f"shape {np.shape(low)}; give the --env that it was trained for"
        )
    _check_bounds(saved.data, low, high)
    spread = np.full(actions, _NO_NOISE, np.float32)
    if form.kind == "gaussian":
        layers[-1], spread = _in_units(saved.tensors, layers[-1], low, high)
    mean, scale, clip = _normalising(normaliser, size)
    return Policy(
        kind=form.kind, activation=activation, layers=tuple(layers),
        action_low=low.astype(np.float32), action_high=high.astype(np.float32),
        observation_mean=mean, observation_scale=scale, observation_clip=clip,
        noise_log_std=spread,
    )  # fmt: skip


def _check_settings(data: Mapping[str, Any]) -> None:
    if data.get("use_sde"):
        raise InputError(f"it explores by gSDE, whose actor has another form; {OTHERWISE}")
    space = data.get("action_space")
    kind = space.get(":type:", "") if isinstance(space, dict) else ""
    if isinstance(kind, str) and kind and "Box" not in kind:
        raise InputError(f"its actions are {brief(kind, 80)}; policies for Box actions are read")


def _activation(data: Mapping[str, Any], form: _Form) -> Activation:
    """The activation, from the text that stands beside the pickle of the policy's arguments."""
    arguments = data.get("policy_kwargs")
    told = arguments.get("activation_fn") if isinstance(arguments, dict) else None
    if told is None:
        return form.activation
    name = str(told).removesuffix("'>").rpartition(".")[2]
    if name not in _ACTIVATIONS:
        known = " and ".join(_ACTIVATIONS)
        raise InputError(f"its activation is {brief(name, 60)}; {known} are read: {OTHERWISE}")
    return _ACTIVATIONS[name]


def _layers(tensors: Mapping[str, np.ndarray], form: _Form) -> list[tuple[np.ndarray, np.ndarray]]:
    """Kernel [in, out] and bias [out] of each layer of the actor; no other part may act."""
    numbers = sorted(int(m[1]) for name in tensors if (m := form.hidden.fullmatch(name)))
    stem = form.hidden.pattern.split(r"\.(")[0].replace("\\", "")
    names = [f"{stem}.{number}" for number in numbers]
    # Linear layers and activations take turns, so that their numbers are even.
    unknown = [f"{stem}.{n}" for i, n in enumerate(numbers) if n != 2 * i]
    known = {f"{name}.{part}" for name in (*names, *form.last) for part in ("weight", "bias")}
    unknown += sorted(n for n in tensors if n not in known and not form.other.fullmatch(n))
    if unknown:
        raise InputError(f"its actor has {shown(unknown[0])}, which MlpPolicy has not; {OTHERWISE}")
    layers = [_layer(tensors, name) for name in names]
    if form.last:
        heads = [_layer(tensors, name) for name in form.last]
        kernels, biases = zip(*heads, strict=True)
        layers.append((np.concatenate(kernels, -1), np.concatenate(biases, -1)))
    return layers


def _layer(tensors: Mapping[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    weight, bias = tensors.get(f"{name}.weight"), tensors.get(f"{name}.bias")
    if weight is None or bias is None or weight.ndim != 2 or bias.shape != weight.shape[:1]:
        raise InputError(f"its layer {name} is no linear layer with a bias; {OTHERWISE}")
    return np.ascontiguousarray(weight.T, np.float32), np.asarray(bias, np.float32)


def _check_bounds(data: Mapping[str, Any], low: np.ndarray, high: np.ndarray) -> None:
    """Refuse a task with other bounds of actions than the model's, where the file tells them."""
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise InputError("the task's actions have no bounds; such a policy has no units here")
    space = data.get("action_space")
    for name, bounds in (("low", low), ("high", high)):
        told = _numbers(space.get(name) if isinstance(space, dict) else None)
        if told is not None and told.shape == bounds.shape and not np.allclose(told, bounds):
            raise InputError(
                f"it was trained with actions whose {name} end is {shown(told.tolist())}, and the "
                f"task's is {shown(bounds.tolist())}; give the --env that it was trained for"
            )


def _numbers(text: Any) -> np.ndarray | None:
    """The numbers of an array as NumPy prints it; None for anything else."""
    try:
        return np.array([float(word) for word in str(text).strip("[]").split()])
    except ValueError:
        return None


def _in_units(
    tensors: Mapping[str, np.ndarray],
    layer: tuple[np.ndarray, np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """The last layer and log std of PPO in units where actions lie in [−1, 1], as `Policy`'s are.

    Stable-Baselines3's PPO acts in the task's own units and clips.
    """
    spread = tensors.get("log_std")
    if spread is None or spread.shape != np.shape(low):
        raise InputError(f"it has no log_std with one number for each action; {OTHERWISE}")
    middle, half = (high + low) / 2, (high - low) / 2
    kernel, bias = (part.astype(np.float64) for part in layer)
    scaled = (kernel / half).astype(np.float32), ((bias - middle) / half).astype(np.float32)
    return scaled, (spread - np.log(half)).astype(np.float32)


def _normalising(normaliser: Normaliser | None, size: int) -> tuple[np.ndarray, np.ndarray, float]:
    if normaliser is None:
        return np.zeros(size, np.float32), np.ones(size, np.float32), float("inf")
    if np.shape(normaliser.mean) != (size,) or np.shape(normaliser.variance) != (size,):
        raise InputError(
            f"the normaliser has a mean of shape {np.shape(normaliser.mean)}, and the policy takes "
            f"{size} observations; give the normaliser that was saved with it"
        )
    scale = np.sqrt(normaliser.variance + normaliser.epsilon)
    return normaliser.mean.astype(np.float32), scale.astype(np.float32), float(normaliser.clip)
