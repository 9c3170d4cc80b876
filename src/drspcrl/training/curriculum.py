"""The curricula of a population: once in a while, each member's radius moves by its own rule."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from drspcrl.curricula.base import Signal
from drspcrl.curricula.registry import curriculum

if TYPE_CHECKING:
    from drspcrl.divergences import Divergence
    from drspcrl.training.config import TrainConfig


class Curricula:
    """One curriculum for each member, driven by what the loop says of all of them.

    Args:
        config: the training.
        length: steps of the run that schedules and step sizes are made for.
        divergence: the ball that ε is the radius of.

    Attributes:
        every: steps of one iteration; at least those of one iteration of the loop.
        states: the curricula's states, plain trees, one for each member.
        iteration: how many updates there were.
    """

    def __init__(self, config: "TrainConfig", length: int, divergence: "Divergence"):
        in_worlds = config.uncertainty == "worlds"
        shared = config.resolved.learner
        self.every = max(shared.curriculum_every, shared.steps_at_once)
        iterations = -(-length // self.every)
        labels = [member.method for member in config.members]
        # For each member, those whose mean radius it follows: only `yoked` ones have any.
        self._leaders = [
            [k for k, label in enumerate(labels) if label == member.leader]
            for member in config.members
        ]
        self._curricula = []
        for member in config.members:
            settings = config.settings_of(member)
            self._curricula.append(
                curriculum(
                    *(member.variant.method, settings.curriculum, iterations),
                    *(settings.learner.discount, divergence),
                    worlds=in_worlds,
                    gated=settings.worlds is not None and settings.worlds.probe_every > 0,
                )
            )
        self.states = [
            rule.init(member.seed)
            for rule, member in zip(self._curricula, config.members, strict=True)
        ]
        self.iteration = 0

    @property
    def epsilon(self) -> np.ndarray:
        """The radius to train each member with now, [M]."""
        pairs = zip(self._curricula, self.states, strict=True)
        return np.array([rule.epsilon(state) for rule, state in pairs])

    def update(self, signals: Mapping[str, np.ndarray], returns: np.ndarray) -> np.ndarray:
        """One iteration of every curriculum.

        Args:
            signals: what `Loop.signal` says, [M, ...] each; empty while nothing is known.
            returns: mean return of the episodes since the last update, [M], nan for none.

        Returns:
            The radius of each member from now on, [M].
        """
        used = self.epsilon
        # Followers last, so that they use their leaders' radius in the same iteration.
        for k in sorted(range(len(self.states)), key=lambda k: bool(self._leaders[k])):
            leaders = self._leaders[k]
            peers = float(np.mean(self.epsilon[leaders])) if leaders else float("nan")
            self._update_member(k, signals, returns, used, peers)
        self.iteration += 1
        return self.epsilon

    def _update_member(
        self,
        k: int,
        signals: Mapping[str, np.ndarray],
        returns: np.ndarray,
        used: np.ndarray,
        peers: float = float("nan"),
    ) -> None:
        known: dict[str, Any] = {
            name: float(values[k]) if values[k].ndim == 0 else np.asarray(values[k], np.float64)
            for name, values in signals.items()
            if name in Signal._fields
        }
        needed = ("multiplier", "slope", "robust_value", "start_value", "value_spread")
        unknown: dict[str, Any] = dict.fromkeys((*needed, "reward_scale"), float("nan"))
        own: dict[str, Any] = {
            "step": self.iteration,
            "epsilon": float(used[k]),
            "peers_epsilon": peers,
        }
        own |= {"episode_return": float(returns[k])}
        given = {**unknown, "draws": np.empty((0, 0)), **known, **own}
        signal = Signal(**given)
        self.states[k] = self._curricula[k].update(self.states[k], signal)

    def trees(self) -> list[dict[str, Any]]:
        """Everything that it remembers, one plain tree for each member."""
        return [{"iteration": self.iteration, "state": state} for state in self.states]

    def restore(self, trees: Sequence[Mapping[str, Any]]) -> None:
        """Continue from `trees`."""
        self.iteration = int(trees[0]["iteration"])
        self.states = [tree["state"] for tree in trees]
