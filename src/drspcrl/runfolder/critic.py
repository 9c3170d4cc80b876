"""The critic of a run, out of its newest checkpoint, as an attack uses it.

Inputs beside state and action (the world of the episode, noise that came true) are 0: the simulator
as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from drspcrl.errors import InputError
from drspcrl.policy import Policy, perceptron_vjp

Layers = tuple[tuple[np.ndarray, np.ndarray], ...]


@dataclass(frozen=True)
class StateCritic:
    """V(s), of observations that are normalised as the policy's.

    Attributes:
        layers: of its network.
        policy: whose normaliser it shares.
    """

    layers: Layers
    policy: Policy

    def gradient(self, seen: np.ndarray, true: np.ndarray, policy: Any) -> np.ndarray:
        """∂V/∂s at what is seen [n, O]; of PPO, whose critic sees what its policy sees."""
        del true, policy
        own = self.policy
        centred = (seen.astype(np.float32) - own.observation_mean) / own.observation_scale
        clip = np.float32(own.observation_clip)
        x = _with_zeros([np.clip(centred, -clip, clip)], self.layers)
        _, pullback = perceptron_vjp(self.layers, "tanh", x)
        back = pullback(np.ones((len(x), 1), np.float32))[:, : seen.shape[1]]
        return np.where(np.abs(centred) < clip, back, np.float32(0.0)) / own.observation_scale


@dataclass(frozen=True)
class ActionCritic:
    """The mean of Q(s, a) over one or two networks, with actions in [−1, 1].

    Attributes:
        networks: layers of each.
    """

    networks: tuple[Layers, ...]

    def gradient(self, seen: np.ndarray, true: np.ndarray, policy: Any) -> np.ndarray:
        """∂Q(s, π(o))/∂o at what is seen o [n, O] in true states s [n, O]."""
        actions, to_seen = policy.vjp(seen)
        total = np.zeros_like(actions)
        for layers in self.networks:
            x = _with_zeros([true.astype(np.float32), actions], layers)
            _, pullback = perceptron_vjp(layers, "relu", x)
            back = pullback(np.ones((len(x), 1), np.float32))
            total += back[:, true.shape[1] : true.shape[1] + actions.shape[1]]
        return to_seen(total / np.float32(len(self.networks)))


def _with_zeros(inputs: Sequence[np.ndarray], layers: Layers) -> np.ndarray:
    joined = np.concatenate(inputs, axis=1)
    left = len(layers[0][0]) - joined.shape[1]
    return np.concatenate([joined, np.zeros((len(joined), left), joined.dtype)], axis=1)


def with_critic(policy: Any, folder: Path) -> Any:
    """The policy of a run with its critic, or with the reason why it comes without.

    Reading a checkpoint needs JAX; where there is none nothing is imported.
    """
    if not isinstance(policy, Policy):
        return policy
    try:
        return replace(policy, critic=_critic_of(policy, folder))
    except InputError as error:
        return replace(policy, without_critic=f"no critic: {error}")


def _critic_of(policy: Policy, folder: Path) -> StateCritic | ActionCritic:
    if not (folder / "checkpoint").is_dir():
        raise InputError("the run folder has no checkpoint")
    from drspcrl.runfolder.checkpoint import Store

    store = Store(folder)
    if not (steps := store.steps()):
        raise InputError("the run folder has no checkpoint")
    leaves = store.read(steps[-1]).flat("loop")
    on_policy = policy.kind == "gaussian"
    state = "state/parameters" if on_policy else "state"
    if not _same(_layers(leaves, f"{state}/actor"), policy.layers):
        raise InputError(f"the checkpoint, of step {steps[-1]}, is of another policy than this")
    critic = _layers(leaves, f"{state}/critic") or _layers(leaves, f"{state}/critics")
    inputs = policy.observation_size + (0 if on_policy else policy.action_size)
    if not critic or critic[0][0].shape[-2] < inputs:
        raise InputError("the checkpoint has no critic of this policy")
    if on_policy:
        return StateCritic(critic, policy)
    if critic[0][0].ndim == 2:
        return ActionCritic((critic,))
    members = range(len(critic[0][0]))
    return ActionCritic(tuple(tuple((k[i], b[i]) for k, b in critic) for i in members))


def _layers(leaves: dict[str, Any], path: str) -> Layers:
    found, k = [], 0
    while f"{path}/{k}/kernel" in leaves and f"{path}/{k}/bias" in leaves:
        found.append(tuple(np.asarray(leaves[f"{path}/{k}/{n}"]) for n in ("kernel", "bias")))
        k += 1
    return tuple((kernel, bias) for kernel, bias in found)


def _same(one: Layers, other: Layers) -> bool:
    return len(one) == len(other) and all(
        np.array_equal(a, b)
        for mine, theirs in zip(one, other, strict=True)
        for a, b in zip(mine, theirs, strict=True)
    )
