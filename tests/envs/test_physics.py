"""Physics parameters: each acts, none compounds, derived constants follow."""

import copy

import numpy as np
import pytest

from drspcrl.envs import BatchEnv, make, task_names
from drspcrl.envs.simulator import TASKS, MujocoSimulation, load_model
from drspcrl.errors import InputError
from drspcrl.perturbations import Perturbation
from drspcrl.physics.components import DEFAULT_PARAMETERS, PARAMETERS
from drspcrl.physics.engine import mujoco

ONE = np.array([0])


def simulation(env: BatchEnv) -> MujocoSimulation:
    assert isinstance(env.simulation, MujocoSimulation)
    return env.simulation


def last_observation(env: BatchEnv, steps: int = 25) -> np.ndarray:
    """Fall to the ground under alternating actions, without automatic resets in between."""
    env.reset(seeds=[3] * env.num_envs)
    batch = simulation(env).batch
    rng = np.random.default_rng(0)
    for _ in range(steps):
        batch.bind("ctrl")[:] = rng.uniform(-1, 1, batch.model.nu)
        batch.step(nstep=5)
    return np.concatenate([batch.bind("qpos"), batch.bind("qvel")], axis=1)


@pytest.mark.parametrize("task", task_names())
def test_every_parameter_changes_the_next_states(task):
    """One environment per parameter, all from the same start under the same actions."""
    families = [
        p for p in PARAMETERS if any(n.split(":")[0] == p for n in make(task).physics.names)
    ]
    assert set(DEFAULT_PARAMETERS) <= set(families)
    env = make(task, len(families) + 1)
    for row, family in enumerate(families):
        scales = np.ones(len(env.physics.names))
        scales[env.physics.components.select([family])] = 1.3
        env.physics.set_scales(np.array([row]), scales)
    ends = last_observation(env)
    for row, family in enumerate(families):
        assert not np.array_equal(ends[row], ends[-1]), family


@pytest.mark.parametrize("task", task_names())
def test_every_component_but_friction_acts_by_itself(task):
    """Frictions are left out: of two geoms in contact only the rougher one counts."""
    names = make(task).physics.names
    acting = [k for k, name in enumerate(names) if not name.startswith("friction")]
    env = make(task, len(acting) + 1)
    scales = np.ones((len(acting), len(names)))
    scales[np.arange(len(acting)), acting] = 1.3
    env.physics.set_scales(np.arange(len(acting)), scales)
    ends = last_observation(env, steps=10)
    same = [names[k] for row, k in enumerate(acting) if np.array_equal(ends[row], ends[-1])]
    assert same == []


def test_rough_feet_and_a_rough_floor_both_slow_the_slide():
    env = make("HalfCheetah", 3)
    for row, geom in enumerate(("floor", "bfoot")):
        scales = np.ones(len(env.physics.names))
        scales[env.physics.components.select([f"friction:{geom}"])] = 4.0
        env.physics.set_scales(np.array([row]), scales)
    ends = last_observation(env)
    assert not np.array_equal(ends[0], ends[2])
    assert not np.array_equal(ends[1], ends[2])


@pytest.mark.parametrize("task", task_names())
def test_values_and_derived_constants_are_those_of_a_model_made_so(task):
    env = make(task, 2)
    scales = np.random.default_rng(1).uniform(0.5, 1.5, len(env.physics.names))
    env.physics.set_scales(np.array([1]), scales)
    model = load_model(TASKS[task])
    expected = copy.copy(model)
    factor = dict(zip(env.physics.names, scales, strict=True))
    for body in range(1, model.nbody):
        f = factor[f"mass:{model.body(body).name}"]
        expected.body_mass[body] *= f
        expected.body_inertia[body] *= f
    for geom in range(model.ngeom):
        expected.geom_friction[geom] *= factor[f"friction:{model.geom(geom).name}"]
    for dof in range(model.nv):
        joint = model.joint(model.dof_jntid[dof]).name
        expected.dof_damping[dof] *= factor.get(f"damping:{joint}", 1.0)
        expected.dof_armature[dof] *= factor.get(f"armature:{joint}", 1.0)
    for joint in range(model.njnt):
        expected.jnt_stiffness[joint] *= factor.get(f"stiffness:{model.joint(joint).name}", 1.0)
    for actuator in range(model.nu):
        name = model.actuator(actuator).name or actuator
        expected.actuator_gear[actuator] *= factor[f"gear:{name}"]
    expected.opt.gravity[:] *= factor["gravity"]
    mujoco.mj_setConst(expected, mujoco.MjData(expected))
    batch = simulation(env).batch
    for sim, reference in ((0, model), (1, expected)):
        actual = batch.get_model(sim)
        for field in dir(model):
            value = getattr(reference, field, None)
            if isinstance(value, np.ndarray) and not field.startswith("_"):
                np.testing.assert_array_equal(getattr(actual, field), value, field)
        np.testing.assert_array_equal(actual.opt.gravity, reference.opt.gravity)
    # The test means something: constants that nobody wrote have changed.
    assert not np.array_equal(expected.dof_invweight0, model.dof_invweight0)
    assert not np.array_equal(expected.body_subtreemass, model.body_subtreemass)


def test_scaling_again_and_again_does_not_compound():
    env = make("Hopper", 2)
    rng = np.random.default_rng(0)
    for _ in range(20):
        env.physics.set_scales(ONE, rng.uniform(0.5, 1.5, len(env.physics.names)))
    env.physics.set_scales(ONE, np.ones(len(env.physics.names)))
    batch, model = simulation(env).batch, load_model(TASKS["Hopper"])
    for field in ("body_mass", "body_inertia", "geom_friction", "dof_damping", "body_invweight0"):
        np.testing.assert_array_equal(getattr(batch.get_model(0), field), getattr(model, field))


def test_a_value_is_alone_and_leaves_nothing_behind():
    """No inertia, no other coefficient, no derived constant; beside scales and without them."""
    env, model = make("Hopper", 2), load_model(TASKS["Hopper"])
    physics, batch = env.physics, simulation(env).batch
    values = np.full(len(physics.names), np.nan)
    values[physics.components.select(["mass:torso", "friction:floor"])] = [1.25, 0.3]

    def assert_model(body_mass, geom_friction, expected):
        actual = batch.get_model(0)
        for field in dir(model):
            value = getattr(expected, field, None)
            if isinstance(value, np.ndarray) and not field.startswith("_"):
                own = {"body_mass": body_mass, "geom_friction": geom_friction}.get(field, value)
                np.testing.assert_array_equal(getattr(actual, field), own, field)

    mass, friction = model.body_mass.copy(), model.geom_friction.copy()
    mass[1], friction[0, 0] = 1.25, 0.3
    physics.set_values(ONE, values)
    assert_model(mass, friction, model)
    scales = np.ones(len(physics.names))
    scales[physics.components.select(["mass", "gravity"])] = 2.0
    physics.set_scales(ONE, scales)  # constants are those of the scaled model without the value
    doubled = copy.copy(model)
    doubled.body_mass[:] *= 2.0
    doubled.body_inertia[:] *= 2.0
    doubled.opt.gravity[:] *= 2.0
    mujoco.mj_setConst(doubled, mujoco.MjData(doubled))
    assert_model(np.where(np.arange(5) == 1, 1.25, doubled.body_mass), friction, doubled)
    physics.set_values(ONE, np.full(len(physics.names), np.nan))
    assert_model(doubled.body_mass, model.geom_friction, doubled)
    physics.set_scales(ONE, np.ones(len(physics.names)))
    assert_model(model.body_mass, model.geom_friction, model)
    np.testing.assert_array_equal(batch.get_model(1).body_mass, model.body_mass)


def test_values_that_do_not_fit_are_refused():
    physics = make("Hopper", 2).physics
    with pytest.raises(InputError, match="one for each of the"):
        physics.set_values(ONE, np.ones(3))
    with pytest.raises(InputError, match="finite, or nan"):
        physics.set_values(ONE, np.full(len(physics.names), np.inf))
    with pytest.raises(InputError, match="gravity is a vector"):
        make("Hopper", 1, perturbations=Perturbation("value", 9.0, {"parameter": "gravity"}))


def test_layers_multiply():
    env = make("Hopper", 1)
    n = len(env.physics.names)
    env.physics.set_scales(ONE, np.full(n, 2.0), "one")
    env.physics.set_scales(ONE, np.full(n, 0.25), "other")
    np.testing.assert_array_equal(env.physics.scales, np.full((1, n), 0.5))


def test_names_and_nominal_values():
    physics = make("Hopper").physics
    nominal = dict(zip(physics.names, physics.nominal, strict=True))
    # From hopper.xml: foot friction 2, thigh joint damping 1 and armature 1, gear 200.
    assert nominal["friction:foot_geom"] == 2.0
    assert nominal["damping:thigh_joint"] == nominal["armature:thigh_joint"] == 1.0
    assert nominal["gear:0"] == 200.0
    assert nominal["gravity"] == -9.81
    # The root joints have neither damping nor armature, the world body no mass.
    assert not {"damping:rootx", "armature:rootx", "mass:world"} & set(physics.names)
    assert physics.weight == pytest.approx(
        9.80665 * sum(v for k, v in nominal.items() if "mass" in k)
    )


def test_errors_name_the_remedy():
    physics = make("Hopper", 2).physics
    with pytest.raises(InputError, match=r"'mas' is not in this task.*armature, damping"):
        physics.components.select(["mas"])
    with pytest.raises(InputError, match=r"'mass:tors' is not.*mass:torso"):
        physics.components.select(["mass:tors"])
    with pytest.raises(InputError, match="twice"):
        physics.components.select(["mass", "mass:torso"])
    with pytest.raises(InputError, match="give a list"):
        physics.components.select("mass")
    with pytest.raises(InputError, match="stiffness"):
        physics.components.select(["stiffness"])  # Hopper's joints have none
    with pytest.raises(InputError, match="positive"):
        physics.set_scales(ONE, np.zeros(len(physics.names)))
    with pytest.raises(InputError, match="one factor for each"):
        physics.set_scales(ONE, np.ones(3))
    with pytest.raises(InputError, match="no MuJoCo model"):
        _ = make("Pendulum-v1").physics
