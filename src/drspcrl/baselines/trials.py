"""The simulation side of WR2L: episodes and single steps in simulators of chosen parameters."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from drspcrl.envs import BatchEnv
from drspcrl.errors import InputError
from drspcrl.physics.components import DEFAULT_PARAMETERS

Act = Callable[[np.ndarray], np.ndarray]
"""From observations [K, n, O] of K members to the task's own actions [K, n, A]."""


@runtime_checkable
class Rewindable(Protocol):
    """A simulation that can be put into any state that one of its simulations was in."""

    def rows(self, ids: np.ndarray) -> np.ndarray:
        """The states of some simulations, one row each."""
        ...

    def set_rows(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Put simulations into the states of `rows`."""
        ...

    def coordinates(self, ids: np.ndarray) -> np.ndarray:
        """Positions and velocities of some simulations: what a distance of states is about."""
        ...


class Visited(NamedTuple):
    """Pairs (s, a) of K members, [K, S, ...] each.

    Attributes:
        rows: s, as the simulation can be put back into it.
        coordinates: s, as distances are measured.
        action: a.
    """

    rows: np.ndarray
    coordinates: np.ndarray
    action: np.ndarray

    def take(self, indices: np.ndarray) -> "Visited":
        """Some of the pairs, the same for every member."""
        return Visited(*(array[:, indices] for array in self))


class Played(NamedTuple):
    """Episodes of K members, n each.

    Attributes:
        returns: undiscounted, [K, n].
        lengths: steps until the end or the horizon, [K, n].
        visited: `keep` pairs (s, a) of each episode, uniform over its steps, [K, n·keep].
    """

    returns: np.ndarray
    lengths: np.ndarray
    visited: Visited


class Trials:
    """Tries simulators out for K members at once.

    Args:
        env: K·n environments that nobody else uses, without perturbations.
        members: K.

    Attributes:
        lanes: n, the simulations of each member.
        parameters: names of the physics parameters that φ speaks of: those that `PhysicsNoise`
            scales by default.

    Raises:
        InputError: the task has no such parameters, or cannot be put back into a state.
    """

    def __init__(self, env: BatchEnv, members: int):
        simulation = env.simulation
        if simulation.physics is None or not isinstance(simulation, Rewindable):
            raise InputError(
                "method wr2l needs a task with physics parameters that is simulated in a batch; "
                "use Hopper, HalfCheetah, Walker2d or Humanoid, or another method"
            )
        self.env, self.members, self.lanes = env, members, env.num_envs // members
        self._simulation, self._physics, self._rewindable = simulation, env.physics, simulation
        names = env.physics.names
        self._selected = [
            k for k, name in enumerate(names) if name.split(":")[0] in DEFAULT_PARAMETERS
        ]
        self.parameters = tuple(names[k] for k in self._selected)
        self._everyone = np.arange(env.num_envs)
        self._diverged = np.zeros(env.num_envs, bool)

    def scales(self, logs: np.ndarray) -> np.ndarray:
        """The factors of all physics parameters from φ [..., d]; those it leaves out stay 1."""
        scales = np.ones((*logs.shape[:-1], len(self._physics.names)))
        scales[..., self._selected] = np.exp(logs)
        return scales

    def play(
        self,
        logs: np.ndarray,
        seeds: Sequence[Sequence[int]],
        act: Act,
        horizon: int,
        generators: Sequence[np.random.Generator],
        keep: int,
    ) -> Played:
        """One episode in each lane, or its first `horizon` steps.

        Args:
            logs: φ of every lane, [K, n, d].
            seeds: of every lane's start state, member by member.
            act: the members' policies.
            horizon: steps after which to stop.
            generators: one for each member, to choose the pairs (s, a) with.
            keep: pairs to keep from each episode.
        """
        self._set(logs)
        shape = (self.members, self.lanes)
        observation = self.env.reset(seeds=seeds).reshape(*shape, -1)
        self._diverged[:] = False
        returns, lengths = np.zeros(shape), np.zeros(shape, np.int64)
        playing, visited = np.ones(shape, bool), None
        for step in range(horizon):
            action = act(observation.astype(np.float32))
            seen = (*self._now(), action)
            visited = _reservoir(visited, seen, playing, step, generators, keep)
            outcome = self.env.step(action.reshape(len(self._everyone), -1))
            returns += np.where(playing, outcome.reward.reshape(shape), 0.0)
            lengths += playing
            playing &= ~outcome.ended.reshape(shape)
            observation = outcome.observation.reshape(*shape, -1)
            if not playing.any():
                break
        assert visited is not None
        flat = (array.reshape(self.members, self.lanes * keep, -1) for array in visited)
        return Played(returns, lengths, Visited(*flat))

    def successors(self, visited: Visited, logs: np.ndarray) -> np.ndarray:
        """The coordinates after one step from each pair (s, a), in the simulator of each φ.

        Args:
            visited: pairs, [K, S].
            logs: φ of each, [K, S, d].

        Returns:
            [K, S, C]; nan where the simulation left the finite numbers.
        """
        jobs, parts = logs.shape[1], []
        for first in range(0, jobs, self.lanes):
            # The last block is filled up with a repetition.
            block = np.minimum(np.arange(first, first + self.lanes), jobs - 1)
            parts.append(self._step(visited.take(block), logs[:, block]))
        return np.concatenate(parts, axis=1)[:, :jobs]

    def _step(self, visited: Visited, logs: np.ndarray) -> np.ndarray:
        everyone = self._everyone
        if self._diverged.any():  # else the simulator would remember
            self._simulation.start(np.flatnonzero(self._diverged))
        self._set(logs)
        self._rewindable.set_rows(everyone, visited.rows.reshape(len(everyone), -1))
        moved = self._simulation.advance(visited.action.reshape(len(everyone), -1))
        self._diverged = moved.diverged.copy()
        diverged = moved.diverged.reshape(self.members, self.lanes, 1)
        return np.where(diverged, np.nan, self._now()[1])

    def _now(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and coordinates of every lane, [K, n, ...] each."""
        shape = (self.members, self.lanes, -1)
        rows = self._rewindable.rows(self._everyone).reshape(shape)
        return rows, self._rewindable.coordinates(self._everyone).reshape(shape)

    def _set(self, logs: np.ndarray) -> None:
        scales = self.scales(logs).reshape(len(self._everyone), -1)
        self._physics.set_scales(self._everyone, scales)

    def close(self) -> None:
        """Release the environments."""
        self.env.close()


def _reservoir(
    kept: tuple[np.ndarray, ...] | None,
    seen: tuple[np.ndarray, ...],
    playing: np.ndarray,
    step: int,
    generators: Sequence[np.random.Generator],
    keep: int,
) -> tuple[np.ndarray, ...]:
    """Keep each step's (s, a) with probability 1/(step + 1): uniform over what was played."""
    shape = (playing.shape[1], keep)
    chances = np.stack([generator.random(shape) for generator in generators])
    if kept is None:
        return tuple(np.repeat(array[:, :, None], keep, axis=2) for array in seen)
    replace = (chances * (step + 1) < 1.0) & playing[:, :, None]
    for array, now in zip(kept, seen, strict=True):
        array[replace] = np.broadcast_to(now[:, :, None], array.shape)[replace]
    return kept
