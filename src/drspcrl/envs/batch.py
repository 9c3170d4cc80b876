"""The batched environment: episodes, resets, random streams and perturbations over a simulation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from gymnasium.spaces import Box

from drspcrl.display import shown
from drspcrl.envs.simulation import Fault, Simulation
from drspcrl.errors import InputError
from drspcrl.perturbations.disturbances import Disturbances
from drspcrl.perturbations.kernel import Context
from drspcrl.perturbations.setting import Setting, as_parts
from drspcrl.physics.parameters import Physics
from drspcrl.physics.streams import Seed, as_sequence, child


@dataclass(frozen=True)
class Step:
    """What one step of every environment gave; arrays have one row per environment.

    Attributes:
        observation: what to act on next; the first of the next episode where one has ended.
        final_observation: the true successor of the step, never one of the next episode.
        reward: float64.
        terminated: the task ended the episode: its value is 0 from here.
        truncated: the time limit (or a divergence) ended it: its value is not 0.
        diverged: the simulation left the finite numbers. The reward is 0, `final_observation` is
            the observation before the step and `truncated` is set, so the row is harmless.
    """

    observation: np.ndarray
    final_observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    diverged: np.ndarray

    @property
    def ended(self) -> np.ndarray:
        """Where an episode ended, for whatever reason."""
        return self.terminated | self.truncated


class EpisodeHook(Protocol):
    """Who is asked at every episode of a batch, such as `drspcrl.worlds.EpisodeWorlds`."""

    def begin(self, ids: np.ndarray) -> None:
        """Episodes are about to begin in some environments."""
        ...

    def begun(self, ids: np.ndarray, first: np.ndarray) -> None:
        """These are their first observations."""
        ...

    def include(self, reward: np.ndarray) -> None:
        """Every environment took a step."""
        ...

    def finish(self, ids: np.ndarray) -> None:
        """Episodes ended in some environments."""
        ...


class BatchEnv:
    """Many environments of one task, stepped together.

    An environment whose episode ends is reset within the same step. Each has random streams of its
    own, so its results depend neither on the number of threads nor on its neighbours.

    Args:
        simulation: the simulator.
        seed: environment i draws from child i of this seed.
        perturbations: one setting for all environments or one for each; a setting is None, a
            `Perturbation`, or a sequence of them, the first being the innermost.
    """

    def __init__(
        self,
        simulation: Simulation,
        seed: Seed = 0,
        perturbations: "Setting | Sequence[Setting]" = None,
    ):
        self.simulation = simulation
        self.num_envs = simulation.num_envs
        self._disturbances = Disturbances(
            Context(
                simulation.num_envs,
                simulation.observation_space,
                simulation.action_space,
                simulation.physics,
                simulation.time_limit,
            )
        )
        self._observation: np.ndarray | None = None
        self.hook: EpisodeHook | None = None
        root = as_sequence(seed)
        self._seed(np.arange(self.num_envs), [child(root, i) for i in range(self.num_envs)])
        if perturbations is not None:
            self.perturb(np.arange(self.num_envs), _one_each(perturbations, self.num_envs))

    @property
    def observation_space(self) -> Box:
        """Space of one unperturbed observation."""
        return self.simulation.observation_space

    @property
    def action_space(self) -> Box:
        """Space of one action."""
        return self.simulation.action_space

    @property
    def can_restore(self) -> bool:
        """Whether `state` and `restore` work for this task."""
        return self.simulation.can_restore

    @property
    def physics(self) -> Physics:
        """Names, nominal values and scales of the physics parameters.

        Raises:
            InputError: the task has none.
        """
        if self.simulation.physics is None:
            raise InputError("this task has no MuJoCo model, so no physics parameters to set")
        return self.simulation.physics

    def perturb(self, ids: Sequence[int] | np.ndarray, settings: Sequence[Setting]) -> None:
        """Give some environments other perturbations, one setting each; reset them afterwards."""
        ids = self._ids(ids)
        if len(settings) != len(ids):
            raise InputError(f"{len(settings)} settings for {len(ids)} environments; give one each")
        self._disturbances.assign(ids, [as_parts(setting) for setting in settings])

    def reset(
        self, ids: Sequence[int] | np.ndarray | None = None, seeds: Sequence[Seed] | None = None
    ) -> np.ndarray:
        """Begin new episodes.

        Args:
            ids: environments, all of them by default.
            seeds: a seed each, e.g. (seed, setting, episode): the episode then depends on nothing
                else. One integer gives what Gymnasium's `reset(seed=…)` gives. Without seeds the
                streams continue.

        Returns:
            The first observations of `ids`, in their order.
        """
        ids = np.arange(self.num_envs) if ids is None else self._ids(ids)
        if self._observation is None and len(ids) != self.num_envs:
            raise InputError("reset() all environments before resetting some of them")
        if seeds is not None:
            if len(seeds) != len(ids):
                raise InputError(f"{len(seeds)} seeds for {len(ids)} environments; give one each")
            self._seed(ids, [as_sequence(seed) for seed in seeds])
        first = self._begin(ids)
        if self._observation is None:
            self._observation = np.empty((self.num_envs, *first.shape[1:]), first.dtype)
        self._observation[ids] = first
        return first.copy()

    def step(self, actions: np.ndarray) -> Step:
        """Take one step in every environment, and start over where an episode ended.

        Args:
            actions: [num_envs, action size]; not clipped here, as in Gymnasium.

        Raises:
            InputError: actions of another shape, or no reset yet.
        """
        actions = np.ascontiguousarray(actions)
        if actions.shape != (self.num_envs, *self.action_space.shape):
            raise InputError(
                f"actions have shape {actions.shape}; this batch takes "
                f"{(self.num_envs, *self.action_space.shape)}"
            )
        if self._observation is None:
            raise InputError("step() before reset(); call reset() once first")
        result = self.simulation.advance(self._disturbances.act(actions))
        self._disturbances.release()
        final = self._disturbances.observe(np.arange(self.num_envs), result.observation)
        diverged = result.diverged | ~_finite(result.reward, final)
        reward, terminated, truncated = result.reward, result.terminated, result.truncated
        if diverged.any():
            final[diverged] = self._observation[diverged]
            reward = np.where(diverged, 0.0, reward)
            terminated, truncated = terminated & ~diverged, truncated | diverged
        observation = final.copy()
        ended = np.flatnonzero(terminated | truncated)
        if self.hook is not None:
            self.hook.include(reward)
            self.hook.finish(ended)
        if ended.size:
            observation[ended] = self._begin(ended)
        self._observation[:] = observation
        return Step(observation, final, reward, terminated, truncated, diverged)

    def state(self) -> dict[str, np.ndarray]:
        """Everything that decides the future, as a flat dictionary of plain arrays.

        Raises:
            InputError: the task cannot be saved (`can_restore` is False), or there was no reset.
        """
        self._check_restorable()
        if self._observation is None:
            raise InputError("state() before reset(); call reset() once first")
        parts = {
            "simulation": self.simulation.state(),
            "disturbances": self._disturbances.state(),
            "env": {"observation": self._observation.copy()},
        }
        return {f"{part}/{k}": v for part, own in parts.items() for k, v in own.items()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from a `state()` of an environment made in the same way, bit for bit.

        Raises:
            InputError: the task cannot be restored, or the state is one of another batch.
        """
        self._check_restorable()
        if self._observation is None:
            self.reset()  # so that every array exists and can be compared
        expected = {key: value.shape for key, value in self.state().items()}
        received = {key: np.shape(value) for key, value in state.items()}
        # Layers appear only once a perturbation has acted; a user's state has any length.
        layers = tuple(f"simulation/physics/{kind}/" for kind in ("layer", "value", "lock"))
        free = (*layers, "simulation/reader/positions", "simulation/own")
        differing = {k for k, _ in expected.items() ^ received.items() if not k.startswith(free)}
        if differing:
            raise InputError(
                f"the state does not fit this environment, in {', '.join(sorted(differing))}; "
                "make it with the same name, num_envs and perturbations"
            )
        below = {
            part: {
                k.removeprefix(f"{part}/"): np.asarray(v)
                for k, v in state.items()
                if k.startswith(f"{part}/")
            }
            for part in ("simulation", "disturbances", "env")
        }
        self.simulation.restore(below["simulation"])
        self._disturbances.restore(below["disturbances"])
        self._observation = below["env"]["observation"].copy()

    def take_faults(self) -> dict[int, Fault]:
        """What of a user's own environments was no finite number since this was last asked.

        Returns:
            The first such reading of each environment, by its number. (`Step.diverged` marks the
            steps, also those of the simulators of this package.)
        """
        return self.simulation.take_faults()

    def close(self) -> None:
        """Release what the simulator holds."""
        self.simulation.close()

    def _begin(self, ids: np.ndarray) -> np.ndarray:
        if self.hook is not None:
            self.hook.begin(ids)
        self._disturbances.begin(ids)
        first = self._disturbances.observe(ids, self.simulation.start(ids))
        if self.hook is not None:
            self.hook.begun(ids, first)
        return first

    def _seed(self, ids: np.ndarray, sequences: Sequence[np.random.SeedSequence]) -> None:
        self.simulation.seed(ids, sequences)
        self._disturbances.seed(ids, sequences)

    def _check_restorable(self) -> None:
        if not self.can_restore:
            raise InputError(
                "this environment cannot save its state (can_restore is False); "
                "a resumed run begins new episodes in it"
            )

    def _ids(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        found = np.asarray(ids)
        integers = found.ndim == 1 and np.issubdtype(found.dtype, np.integer)
        if not integers or not found.size or len(np.unique(found)) != len(found):
            raise InputError(f"ids are {shown(ids)}; give distinct integers, e.g. [0, 2]")
        if found.min() < 0 or found.max() >= self.num_envs:
            raise InputError(f"ids are {shown(ids)}; they must lie in [0, {self.num_envs})")
        return found


def _finite(reward: np.ndarray, observation: np.ndarray) -> np.ndarray:
    """Which rows hold finite numbers only; nearly always all of them, which is quickly seen."""
    if np.isfinite(reward).all() and np.isfinite(observation).all():
        return np.ones(len(reward), bool)
    return np.isfinite(reward) & np.isfinite(observation).reshape(len(reward), -1).all(axis=1)


def _one_each(perturbations: "Setting | Sequence[Setting]", num_envs: int) -> "list[Setting]":
    # A list is one setting for each environment; anything else is one for all.
    if not isinstance(perturbations, list):
        return [cast("Setting", perturbations)] * num_envs
    if len(perturbations) != num_envs:
        raise InputError(
            f"{len(perturbations)} settings for {num_envs} environments; give a list with one "
            "setting each, or one setting (a Perturbation or a tuple of them) for all"
        )
    return list(perturbations)
