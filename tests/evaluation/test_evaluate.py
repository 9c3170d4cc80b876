"""What `evaluate` plays is what Gymnasium would have played, however it is batched."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from drspcrl.errors import InputError
from drspcrl.evaluation import Suite, episode_seed, evaluate
from drspcrl.evaluation.actor import BLOCK
from drspcrl.evaluation.rollout import Job
from drspcrl.perturbations import Perturbation, wrap

EVERY_KIND = Suite(
    "every_kind",
    [
        None,
        Perturbation("action", 0.3),
        Perturbation("observation", 0.3),
        Perturbation("environment", 0.3),
        Perturbation("scale", 1.5, {"parameter": "mass"}),
        Perturbation("push", 0.1, {"frequency": 1.0}),
        Perturbation("action_delay", 2),
        Perturbation("observation_dropout", 0.2),
        Perturbation("observation_bias", 0.2),
        (Perturbation("environment", 0.3), Perturbation("action", 0.1)),
    ],
)
FOUR = Suite("four", EVERY_KIND.settings[:4])


def same(a, b):
    np.testing.assert_array_equal(a.returns, b.returns)
    np.testing.assert_array_equal(a.length, b.length)


def played_by_gymnasium(policy, task, setting, seed, slot):
    """Return and length of one episode, by the plainest loop there is."""
    env = wrap(gymnasium.make(f"{task}-v5"), setting)
    observation, _ = env.reset(seed=seed)
    returns, length, over = 0.0, 0, False
    while not over:
        block = np.zeros((BLOCK, *np.shape(observation)))
        block[slot] = observation
        observation, reward, terminated, truncated, _ = env.step(policy(block)[slot])
        returns, length, over = returns + float(reward), length + 1, terminated or truncated
    env.close()
    return returns, length


@pytest.mark.parametrize("task", ["Hopper", "Walker2d"])
@pytest.mark.filterwarnings("ignore:.*settotalmass")
def test_every_episode_is_the_one_gymnasium_plays(task, make_network):
    policy = make_network(task)
    table = evaluate(policy, task, EVERY_KIND, episodes=3, seed=5)
    assert len(table) == 30
    for i in range(30):
        setting, episode = EVERY_KIND.settings[i // 3], i % 3
        slot = Job("", EVERY_KIND.rows[i // 3], episode).slot
        seed = episode_seed(5, setting, episode)
        expected = played_by_gymnasium(policy, task, setting, seed, slot)
        assert (table.returns[i], table.length[i]) == expected
    assert len(set(table.returns)) == 30


@pytest.mark.parametrize(("task", "episodes"), [("Hopper", 20), ("Walker2d", 20), ("Humanoid", 4)])
def test_results_depend_neither_on_the_batch_nor_on_threads(task, episodes, make_network):
    policy = make_network(task)
    reference = evaluate(policy, task, FOUR, episodes, simulations=80, threads=2)
    for simulations, threads in ((7, 1), (64, 2)):
        same(
            evaluate(policy, task, FOUR, episodes, simulations=simulations, threads=threads),
            reference,
        )


@pytest.mark.slow
def test_full_episodes_do_not_depend_on_the_batch(make_network):
    policy = make_network("HalfCheetah", hidden=256)
    reference = evaluate(policy, "HalfCheetah", FOUR, episodes=3, simulations=12)
    assert reference.length.tolist() == [1000] * 12
    same(evaluate(policy, "HalfCheetah", FOUR, episodes=3, simulations=5, threads=1), reference)


def test_an_episode_depends_on_seed_setting_and_number_alone(make_network):
    policy = make_network("Hopper")
    long = evaluate(policy, "Hopper", EVERY_KIND, episodes=4)
    short = evaluate(policy, "Hopper", Suite("part", EVERY_KIND.settings[3:0:-1]), episodes=2)
    rows = [long.returns[4 * k : 4 * k + 2] for k in (3, 2, 1)]
    np.testing.assert_array_equal(short.returns, np.concatenate(rows))
    other = evaluate(policy, "Hopper", EVERY_KIND, episodes=4, seed=1)
    assert not np.any(other.returns == long.returns)


def test_rows_come_in_the_order_of_the_suite(make_network):
    table = evaluate(make_network("Hopper"), "Hopper", FOUR, episodes=9, simulations=4)
    assert table.perturbation.tolist() == [
        x for x in ("none", "action", "observation", "environment") for _ in range(9)
    ]
    assert table.level.tolist() == [0.0] * 9 + [0.3] * 27
    assert table.episode.tolist() == list(range(9)) * 4


def test_known_returns_of_an_own_environment(counter):
    # Five steps; at step k the observation is k, so the return is 0+1+2+3+4 quarters.
    table = evaluate(lambda o: o[:, 1:] / 4, counter, Suite("one", [None]), episodes=40)
    assert table.returns.tolist() == [2.5] * 40
    assert table.length.tolist() == [5] * 40
    assert table.info["env"] == "Counter"
    assert table.info["physics"] is None


def test_any_gymnasium_id():
    def swing(observations):
        return np.clip(observations[:, 2:3], -2, 2)

    table = evaluate(swing, "Pendulum-v1", "noise", episodes=2)
    assert len(table) == 22
    assert set(table.length) == {200}
    env = gymnasium.make("Pendulum-v1")
    observation, _ = env.reset(seed=episode_seed(0, None, 1))
    returns = 0.0
    for _ in range(200):
        observation, reward, *_ = env.step(swing(observation[None])[0])
        returns += float(reward)
    assert table.returns[1] == returns


def test_what_is_written_down(make_network):
    table = evaluate(make_network("Hopper"), "Hopper", FOUR, episodes=2, seed=9)
    info = table.info
    assert (info["env"], info["suite"], info["episodes"], info["seed"]) == ("Hopper", "four", 2, 9)
    assert info["settings"] == ["none", "action=0.3", "observation=0.3", "environment=0.3"]
    assert set(info["versions"]) == {"drspcrl", "gymnasium", "mujoco", "numpy"}
    assert info["physics"]["environment_parameters"] == [
        "mass", "friction", "damping", "armature", "gravity", "gear",
    ]  # fmt: skip
    assert info["physics"]["nominal"]["gravity"] == pytest.approx(-9.81)


def test_foreign_policies_never_import_jax():
    program = (
        "import sys; import numpy as np; from drspcrl.evaluation import evaluate\n"
        "evaluate(lambda o: np.zeros((len(o), 3)), 'Hopper', 'quick', episodes=1)\n"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_settings_of_what_the_task_has_not_are_left_out_and_named(counter):
    table = evaluate(lambda o: o[:, 1:] / 4, counter, episodes=3)  # the default suite
    assert len(table) == 11 * 3
    assert set(table.perturbation) == {"none", "action", "observation"}
    levels = [f"environment={level}" for level in (0.1, 0.2, 0.3, 0.4, 0.5)]
    assert table.info["left_out"] == dict.fromkeys(levels, "the task has no MuJoCo model")
    assert len(table.info["settings"]) == 16
    line = "left out: environment=0.1, 0.2, 0.3, 0.4, 0.5 (the task has no MuJoCo model)"
    assert table.left_out == str(table).splitlines()[-1] == line
    alone = evaluate(lambda o: o[:, 1:] / 4, counter, "noise", episodes=3)
    assert "left_out" not in alone.info
    assert alone.left_out == ""
    assert alone.returns.tolist() == table.returns.tolist()


def test_a_single_episode_of_each_setting_that_is_left(counter):
    table = evaluate(lambda o: o[:, 1:] / 4, counter, "paper", episodes=1)
    assert len(table) == 11


def test_a_suite_of_which_nothing_is_left(counter):
    suite = Suite("masses", [Perturbation("environment", 0.1), Perturbation("push", 0.1)])
    with pytest.raises(InputError, match="suite 'masses' has no setting for this task: physics no"):
        evaluate(lambda o: o[:, 1:] / 4, counter, suite, episodes=1)


def test_a_parameter_that_the_model_has_not_is_still_an_error():
    suite = Suite("wrong", [None, Perturbation("scale", 1.5, {"parameter": "mass:tail"})])
    with pytest.raises(InputError, match=r"suite 'wrong', setting scale.*'mass:tail' is not in"):
        evaluate(lambda o: o[:, :3], "Hopper", suite, episodes=1)


def test_many_settings_that_are_left_out_fit_into_a_line(counter):
    table = evaluate(lambda o: o[:, 1:] / 4, counter, "mass_friction", episodes=1)
    assert len(table.left_out) < 300
    assert "and 41 more settings" in table.left_out


def test_a_first_observation_that_is_no_number_is_the_environments(counter):
    class Lost(counter):
        def _observation(self):
            return np.array([0.0, np.nan])

    with pytest.raises(
        InputError, match=r"gave observation\[1\] = nan at its reset \(setting none"
    ):
        evaluate(lambda o: o[:, 1:] / 4, Lost, Suite("one", [None]), episodes=2)
