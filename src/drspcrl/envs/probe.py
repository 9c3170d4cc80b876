"""Tiny tasks whose values are known, for testing learners.

With discount γ and optimal actions:

| name | task | value |
|---|---|---|
| `probe/constant` | reward 1 for ever (cut, not ended, after 50 steps) | 1/(1−γ) |
| `probe/one_step` | observation ±1, reward equal to it, end | V(s) = s |
| `probe/two_step` | observation 0, then 1; reward 0, then 1; end | V(0) = γ, V(1) = 1 |
| `probe/action` | observation s = ±1, reward −(a − s/2)², end | a* = s/2, V = 0 |
| `probe/noise` | s' ~ N(a, (1+a)²), then reward s', end | Q(0,a) = γ(a − √(2ε)(1+a)) in a KL ball |
| `probe/world` | reward 1 − θ − a² for ever (cut after 50 steps) | V(ω) = (1 − θ − E a²)/(1−γ) |

`probe/world` takes the world parameter `theta`, nominally 0, and its observation is always 0: a
policy sees the world's sensor bias b alone and acts π(b) + ν with the world's actuator noise ν.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from drspcrl.envs.batch import BatchEnv
from drspcrl.envs.simulation import Simulation, SimulationStep
from drspcrl.errors import InputError
from drspcrl.physics.streams import Draws, Seed


class Probe(Simulation):
    """A task whose state is a few numbers; one random number is drawn per start and step.

    Args:
        num_envs: number of environments.
    """

    size = 1
    normal = False
    time_limit = 50

    def __init__(self, num_envs: int):
        self.num_envs = num_envs
        self.observation_space = Box(-np.inf, np.inf, (self.size,), np.float64)
        self.action_space = Box(-1.0, 1.0, (1,), np.float32)
        self._observation = np.zeros((num_envs, self.size))
        self._steps = np.zeros(num_envs, np.int64)
        self._draws = Draws(num_envs, 1, normal=self.normal)

    @abstractmethod
    def first(self, random: np.ndarray) -> np.ndarray:
        """First observations from random numbers [m]."""

    @abstractmethod
    def move(
        self, observation: np.ndarray, steps: np.ndarray, action: np.ndarray, random: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Next observations, rewards and ends from actions [n] and random numbers [n]."""

    def seed(self, ids: np.ndarray, sequences: Sequence[np.random.SeedSequence]) -> None:
        """See `Simulation`."""
        self._draws.seed(ids, sequences)

    def start(self, ids: np.ndarray) -> np.ndarray:
        """See `Simulation`."""
        self._steps[ids] = 0
        self._observation[ids] = self.first(self._draws.take(ids)[:, 0])
        return self._observation[ids]

    def advance(self, actions: np.ndarray) -> SimulationStep:
        """See `Simulation`."""
        random = self._draws.take(np.arange(self.num_envs))[:, 0]
        observation, reward, terminated = self.move(
            self._observation, self._steps, actions[:, 0].astype(float), random
        )
        self._steps += 1
        self._observation = observation
        truncated = self._steps >= (self.time_limit or np.inf)
        return SimulationStep(
            observation.copy(), reward, terminated, truncated, np.zeros(self.num_envs, bool)
        )

    def state(self) -> dict[str, np.ndarray]:
        """See `Simulation`."""
        own = {"observation": self._observation.copy(), "steps": self._steps.copy()}
        return own | self._draws.state()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Simulation`."""
        self._observation = state["observation"].copy()
        self._steps[:] = state["steps"]
        self._draws.restore(state)


class ConstantReward(Probe):
    """Reward 1 for ever."""

    def first(self, random: np.ndarray) -> np.ndarray:
        """Always 0."""
        return np.zeros((len(random), 1))

    def move(self, observation, steps, action, random):
        """Nothing changes."""
        return observation.copy(), np.ones(len(action)), np.zeros(len(action), bool)


class OneStep(Probe):
    """The reward is the observation; one step."""

    def first(self, random: np.ndarray) -> np.ndarray:
        """A sign."""
        return np.where(random < 0.5, -1.0, 1.0)[:, None]

    def move(self, observation, steps, action, random):
        """Pay and end."""
        return observation.copy(), observation[:, 0].copy(), np.ones(len(action), bool)


class TwoStep(Probe):
    """The reward comes one step late."""

    def first(self, random: np.ndarray) -> np.ndarray:
        """Always 0."""
        return np.zeros((len(random), 1))

    def move(self, observation, steps, action, random):
        """From 0 to 1, then pay and end."""
        last = steps == 1
        return np.ones_like(observation), last.astype(float), last


class ActionReward(OneStep):
    """The best action is half the observation."""

    def move(self, observation, steps, action, random):
        """Pay the squared distance and end."""
        reward = -np.square(action - 0.5 * observation[:, 0])
        return observation.copy(), reward, np.ones(len(action), bool)


class NoiseReward(Probe):
    """A higher mean costs spread: the best action turns at radius ε = 1/2 of a KL ball."""

    normal = True

    def first(self, random: np.ndarray) -> np.ndarray:
        """Always 0."""
        return np.zeros((len(random), 1))

    def move(self, observation, steps, action, random):
        """Draw s', then pay it and end."""
        last = steps == 1
        drawn = action + (1.0 + action) * random
        reward = np.where(last, observation[:, 0], 0.0)
        return np.where(last, observation[:, 0], drawn)[:, None], reward, last


class WorldReward(Probe):
    """What a world parameter, actuator noise and sensor bias cost is known; see the table."""

    def __init__(self, num_envs: int):
        super().__init__(num_envs)
        self._theta = np.zeros(num_envs)

    def set_world(self, i: int, values: Mapping[str, float]) -> None:
        """See `Simulation`.

        Raises:
            InputError: a parameter that the task does not have.
        """
        if unknown := sorted(values.keys() - {"theta"}):
            raise InputError(f"probe/world has no parameter {unknown[0]!r}; it has theta")
        self._theta[i] = values["theta"]

    def first(self, random: np.ndarray) -> np.ndarray:
        """Always 0."""
        return np.zeros((len(random), 1))

    def move(self, observation, steps, action, random):
        """Pay, and continue."""
        reward = 1.0 - self._theta - np.square(action)
        return observation.copy(), reward, np.zeros(len(action), bool)


class Finite(Probe):
    """A finite MDP behind Box spaces: one-hot observations, actions by intervals of [−1, 1].

    Action a stands for choice ⌊A·(a+1)/2⌋. Episodes are cut, not ended, by the time limit.

    Args:
        mdp: has `transitions[S, A, S]`, `rewards[S, A]` and `initial[S]` as `drspcrl.tabular.MDP`
            has, or a `to_dense()` that gives them.
        num_envs: number of environments.
        time_limit: steps per episode.
    """

    def __init__(self, mdp: Any, num_envs: int, time_limit: int = 50):
        mdp = mdp.to_dense() if hasattr(mdp, "to_dense") else mdp
        transitions = np.asarray(mdp.transitions, float)
        self._rewards = np.asarray(mdp.rewards, float)
        initial = np.asarray(mdp.initial, float)
        states, choices = self._rewards.shape
        if transitions.shape != (states, choices, states) or initial.shape != (states,):
            raise InputError(
                f"transitions {transitions.shape}, rewards {self._rewards.shape} and initial "
                f"{initial.shape} do not fit; they must be [S, A, S], [S, A] and [S]"
            )
        self.size, self.time_limit = states, time_limit
        self._cumulative = np.cumsum(transitions, axis=-1)
        self._initial = np.cumsum(initial)
        super().__init__(num_envs)

    def first(self, random: np.ndarray) -> np.ndarray:
        """Draw a start state."""
        return self._one_hot(np.sum(random[:, None] >= self._initial, axis=-1))

    def move(self, observation, steps, action, random):
        """Draw the next state."""
        choices = self._rewards.shape[1]
        choice = np.clip(np.floor((action + 1.0) / 2.0 * choices), 0, choices - 1).astype(int)
        state = np.argmax(observation, axis=1)
        following = np.sum(random[:, None] >= self._cumulative[state, choice], axis=-1)
        ended = np.zeros(len(action), bool)
        return self._one_hot(following), self._rewards[state, choice], ended

    def _one_hot(self, states: np.ndarray) -> np.ndarray:
        # Rounding may leave the last cumulative probability just below 1.
        return np.eye(self.size)[np.minimum(states, self.size - 1)]


PROBES: dict[str, type[Probe]] = {
    "probe/constant": ConstantReward,
    "probe/one_step": OneStep,
    "probe/two_step": TwoStep,
    "probe/action": ActionReward,
    "probe/noise": NoiseReward,
    "probe/world": WorldReward,
}


def finite(mdp: Any, num_envs: int, seed: Seed = 0, time_limit: int = 50) -> BatchEnv:
    """A batched environment of a finite MDP, see `Finite`."""
    return BatchEnv(Finite(mdp, num_envs, time_limit), seed)
