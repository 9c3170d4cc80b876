"""Attacks on observations: the worst that the policy can be shown within a small box.

An attack changes what the policy sees by scale·δ with |δ|∞ ≤ radius, where the scale is what the
policy normalises its observations by. The simulation stays as it is, so that an attack is no
wrapper of an environment: `drspcrl.evaluate`, which knows the policy, plays it.

`ActionAttack` and `CriticAttack` take the steps of SA-MDP and ATLA (Zhang et al. 2020, 2021): a
random start, and steps of radius/steps along the sign of a gradient, projected onto the box.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import gymnasium
import numpy as np

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.perturbations.kernel import Context, Kernel, check_range
from drspcrl.perturbations.wrapper import PerturbationWrapper

Pullback = Callable[[np.ndarray], np.ndarray]
MOST_STEPS = 10_000


class Critic(Protocol):
    """What an attack may know of how good the policy takes its situation to be."""

    def gradient(self, seen: np.ndarray, true: np.ndarray, policy: Any) -> np.ndarray:
        """The gradient of the value in what the policy sees [n, O], in the true state [n, O]."""
        ...


@dataclass(frozen=True)
class Target:
    """The policy that is attacked, at n observations.

    Attributes:
        observations: the true ones, [n, O].
        scale: one unit of δ in each reading, [O].
        act: actions [n, A] for what the policy sees [n, O], in units of half their range.
        policy: an object with `vjp` where the policy has gradients, else None.
        critic: its critic, None where there is none.
    """

    observations: np.ndarray
    scale: np.ndarray
    act: Callable[[np.ndarray], np.ndarray]
    policy: Any = None
    critic: Critic | None = None

    def seen(self, shift: np.ndarray) -> np.ndarray:
        """What the policy sees where its normalised observations are shifted by δ [n, O]."""
        return self.observations + self.scale * shift


class Attack(ABC):
    """One way to choose δ. Draws are uniform numbers in [0, 1)."""

    @abstractmethod
    def draws(self, size: int) -> int:
        """How many random numbers one observation of a size takes."""

    @abstractmethod
    def shift(self, target: Target, radius: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """δ.

        Args:
            target: the policy and its observations.
            radius: bounds on |δ|∞, [n, 1].
            drawn: random numbers, [n, draws(O)].

        Returns:
            δ [n, O].
        """

    def missing(self, policy: Any) -> str:
        """What a policy has not that this attack needs, in a few words; empty if it has all."""
        del policy
        return ""


@dataclass(frozen=True)
class Uniform(Attack):
    """δ uniform in the box: what a worst case is to be compared with."""

    def draws(self, size: int) -> int:
        """One for each reading."""
        return size

    def shift(self, target: Target, radius: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """See `Attack`."""
        del target
        return radius * (2.0 * drawn - 1.0)


@dataclass(frozen=True)
class Ascent(Attack):
    """Projected steps along the sign of a gradient.

    Attributes:
        steps: K; each is radius/K long. One more is taken, so that a number whose start was on the
            wrong side of 0 can reach its bound as well.
    """

    steps: int = 10

    def __post_init__(self) -> None:
        _check_count("steps", self.steps)

    def draws(self, size: int) -> int:
        """One for each reading."""
        return size

    def climb(
        self,
        gradient: Callable[[np.ndarray], np.ndarray],
        start: np.ndarray,
        radius: np.ndarray,
    ) -> np.ndarray:
        """δ ← Π(δ + radius/K · sign ∇), K + 1 times, from a start in units of radius/K."""
        length = radius / self.steps
        shift = length * start
        for _ in range(self.steps + 1):
            slope = gradient(shift)
            # Where a policy is saturated there is no gradient; then outwards, where it was going.
            way = np.sign(np.where(slope == 0.0, shift, slope))
            shift = np.clip(shift + length * way, -radius, radius)
        return shift


class ActionDifference(Ascent):
    """Maximal action difference: ascend |g(s + δ) − g(s)|², g being the policy's outputs.

    For a policy with one action that is linear in the observation, g = ⟨w, s⟩, the answer is
    ± radius · sign w, with the sign of the start.
    """

    def shift(self, target: Target, radius: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """See `Attack`."""
        quiet, _ = target.policy.vjp(target.observations)

        def gradient(shift: np.ndarray) -> np.ndarray:
            outputs, pullback = target.policy.vjp(target.seen(shift))
            return pullback(outputs - quiet) * target.scale

        # Without a start there is no difference yet, and no gradient of its square.
        return self.climb(gradient, np.where(drawn < 0.5, -1.0, 1.0), radius)

    def missing(self, policy: Any) -> str:
        """A gradient."""
        return "" if callable(getattr(policy, "vjp", None)) else "the policy gives no gradient"


class CriticDescent(Ascent):
    """Descend what the critic says: V(s + δ), or Q(s, π(s + δ))."""

    def shift(self, target: Target, radius: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """See `Attack`."""
        critic, true = target.critic, target.observations
        assert critic is not None

        def gradient(shift: np.ndarray) -> np.ndarray:
            return -critic.gradient(target.seen(shift), true, target.policy) * target.scale

        return self.climb(gradient, 2.0 * drawn - 1.0, radius)

    def missing(self, policy: Any) -> str:
        """A critic."""
        if getattr(policy, "critic", None) is not None:
            return ""
        return getattr(policy, "without_critic", "") or "the policy comes without its critic"


@dataclass(frozen=True)
class Search(Attack):
    """Maximal action difference by questions alone, for a policy that gives no gradient.

    A random search among the corners of the box, as in the Square Attack (Andriushchenko et al.
    2020): flip the signs of a random share of δ, and keep what moves the action further. The share
    falls from a half to a single number.

    Attributes:
        queries: how often the policy is asked in each step of an episode.
    """

    queries: int = 50

    def __post_init__(self) -> None:
        _check_count("queries", self.queries)

    def draws(self, size: int) -> int:
        """One for each reading and question."""
        return size * self.queries

    def shift(self, target: Target, radius: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """See `Attack`."""
        quiet = target.act(target.observations)
        coins = drawn.reshape(len(drawn), self.queries, -1)
        best = np.where(coins[:, 0] < 0.5, -1.0, 1.0)
        moved = self._moved(target, quiet, radius * best)
        for k in range(1, self.queries):
            share = 0.5 * (1.0 - k / self.queries) ** 2
            flipped = (coins[:, k] < share) | (coins[:, k] == coins[:, k].min(1, keepdims=True))
            tried = np.where(flipped, -best, best)
            further = self._moved(target, quiet, radius * tried)
            better = further > moved
            best, moved = np.where(better[:, None], tried, best), np.where(better, further, moved)
        return radius * best

    @staticmethod
    def _moved(target: Target, quiet: np.ndarray, shift: np.ndarray) -> np.ndarray:
        return np.sum(np.square(target.act(target.seen(shift)) - quiet), axis=1)


class AttackKernel(Kernel):
    """Refuses to act on an environment alone."""

    stream = 0
    hooks = frozenset()

    def __init__(self, context: Context, layer: str, **settings: Any):
        super().__init__(context, layer)
        raise InputError(
            "an attack needs the policy, which an environment does not know; play it with "
            "drspcrl.evaluate, e.g. with the suite attacks, as the last part of a setting"
        )

    @classmethod
    def check_level(cls, level: float) -> None:
        """A radius."""
        check_range("attack", level, 0.0, np.inf, closed=False)


class AttackWrapper(PerturbationWrapper):
    """An attack as a row of a suite; as a wrapper it is refused.

    Attributes:
        Attack: what it does, made with the wrapper's settings.
    """

    Kernel = AttackKernel
    Attack: ClassVar[Callable[..., Attack]]


class RandomAttack(AttackWrapper):
    """Normalised observations are off by uniform noise in [−level, level].

    Args:
        env: refused, see `AttackKernel`.
        level: the radius.
    """

    Attack = Uniform

    def __init__(self, env: gymnasium.Env, level: float):
        super().__init__(env, level)


class ActionAttack(AttackWrapper):
    """Normalised observations are off by at most `level`, so that the action changes most.

    Args:
        env: refused, see `AttackKernel`.
        level: the radius.
        steps: gradient steps for each observation.
    """

    Attack = ActionDifference

    def __init__(self, env: gymnasium.Env, level: float, steps: int = 10):
        super().__init__(env, level, steps=steps)


class CriticAttack(AttackWrapper):
    """Normalised observations are off by at most `level`, as bad as the critic can tell.

    Args:
        env: refused, see `AttackKernel`.
        level: the radius.
        steps: gradient steps for each observation.
    """

    Attack = CriticDescent

    def __init__(self, env: gymnasium.Env, level: float, steps: int = 10):
        super().__init__(env, level, steps=steps)


class QueryAttack(AttackWrapper):
    """`ActionAttack` for any policy: by asking it, without its gradient.

    Args:
        env: refused, see `AttackKernel`.
        level: the radius.
        queries: how often the policy is asked for each observation.
    """

    Attack = Search

    def __init__(self, env: gymnasium.Env, level: float, queries: int = 50):
        super().__init__(env, level, queries=queries)


def _check_count(name: str, count: int) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_STEPS:
        raise InputError(f"{name} of an attack are {shown(count)}; give 1 to {MOST_STEPS:,}")
