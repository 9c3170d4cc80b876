"""What each perturbation does, in numbers."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box

from drspcrl.perturbations import (
    ActionDelay,
    ActionNoise,
    ExternalPush,
    Gusts,
    ObservationBias,
    ObservationDropout,
    ObservationNoise,
    PhysicsNoise,
    PhysicsScale,
)


def _correlations(columns: np.ndarray) -> np.ndarray:
    """Absolute correlations between different columns."""
    matrix = np.atleast_2d(np.corrcoef(columns.T))
    return np.abs(matrix[np.triu_indices(len(matrix), 1)])


class Sensor(gymnasium.Env):
    """Echoes the action it received, and observes a constant."""

    def __init__(self, low: float = -1.0, dtype: type = np.float64):
        self.observation_space = Box(0, 100, (3,), dtype)
        self.action_space = Box(low, 3.0, (2,), np.float32)
        self.received: list[np.ndarray] = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.array([1, 2, 3], self.observation_space.dtype), {}

    def step(self, action):
        self.received.append(np.array(action))
        return np.array([1, 2, 3], self.observation_space.dtype), 0.0, False, False, {}


def received(env: gymnasium.Env, steps: int, action=(0.25, 0.5)) -> np.ndarray:
    env.reset(seed=0)
    for _ in range(steps):
        env.step(np.array(action, np.float32))
    base = env.unwrapped
    assert isinstance(base, Sensor)
    return np.array(base.received)


def observed(env: gymnasium.Env, steps: int, seed: int | None = 0) -> np.ndarray:
    first, _ = env.reset(seed=seed)
    return np.array([first, *(env.step(np.zeros(2, np.float32))[0] for _ in range(steps))])


def test_action_noise_replaces_whole_actions_by_uniform_ones():
    n, p = 4000, 0.3
    got = received(ActionNoise(Sensor(), p), n)
    kept = np.all(got == np.array([0.25, 0.5], np.float32), axis=1)
    assert np.all(kept == np.any(got == np.array([0.25, 0.5], np.float32), axis=1))
    assert (~kept).mean() == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / n))
    random = got[~kept]
    assert got.dtype == np.float32
    assert random.min() >= -1.0
    assert random.max() <= 3.0
    # Uniform on [-1, 3]: mean 1, variance 16/12.
    assert random.mean(axis=0) == pytest.approx([1.0, 1.0], abs=4 * np.sqrt(16 / 12 / len(random)))
    assert random.var(axis=0) == pytest.approx([4 / 3, 4 / 3], rel=0.1)
    assert _correlations(random).max() < 4 / np.sqrt(len(random))


def test_observation_noise_is_independent_in_every_dimension_and_step():
    n, sigma = 4000, 0.3
    noise = observed(ObservationNoise(Sensor(), sigma), n) - [1, 2, 3]
    assert np.abs(noise.mean(axis=0)).max() < 4 * sigma / np.sqrt(n)
    assert noise.std(axis=0) == pytest.approx([sigma] * 3, rel=0.06)
    assert _correlations(noise).max() < 4 / np.sqrt(n)
    assert _correlations(np.stack([noise[1:, 0], noise[:-1, 0]], axis=1)).max() < 4 / np.sqrt(n)


def test_bias_is_constant_within_an_episode_and_drawn_for_each():
    env = ObservationBias(Sensor(), 0.3)
    first, second = observed(env, 5), observed(env, 5, seed=None)
    assert np.all(first == first[0])
    assert np.all(second == second[0])
    biases = np.array([observed(env, 0, seed=None)[0] for _ in range(2000)]) - [1, 2, 3]
    assert biases.std(axis=0) == pytest.approx([0.3] * 3, rel=0.08)
    assert _correlations(biases).max() < 4 / np.sqrt(2000)


def test_dropout_reads_zero_with_its_probability():
    n, p = 4000, 0.2
    rows = observed(ObservationDropout(Sensor(), p), n)
    lost = rows == 0.0
    np.testing.assert_array_equal(rows[~lost], np.broadcast_to([1, 2, 3], rows.shape)[~lost])
    assert lost.mean(axis=0) == pytest.approx([p] * 3, abs=4 * np.sqrt(p * (1 - p) / n))
    assert _correlations(lost).max() < 4 / np.sqrt(n)


@pytest.mark.parametrize("low", [-1.0, 0.5])
def test_delay_hands_actions_over_late(low):
    env = ActionDelay(Sensor(low), 3)
    env.reset(seed=0)
    for k in range(40):
        env.step(np.array([k, -k], np.float32))
    base = env.unwrapped
    assert isinstance(base, Sensor)
    # The neutral action is 0, or what is nearest to it within the bounds.
    neutral = max(0.0, low)
    expected = [[neutral, neutral]] * 3 + [[k, -k] for k in range(37)]
    np.testing.assert_array_equal(base.received, np.array(expected, np.float32))
    env.reset()
    env.step(np.array([1.0, 1.0], np.float32))
    np.testing.assert_array_equal(base.received[-1], [neutral, neutral])


def test_physics_noise_scales_every_component_by_its_own_factor_from_nominal():
    env = PhysicsNoise(gymnasium.make("Humanoid-v5"), 0.3)
    base: Any = env.unwrapped
    model = base.model
    nominal = {k: getattr(model, k).copy() for k in ("body_mass", "body_inertia", "geom_friction")}
    ratios = []
    for episode in range(200):
        env.reset(seed=0 if episode == 0 else None)
        mass = model.body_mass[1:] / nominal["body_mass"][1:]
        np.testing.assert_allclose(
            model.body_inertia[1:] / nominal["body_inertia"][1:], mass[:, None].repeat(3, 1)
        )
        friction = model.geom_friction / nominal["geom_friction"]
        np.testing.assert_allclose(friction, friction[:, :1].repeat(3, 1))
        gravity = model.opt.gravity[2] / -9.81
        np.testing.assert_array_equal(model.opt.gravity[:2], 0.0)
        ratios.append(np.concatenate([mass, friction[:, 0], [gravity]]))
    ratios = np.array(ratios)
    assert ratios.min() >= 0.7
    assert ratios.max() <= 1.3
    # Uniform on [0.7, 1.3], standard deviation 0.6/sqrt(12): no drift over 200 resets.
    assert np.abs(ratios.mean(axis=0) - 1.0).max() < 4.5 * 0.6 / np.sqrt(12 * 200)
    assert ratios.std() == pytest.approx(0.6 / np.sqrt(12), rel=0.03)
    assert _correlations(ratios).max() < 5.5 / np.sqrt(200)


def test_physics_noise_on_chosen_parameters_leaves_the_others():
    env = PhysicsNoise(gymnasium.make("Hopper-v5"), 0.3, parameters=["friction", "mass:torso"])
    base: Any = env.unwrapped
    before = base.model.body_mass.copy(), base.model.dof_damping.copy()
    env.reset(seed=0)
    changed = np.flatnonzero(base.model.body_mass != before[0])
    assert changed.tolist() == [base.model.body("torso").id]
    np.testing.assert_array_equal(base.model.dof_damping, before[1])


def test_nested_physics_multiplies_and_never_compounds():
    env = PhysicsScale(PhysicsScale(gymnasium.make("Hopper-v5"), 0.5, "mass"), 3.0, "mass:torso")
    base: Any = env.unwrapped
    nominal = gymnasium.make("Hopper-v5").unwrapped.model.body_mass  # type: ignore[attr-defined]
    for _ in range(3):
        env.reset(seed=0)
        np.testing.assert_allclose(base.model.body_mass[1:] / nominal[1:], [1.5, 0.5, 0.5, 0.5])


def test_a_constant_push_accelerates_by_force_over_mass():
    """Free fall of the humanoid, pushed sideways with a tenth of its weight."""
    env = ExternalPush(gymnasium.make("Humanoid-v5"), 0.1, direction=(0.0, 2.0, 0.0))
    base: Any = env.unwrapped
    env.reset(seed=0)
    base.data.qpos[2] += 10.0  # far above the ground
    masses = base.model.body_mass

    def momentum() -> float:
        import mujoco

        mujoco.mj_forward(base.model, base.data)  # type: ignore[attr-defined]
        mujoco.mj_subtreeVel(base.model, base.data)  # type: ignore[attr-defined]
        return masses.sum() * base.data.subtree_linvel[1][1]

    before = momentum()
    steps = 10
    for _ in range(steps):
        env.step(np.zeros(17, np.float32))
    impulse = 0.1 * masses.sum() * 9.80665 * steps * base.dt
    assert momentum() - before == pytest.approx(impulse, rel=1e-3)
    assert not base.data.xfrc_applied.any()  # nothing is left behind


def test_gusts_move_the_centre_of_mass_as_a_random_walk():
    """Free fall of the humanoid: what one step adds to its momentum is the sum of the forces."""
    import mujoco

    env = Gusts(gymnasium.make("Humanoid-v5"), 0.1)
    base: Any = env.unwrapped
    masses = base.model.body_mass
    added = []

    def momentum() -> float:
        mujoco.mj_forward(base.model, base.data)  # type: ignore[attr-defined]
        mujoco.mj_subtreeVel(base.model, base.data)  # type: ignore[attr-defined]
        return masses.sum() * base.data.subtree_linvel[1][1]

    for seed in range(8):
        env.reset(seed=seed)
        base.data.qpos[2] += 30.0  # far above the ground
        before = momentum()
        for _ in range(40):
            env.step(np.zeros(17, np.float32))
            added.append(momentum() - before)
            before = momentum()
    # The forces on 13 bodies are independent, each 0.1 of its own weight.
    expected = 0.1 * 9.80665 * np.sqrt(np.sum(masses[1:] ** 2)) * base.dt
    assert np.std(added) == pytest.approx(expected, rel=0.12)  # 320 draws: 4% standard error
    assert abs(np.mean(added)) < 4 * expected / np.sqrt(len(added))
    assert abs(np.corrcoef(added[:-1], added[1:])[0, 1]) < 0.2
    assert not base.data.xfrc_applied.any()  # nothing is left behind


def test_a_swinging_push_averages_out():
    env = ExternalPush(gymnasium.make("Hopper-v5"), 0.1, frequency=5.0)
    env.reset(seed=0)
    applied = []
    kernel: Any = env._kernel
    kernel._physics.add_force = lambda ids, body, forces: applied.append(forces[0])
    for _ in range(50):  # 0.4 seconds: two periods
        env.step(np.zeros(3, np.float32))
    forces = np.array(applied)
    amplitude = 0.1 * kernel._physics.weight
    assert np.abs(forces[:, 0].sum()) < 1e-9 * amplitude * 50
    assert np.abs(forces[:, 0]).max() == pytest.approx(amplitude, rel=0.05)
    np.testing.assert_array_equal(forces[:, 1:], 0.0)
    np.testing.assert_allclose(forces[:25], forces[25:], atol=1e-9 * amplitude)
