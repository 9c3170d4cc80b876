"""Evaluations during training: whole episodes without exploration, in environments of their own."""

from collections.abc import Callable, Sequence

import numpy as np

from drspcrl.training.collector import EVALUATION, Collector


class Judge:
    """Plays the same episodes at every evaluation.

    Args:
        task: name of the task.
        seeds: a seed for each member.
        episodes: episodes of each member.
        threads: threads for the physics, 0 for all cores.

    Attributes:
        collector: what plays them.
    """

    def __init__(self, task: str, seeds: Sequence[int], episodes: int, threads: int = 0):
        self.collector = Collector(task, seeds, episodes, threads, EVALUATION)

    def returns(self, act: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """The return of every episode, [members, episodes].

        Args:
            act: from observations [members, episodes, O] to actions in [−1, 1].
        """
        observation = self.collector.reset()
        size = observation.shape[-1]
        returns = np.zeros(observation.shape[:2])
        playing = np.ones(observation.shape[:2], bool)
        while playing.any():
            outcome = self.collector.step(act(observation))
            returns += np.where(playing, outcome[..., 2 * size], 0.0)
            playing &= outcome[..., 2 * size + 2] == 0
            observation = outcome[..., :size].copy()
        return returns

    def close(self) -> None:
        """Release the environments."""
        self.collector.close()
