"""The episodes to play, in an order that keeps the blocks of a policy's calls full.

A row of a float32 matrix product can depend on where in the matrix it stands. So every episode has
a slot, a fixed row of the blocks its policy is called with, which depends on setting and episode
alone; a simulation that becomes free takes the next episode of its own slot if there is one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from drspcrl.evaluation.actor import BLOCK
from drspcrl.evaluation.suite import Row, episode_seed


@dataclass(frozen=True)
class Job:
    """One episode to play: whose policy, in which setting, and which episode of it."""

    policy: str
    row: Row
    episode: int

    @property
    def slot(self) -> int:
        """The row of a block in which its observations stand."""
        return (_first_slot(self.row) + self.episode) % BLOCK


class Queue:
    """All episodes of all policies, made one by one when they are asked for.

    A policy's episodes are all taken before the next one's, so that few policies are under way at
    once, however few episodes each of them has.

    Args:
        policies: Their names, in the order in which they are to be finished.
        rows: Settings.
        episodes: Episodes for each policy and setting.
    """

    def __init__(self, policies: Sequence[str], rows: Sequence[Row], episodes: int):
        self._given_up: set[str] = set()
        self._policies = iter(policies)
        self._rows, self._episodes = rows, episodes
        self._counts = [
            sum(len(_episodes(slot, row, episodes)) for row in rows) for slot in range(BLOCK)
        ]
        self._policy: str | None = None
        self._left = [0] * BLOCK
        self._waiting: list[Iterator[Job]] = []

    def take(self, slot: int) -> Job | None:
        """The next episode, of this slot if possible; None when all are taken."""
        while self._policy in self._given_up or not any(self._left):
            self._policy = next(self._policies, None)
            if self._policy is None:
                self._left = [0] * BLOCK
                return None
            self._begin(self._policy)
        if not self._left[slot]:
            slot = self._left.index(max(self._left))
        self._left[slot] -= 1
        return next(self._waiting[slot])

    def give_up(self, policy: str) -> None:
        """Leave out what is left of a policy."""
        self._given_up.add(policy)

    def _begin(self, policy: str) -> None:
        self._left = list(self._counts)
        self._waiting = [
            _of_slot(slot, policy, self._rows, self._episodes) for slot in range(BLOCK)
        ]


def _first_slot(row: Row) -> int:
    # Settings begin at different slots, so that the slots are about equally long.
    return episode_seed(0, row.parts, 0) % BLOCK


def _episodes(slot: int, row: Row, episodes: int) -> range:
    return range((slot - _first_slot(row)) % BLOCK, episodes, BLOCK)


def _of_slot(slot: int, policy: str, rows: Sequence[Row], episodes: int) -> Iterator[Job]:
    for row in rows:
        for episode in _episodes(slot, row, episodes):
            yield Job(policy, row, episode)
