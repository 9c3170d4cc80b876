"""Perturbations as Gymnasium wrappers: the checker passes, seeds decide, level 0 is nothing."""

import copy
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.utils.env_checker import check_env

from drspcrl.errors import InputError
from drspcrl.perturbations import (
    PERTURBATIONS,
    ActionDelay,
    ActionNoise,
    ExternalPush,
    ObservationNoise,
    Perturbation,
    PhysicsNoise,
    wrap,
)
from drspcrl.perturbations.attacks import AttackWrapper

EXAMPLES = {
    "action": Perturbation("action", 0.4),
    "observation": Perturbation("observation", 0.3),
    "environment": Perturbation("environment", 0.4),
    "scale": Perturbation("scale", 1.7, {"parameter": "mass"}),
    "value": Perturbation("value", 1.2, {"parameter": "mass:torso"}),
    "push": Perturbation("push", 0.2, {"frequency": 3.0}),
    "gusts": Perturbation("gusts", 0.2),
    "action_delay": Perturbation("action_delay", 2),
    "observation_dropout": Perturbation("observation_dropout", 0.3),
    "observation_bias": Perturbation("observation_bias", 0.2),
    "stuck_joint": Perturbation("stuck_joint", 1, {"onset": 2}),
    "dead_sensor": Perturbation("dead_sensor", 2, {"onset": 2, "until": 9}),
    "authority_loss": Perturbation("authority_loss", 0.5, {"onset": 2}),
    "physics_shift": Perturbation("physics_shift", 1.7, {"parameter": "mass", "onset": 2}),
}
ATTACKS = {name for name in PERTURBATIONS if issubclass(PERTURBATIONS.load(name), AttackWrapper)}
ALL_NESTED = tuple(EXAMPLES.values())


def test_every_kind_has_an_example():
    assert set(EXAMPLES) == set(PERTURBATIONS) - ATTACKS


def rollout(env: gymnasium.Env, seed: int | None = None, steps: int = 30) -> np.ndarray:
    rng = np.random.default_rng(0)
    observation, _ = env.reset(seed=seed)
    rows = [np.append(observation, 0.0)]
    for _ in range(steps):
        size = env.action_space.shape
        observation, reward, terminated, truncated, _ = env.step(
            rng.uniform(-1, 1, size).astype(np.float32)
        )
        rows.append(np.append(observation, float(reward)))
        if terminated or truncated:
            observation, _ = env.reset()
            rows.append(np.append(observation, 0.0))
    return np.array(rows)


@pytest.mark.parametrize("setting", [*EXAMPLES.values(), ALL_NESTED], ids=[*EXAMPLES, "nested"])
def test_gymnasiums_checker_passes(setting):
    with warnings.catch_warnings():
        # The checker prefers bare environments, and bounds for robots' observations.
        warnings.filterwarnings("ignore", message=r".*different from the unwrapped version.*")
        warnings.filterwarnings("ignore", message=r".*Box observation space (min|max)imum.*")
        check_env(wrap(gymnasium.make("Hopper-v5"), setting), skip_render_check=True)


def test_gymnasiums_checker_passes_on_bounded_observations():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*different from the unwrapped version.*")
        warnings.filterwarnings("ignore", message=r".*Box observation space (min|max)imum.*")
        warnings.filterwarnings("ignore", message=r".*action space.*symmetric and normalized.*")
        check_env(ObservationNoise(gymnasium.make("Pendulum-v1"), 0.3), skip_render_check=True)


@pytest.mark.parametrize("setting", [*EXAMPLES.values(), ALL_NESTED], ids=[*EXAMPLES, "nested"])
def test_the_seed_decides_everything(setting):
    env, twin = (wrap(gymnasium.make("Hopper-v5"), setting) for _ in range(2))
    one = rollout(env, seed=5)
    rollout(env)  # whatever happened before
    np.testing.assert_array_equal(one, rollout(twin, seed=5))
    np.testing.assert_array_equal(one, rollout(env, seed=5))
    assert not np.array_equal(one, rollout(env, seed=6))


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_kind_changes_something_and_its_nominal_level_nothing(name):
    plain = rollout(gymnasium.make("Hopper-v5"), seed=5)
    example = EXAMPLES[name]
    level = PERTURBATIONS.load(name).Kernel.nominal
    if np.isnan(level):  # a value changes nothing where it is the model's own
        model: Any = gymnasium.make("Hopper-v5").unwrapped
        level = float(model.model.body_mass[1])
    nominal = Perturbation(name, level, example.settings)
    unchanged = rollout(nominal.wrap(gymnasium.make("Hopper-v5")), seed=5)
    assert unchanged.tobytes() == plain.tobytes()
    changed = rollout(example.wrap(gymnasium.make("Hopper-v5")), seed=5)
    assert changed.shape != plain.shape or not np.array_equal(changed, plain)


def test_unseeded_resets_go_on_and_differ():
    env = PhysicsNoise(gymnasium.make("Hopper-v5"), 0.3)
    base: Any = env.unwrapped
    env.reset(seed=1)
    first = base.model.body_mass.copy()
    env.reset()
    assert not np.array_equal(first, base.model.body_mass)
    other = PhysicsNoise(gymnasium.make("Hopper-v5"), 0.3)
    other.reset()  # never seeded: fresh entropy
    assert not np.array_equal(first, other.unwrapped.model.body_mass)  # type: ignore[attr-defined]


def test_nested_wrappers_of_one_kind_draw_independently():
    env = ActionNoise(ActionNoise(gymnasium.make("Hopper-v5"), 0.5), 0.5)
    inner, outer = env.env, env
    assert isinstance(inner, ActionNoise)
    env.reset(seed=1)
    draws = [wrapper._kernel.take(np.zeros(1, int)) for wrapper in (inner, outer)]
    assert not np.array_equal(draws[0], draws[1])


def test_the_spec_makes_the_same_environment_again():
    env = wrap(gymnasium.make("Hopper-v5"), ALL_NESTED)
    assert env.spec is not None
    again = gymnasium.make(env.spec)
    np.testing.assert_array_equal(rollout(env, seed=3), rollout(again, seed=3))


def test_closing_gives_the_nominal_physics_back():
    inner = gymnasium.make("Hopper-v5")
    base: Any = inner.unwrapped
    nominal = base.model.body_mass.copy()
    invweight = base.model.body_invweight0.copy()
    env = PhysicsNoise(inner, 0.5)
    env.reset(seed=0)
    assert not np.array_equal(nominal, base.model.body_mass)
    env.close()
    np.testing.assert_array_equal(nominal, base.model.body_mass)
    np.testing.assert_array_equal(invweight, base.model.body_invweight0)


class Odd(gymnasium.Env):
    """Spaces that some perturbations cannot work with."""

    def __init__(self, low: float = -1.0, dtype: type = np.float64):
        self.observation_space = Box(0, 100, (3,), dtype)
        self.action_space = Box(low, 3.0, (2,), np.float32)


def test_errors_name_the_remedy():
    hopper = gymnasium.make("Hopper-v5")
    with pytest.raises(
        InputError, match=r"action noise level is 1\.5; it must lie between 0 and 1"
    ):
        ActionNoise(hopper, 1.5)
    with pytest.raises(InputError, match=r"observation noise level is -0\.1"):
        ObservationNoise(hopper, -0.1)
    with pytest.raises(InputError, match=r"physics noise level is 1.0; .* 1 \(excluded\)"):
        PhysicsNoise(hopper, 1.0)
    with pytest.raises(InputError, match="level is nan"):
        ObservationNoise(hopper, float("nan"))
    with pytest.raises(InputError, match="whole number"):
        ActionDelay(hopper, 1.5)
    with pytest.raises(InputError, match="'wind' is not in this task"):
        PhysicsNoise(hopper, 0.1, parameters=["wind"])
    with pytest.raises(InputError, match="no parameters"):
        PhysicsNoise(hopper, 0.1, parameters=[])
    with pytest.raises(InputError, match="body 'tail' is not in this task; choose from torso"):
        ExternalPush(hopper, 0.1, body="tail")
    with pytest.raises(InputError, match="three numbers"):
        ExternalPush(hopper, 0.1, direction=(0, 0, 0))
    with pytest.raises(InputError, match="needs a MuJoCo model"):
        PhysicsNoise(gymnasium.make("Pendulum-v1"), 0.1)
    with pytest.raises(InputError, match="bounded action space"):
        ActionNoise(Odd(low=-np.inf), 0.1)
    with pytest.raises(InputError, match="floating-point"):
        ObservationNoise(Odd(dtype=np.uint8), 0.1)
    with pytest.raises(InputError, match="need a Box"):
        ActionNoise(gymnasium.make("CartPole-v1"), 0.1)


def test_an_environment_that_makes_a_new_model_is_refused():
    """The scales would be written into a model that is no longer simulated."""
    inner = gymnasium.make("Hopper-v5")
    base: Any = inner.unwrapped
    env = PhysicsNoise(inner, 0.3)
    env.reset(seed=0)
    base.model = copy.copy(base.model)
    with pytest.raises(InputError, match="made a new MuJoCo model"):
        env.reset()
