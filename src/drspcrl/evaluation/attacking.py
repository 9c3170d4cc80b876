"""Attacks in a rollout: what the policy is shown instead of its observations.

An attacked episode is as reproducible as any other: its random numbers come from its own seed, and
policy and gradient are always asked for a whole block in which it has its fixed row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from drspcrl.envs import BatchEnv, make
from drspcrl.errors import InputError
from drspcrl.evaluation.actor import (
    BLOCK,
    Actor,
    EpisodeNoise,
    Policy,
    checked,
    one_thread_each,
)
from drspcrl.evaluation.suite import Row, episode_seed
from drspcrl.perturbations.attacks import Attack, Target
from drspcrl.physics.streams import Draws, as_sequence, child

_STREAM = 1_000_001  # beside that of a policy's own noise


def normaliser_of(policy: Any) -> np.ndarray | None:
    """What a policy divides its observations by; None where it takes them as they are."""
    scale, mean = (getattr(policy, f"observation_{name}", None) for name in ("scale", "mean"))
    if scale is None or (np.all(scale == 1) and (mean is None or not np.any(mean))):
        return None
    return np.asarray(scale, np.float64)


def check_observations(space: Box) -> None:
    """Raise an `InputError` unless observations can be shifted by small amounts."""
    if not np.issubdtype(space.dtype, np.floating) or len(space.shape) != 1:
        raise InputError(
            f"attacks are on observations of one axis of floating-point numbers, and this task's "
            f"are {space}; convert them in a wrapper inside of it"
        )


EPISODES = 8
"""Nominal episodes over which readings are measured where a policy has no normaliser."""


def scale_of(
    policy: Policy, env: str | Callable[[], gymnasium.Env], seed: int, clip: bool, threads: int
) -> tuple[np.ndarray, str]:
    """One unit of an attack in each reading, [O], and where it comes from.

    It is what the policy itself normalises by; without a normaliser the standard deviation of each
    reading in the policy's own nominal episodes.
    """
    found = normaliser_of(policy)
    if found is not None:
        return found, "the policy's normaliser"
    batch = make(env, num_envs=EPISODES, threads=threads)
    try:
        seen = _nominal_observations(Actor(policy), batch, seed, clip)
    finally:
        batch.close()
    return seen.std(axis=0), f"standard deviation in {EPISODES} nominal episodes"


def _nominal_observations(actor: Actor, batch: BatchEnv, seed: int, clip: bool) -> np.ndarray:
    """Everything that a policy sees in its episodes, [steps of all of them, O]."""
    rows = np.arange(batch.num_envs)
    began, playing = np.zeros(BLOCK, bool), np.ones(len(rows), bool)
    began[rows] = True
    observation = batch.reset(seeds=[episode_seed(seed, None, k) for k in rows.tolist()])
    noise = EpisodeNoise(len(rows), batch.action_space.shape).of(rows, rows)
    block = np.zeros((BLOCK, *observation.shape[1:]), observation.dtype)
    kept: list[np.ndarray] = []
    with one_thread_each()():
        while playing.any():
            kept.append(np.where(playing[:, None], observation, np.nan))
            block[rows] = observation
            answer = actor(0, block, began, noise)
            step = batch.step(checked(answer, rows, BLOCK, batch.action_space, clip))
            observation, began[rows] = step.observation, step.ended
            playing &= ~step.ended
    every = np.stack(kept, axis=1).reshape(-1, observation.shape[1])  # one episode after another
    return every[~np.isnan(every[:, 0])]


@dataclass(frozen=True)
class Block:
    """One call of a policy.

    Attributes:
        number: which block.
        observations: true observations, [BLOCK, O].
        began: which rows are at the first step of an episode, bool[BLOCK].
    """

    number: int
    observations: np.ndarray
    began: np.ndarray


class Attacker:
    """Attacks the episodes whose setting says so.

    Args:
        actors: policies by name.
        scales: for each of them one unit of δ in each reading, [O].
        simulations: how many.
        action_space: of the task.
    """

    def __init__(
        self,
        actors: Mapping[str, Actor],
        scales: Mapping[str, np.ndarray],
        simulations: int,
        action_space: Box,
    ):
        self._actors, self._scales, self._space = actors, scales, action_space
        self._half = (action_space.high.astype(np.float64) - action_space.low) / 2
        self._attacks: list[Attack | None] = [None] * simulations
        self._radius = np.zeros(simulations)
        self._draws: dict[Attack, Draws] = {}

    def begin(self, simulations: Sequence[int], rows: Sequence[Row], seeds: Sequence[int]) -> None:
        """Episodes begin."""
        for i, row, seed in zip(simulations, rows, seeds, strict=True):
            self._attacks[i] = attack = row.attack
            if attack is None:
                continue
            self._radius[i] = row.level
            if attack not in self._draws:
                (size,) = next(iter(self._scales.values())).shape
                self._draws[attack] = Draws(len(self._attacks), attack.draws(size))
            self._draws[attack].seed(np.array([i]), [child(as_sequence(seed), _STREAM)])

    def shown(
        self, policy: str, block: Block, simulations: np.ndarray, slots: np.ndarray
    ) -> np.ndarray:
        """What a policy sees, [BLOCK, O].

        Args:
            policy: whose episodes these are.
            block: the true observations.
            simulations: the simulations in it.
            slots: the rows they have.
        """
        seen = block.observations
        for attack in dict.fromkeys(a for i in simulations if (a := self._attacks[i]) is not None):
            own = np.array([self._attacks[i] == attack for i in simulations])
            mine, rows = simulations[own], slots[own]
            radius = np.zeros((len(seen), 1))
            radius[rows, 0] = self._radius[mine]
            drawn = self._draws[attack].take(mine)
            spread = np.zeros((len(seen), drawn.shape[1]))
            spread[rows] = drawn
            target = self._target(policy, block, rows)
            shifted = target.seen(attack.shift(target, radius, spread))
            seen = seen.copy() if seen is block.observations else seen
            seen[rows] = shifted[rows]
        return seen

    def _target(self, policy: str, block: Block, rows: np.ndarray) -> Target:
        actor, scale = self._actors[policy], self._scales[policy]
        critic = getattr(actor.policy, "critic", None)
        return Target(
            block.observations, scale, self._act(actor, block, rows), actor.policy, critic
        )

    def _act(
        self, actor: Actor, block: Block, rows: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        def act(observations: np.ndarray) -> np.ndarray:
            answer = actor.asked(block.number, observations, block.began)
            actions = np.zeros((len(observations), self._half.size))
            chosen = checked(answer, rows, len(observations), self._space, clip=True)
            actions[rows] = (chosen / self._half).reshape(len(rows), -1)
            return actions

        return act
