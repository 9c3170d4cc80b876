"""Play a queue of episodes on a fixed number of simulations.

Whatever the number of episodes, only `env.num_envs` are under way; a simulation whose episode ends
takes the next one from the queue, whoever's policy and whichever setting it is. A row of a float32
matrix product can depend on where in the matrix it stands. So every episode has a slot, a fixed row
of the blocks its policy is called with, which depends on setting and episode alone; a free
simulation takes the next episode of its own slot if there is one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from drspcrl.envs import BatchEnv
from drspcrl.errors import InputError
from drspcrl.evaluation.actor import (
    BLOCK,
    ActionError,
    Actor,
    EpisodeNoise,
    checked,
    one_thread_each,
)
from drspcrl.evaluation.attacking import Attacker, Block
from drspcrl.evaluation.recovery import RewardTrace, recovery
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
        rows: Settings of each policy, by name, in the order in which they are to be finished.
        episodes: Episodes for each policy and setting.
    """

    def __init__(self, rows: Mapping[str, Sequence[Row]], episodes: int):
        self._given_up: set[str] = set()
        self._policies = iter(rows)
        self._rows, self._episodes = rows, episodes
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
        rows, episodes, slots = self._rows[policy], self._episodes, range(BLOCK)
        self._left = [sum(len(_episodes(slot, row, episodes)) for row in rows) for slot in slots]
        self._waiting = [_of_slot(slot, policy, rows, episodes) for slot in slots]


def _first_slot(row: Row) -> int:
    # Settings begin at different slots, so that the slots are about equally long.
    return episode_seed(0, row.parts, 0) % BLOCK


def _episodes(slot: int, row: Row, episodes: int) -> range:
    return range((slot - _first_slot(row)) % BLOCK, episodes, BLOCK)


def _of_slot(slot: int, policy: str, rows: Sequence[Row], episodes: int) -> Iterator[Job]:
    for row in rows:
        for episode in _episodes(slot, row, episodes):
            yield Job(policy, row, episode)


@dataclass(frozen=True)
class Episode:
    """How it went; the return of a simulation that diverged is nan.

    Attributes:
        job: Which episode.
        returns: The sum of its rewards.
        length: Its steps.
        recovery: Steps until its return rate was back after a fault, see `recovery`; nan where
            nothing can be said of it.
    """

    job: Job
    returns: float
    length: int
    recovery: float = np.nan


@dataclass(frozen=True)
class Failure:
    """A policy whose actions were refused; its further episodes are not played."""

    policy: str
    error: InputError


class Rollout:
    """Plays episodes.

    Args:
        env: The simulations, at most as many as there are episodes.
        actors: Policies by name.
        seed: The evaluation's seed.
        clip: Whether actions out of range are clipped instead of refused.
        scales: For policies whose observations are attacked what those are normalised by, [O].
    """

    def __init__(
        self,
        env: BatchEnv,
        actors: Mapping[str, Actor],
        seed: int,
        clip: bool,
        scales: Mapping[str, np.ndarray] | None = None,
    ):
        self._env, self._actors, self._seed, self._clip = env, actors, seed, clip
        self._jobs: list[Job | None] = [None] * env.num_envs
        # Where a simulation's observation stands when its policy is called: in which of the calls
        # that a step may need (-1 for none), and in which row of it.
        self._block = np.full(env.num_envs, -1)
        self._slot = np.arange(env.num_envs) % BLOCK
        self._returns = np.zeros(env.num_envs)
        self._lengths = np.zeros(env.num_envs, np.int64)
        self._observation = np.zeros((0, *env.observation_space.shape))
        self._noise = EpisodeNoise(env.num_envs, env.action_space.shape)
        self._trace = RewardTrace(env.num_envs)
        self._attacker = Attacker(actors, scales or {}, env.num_envs, env.action_space)
        self._one_thread_each = one_thread_each()

    def play(self, queue: Queue) -> Iterator[Episode | Failure]:
        """Play all episodes of a queue."""
        self._replace(range(self._env.num_envs), queue)
        while any(self._jobs):
            actions, failures = self._act()
            free = []
            for failure in failures:
                yield failure
                queue.give_up(failure.policy)
                free += self._playing(failure.policy)
            for i in free:
                self._jobs[i] = None
            step = self._env.step(actions)
            self._returns += np.where(step.diverged, np.nan, step.reward)
            traced = [i for i, job in enumerate(self._jobs) if job and job.row.onset is not None]
            self._trace.add(np.array(traced, int), self._lengths[traced], step.reward[traced])
            self._lengths += 1
            self._observation = step.observation
            for i in np.flatnonzero(step.ended).tolist():
                if job := self._jobs[i]:
                    yield self._episode(i, job, bool(step.terminated[i]))
                    free.append(i)
            self._replace(free, queue)

    def _episode(self, simulation: int, job: Job, ended: bool) -> Episode:
        returns, length = float(self._returns[simulation]), int(self._lengths[simulation])
        if job.row.onset is None or np.isnan(returns):
            return Episode(job, returns, length)
        rewards = self._trace.of(simulation, length)
        return Episode(job, returns, length, recovery(rewards, job.row.onset, ended=ended))

    def _replace(self, simulations: Sequence[int], queue: Queue) -> None:
        """Give simulations their next episodes, as long as there are any."""
        begun = []
        for i in simulations:
            self._jobs[i] = job = queue.take(int(self._slot[i]))
            if job is None:
                self._block[i] = -1
            else:
                self._place(i, job.slot)
                begun.append(i)
        if begun:
            self._begin(np.array(begun))

    def _place(self, simulation: int, slot: int) -> None:
        """Find the simulation a block in which the slot is free; its own if that is the slot."""
        if slot == self._slot[simulation] and self._block[simulation] >= 0:
            return
        self._slot[simulation], self._block[simulation] = slot, -1
        taken = self._block[self._slot == slot]
        self._block[simulation] = next(k for k in range(len(taken) + 1) if k not in taken)

    def _begin(self, simulations: np.ndarray) -> None:
        jobs = [job for i in simulations if (job := self._jobs[i])]
        seeds = [episode_seed(self._seed, job.row.parts, job.episode) for job in jobs]
        self._lengths[simulations] = 0
        self._env.perturb(simulations, [job.row.simulated for job in jobs])
        self._noise.begin(simulations, seeds)
        self._attacker.begin(simulations.tolist(), [job.row for job in jobs], seeds)
        first = self._env.reset(simulations, seeds=seeds)
        for i, fault in self._env.take_faults().items():
            if fault.starting and i in simulations:
                raise InputError(
                    f"the environment gave {fault.reading} at its reset ({self._where(i)}), and a "
                    "policy cannot act on that; look for it in the environment"
                )
        if not len(self._observation):
            self._observation = np.zeros((self._env.num_envs, *first.shape[1:]), first.dtype)
        self._observation[simulations] = first
        self._returns[simulations] = 0.0

    def _act(self) -> tuple[np.ndarray, list[Failure]]:
        """The actions of all simulations, and the policies that gave none to be used."""
        space = self._env.action_space
        # Simulations without an episode are fed with the middle of the range.
        middle = ((space.low + space.high) / 2).astype(space.dtype)
        actions = np.broadcast_to(middle, (self._env.num_envs, *space.shape)).copy()
        failures = []
        with self._one_thread_each():
            for policy in dict.fromkeys(job.policy for job in self._jobs if job):
                own = np.array(self._playing(policy))
                blocks = self._block[own]
                try:
                    for block in sorted(set(blocks.tolist())):
                        rows = own[blocks == block]
                        actions[rows] = self._ask(policy, block, rows)
                except ActionError as error:
                    failures.append(Failure(policy, error))
        return actions, failures

    def _playing(self, policy: str) -> list[int]:
        return [i for i, job in enumerate(self._jobs) if job and job.policy == policy]

    def _ask(self, policy: str, block: int, simulations: np.ndarray) -> np.ndarray:
        """The actions of the simulations in one block; an error says where it happened."""
        slots = self._slot[simulations]
        seen = np.zeros((BLOCK, *self._observation.shape[1:]), self._observation.dtype)
        seen[slots] = self._observation[simulations]
        began = np.zeros(BLOCK, bool)
        began[slots] = self._lengths[simulations] == 0
        noise = self._noise.of(simulations, slots)
        try:
            seen = self._attacker.shown(policy, Block(block, seen, began), simulations, slots)
            answer = self._actors[policy](block, seen, began, noise)
            return checked(answer, slots, BLOCK, self._env.action_space, self._clip)
        except ActionError as error:
            raise ActionError(f"{error} ({self._where(simulations[error.row])})") from None
        except InputError as error:
            raise ActionError(f"{error} ({self._where(simulations[0])})") from None
        except Exception as error:
            error.add_note(f"The policy was asked for an action: {self._where(simulations[0])}.")
            raise

    def _where(self, simulation: int) -> str:
        job = self._jobs[simulation]
        assert job is not None
        return f"setting {job.row.label}, episode {job.episode}, step {self._lengths[simulation]}"
