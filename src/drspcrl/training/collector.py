"""Environments of a population: steps and episodes, in training and in evaluations during it."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from drspcrl.envs.registry import make
from drspcrl.errors import InputError
from drspcrl.perturbations import Perturbation
from drspcrl.policy import stretch
from drspcrl.worlds.episodes import LOGGING, ROLES, TRAINED, EpisodeWorlds

# Streams of random numbers that training and its evaluations draw from; four numbers, so that no
# (seed, setting, episode) of an evaluation afterwards can meet them.
TRAINING, EVALUATION, STARTS = 7, 11, 13


class Episodes:
    """Returns and lengths of the running episodes, and sums over those that ended, by member."""

    def __init__(self, members: int, envs: int):
        self.running = np.zeros((members, envs))
        self.steps = np.zeros((members, envs), np.int64)
        self.ended = np.zeros((members, 2), np.int64)
        self.returns = np.zeros((members, 2))
        self.lengths = np.zeros((members, 2))

    def include(
        self, reward: np.ndarray, ended: np.ndarray, counted: np.ndarray | None = None
    ) -> None:
        """One step of all environments, [members, envs] each; all episodes count by default."""
        self.running += reward
        self.steps += 1
        if ended.any():
            over = ended if counted is None else ended & counted
            self.ended += over.sum(axis=1)[:, None]
            self.returns += np.where(over, self.running, 0.0).sum(axis=1)[:, None]
            self.lengths += np.where(over, self.steps, 0).sum(axis=1)[:, None]
            self.running[ended] = 0.0
            self.steps[ended] = 0

    def take(self, asker: int = LOGGING) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Count, mean return and mean length of what ended since the last time; nan for none."""
        count = self.ended[:, asker].copy()
        several = np.where(count > 0, count, np.nan)
        means = self.returns[:, asker] / several, self.lengths[:, asker] / several
        self.ended[:, asker] = 0
        self.returns[:, asker] = self.lengths[:, asker] = 0.0
        return count, *means

    def state(self) -> dict[str, np.ndarray]:
        """Everything it remembers."""
        return {name: array.copy() for name, array in vars(self).items()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from a `state()`."""
        for name in vars(self):
            setattr(self, name, state[name].copy())

    def abandon(self) -> None:
        """Forget the running episodes."""
        self.running[:] = 0.0
        self.steps[:] = 0


class EndedEpisode(NamedTuple):
    """A member's episode that ended; `drspcrl.training.callbacks.Episode` explains the rest."""

    member: int
    step: int
    total_reward: float
    length: int
    role: str
    world: dict[str, float]


class Collector:
    """Steps the environments of all members together.

    Args:
        task: name of the task.
        seeds: a seed for each member; members of equal seed meet equal start states.
        envs: environments of each member.
        threads: threads for the physics, 0 for all cores.
        stream: which of a seed's streams of random numbers to draw from.
        perturbations: what each member's environments are perturbed with, nothing by default.

    Attributes:
        worlds: what puts episodes into worlds; None for the simulator as it is.
        faulty: members whose actions or observations have left the finite numbers, [members].
        faults: which reading of a member's own environment it was, by member; of the others,
            nobody's environment is to blame.
        steps: environment steps of each member; whoever restores a run says how many there were.
        ended: episodes that ended, where somebody wants to know; None where nobody does.

    Raises:
        InputError: an unknown task, or observations that are not a vector.
    """

    def __init__(
        self,
        task: str,
        seeds: Sequence[int],
        envs: int,
        threads: int = 0,
        stream: int = TRAINING,
        perturbations: Sequence[tuple[Perturbation, ...]] = (),
    ):
        self.members, self.envs = len(seeds), envs
        settings = [own for own in perturbations for _ in range(envs)] if any(perturbations) else []
        self.env = make(task, self.members * envs, threads=threads, perturbations=settings or None)
        if len(self.env.observation_space.shape) != 1 or len(self.env.action_space.shape) != 1:
            raise InputError(
                f"{task} has observations of shape {self.env.observation_space.shape} and actions "
                f"of shape {self.env.action_space.shape}; vectors are needed, e.g. by "
                "gymnasium.wrappers.FlattenObservation"
            )
        self.observation_size = self.env.observation_space.shape[0]
        self.action_size = self.env.action_space.shape[0]
        self.low = self.env.action_space.low.astype(np.float32)
        self.high = self.env.action_space.high.astype(np.float32)
        self.episodes = Episodes(self.members, envs)
        self.worlds: EpisodeWorlds | None = None
        self.faulty = np.zeros(self.members, bool)
        self.faults: dict[int, str] = {}
        self.steps = 0
        self.ended: list[EndedEpisode] | None = None
        self._seeds, self._stream = seeds, stream
        self._restarts = 0

    def enter(self, worlds: EpisodeWorlds) -> None:
        """From the next `reset` on, every episode is in a world."""
        self.worlds = self.env.hook = worlds

    @property
    def coordinates(self) -> int:
        """World coordinates that follow the task's own readings in observations."""
        return 0 if self.worlds is None else self.worlds.model.size

    @property
    def exact(self) -> bool:
        """Whether a restored collector continues within the running episodes."""
        return self.env.can_restore

    def reset(self) -> np.ndarray:
        """Start over; the first observations, [members, envs, O]."""
        # Each time that episodes are lost, others follow: the same ones again would count twice.
        stream = (self._restarts, self._stream)
        seeds = [(seed, e, *stream) for seed in self._seeds for e in range(self.envs)]
        first = self.env.reset(seeds=seeds)
        self._note_faults()
        with np.errstate(over="ignore"):  # it is noted
            first = first.astype(np.float32)
        if self.worlds is not None:
            first = np.concatenate([first, self.worlds.features.astype(np.float32)], axis=1)
        return first.reshape(self.members, self.envs, -1)

    def starts(self, rounds: int = 4) -> np.ndarray:
        """Observations that episodes may start with, [members, rounds·envs, O]; it resets all.

        They are those of the simulator as it is, and their episodes do not count.
        """
        hook, self.env.hook = self.env.hook, None
        seeds = [
            [(s, e, k, STARTS) for s in self._seeds for e in range(self.envs)]
            for k in range(rounds)
        ]
        with np.errstate(over="ignore"):
            drawn = [self.env.reset(seeds=own).astype(np.float32) for own in seeds]
        self._note_faults()
        self.env.hook = hook
        shape = (rounds, self.members, self.envs, -1)
        by_member = np.stack(drawn).reshape(shape).swapaxes(0, 1)
        return by_member.reshape(self.members, rounds * self.envs, -1)

    def state(self) -> dict[str, np.ndarray]:
        """Everything that decides the future, by name, [members, ...] each."""
        saved = {f"episodes/{name}": array for name, array in self.episodes.state().items()}
        saved["restarts"] = np.full(self.members, self._restarts)
        if self.worlds is not None:
            saved |= {f"worlds/{name}": array for name, array in self.worlds.state().items()}
        if self.exact:
            shape = (self.members, self.envs)
            for name, array in self.env.state().items():
                saved[f"env/{name}"] = array.reshape(*shape, *array.shape[1:])
        return saved

    def restore(self, state: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Continue from a `state()`.

        Returns:
            The first observations of new episodes where the running ones could not be restored;
            None where they are still running.
        """
        self.episodes.restore(_below(state, "episodes/"))
        self._restarts = int(state["restarts"].max())
        env = _below(state, "env/")
        exact = self.exact and bool(env)  # a user's environment may have learned since to do so
        if exact:
            rows = self.members * self.envs
            self.env.restore({k: a.reshape(rows, *a.shape[2:]) for k, a in env.items()})
        if self.worlds is not None:
            self.worlds.restore(_below(state, "worlds/"), exact=exact)
        if exact:
            return None
        self._restarts += 1
        self.episodes.abandon()
        return self.reset()

    def step(self, unit_actions: np.ndarray) -> np.ndarray:
        """One step of all environments.

        Args:
            unit_actions: actions in [−1, 1], [members, envs, A].

        Returns:
            The outcome in one array for one transfer, [members, envs, 2O + 3 + W]: the next
            observation, the true successor, reward, terminated, ended, and the world of the
            episode that the next observation belongs to.
        """
        self.faulty |= ~np.isfinite(unit_actions).all(axis=(1, 2))
        if self.faulty.any():  # a simulator may not survive what is no number
            unit_actions = np.nan_to_num(unit_actions)
        actions = stretch(np.clip(unit_actions, -1.0, 1.0), self.low, self.high)
        counted = None if self.worlds is None else self.worlds.role == TRAINED
        before = None if self.ended is None else self._worlds_now()
        step = self.env.step(actions.reshape(-1, self.action_size))
        self.steps += self.envs
        self._note_faults()
        ended = step.ended
        shape = (self.members, self.envs)
        counted = None if counted is None else counted.reshape(shape)
        if self.ended is not None and ended.any():
            self.ended += self._ended_now(ended, step.reward, before)
        self.episodes.include(step.reward.reshape(shape), ended.reshape(shape), counted)
        size = self.observation_size
        flags = 2 * size  # reward, terminated, ended
        outcome = np.empty((self.members * self.envs, flags + 3 + self.coordinates), np.float32)
        with np.errstate(over="ignore"):
            outcome[:, :size] = step.observation
            outcome[:, size:flags] = step.final_observation
        outcome[:, flags], outcome[:, flags + 1] = step.reward, step.terminated
        outcome[:, flags + 2] = ended
        if self.worlds is not None:
            outcome[:, flags + 3 :] = self.worlds.features
        outcome = outcome.reshape(*shape, -1)
        self.faulty |= ~np.isfinite(outcome).all(axis=(1, 2))
        return outcome

    def _worlds_now(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Role and world of each running episode: an environment's next one begins with its end."""
        if self.worlds is None:
            return None
        return self.worlds.role.copy(), self.worlds.features.copy()

    def _ended_now(
        self,
        ended: np.ndarray,
        reward: np.ndarray,
        worlds: tuple[np.ndarray, np.ndarray] | None,
    ) -> list[EndedEpisode]:
        """The episodes that this step ended, before their sums begin again."""
        found = []
        for i in np.flatnonzero(ended).tolist():
            member, number = divmod(i, self.envs)
            total = float(self.episodes.running[member, number] + reward[i])
            length = int(self.episodes.steps[member, number]) + 1
            role, world = ROLES[TRAINED], {}
            if worlds is not None and self.worlds is not None and self.worlds.active[member]:
                role = ROLES[worlds[0][i]]
                world = dict(zip(self.worlds.model.names, worlds[1][i].tolist(), strict=True))
            found.append(EndedEpisode(member, self.steps, total, length, role, world))
        return found

    def _note_faults(self) -> None:
        """Note whose own environment has just given what is no finite number."""
        for i, fault in self.env.take_faults().items():
            member, number = divmod(i, self.envs)
            within = self.episodes.steps[member, number] + 1
            where = "at its reset" if fault.starting else f"at step {within:,} of an episode"
            when = "in an evaluation" if self._stream == EVALUATION else f"at step {self.steps:,}"
            words = f"its environment {number} gave {fault.reading} {where}, {when}"
            self.faults.setdefault(member, words)
            self.faulty[member] = True

    def close(self) -> None:
        """Release the environments."""
        self.env.close()


def _below(state: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


class TrainEvaluator:
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
