"""Play one episode of several policies at once, step by step, as an evaluation plays it.

Seed, random streams and blocks of observations are the evaluation's own, so the return in a clip
is the one that `evaluation.csv` has for the same setting and episode.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from drspcrl.envs import BatchEnv
from drspcrl.errors import InputError
from drspcrl.evaluation.actor import BLOCK, Actor, EpisodeNoise, Policy, checked, one_thread_each
from drspcrl.evaluation.rollout import Job
from drspcrl.evaluation.suite import Suite, episode_seed
from drspcrl.perturbations import Perturbation


@dataclass
class Player:
    """One policy in its episode.

    Attributes:
        name: What it is called.
        returns: Sum of rewards so far; nan once the simulation has diverged.
        steps: Steps so far.
        ending: Why its episode is over, empty while it is not.
    """

    name: str
    returns: float = 0.0
    steps: int = 0
    ending: str = ""
    began: bool = field(default=True, repr=False)


class Episode:
    """The same episode for each of several policies.

    Args:
        env: One simulation for each policy.
        policies: Policies by name.
        parts: The setting, innermost perturbation first.
        seed: The evaluation's seed.
        number: The episode's number in an evaluation of this setting.

    Raises:
        InputError: A setting or policies that do not fit the task.
    """

    def __init__(
        self,
        env: BatchEnv,
        policies: Mapping[str, Policy],
        parts: Sequence[Perturbation],
        seed: int = 0,
        number: int = 0,
    ):
        everyone = np.arange(env.num_envs)
        self.players = [Player(name) for name in policies]
        self._env, self._actors = env, [Actor(policy) for policy in policies.values()]
        (row,) = Suite("clip", [tuple(parts)]).rows
        self._slot = Job("", row, number).slot
        seeds = [episode_seed(seed, row.parts, number)] * env.num_envs
        env.perturb(everyone, [row.parts] * env.num_envs)
        self._noise = EpisodeNoise(env.num_envs, env.action_space.shape)
        self._noise.begin(everyone, seeds)
        self._observation = env.reset(everyone, seeds=seeds)

    def play(self) -> Iterator[list[int]]:
        """Take steps until every episode is over; yields the players whom each one ends."""
        alone = one_thread_each()
        while not all(player.ending for player in self.players):
            with alone():
                actions = self._act()
            step = self._env.step(actions)
            self._observation = step.observation
            ended = []
            for k, player in enumerate(self.players):
                if player.ending:
                    continue
                player.steps += 1
                player.returns += np.nan if step.diverged[k] else float(step.reward[k])
                player.began = False
                if step.ended[k]:
                    ended.append(k)
                    cut = "diverged" if step.diverged[k] else "time limit"
                    player.ending = "fell" if step.terminated[k] else cut
            yield ended

    def _act(self) -> np.ndarray:
        space = self._env.action_space
        middle = ((space.low + space.high) / 2).astype(space.dtype)
        actions = np.broadcast_to(middle, (len(self.players), *space.shape)).copy()
        for k, player in enumerate(self.players):
            if not player.ending:
                actions[k] = self._ask(k)
        return actions

    def _ask(self, k: int) -> np.ndarray:
        """One policy's action, asked for in a block as an evaluation does."""
        observation, player = self._observation[k], self.players[k]
        seen = np.zeros((BLOCK, *observation.shape), observation.dtype)
        seen[self._slot] = observation
        began = np.zeros(BLOCK, bool)
        began[self._slot] = player.began
        rows = np.array([self._slot])
        try:
            answer = self._actors[k](0, seen, began, self._noise.of(np.array([k]), rows))
            return checked(answer, rows, BLOCK, self._env.action_space, clip=False)[0]
        except InputError as error:
            raise InputError(f"{player.name}, step {player.steps}: {error}") from None
