"""What the simulators do in training, member by member; evaluations never see it."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from drspcrl.envs.registry import make
from drspcrl.perturbations import Perturbation
from drspcrl.policy import stretch
from drspcrl.training.loop import Loop

if TYPE_CHECKING:
    from drspcrl.baselines.wr2l import Adversary, State
    from drspcrl.training.config import TrainConfig

LAYER = "adversary"


def perturbations_of(config: "TrainConfig") -> list[tuple[Perturbation, ...]]:
    """What each member's simulators are perturbed with while it trains."""
    return [config.perturbations_of(member) for member in config.members]


class Adversaries:
    """The adversaries of a population's `wr2l` members; without such members it does nothing.

    Args:
        config: the training.

    Raises:
        InputError: the task has no physics parameters that an adversary could change.
    """

    def __init__(self, config: "TrainConfig"):
        members = config.members
        self._members = [k for k, m in enumerate(members) if m.variant.method == "wr2l"]
        self._adversary: Adversary | None = None
        self._states: list[State] = []
        if self._members:
            from drspcrl.baselines import wr2l  # which few trainings have

            each = [config.settings_of(members[k]) for k in self._members]
            own = [settings.wr2l for settings in each if settings.wr2l is not None]
            env = make(config.env, len(own) * 2 * own[0].pairs, threads=config.threads)
            seeds = [members[k].seed for k in self._members]
            self._every = own[0].every * config.resolved.learner.steps_at_once
            _warn_if_idle(self._every, config.steps)
            self._adversary = wr2l.Adversary(env, seeds, own)
            self._states = self._adversary.init()

    def advance(self, loop: Loop) -> None:
        """After an iteration of the loop: if it is time, let the adversaries move."""
        if self._adversary is not None and loop.steps % self._every == 0:
            self._states = self._adversary.update(self._states, self._policies(loop))
            collector = loop.collector
            scales = np.repeat(self._adversary.scales(self._states), collector.envs, axis=0)
            envs = np.arange(collector.members * collector.envs).reshape(collector.members, -1)
            collector.env.physics.set_scales(envs[self._members].ravel(), scales, LAYER)

    def _policies(self, loop: Loop):
        """The members' policies without exploration, in the task's own actions."""
        collector, members = loop.collector, self._members

        def act(observations: np.ndarray) -> np.ndarray:
            everyone = np.zeros((collector.members, *observations.shape[1:]), np.float32)
            everyone[members] = observations
            unit = loop.deterministic_actions(everyone)[members]
            return stretch(unit, collector.low, collector.high)

        return act

    def metrics(self, k: int) -> dict[str, float]:
        """What there is to log about member k."""
        if k not in self._members:
            return {}
        state = self._states[self._members.index(k)]
        return {
            "adversary_return": state.mean_return,
            "adversary_shift": float(np.sqrt(np.mean(np.square(state.phi)))),
            "adversary_steps": state.steps,
        }

    def trees(self, members: int) -> list[dict[str, Any]]:
        """Everything that it remembers, one plain tree for each member."""
        trees: list[dict[str, Any]] = [{} for _ in range(members)]
        for k, state in zip(self._members, self._states, strict=True):
            trees[k] = state._asdict()
        return trees

    def restore(self, trees: Sequence[Mapping[str, Any]]) -> None:
        """Go on from `trees`; the collector's environments bring their own physics back."""
        if not self._members:
            return
        from drspcrl.baselines import wr2l

        self._states = [
            wr2l.State(
                phi=np.asarray(trees[k]["phi"], float),
                updates=int(trees[k]["updates"]),
                steps=int(trees[k]["steps"]),
                mean_return=float(trees[k]["mean_return"]),
            )
            for k in self._members
        ]

    def close(self) -> None:
        """Release the adversaries' environments."""
        if self._adversary is not None:
            self._adversary.close()


def _warn_if_idle(every: int, steps: int) -> None:
    if steps <= every:
        warnings.warn(
            f"method wr2l: the adversary moves after every {every:,} steps, and the run has only "
            f"{steps:,}, so it is vanilla; lower wr2l_every or rollout_size, or train longer",
            stacklevel=2,
        )
