"""Algorithm 1 without estimates: gradients, rules, fixed points and where runs end."""

import numpy as np
import pytest

from drspcrl.curricula import Constant, SelfPaced, curriculum
from drspcrl.divergences import KL, ChiSquared, TotalVariation, Wasserstein
from drspcrl.errors import InputError
from drspcrl.tabular import garnet, robust_policy_evaluation, robust_value_iteration
from drspcrl.tabular.fixed_points import fixed_points, rule_drift
from drspcrl.tabular.self_paced import policy_gradient, softmax, train

GARNET = garnet(states=5, actions=2, successors=3, discount=0.9, seed=2)
UNIFORM = np.full((5, 2), 0.5)


@pytest.mark.parametrize(
    "divergence", [KL(), ChiSquared(), TotalVariation(), Wasserstein.between(np.arange(5.0))]
)
def test_the_policy_gradient_by_central_differences(divergence):
    mdp = GARNET.to_dense()
    θ = np.random.default_rng(1).normal(size=(5, 2))
    solution = robust_policy_evaluation(mdp, softmax(θ), divergence, 0.1)
    gradient = policy_gradient(solution, 0.9)
    for s, a in [(0, 0), (2, 1), (4, 0)]:
        shift = np.zeros((5, 2))
        shift[s, a] = 1e-5
        high, low = (
            robust_policy_evaluation(mdp, softmax(θ + sign * shift), divergence, 0.1)
            for sign in (1, -1)
        )
        numeric = (high.expected_return - low.expected_return) / 2e-5
        assert gradient[s, a] == pytest.approx(numeric, rel=1e-6, abs=1e-9)


def test_training_at_a_fixed_radius_finds_the_robust_optimum():
    run = train(GARNET, KL(), Constant(0.3), iterations=60, learning_rate=1.0, normalized=True)
    best = robust_value_iteration(GARNET, KL(), 0.3).expected_return
    assert run.robust_returns[-1] == pytest.approx(best, rel=2e-3)
    assert (np.diff(run.robust_returns) > -1e-9).all()
    np.testing.assert_array_equal(run.radii, 0.3)


def test_a_run_records_what_happened():
    rule = SelfPaced(budget=1.0, discount=0.9, rate=0.05)
    run = train(GARNET, KL(), rule, iterations=7, learning_rate=0.5)
    assert run.radii.shape == (8,)
    assert run.logits.shape == (8, 5, 2)
    assert run.radii[0] == 0.0
    assert run.multipliers[0] == np.inf  # and yet the run moves, because the slope is finite
    assert run.radii[-1] > 0.0
    for t in (0, 5):
        at = robust_policy_evaluation(GARNET, softmax(run.logits[t]), KL(), run.radii[t])
        assert run.robust_returns[t] == pytest.approx(at.expected_return)
        assert run.slopes[t] == pytest.approx(at.mean_slope)
        nominal = robust_policy_evaluation(GARNET, softmax(run.logits[t]), KL(), 0.0)
        assert run.nominal_returns[t] == pytest.approx(nominal.expected_return)


def test_signals_carry_what_curricula_need():
    seen = []

    class Spy(Constant):
        def update(self, state, signal):
            seen.append(signal)
            return state

    train(GARNET, KL(), Spy(0.2), iterations=2, learning_rate=0.0)
    signal = seen[1]
    at = robust_policy_evaluation(GARNET, UNIFORM, KL(), 0.2)
    assert (signal.step, signal.epsilon) == (1, 0.2)
    assert signal.multiplier == pytest.approx(at.mean_multiplier)
    assert signal.reward_scale == pytest.approx((at.occupancy * GARNET.rewards).sum())
    values = at.values[GARNET.successors]
    mean = (GARNET.probabilities * values).sum(axis=-1)
    variance = (GARNET.probabilities * values**2).sum(axis=-1) - mean**2
    assert signal.value_spread == pytest.approx((at.occupancy * np.sqrt(variance)).sum())
    assert signal.draws.shape == (32, 16)
    assert np.isin(signal.draws, at.values).all()
    np.testing.assert_array_equal(seen[0].draws, seen[1].draws)


def test_fixed_points_of_the_papers_rule():
    """Zero draws everything below a watershed to itself; above it there is one place of rest."""
    zero, watershed, rest = fixed_points(
        GARNET, KL(), 1.0, pacing=1.0, rule="radius", policy=UNIFORM, points=60
    )
    assert (zero.radius, zero.stable, zero.kind) == (0.0, True, "lower")
    assert (watershed.stable, watershed.kind) == (False, "root")
    assert (rest.stable, rest.kind) == (True, "root")
    assert watershed.radius == pytest.approx(0.372, abs=1e-3)
    assert rest.radius == pytest.approx(0.880, abs=1e-3)
    drift = rule_drift(GARNET, KL(), 1.0, pacing=1.0, rule="radius", policy=UNIFORM)
    for point in (watershed, rest):
        assert drift(point.radius) == pytest.approx(0.0, abs=1e-9)
        h = 1e-5
        slope = (drift(point.radius + h) - drift(point.radius - h)) / (2 * h)
        assert point.derivative == pytest.approx(slope, rel=1e-3)


@pytest.mark.parametrize(("start", "end"), [(0.36, 0.0), (0.385, 0.880), (1.0, 0.880)])
def test_the_papers_rule_ends_in_the_root_of_its_basin(start, end):
    rule = SelfPaced(budget=1.0, discount=0.9, rule="radius", rate=0.05, start=start)
    run = train(GARNET, KL(), rule, iterations=250, learning_rate=0.0)
    assert run.radii[-1] == pytest.approx(end, abs=1e-3)


@pytest.mark.filterwarnings("ignore:the curriculum's step size:UserWarning")
def test_a_rate_above_the_largest_does_not_settle():
    rest = fixed_points(GARNET, KL(), 1.0, pacing=1.0, rule="radius", policy=UNIFORM, points=60)[-1]
    ends = []
    for factor in (0.9, 1.1):
        rate, start = factor * rest.largest_rate, rest.radius + 1e-4
        rule = SelfPaced(budget=1.0, discount=0.9, rule="radius", rate=rate, start=start)
        run = train(GARNET, KL(), rule, iterations=60, learning_rate=0.0)
        ends.append(abs(run.radii[-1] - rest.radius))
    assert ends[0] < 1e-5 < 1e-3 < ends[1]


def test_the_rule_in_the_root_leaves_zero_and_may_rest_twice():
    points = fixed_points(GARNET, KL(), 1.0, pacing=1.0, rule="coordinate", policy=UNIFORM)
    assert [point.stable for point in points] == [True, False, True]
    first = points[0].radius
    rule = SelfPaced(budget=1.0, discount=0.9, rate=0.1)
    run = train(GARNET, KL(), rule, iterations=300, learning_rate=0.0)
    assert run.radii[0] == 0.0
    assert run.radii[-1] == pytest.approx(first, abs=1e-6)


def test_joint_runs_end_in_the_stable_root_of_the_joint_problem():
    """Policy and radius move together; θ_0 is the best policy for ε_0, up to a bounded tilt."""
    points = fixed_points(GARNET, KL(), 1.0, pacing=1.0, rule="radius", points=60)
    assert [point.kind for point in points] == ["lower", "root", "root"]
    _, watershed, rest = points
    for start, end in [(watershed.radius - 0.05, 0.0), (watershed.radius + 0.05, rest.radius)]:
        θ = 8.0 * robust_value_iteration(GARNET, KL(), start).policy
        rule = SelfPaced(budget=1.0, discount=0.9, rule="radius", rate=0.05, start=start)
        run = train(GARNET, KL(), rule, iterations=250, learning_rate=5.0, logits=θ)
        assert run.radii[-1] == pytest.approx(end, abs=5e-3)


def test_a_kink_is_a_watershed_where_the_best_policy_changes():
    mdp = garnet(states=5, actions=2, successors=3, discount=0.9, seed=6)
    _, kink, rest = fixed_points(mdp, KL(), 1.0, pacing=1.0, rule="radius", points=60)
    assert (kink.kind, kink.stable, kink.largest_rate) == ("kink", False, 0.0)
    assert kink.radius == pytest.approx(0.463, abs=1e-3)
    assert rest.radius == pytest.approx(0.968, abs=1e-3)
    before, after = (
        robust_value_iteration(mdp, KL(), kink.radius + step).policy for step in (-1e-6, 1e-6)
    )
    assert not np.array_equal(before, after)


def test_without_spread_the_budget_itself_is_the_place_of_rest():
    mdp = garnet(states=4, actions=2, successors=1, seed=0)  # point masses
    for rule in ("radius", "coordinate"):
        (only,) = fixed_points(mdp, KL(), 1.0, pacing=1.0, rule=rule, points=5)
        assert (only.radius, only.kind, only.stable) == (1.0, "upper", True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fixed_points(GARNET, KL(), 0.0, pacing=1.0, rule="radius"), "budget is 0"),
        (lambda: fixed_points(GARNET, KL(), 1.0, pacing=1.0, rule="x"), "choose radius"),  # type: ignore[arg-type]
        (
            lambda: train(GARNET, KL(), Constant(0.1), iterations=0, learning_rate=1.0),
            "iterations=0",
        ),
    ],
)
def test_wrong_numbers_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


class Jittered:
    """A rule whose signals carry the noise of an estimate."""

    def __init__(self, rule: SelfPaced, noise: float):
        self.rule, self.noise = rule, np.random.default_rng(0)
        self.spread = noise

    def init(self, seed):
        return self.rule.init(seed)

    def epsilon(self, state):
        return self.rule.epsilon(state)

    def update(self, state, signal):
        factor = np.exp(self.spread * self.noise.standard_normal())
        return self.rule.update(state, signal._replace(slope=factor * signal.slope))


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_epsilon_grows_smoothly_from_zero_towards_its_budget(noise):
    """What the paper shows of its curricula: stable growth with little oscillation, on defaults."""
    rule = curriculum("self_paced", {}, 80, 0.9, KL())
    assert isinstance(rule, SelfPaced)
    run = train(
        GARNET, KL(), Jittered(rule, noise), iterations=80, learning_rate=1.0, normalized=True
    )
    steps = np.diff(np.sqrt(run.radii))
    assert run.radii[0] == 0.0
    assert run.radii[-1] > 0.5
    assert np.abs(steps).max() < 2.2 * 2 / 80  # never more than the pull at the very start
    # The way back is a small part of the way: smooth, also where the signal is noisy.
    assert -steps[steps < 0].sum() <= (0.02 if noise else 1e-6)
