"""Faults: nothing before the onset, what was declared from there, and all back at the end."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box

from drspcrl.envs import make
from drspcrl.errors import InputError
from drspcrl.perturbations import AuthorityLoss, DeadSensor, Perturbation, StuckJoint, wrap

FAULTS = {
    "stuck": Perturbation("stuck_joint", 1, {"onset": 5, "until": 12}),
    "dead": Perturbation("dead_sensor", 3, {"onset": 5, "until": 9}),
    "weak": Perturbation("authority_loss", 0.5, {"onset": 3}),
    "heavy": Perturbation("physics_shift", 1.7, {"parameter": "mass", "onset": 4, "until": 10}),
}


class Recorder(gymnasium.Env):
    """Observations count; the actions that arrive are kept."""

    observation_space = Box(-np.inf, np.inf, (3,), np.float64)
    action_space = Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self):
        self.actions: list[np.ndarray] = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._step = 0
        return self._observation(), {}

    def step(self, action):
        self._step += 1
        self.actions.append(np.array(action))
        return self._observation(), 0.0, False, False, {}

    def _observation(self) -> np.ndarray:
        return np.array([1.0, 2.0, 3.0]) + 10.0 * self._step


def observed(env: gymnasium.Env, steps: int) -> np.ndarray:
    first, _ = env.reset(seed=0)
    action = np.ones(env.action_space.shape or (), np.float32)
    return np.array([first, *(env.step(action)[0] for _ in range(steps))])


@pytest.mark.parametrize("part", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("task", ["Hopper", "Humanoid"])
def test_a_batch_and_gymnasium_take_the_same_steps(task, part):
    """Through the onset, the end, falls and resets, bit for bit."""
    settings = [None, part, (Perturbation("environment", 0.2), part, Perturbation("action", 0.1))]
    batch = make(task, num_envs=3, perturbations=settings)
    plain = [wrap(gymnasium.make(f"{task}-v5"), setting) for setting in settings]
    first = batch.reset(seeds=[7, 8, 9])
    np.testing.assert_array_equal(first, [env.reset(seed=7 + k)[0] for k, env in enumerate(plain)])
    random = np.random.default_rng(0)
    for _ in range(60):
        actions = random.uniform(-0.4, 0.4, (3, *batch.action_space.shape)).astype(np.float32)
        step = batch.step(actions)
        for k, env in enumerate(plain):
            observation, reward, terminated, truncated, _ = env.step(actions[k])
            np.testing.assert_array_equal(observation, step.final_observation[k])
            assert reward == step.reward[k]
            if terminated or truncated:
                np.testing.assert_array_equal(env.reset()[0], step.observation[k])
    batch.close()


@pytest.mark.parametrize("part", FAULTS.values(), ids=FAULTS)
def test_a_batch_is_restored_in_the_middle_of_a_fault(part):
    def run(env: Any, steps: int) -> list[np.ndarray]:
        random = np.random.default_rng(1)
        return [
            env.step(random.uniform(-0.4, 0.4, (2, 3)).astype(np.float32)).observation
            for _ in range(steps)
        ]

    env = make("Hopper", num_envs=2, perturbations=part)
    env.reset(seeds=[1, 2])
    run(env, 7)
    saved = env.state()
    straight = run(env, 30)
    other = make("Hopper", num_envs=2, perturbations=part)
    other.reset(seeds=[5, 6])
    run(other, 8)
    other.restore(saved)
    np.testing.assert_array_equal(run(other, 30), straight)


@pytest.mark.parametrize("part", FAULTS.values(), ids=FAULTS)
def test_nothing_happens_before_the_onset_and_something_after_it(part):
    plain = observed(gymnasium.make("Hopper-v5"), 15)
    faulty = observed(wrap(gymnasium.make("Hopper-v5"), part), 15)
    onset = part.onset
    assert onset is not None
    # A sensor that dies at step k is wrong in the observation that action k is chosen by.
    first = onset if part.name == "dead_sensor" else onset + 1
    np.testing.assert_array_equal(plain[:first], faulty[:first])
    assert not np.array_equal(plain[first], faulty[first])


@pytest.mark.parametrize("joint", ["thigh_joint", "leg_joint", "foot_joint"])
def test_a_stuck_joint_holds_its_angle_against_its_motor_and_is_free_again(joint):
    env = StuckJoint(gymnasium.make("Hopper-v5"), 1, joints=[joint], onset=10, until=30)
    base: Any = env.unwrapped
    place = base.model.joint(joint).qposadr[0]
    env.reset(seed=0)
    angles = []
    for step in range(45):
        angles.append(base.data.qpos[place])
        env.step(np.full(3, 1.0 if step // 8 % 2 else -1.0, np.float32))
    held = np.array(angles[12:31])  # two steps to come to rest
    assert np.ptp(held) < 1e-3
    assert min(np.ptp(angles[:10]), np.ptp(angles[31:])) > 0.03
    np.testing.assert_array_equal(base.model.dof_frictionloss, 0.0)


def test_which_joint_sticks_is_drawn_for_each_episode():
    env = StuckJoint(gymnasium.make("Hopper-v5"), 1)
    base: Any = env.unwrapped
    stuck = set()
    for seed in range(12):
        env.reset(seed=seed)
        env.step(np.zeros(3, np.float32))
        (which,) = np.flatnonzero(base.model.dof_frictionloss)
        stuck.add(int(which))
    assert stuck == {3, 4, 5}


def test_a_dead_sensor_stays_at_its_last_reading_and_works_again():
    seen = observed(DeadSensor(Recorder(), 1, readings=[1], onset=2, until=4), 5)
    np.testing.assert_array_equal(seen[:, 1], [2, 12, 12, 12, 42, 52])
    np.testing.assert_array_equal(seen[:, 0], [1, 11, 21, 31, 41, 51])
    from_the_first = observed(DeadSensor(Recorder(), 1, readings=[1]), 3)
    np.testing.assert_array_equal(from_the_first[:, 1], [2, 2, 2, 2])
    zero = observed(DeadSensor(Recorder(), 3, zero=True, onset=1, until=2), 2)
    np.testing.assert_array_equal(zero, [[1, 2, 3], [0, 0, 0], [21, 22, 23]])


def test_authority_is_lost_by_weak_actuators_alone_and_comes_back():
    inner = Recorder()
    observed(AuthorityLoss(inner, 0.75, actuators=[1], onset=1, until=3), 4)
    np.testing.assert_array_equal(inner.actions, [[1, 1], [1, 0.25], [1, 0.25], [1, 1]])


def test_physics_shifts_from_the_onset_until_the_end():
    env = wrap(gymnasium.make("Hopper-v5"), FAULTS["heavy"])
    base: Any = env.unwrapped
    nominal = base.model.body_mass.copy()
    for _ in range(2):  # a reset in the middle of the shift undoes it
        env.reset(seed=0)
        masses = []
        for _ in range(12):
            env.step(np.zeros(3, np.float32))
            masses.append(base.model.body_mass[1] / nominal[1])
        np.testing.assert_allclose(masses, [1.0] * 4 + [1.7] * 6 + [1.0] * 2, rtol=1e-12)
        env.reset(seed=0)
        for _ in range(6):
            env.step(np.zeros(3, np.float32))
        assert base.model.body_mass[1] > nominal[1]
    env.close()
    np.testing.assert_array_equal(base.model.body_mass, nominal)


@pytest.mark.parametrize(
    ("name", "level", "settings", "message"),
    [
        ("authority_loss", 0.5, {"onset": 1000}, "step 1000, and an episode .* over after 1000 st"),
        ("authority_loss", 0.5, {"onset": -1}, "onset of a fault is -1; give a step"),
        ("authority_loss", 0.5, {"onset": 2.5}, "onset of a fault is 2.5; give a step"),
        ("authority_loss", 0.5, {"onset": None}, "onset of a fault is None; give a step"),
        ("authority_loss", 0.5, {"onset": 9, "until": 9}, "from step 9 until step 9 never acts"),
        ("authority_loss", 0.5, {"actuators": [3]}, r"actuators of a fault are \[3\]; .* 0 to 2"),
        ("authority_loss", 1.5, {}, "between 0 and 1"),
        ("stuck_joint", 1, {"joints": ["knee"]}, "'knee' is not in this task; choose from rootx"),
        ("stuck_joint", 1, {"joints": []}, r"joints are \[\]; give some of"),
        ("stuck_joint", 4, {}, "stuck joints level is 4; it must lie between 0 and 3"),
        ("stuck_joint", 0.5, {}, "stuck joints level is 0.5; give a whole number"),
        ("dead_sensor", 12, {}, "dead sensors level is 12; it must lie between 0 and 11"),
        ("dead_sensor", 1, {"readings": [11]}, r"readings of a fault are \[11\]; .* 0 to 10"),
        ("physics_shift", 0.0, {"parameter": "mass"}, "physics scale level is 0"),
        ("physics_shift", 2.0, {"parameter": "wind"}, "'wind' is not in this task"),
    ],
)
def test_what_is_refused(name, level, settings, message):
    def in_gymnasium():
        return Perturbation(name, level, settings).wrap(gymnasium.make("Hopper-v5"))

    def in_a_batch():
        return make("Hopper", perturbations=Perturbation(name, level, settings))

    for made in (in_gymnasium, in_a_batch):
        with pytest.raises(InputError, match=message):
            made()


def test_without_a_model_there_is_nothing_to_stick_or_shift():
    for part in (FAULTS["stuck"], FAULTS["heavy"]):
        with pytest.raises(InputError, match="needs a MuJoCo model"):
            part.wrap(gymnasium.make("Pendulum-v1"))
