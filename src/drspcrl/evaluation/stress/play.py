"""Play worlds: many worlds, the same episodes in each, as one batch.

Episode k begins in the same state and meets the same noise in every world (common random numbers),
so that two worlds differ by what they are and not by luck.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from drspcrl.envs import BatchEnv
from drspcrl.errors import InputError
from drspcrl.evaluation.actor import BLOCK, Actor, checked, one_thread_each
from drspcrl.evaluation.parallel import Progress
from drspcrl.evaluation.stress.space import Space
from drspcrl.physics.streams import Draws, as_sequence, child
from drspcrl.worlds.episodes import LAYER

# A world's sensor and actuator noise; an episode's perturbations draw from the children 0, 1, …
_STREAM = 2_000_000


class Player:
    """Plays episodes of one policy in worlds.

    As in training, what the policy sees in a world is s + σ·noise + bias, and what arrives is
    clip(π(o) + ν·noise) in units where actions lie in [−1, 1].

    Args:
        env: simulations, `width` of them or a multiple of that.
        actor: the policy.
        space: what the coordinates of a point mean.
        width: rows of a block of the policy's observations that are used; results depend on it.
        steps: longest episode, None for the task's own limit.
        clip: whether actions out of range are clipped instead of refused.
    """

    def __init__(
        self, env: BatchEnv, actor: Actor, space: Space, width: int, steps: int | None, clip: bool
    ):
        self._env, self._actor, self.space = env, actor, space
        self._width, self._most, self._clip = width, steps, clip
        shape, action = env.observation_space.shape, env.action_space.shape
        readings, self._actions = int(np.prod(shape)), int(np.prod(action))
        self._noise = Draws(env.num_envs, readings + self._actions, normal=True)
        self._unit = space.model.sensor_unit
        self._slot = np.arange(env.num_envs) % width
        self._block = np.arange(env.num_envs) // width
        self._half = (env.action_space.high - env.action_space.low).astype(float) / 2
        self._features = np.zeros((env.num_envs, space.model.size))
        self._lengths = np.zeros(env.num_envs, np.int64)
        self._one_thread_each = one_thread_each()
        self._seen = env.reset()

    def play(
        self, points: np.ndarray, seeds: Sequence[int], advance: Progress
    ) -> tuple[np.ndarray, np.ndarray]:
        """Play the same episodes in every world.

        Args:
            points: the worlds, [n, d].
            seeds: the episodes' seeds, [K].
            advance: is told of every episode that is over.

        Returns:
            The returns [n, K], and where the simulation diverged, whose returns end there.
        """
        jobs = len(points) * len(seeds)
        waiting = [deque(range(slot, jobs, self._width)) for slot in range(self._width)]
        returns, lost = np.zeros(jobs), np.zeros(jobs, bool)
        features = self.space.features(points)
        job = np.full(self._env.num_envs, -1)
        self._replace(np.arange(len(job)), job, waiting, features, seeds)
        while (playing := np.flatnonzero(job >= 0)).size:
            step = self._env.step(self._act(playing))
            self._seen = step.observation
            self._lengths += 1
            returns[job[playing]] += step.reward[playing]
            lost[job[playing]] |= step.diverged[playing]
            over = step.ended | (self._lengths == self._most)
            ended = playing[over[playing]]
            if ended.size:
                advance(int(self._lengths[ended].sum()), len(ended))
                self._replace(ended, job, waiting, features, seeds)
        shape = len(points), len(seeds)
        return returns.reshape(shape), lost.reshape(shape)

    def _replace(
        self,
        ids: np.ndarray,
        job: np.ndarray,
        waiting: list[deque[int]],
        features: np.ndarray,
        seeds: Sequence[int],
    ) -> None:
        """Give simulations the next episodes of their slots, as long as there are any."""
        for i in ids:
            queue = waiting[self._slot[i]]
            job[i] = queue.popleft() if queue else -1
        ids = ids[job[ids] >= 0]
        if ids.size:
            self._features[ids] = features[job[ids] // len(seeds)]
            self._begin(ids, [seeds[k] for k in job[ids] % len(seeds)])

    def _begin(self, ids: np.ndarray, seeds: list[int]) -> None:
        model, simulation = self.space.model, self._env.simulation
        if len(model.columns("physics")):
            model.enter(self._env.physics, ids, self._features[ids], LAYER)
        names = [parameter.name for parameter in model.parameters]
        if names:
            rows = model.values(self._features[ids]).tolist()
            for i, row in zip(ids, rows, strict=True):
                simulation.set_world(int(i), dict(zip(names, row, strict=True)))
        self._noise.seed(ids, [child(as_sequence(seed), _STREAM) for seed in seeds])
        self._env.take_faults()
        self._seen[ids] = self._env.reset(ids, seeds=seeds)
        self._lengths[ids] = 0
        for i, fault in self._env.take_faults().items():
            if fault.starting and i in ids:
                raise InputError(
                    f"the environment gave {fault.reading} at its reset in the world "
                    f"{self.describe(self._features[i])}; look for it in the environment, or "
                    "declare bounds (low, high) for its parameters"
                )

    def _act(self, playing: np.ndarray) -> np.ndarray:
        """The actions that arrive; simulations without an episode get the middle of the range."""
        space = self._env.action_space
        middle = ((space.low + space.high) / 2).astype(space.dtype)
        actions = np.broadcast_to(middle, (self._env.num_envs, *space.shape)).copy()
        noise = self._noise.take(playing)
        seen = self._sensed(playing, noise[:, : -self._actions])
        with self._one_thread_each():
            for block in np.unique(self._block[playing]):
                rows = np.flatnonzero(self._block[playing] == block)
                actions[playing[rows]] = self._ask(int(block), playing[rows], seen[rows])
        return self._arriving(actions, playing, noise[:, -self._actions :])

    def _sensed(self, ids: np.ndarray, noise: np.ndarray) -> np.ndarray:
        model, features, seen = self.space.model, self._features[ids], self._seen[ids]
        error = np.zeros(noise.shape)
        for k in model.columns("sensor"):
            error += features[:, [k]] * model.tolerance[k] * noise
        if len(columns := model.columns("bias")):
            error += features[:, columns] * model.tolerance[columns]
        shift = (error * self._unit).reshape(seen.shape)
        return (seen + shift).astype(seen.dtype) if shift.any() else seen

    def _arriving(self, actions: np.ndarray, ids: np.ndarray, noise: np.ndarray) -> np.ndarray:
        model, space = self.space.model, self._env.action_space
        for k in model.columns("actuator"):
            level = self._features[ids, k] * model.tolerance[k]
            moved = actions[ids] + self._half * (level[:, None] * noise).reshape(-1, *space.shape)
            actions[ids] = np.clip(moved, space.low, space.high)
        return actions

    def _ask(self, block: int, ids: np.ndarray, observations: np.ndarray) -> np.ndarray:
        slots = self._slot[ids]
        seen = np.zeros((BLOCK, *observations.shape[1:]), observations.dtype)
        seen[slots] = observations
        began = np.zeros(BLOCK, bool)
        began[slots] = self._lengths[ids] == 0
        no_noise: Any = None  # only deterministic policies are asked
        where = self._features[ids[0]]
        try:
            answer = self._actor(block, seen, began, no_noise)
            return checked(answer, slots, BLOCK, self._env.action_space, self._clip)
        except InputError as error:
            raise InputError(f"{error} (in the world {self.describe(where)})") from None
        except Exception as error:
            error.add_note(
                f"The policy was asked for an action in the world {self.describe(where)}."
            )
            raise

    def describe(self, features: np.ndarray) -> str:
        """A world f [W] in the user's words; what is as in the simulator is left out."""
        own = features[self.space.columns]
        names, words = self.space.names, self.space.words
        parts = [f"{names[k]} {words(k, own[k])}" for k in np.flatnonzero(own).tolist()]
        return ", ".join(parts) or "of the simulator"
