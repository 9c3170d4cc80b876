"""A batch of environments in worlds: which world each episode is in, and how it went there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from drspcrl.worlds.model import WorldModel

if TYPE_CHECKING:
    from drspcrl.envs.batch import BatchEnv

LAYER = "world"
_STREAM = 0x776F726C  # apart from every other use of the same seed
TRAINED, PROBE, ANCHOR = range(3)
"""What an episode is for: training at the curriculum's radius, at the full budget, at 0."""
ROLES = ("trained", "probe", "anchor")
LOGGING, PACING = range(2)  # who asks how the episodes went
FEWEST = 8
"""Probes and anchors from which on a critic is said to be calibrated or not."""
_MEMORY = 0.8  # weight of the past in the moving average of the anchors' returns
_DOUBT = 3.0  # standard errors by which that average must exceed the best to be a new best
_SURE = 5  # anchors' returns from which on a standard error is known, and a best counts


@dataclass(frozen=True)
class Roles:
    """How many environments are probes and anchors.

    Attributes:
        probe_every: one environment in so many is a probe, at the full budget; 0 for none.
        anchor_every: one in so many is an anchor, in the simulator as it is; 0 for none.
    """

    probe_every: int = 8
    anchor_every: int = 8

    def of(self, env: int, envs: int, episode: int) -> int:
        """The role of an environment's episode.

        Of as many environments as that, one has the role throughout; of fewer, one episode in so
        many has it.
        """

        def number(every: int) -> int:
            return (env if envs >= every else env + envs * episode) % every

        if self.anchor_every and number(self.anchor_every) == 0:
            return ANCHOR
        if self.probe_every and number(self.probe_every) == self.probe_every - 1:
            return PROBE
        return TRAINED


class EpisodeWorlds:
    """Draws a world at the start of every episode and puts the simulator into it.

    The unit draw u of an episode follows from (seed, environment, number of its episode) alone,
    whatever the threads and whatever the radius. The radius is that of the moment when the episode
    begins.

    Args:
        model: the task's worlds.
        env: the environments, member by member.
        seeds: a seed for each member, [M].
        budgets: ε_budget of each member, [M]; 0 for one that is trained without worlds.
        roles: probes and anchors of each member.
        discount: γ of each member, [M].
        window: probes and anchors that are remembered for the critic's calibration.
        candidates: unit draws among which a tilt chooses, see `set_pool`; 0 where none does.
    """

    def __init__(
        self,
        model: WorldModel,
        env: "BatchEnv",
        seeds: Sequence[int],
        budgets: Sequence[float],
        roles: Sequence[Roles],
        discount: Sequence[float],
        window: int = 32,
        candidates: int = 0,
    ):
        self.model, self.env = model, env
        self.members, self.envs = len(seeds), env.num_envs // len(seeds)
        self._seeds, self._roles = list(seeds), list(roles)
        self._budget = np.asarray(budgets, float)
        self._discount = np.repeat(np.asarray(discount, float), self.envs)
        self.rho = np.zeros(self.members)
        rows, size = env.num_envs, env.observation_space.shape[0]
        self.features = np.zeros((rows, model.size))
        self.role = np.zeros(rows, np.int64)
        self._episode = np.zeros(rows, np.int64)
        self._first = np.zeros((rows, size), np.float32)
        self._gain = np.zeros(rows)  # Σ γ^t r_t of the running episode
        self._weight = np.ones(rows)  # γ^t
        self._plain = np.zeros(rows)  # Σ r_t
        # Sums over finished episodes since they were last asked for: for the log, for the pace.
        self._count = np.zeros((self.members, 2, len(ROLES)), np.int64)
        self._return = np.zeros((self.members, 2, len(ROLES)))
        # The newest probes and anchors: where they began, in which world, what followed.
        self._ring_first = np.zeros((self.members, window, size), np.float32)
        self._ring_world = np.zeros((self.members, window, model.size), np.float32)
        self._ring_gain = np.full((self.members, window), np.nan)
        self._ring_return = np.full((self.members, window), np.nan)
        self._ring_probe = np.zeros((self.members, window), bool)
        self._ended = np.zeros(self.members, np.int64)
        # Moving average of the anchors' returns, of their squared distance from it, and the highest
        # return that they have surely had.
        self._level = np.full(self.members, np.nan)
        self._scatter = np.zeros(self.members)
        self._anchors = np.zeros(self.members, np.int64)
        self._best = np.full(self.members, np.nan)
        # What a tilt draws from; weights of 0 for the law itself.
        self._pool = np.zeros((self.members, candidates, model.size))
        self._pool_weights = np.zeros((self.members, candidates))
        self._rank = np.full(self.members, np.nan)
        self._error = np.full(self.members, np.nan)
        self._share = np.full(self.members, np.nan)

    @property
    def active(self) -> np.ndarray:
        """Which members are trained in worlds, [M]."""
        return self._budget > 0

    def set_radius(self, rho: np.ndarray) -> None:
        """The radius of each member's coming episodes, [M]."""
        self.rho = np.where(self.active, np.asarray(rho, float), 0.0)

    def set_pool(self, pool: np.ndarray, weights: np.ndarray) -> None:
        """Draw the coming trained episodes among candidates, likelier ones more often.

        Args:
            pool: unit draws, [M, n, W].
            weights: how likely each is, [M, n]; all 0 for a member that keeps to the law.
        """
        self._pool[:] = pool
        self._pool_weights[:] = np.where(self.active[:, None], weights, 0.0)

    def begin(self, ids: np.ndarray) -> None:
        """Episodes are about to begin in some environments: draw their worlds."""
        entered = [i for i in ids.tolist() if self._budget[i // self.envs] > 0]
        for i in entered:
            member, env = divmod(i, self.envs)
            episode = int(self._episode[i])
            role = self._roles[member].of(env, self.envs, episode)
            radius = (self.rho[member], self._budget[member], 0.0)[role]
            random = np.random.default_rng((_STREAM, self._seeds[member], env, episode))
            draw = self._tilted if role == TRAINED else self._untilted
            self.features[i] = radius * draw(member, random)
            self.role[i] = role
            self._episode[i] += 1
        self._apply(np.array(entered, int))

    def begun(self, ids: np.ndarray, first: np.ndarray) -> None:
        """The first observations of those episodes."""
        self._first[ids] = first
        self._gain[ids] = self._plain[ids] = 0.0
        self._weight[ids] = 1.0

    def include(self, reward: np.ndarray) -> None:
        """The rewards of one step of all environments; before `finish` of those that ended."""
        self._gain += self._weight * reward
        self._weight *= self._discount
        self._plain += reward

    def finish(self, ids: np.ndarray) -> None:
        """Episodes ended in some environments, whose next ones have not begun yet."""
        for i in ids:
            member, role = int(i) // self.envs, int(self.role[i])
            self._count[member, :, role] += 1
            self._return[member, :, role] += self._plain[i]
            if role != TRAINED:
                place = self._ended[member] % self._ring_gain.shape[1]
                self._ring_first[member, place] = self._first[i]
                self._ring_world[member, place] = self.features[i]
                self._ring_gain[member, place] = self._gain[i]
                self._ring_return[member, place] = self._plain[i]
                self._ring_probe[member, place] = role == PROBE
                self._ended[member] += 1

    def take(self, asker: int) -> np.ndarray:
        """Mean return by role since this asker asked last, [M, 3]; nan where none ended."""
        count = self._count[:, asker]
        mean = self._return[:, asker] / np.where(count > 0, count, np.nan)
        self._count[:, asker] = 0
        self._return[:, asker] = 0.0
        return mean

    def episode_signal(self, probe_values: np.ndarray) -> dict[str, np.ndarray]:
        """What curricula hear of the episodes since the last time, [M] each; see docs/concepts.

        Args:
            probe_values: the critic's V(s₀, f) of `known_episodes`, [M, K].
        """
        means = self.take(PACING)
        self._include_anchors(means[:, ANCHOR])
        self._error[:], self._rank[:] = self.calibration(np.asarray(probe_values, float))
        self._share[:] = self.share_kept()
        returns = {f"{role}_return": means[:, k] for k, role in enumerate(ROLES)}
        return self.newest | returns

    def _include_anchors(self, found: np.ndarray) -> None:
        """Mean returns of anchors that ended, [M], nan for none, into level and best.

        The highest of many noisy averages lies above what was ever reached. So a new best is one
        that the average exceeds by `_DOUBT` of its standard errors.
        """
        fresh, m = ~np.isnan(found), _MEMORY
        past = np.where(np.isnan(self._level), found, self._level)
        weight = np.where(self._anchors == 0, 1.0, 1.0 - m)
        self._level[fresh] = (past + weight * (found - past))[fresh]
        self._scatter[fresh] = (m * self._scatter + (1 - m) * (found - past) ** 2)[fresh]
        self._anchors[fresh] += 1
        low = self._level - _DOUBT * self._standard_error()
        known = self._anchors > _SURE
        self._best[fresh] = np.where(known, np.fmax(self._best, low), low)[fresh]

    def _standard_error(self) -> np.ndarray:
        """Of the moving average, whose first return keeps the weight m^(n−1), [M]."""
        m, old = _MEMORY, _MEMORY ** np.maximum(self._anchors - 1.0, 0.0)
        variance = self._scatter / np.maximum(1.0 - old, 1.0 - m)
        return np.sqrt(variance * (old**2 + (1 - m) ** 2 * (1 - old**2) / (1 - m**2)))

    @property
    def newest(self) -> dict[str, np.ndarray]:
        """Premium and calibration as of the last `episode_signal`, [M] each."""
        return {
            "premium": self.premium,
            "calibration": self._rank,
            "calibration_error": self._error,
            "probe_share": self._share,
        }

    @property
    def premium(self) -> np.ndarray:
        """What robustness costs in the simulator as it is: 1 − J(ρ = 0)/best so far, [M]."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.maximum(self._best - self._level, 0.0) / np.abs(self._best)

    def calibration(self, probe_values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of V(s₀, f) against the discounted returns that followed, [M] each.

        It is taken over the newest probes and anchors, whose worlds differ most. Where episodes
        are long, the oldest of them are of a worse policy, which makes the correlation too small.

        Returns:
            Mean absolute error over mean absolute return, and Spearman's rank correlation; nan
            with fewer than `FEWEST` episodes.
        """
        error, rank = np.full(self.members, np.nan), np.full(self.members, np.nan)
        for k in range(self.members):
            known = np.isfinite(self._ring_gain[k])
            if known.sum() >= FEWEST:
                gain, value = self._ring_gain[k, known], probe_values[k, known]
                error[k] = np.mean(np.abs(value - gain)) / max(np.mean(np.abs(gain)), 1e-8)
                rank[k] = rank_correlation(value, gain)
        return error, rank

    def share_kept(self) -> np.ndarray:
        """What probes keep of the anchors' return, over the newest of both, [M]; nan: unknown."""
        share = np.full(self.members, np.nan)
        for k in range(self.members):
            known = np.isfinite(self._ring_return[k])
            probes, anchors = (
                self._ring_return[k, known & (self._ring_probe[k] == which)]
                for which in (True, False)
            )
            if min(len(probes), len(anchors)) >= FEWEST // 2 and np.mean(anchors) != 0:
                lost = np.mean(anchors) - np.mean(probes)
                share[k] = 1.0 - lost / abs(np.mean(anchors))
        return share

    def known_episodes(self) -> tuple[np.ndarray, np.ndarray]:
        """First observations and worlds of the newest probes and anchors, [M, K, ...] each."""
        return self._ring_first, self._ring_world

    def state(self) -> dict[str, np.ndarray]:
        """Everything that decides the future, by name, [M, ...] each."""
        return {name: _by_member(own, self.members).copy() for name, own in self._arrays().items()}

    def restore(self, state: Mapping[str, np.ndarray], *, exact: bool) -> None:
        """Continue from a `state()`.

        Args:
            state: what was saved.
            exact: whether the running episodes continue; else others begin after this, and only
                what has ended counts.
        """
        for name, own in self._arrays().items():
            if name in state:
                own[...] = np.asarray(state[name]).reshape(own.shape)
        if "anchors" not in state:  # an earlier version, whose best counted at once
            self._anchors[~np.isnan(self._level)] = _SURE
        if exact and len(self.model.parameters):  # physics scales are the simulator's own state
            self._set_parameters(np.flatnonzero(np.repeat(self.active, self.envs)))

    def _arrays(self) -> dict[str, np.ndarray]:
        found = {k.removeprefix("_"): v for k, v in vars(self).items() if k in _SAVED}
        return {name: own for name, own in found.items() if own.size}

    def _untilted(self, member: int, random: np.random.Generator) -> np.ndarray:
        del member
        return self.model.draw(random)

    def _tilted(self, member: int, random: np.random.Generator) -> np.ndarray:
        """A unit draw among a member's candidates; by the law where it has none."""
        if not self._pool_weights[member].any():
            return self.model.draw(random)
        reached = np.cumsum(self._pool_weights[member])
        chosen = np.searchsorted(reached, reached[-1] * random.random(), side="right")
        return self._pool[member, min(chosen, len(reached) - 1)]

    def _apply(self, ids: np.ndarray) -> None:
        if not ids.size:
            return
        if len(self.model.columns("physics")):
            self.model.enter(self.env.physics, ids, self.features[ids], LAYER)
        if len(self.model.parameters):
            self._set_parameters(ids)

    def _set_parameters(self, ids: np.ndarray) -> None:
        names = [parameter.name for parameter in self.model.parameters]
        rows = self.model.values(self.features[ids])
        for i, row in zip(ids, rows, strict=True):
            self.env.simulation.set_world(int(i), dict(zip(names, row.tolist(), strict=True)))


_SAVED = (
    *("rho", "features", "role", "_episode", "_first", "_gain", "_weight", "_plain"),
    *("_count", "_return", "_ring_first", "_ring_world", "_ring_gain", "_ring_return"),
    *(
        "_ring_probe",
        "_ended",
        "_level",
        "_scatter",
        "_anchors",
        "_best",
        "_rank",
        "_error",
        "_share",
    ),
    *("_pool", "_pool_weights"),
)


def _by_member(array: np.ndarray, members: int) -> np.ndarray:
    return array.reshape(members, -1, *array.shape[1:]) if len(array) != members else array


def rank_correlation(predicted: np.ndarray, followed: np.ndarray) -> float:
    """Spearman's, over the pairs that are known; nan below three, or where one side is constant."""
    known = np.isfinite(predicted) & np.isfinite(followed)
    if known.sum() < 3:
        return float("nan")
    from scipy.stats import rankdata

    ranks = rankdata(predicted[known]), rankdata(followed[known])
    deviations = [r - r.mean() for r in ranks]
    size = np.sqrt(np.prod([np.sum(d * d) for d in deviations]))
    return float(np.sum(deviations[0] * deviations[1]) / size) if size > 0 else float("nan")
