"""Callbacks: your own code after every iteration and every episode of a training."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.policy import Policy
from drspcrl.training.collector import EndedEpisode
from drspcrl.training.config import Member

if TYPE_CHECKING:
    from drspcrl.training.run import Trainer


@dataclass(frozen=True)
class Episode:
    """An exploring episode that has just ended.

    Attributes:
        method: the method of the run that it belongs to, e.g. `self_paced`.
        seed: that run's seed.
        step: environment steps of the run so far.
        total_reward: the episode's return, undiscounted.
        length: its steps.
        role: `trained`; in worlds also `probe` (at the full budget) or `anchor` (unperturbed).
        world: what differed from the simulator, by name, in units of the declared tolerances;
            empty where there is no world.
    """

    method: str
    seed: int
    step: int
    total_reward: float
    length: int
    role: str
    world: dict[str, float]


class Iteration:
    """A training after one of its iterations.

    Attributes:
        step: environment steps of each run so far.
        steps: the length of the training.
        members: the runs, each with its `method` and `seed`; arrays below are in this order.
    """

    def __init__(self, trainer: "Trainer"):
        self._trainer = trainer
        self.step, self.steps = trainer.loop.steps, trainer.config.steps
        self.members: tuple[Member, ...] = trainer.config.members

    @property
    def epsilon(self) -> np.ndarray:
        """The radius of each run in the coming iteration, [M]."""
        return np.asarray(self._trainer.loop.uncertainty.epsilon)

    @property
    def metrics(self) -> dict[str, np.ndarray]:
        """The learner's newest metrics by their names in `metrics.csv`, [M] each.

        Reading them waits for the device; read them now and then where iterations are short.
        """
        return {name: np.asarray(values) for name, values in self._trainer.loop.metrics.items()}

    def policies(self) -> list[Policy | None]:
        """The present policies, acting without exploration; None for a run that has diverged."""
        return self._trainer.policies()


class Callback:
    """Override one or both methods, and pass an object of the class to `train` or `resume`.

    Callbacks look on: a training with them computes the same numbers as without. What one raises
    ends the training with the status `failed`; `resume` continues from the last checkpoint.
    """

    def on_iteration(self, iteration: Iteration) -> bool | None:
        """After every iteration: one step of all environments and its updates; PPO: one rollout.

        Returns:
            False to end the training here, with a checkpoint, as a time limit would.
        """

    def on_episode_end(self, episode: Episode) -> None:
        """After every exploring episode, before the `on_iteration` of its iteration."""


class Callbacks:
    """All callbacks of a training, in their order.

    Args:
        given: the callbacks.

    Raises:
        InputError: something among them is no `Callback`.
    """

    def __init__(self, given: Sequence[Callback]):
        for one in given:
            if not isinstance(one, Callback):
                raise InputError(
                    f"callbacks hold {shown(one)}; give objects of classes that inherit from "
                    "drspcrl.Callback"
                )
        self._all = tuple(given)

    def __bool__(self) -> bool:
        return bool(self._all)

    def after_iteration(self, trainer: "Trainer", ended: Sequence[EndedEpisode]) -> bool:
        """Tell them what happened; returns whether the training should continue."""
        members = trainer.config.members
        for one in ended:
            member = members[one.member]
            episode = Episode(member.method, member.seed, *one[1:])
            for callback in self._all:
                callback.on_episode_end(episode)
        answers: list[Any] = [callback.on_iteration(Iteration(trainer)) for callback in self._all]
        # Metrics are arrays, so a comparison of them answers with np.False_.
        return not any(isinstance(answer, bool | np.bool_) and not answer for answer in answers)
