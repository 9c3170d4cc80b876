"""How long the return rate takes to recover from a fault: a settling time.

before     mean reward per step over the WINDOW steps before the onset
r(k)       the same over the steps k … k + WINDOW − 1, for k from the onset on
settled    where r(k) ≥ before − LOST·|before|, and all later ones, too
recovery   the first settled k, counted from the onset: 0 if the rate was never lost
"""

import numpy as np

WINDOW = 100
"""Steps over which rewards are averaged."""
LOST = 0.2
"""Share of the rate that may be missing in one that has recovered."""


def recovery(rewards: np.ndarray, onset: int, *, ended: bool) -> float:
    """Steps from the onset of a fault until the return rate is back for good.

    Args:
        rewards: of all steps of the episode.
        onset: the first step with the fault.
        ended: whether the task ended the episode (it fell), rather than the time limit.

    Returns:
        Steps; inf where the rate never came back or the task ended the episode, nan where nothing
        can be said: the episode was over before the onset, or less than a window lies before or
        behind it.
    """
    if len(rewards) <= onset or onset < WINDOW:
        return np.nan
    if ended:
        return np.inf
    if len(rewards) < onset + WINDOW:
        return np.nan
    before = rewards[onset - WINDOW : onset].mean()
    total = np.concatenate([[0.0], np.cumsum(rewards[onset:])])
    rates = (total[WINDOW:] - total[:-WINDOW]) / WINDOW
    lost = np.flatnonzero(rates < before - LOST * abs(before))
    if not len(lost):
        return 0.0
    settled = int(lost[-1]) + 1
    return float(settled) if settled < len(rates) else np.inf


class RewardTrace:
    """The rewards of the episodes that are under way, step by step.

    Args:
        simulations: how many.
    """

    def __init__(self, simulations: int):
        self._rewards = np.zeros((simulations, 1024))

    def add(self, simulations: np.ndarray, lengths: np.ndarray, rewards: np.ndarray) -> None:
        """Some simulations took a step; lengths are their steps before this one."""
        if not len(simulations):
            return
        if lengths.max() >= self._rewards.shape[1]:
            self._rewards = np.concatenate([self._rewards, np.zeros_like(self._rewards)], axis=1)
        self._rewards[simulations, lengths] = rewards

    def of(self, simulation: int, length: int) -> np.ndarray:
        """The rewards of one episode."""
        return self._rewards[simulation, :length]
