"""MuJoCo's batch through C against MuJoCo's own Python batch: equal bit for bit."""

import gc

import numpy as np
import pytest
from mujoco.batch import Batch, SimulationError

from drspcrl.envs.simulator import load_model
from drspcrl.envs.tasks import Humanoid
from drspcrl.errors import InputError
from drspcrl.physics.engine import mujoco
from drspcrl.physics.pool import Pool

SIMULATIONS = 4
FIELDS = ("qpos", "qvel", "ctrl", "xipos", "cinert", "cvel", "qfrc_actuator")


@pytest.fixture(scope="module")
def model():
    return load_model(Humanoid())


def pair(model) -> tuple[Pool, Batch]:
    return Pool(model, SIMULATIONS, 2), Batch(model, SIMULATIONS, 1, persistent=True)


def shake(pool: Pool, batch: Batch, steps: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(steps):
        actions = rng.uniform(-0.4, 0.4, (SIMULATIONS, pool.model.nu))
        for simulations in (pool, batch):
            simulations.bind("ctrl")[:] = actions
            simulations.step(nstep=5)


def contact_forces(batch: Batch) -> np.ndarray:
    """One simulation after another, in a copy of its data."""
    data = [batch.get_data(sim) for sim in range(batch.nsim)]
    for each in data:
        mujoco.mj_rnePostConstraint(batch.model, each)
    return np.array([each.cfrc_ext for each in data])


def test_steps_resets_and_bound_fields(model):
    pool, batch = pair(model)
    bound = {name: (pool.bind(name), batch.bind(name)) for name in FIELDS}
    shake(pool, batch, 15)
    ids = np.array([1, 3])
    for simulations in (pool, batch):
        simulations.reset(ids[:1])
        simulations.bind("qvel")[ids] = 0.5
        simulations.forward(ids)
        simulations.step(ids, nstep=2)
    np.testing.assert_array_equal(pool.state, batch.state)
    for mine, theirs in bound.values():
        assert np.any(theirs)
        np.testing.assert_array_equal(mine, theirs)


def test_models_of_their_own(model):
    pool, batch = pair(model)
    assert pool.expanded("body_mass") is None
    for simulations in (pool, batch):
        simulations.expand("body_mass")[2] *= 1.5
        simulations.expand("opt.gravity")[1] *= 0.5
        simulations.set_const(np.array([1, 2]))
    shake(pool, batch, 10)
    np.testing.assert_array_equal(pool.state, batch.state)
    np.testing.assert_array_equal(pool.expanded("body_mass"), batch.expanded("body_mass"))
    np.testing.assert_array_equal(
        pool.get_model(2).body_subtreemass, batch.get_model(2).body_subtreemass
    )


def test_a_function_applied_to_all_is_that_of_single_calls(model):
    pool, batch = pair(model)
    forces = pool.bind("cfrc_ext")
    for _ in range(12):
        shake(pool, batch, 1)
        pool.apply("mj_rnePostConstraint")
        np.testing.assert_array_equal(forces, contact_forces(batch))
    assert np.any(forces)
    np.testing.assert_array_equal(pool.state, batch.state)  # it leaves no trace in the states


def test_warnings_are_seen_and_cleared(model):
    pool, batch = pair(model)
    for simulations in (pool, batch):
        simulations.bind("qvel")[2] = 1e12
        simulations.step()
    np.testing.assert_array_equal(pool.warning, batch.warning)
    assert pool.warning[2].any()
    pool.reset(np.array([2]))
    assert not pool.warning.any()


def test_a_simulation_that_raises_is_named():
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><joint type='slide'/><geom size='.1' mass='1'/></body>"
        "</worldbody></mujoco>"
    )
    found = []
    for simulations in (Pool(model, 3, 1), Batch(model, 3, 1, persistent=True)):
        simulations.expand("body_mass")[1:, 1] = [0.0, 2.0]  # a joint that moves no mass
        with pytest.raises(SimulationError) as caught:
            simulations.set_const()
        found.append((caught.value.ids.tolist(), str(caught.value)))
    assert found[0] == found[1]
    assert found[0][0] == [1]


def test_arrays_outlive_the_pool(model):
    pool = Pool(model, SIMULATIONS, 1)
    qpos, masses = pool.bind("qpos"), pool.expand("body_mass")
    del pool
    gc.collect()
    np.testing.assert_array_equal(qpos, np.tile(model.qpos0, (SIMULATIONS, 1)))
    np.testing.assert_array_equal(masses, np.tile(model.body_mass, (SIMULATIONS, 1)))


def test_what_is_refused(model):
    pool = Pool(model, 2, 1)
    with pytest.raises(InputError, match="'efc_force' is not a field"):
        pool.bind("efc_force")
    with pytest.raises(ValueError, match="read-only"):
        pool.bind("xipos")[:] = 0.0
    mujoco.set_mjcb_control(lambda model, data: None)
    try:
        with pytest.raises(InputError, match=r"callback.*remove it"):
            pool.step()
    finally:
        mujoco.set_mjcb_control(None)
