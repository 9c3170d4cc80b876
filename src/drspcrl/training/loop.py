"""What the two kinds of training loop have in common, a loop made from settings or checkpoints."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from drspcrl.divergences import Divergence
from drspcrl.divergences.registry import divergence_class
from drspcrl.errors import InputError
from drspcrl.learners.cpu.threefry import quick
from drspcrl.learners.registry import learner_class
from drspcrl.learners.replay import EnvStep
from drspcrl.learners.uncertainty import Plain, Uncertainty
from drspcrl.runfolder.checkpoint import Saved, join, member
from drspcrl.training.collector import Collector
from drspcrl.training.settings import Settings
from drspcrl.transitions.nominal import Scales, Strength

Device = Any  # jax.Device is a variable to type checkers


class Loop(ABC):
    """A population at some point of its training.

    Attributes:
        collector: the environments.
        learner: the algorithm.
        hyper: the members' numbers, [M] each.
        uncertainty: how strong it is for the members (ε, budget, tilt or noise), [M] each; what
            kind it is, `learner.uncertainty` says.
        state: the members' learner states, stacked.
        steps: environment steps of each member so far.
        metrics: what the newest updates said, [M] each; nan or empty before the first.
        saved: names of the attributes that decide the future, besides the environments: whatever
            `iterate` or a setter changes and a later `iterate` reads. Arrays are [M, ...]; plain
            numbers belong to all members.
    """

    saved: ClassVar[tuple[str, ...]] = ()

    collector: Collector
    learner: Any
    hyper: Any
    uncertainty: Any
    state: Any
    steps: int = 0
    metrics: dict[str, Array]

    @abstractmethod
    def iterate(self) -> None:
        """Collect some steps and learn from what there is."""

    @property
    def learned(self) -> bool:
        """Whether there was an update yet; before the first, values say nothing."""
        return self.steps > 0

    @abstractmethod
    def signal(self) -> dict[str, np.ndarray]:
        """The signal for curricula, [M, …] each; empty from plain learners."""

    @abstractmethod
    def restart(self, first: np.ndarray) -> None:
        """Continue in new episodes, the running ones being lost.

        Args:
            first: their first observations, [M, E, O].
        """

    @abstractmethod
    def extend(self, steps: int) -> None:
        """Make a run longer than it was made for."""

    def tree(self) -> dict[str, Any]:
        """Everything that decides the future, besides the environments, as one tree."""
        return {name.removeprefix("_"): getattr(self, name) for name in self.saved}

    def restore(self, tree: dict[str, Any]) -> None:
        """Continue from the `tree` of a loop that was made in the same way."""
        for name in self.saved:
            setattr(self, name, tree[name.removeprefix("_")])

    def set_epsilon(self, values: np.ndarray) -> None:
        """Train against another radius from the next iteration on; nothing is recompiled.

        Args:
            values: ε of each member, [M].

        Raises:
            InputError: another number of members, or an ε that is negative or not finite.
        """
        now = jnp.asarray(self.uncertainty.epsilon)
        values = np.asarray(values, np.float32)
        if values.shape != now.shape or not (np.isfinite(values) & (values >= 0)).all():
            raise InputError(
                f"epsilon is {values}; "
                f"give one finite number ≥ 0 for each of the {len(now)} members"
            )
        self.uncertainty = self.uncertainty._replace(epsilon=jax.device_put(values, now.sharding))
        if self.collector.worlds is not None:
            self.collector.worlds.set_radius(values)

    def deterministic_actions(self, observations: np.ndarray) -> np.ndarray:
        """Actions of the policies in an evaluation: [M, n, O] → [M, n, A]."""
        return np.asarray(self._act_deterministic(self.state, observations))

    def _known_episodes(self) -> tuple[np.ndarray, np.ndarray] | None:
        """First observations and worlds of the newest probes and anchors, [M, K, ...] each."""
        worlds = self.collector.worlds
        return None if worlds is None else worlds.known_episodes()

    def _with_episodes(self, signal: Mapping[str, Array]) -> dict[str, np.ndarray]:
        """A signal on the host, with what the episodes in worlds say beside it."""
        numbers = {name: np.asarray(values) for name, values in signal.items()}
        worlds = self.collector.worlds
        if worlds is None or not numbers:
            return numbers
        if "pool" in numbers:
            pool, weights = numbers.pop("pool"), numbers.pop("pool_weights")
            tilted = np.asarray(self.uncertainty.tilt)[:, None] > 0
            if self.learned:  # before that, values say nothing
                worlds.set_pool(pool, np.where(tilted, weights, 0.0))
        return numbers | worlds.episode_signal(numbers["probe_values"])

    def _jit_deterministic(self) -> None:
        self._act_deterministic = jax.jit(jax.vmap(self.learner.act_deterministic))


def member_keys(seeds: Sequence[int], use: int, place: Device) -> Array:
    """One key for each member and use, on a device; it depends on the member's seed alone."""
    keys = jnp.stack([jax.random.fold_in(jax.random.key(seed), use) for seed in seeds])
    return jax.device_put(quick(keys, place.platform), place)


def unpack(outcome: Array, size: int) -> EnvStep:
    """The parts of a `Collector.step` of one member, [E, 2O + 3 + W].

    Observations carry the world of their episode behind the task's readings. At an episode's end
    that of the true successor is the next episode's: nothing is learned from it, because a
    transition's world is that of the observation it began with.
    """
    world = outcome[..., 2 * size + 3 :]
    return EnvStep(
        observation=jnp.concatenate([outcome[..., :size], world], axis=-1),
        final_observation=jnp.concatenate([outcome[..., size : 2 * size], world], axis=-1),
        reward=outcome[..., 2 * size],
        terminated=outcome[..., 2 * size + 1] > 0,
        ended=outcome[..., 2 * size + 2] > 0,
    )


def blank_outcome(first: np.ndarray, size: int) -> np.ndarray:
    """First observations [M, E, O + W] as an outcome that `unpack` reads, with no step before."""
    nothing = np.zeros((*first.shape[:2], size + 3), np.float32)
    return np.concatenate([first[..., :size], nothing, first[..., size:]], axis=-1)


def stacked_hyper(kind: type, each: Sequence[Settings]) -> Any:
    """The numbers of `kind` from the settings of each member, [M] each."""
    flat = [settings.flat() for settings in each]
    missing = kind._field_defaults  # such as settings of another form of uncertainty
    numbers = {
        name: [float(own.get(name, missing.get(name))) for own in flat] for name in kind._fields
    }
    return kind(**{name: jnp.array(values, jnp.float32) for name, values in numbers.items()})


def make_loop(
    algorithm: str,
    settings: Settings,
    collector: Collector,
    seeds: Sequence[int],
    steps: int,
    device: Device,
    memory: Device,
    strength: Strength | None = None,
    member_settings: Sequence[Settings] | None = None,
    worlds: tuple[Uncertainty, Any] | None = None,
) -> Loop:
    """A population at the start of its training.

    Args:
        algorithm: its name.
        settings: what all members have in common.
        collector: the environments.
        seeds: a seed for each member.
        steps: length of the run.
        device: where to learn.
        memory: where replay lives.
        strength: what the members are trained against, [M] each, see
            `drspcrl.training.transitions`; without it the learners are the plain ones.
        member_settings: the settings of each member, where they differ in a number.
        worlds: learning in worlds, and the numbers in which members differ there, see
            `drspcrl.training.worlds`.
    """
    members = len(seeds)
    each = list(member_settings or [settings] * members)
    against: Any = no_uncertainty(members) if strength is None else strength
    form: Uncertainty = Plain()
    if worlds is not None:
        form, against = worlds
    elif strength is not None:
        from drspcrl.training.transitions import transitions_of  # which few trainings need

        form = transitions_of(each, strength, device.platform)
    kind = learner_class(algorithm)
    learner = kind.of(settings.learner, form)
    hyper = stacked_hyper(kind.Hyper, each)
    return loop_class(kind.loop)(
        *(learner, hyper, collector, seeds, settings.learner, steps, device, memory, against)
    )


def loop_class(kind: str) -> Any:
    """The training loop of a learner, by the name that it says."""
    if kind == "on_policy":
        from drspcrl.training.onpolicy import OnPolicyLoop

        return OnPolicyLoop
    from drspcrl.training.offpolicy import OffPolicyLoop

    return OffPolicyLoop


def ball(settings: Settings) -> Divergence:
    """The divergence whose ball ε is the radius of, as curricula know it.

    In worlds that is a Wasserstein ball around the simulator, see docs/concepts/worlds.md.
    """
    if settings.transitions is None:
        return divergence_class("wasserstein").for_learners()
    return divergence_class(settings.transitions.divergence).for_learners()


def no_uncertainty(members: int) -> Strength:
    """The simulator at its word, for every member."""
    zeros = np.zeros(members, np.float32)
    return Strength(zeros, Scales(zeros, zeros, zeros))


def member_parts(loop: Loop, extra: Sequence[Any]) -> list[dict[str, Any]]:
    """The parts of each member's checkpoint: learner, environments, and what was handed in."""
    tree, environments = loop.tree(), loop.collector.state()
    return [
        {"loop": member(tree, k), "collector": member(environments, k), "extra": extra[k]}
        for k in range(len(extra))
    ]


def put_back(loop: Loop, saved: Sequence[Saved | None], extra: Sequence[Any]) -> list[Any]:
    """Let a fresh loop continue from checkpoints of its members.

    Args:
        loop: made as the saved one was made.
        saved: a checkpoint of each member, all of the same step; None for one that has diverged,
            whose place in the loop is filled with another member.
        extra: fresh trees of the kind that were handed in, as templates.

    Returns:
        What was handed in, as it was saved.

    Raises:
        InputError: a checkpoint does not fit.
    """
    living = next(one for one in saved if one is not None)
    filled = [one or living for one in saved]
    tree = join(filled, "loop", loop.tree())
    for name, value in tree.items():
        if isinstance(value, dict) and not value:  # it is unknown before the first iteration
            tree[name] = _stacked(filled, f"loop/{name}")
    loop.restore(tree)
    try:
        first = loop.collector.restore(_stacked(filled, "collector"))
    except KeyError as error:
        raise InputError(f"{living.path} lacks {error} of its environments") from None
    if first is not None:
        loop.restart(first)
    pairs = zip(saved, extra, strict=True)
    return [own if one is None else one.like("extra", own) for one, own in pairs]


def _stacked(saved: Sequence[Saved], part: str) -> dict[str, np.ndarray]:
    """A part that is a dictionary of arrays, for all members."""
    flat = [one.flat(part) for one in saved]
    try:
        return {name: np.stack([own[name] for own in flat]) for name in flat[0]}
    except (KeyError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{saved[0].path} does not fit its population: {reason}") from None


@jax.jit
def finite_members(tree: Any) -> Array:
    """Which members have nothing but finite numbers in a tree of arrays [M, ...]."""
    floats = [a for a in jax.tree.leaves(tree) if jnp.issubdtype(a.dtype, jnp.floating)]
    each = [jnp.isfinite(a).reshape(a.shape[0], -1).all(axis=1) for a in floats]
    return jnp.stack(each).all(axis=0)
