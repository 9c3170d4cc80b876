"""Attacks as an evaluation plays them."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hopper_runs import hopper_policy, make_run

import drspcrl
from drspcrl import zoo
from drspcrl.errors import InputError
from drspcrl.evaluation import Suite, evaluate, evaluate_runs, load_suite
from drspcrl.evaluation.rollout import Job
from drspcrl.perturbations import parse
from drspcrl.policy import load_policy
from drspcrl.runfolder.runs import read_run

ALL = ("random_attack", "action_attack", "query_attack[queries=5]")
SUITE = Suite("some", [None, *(parse(f"{name}=0.2") for name in ALL)])
SCALED = replace(
    hopper_policy(0),
    layers=tuple((np.float32(0.2) * kernel, bias) for kernel, bias in hopper_policy(0).layers),
    observation_scale=np.linspace(0.1, 2.0, 11).astype(np.float32),
)


class Watched:
    """A policy that keeps what it was asked for an action of; the last of a step is what counts."""

    def __init__(self, policy):
        self._policy, self.seen = policy, []
        self.observation_scale, self.observation_mean = policy.observation_scale, np.zeros(11)
        self.vjp = policy.vjp

    def __call__(self, observations):
        self.seen.append(observations.copy())
        return self._policy(observations)


def test_a_result_depends_neither_on_the_batch_nor_on_threads():
    tables = [
        evaluate(SCALED, "Hopper", SUITE, 5, simulations=n, threads=threads, show=None)
        for n, threads in ((20, 2), (3, 1))
    ]
    np.testing.assert_array_equal(tables[0].returns, tables[1].returns)
    assert len(set(tables[0].returns)) == 20
    alone = Suite("alone", [parse("action_attack=0.2")])
    table = evaluate(SCALED, "Hopper", alone, 5, show=None)
    np.testing.assert_array_equal(table.returns, tables[0].returns[10:15])


def test_radius_0_is_the_plain_episode():
    zero = Suite("zero", [parse(f"{name}=0") for name in ALL])
    table = evaluate(SCALED, "Hopper", zero, 1, show=None)
    seeds = [drspcrl.evaluation.episode_seed(0, setting, 0) for setting in zero.settings]
    env = drspcrl.envs.make("Hopper", num_envs=3)
    observation, returns, playing = env.reset(seeds=seeds), np.zeros(3), np.ones(3, bool)
    slots = [Job("", row, 0).slot for row in zero.rows]
    while playing.any():
        block = np.zeros((64, 11))
        block[slots] = observation
        step = env.step(SCALED(block)[slots])
        returns += np.where(playing, step.reward, 0.0)
        playing &= ~step.ended
        observation = step.observation
    np.testing.assert_array_equal(table.returns, returns)


@pytest.mark.parametrize("name", ALL)
def test_the_policy_sees_what_is_near_the_truth_in_its_own_units(name):
    policy = Watched(SCALED)
    evaluate(policy, "Hopper", Suite("one", [parse(f"{name}=0.2")]), 1, show=None)
    env = drspcrl.envs.make("Hopper", num_envs=1)
    seed = drspcrl.evaluation.episode_seed(0, parse(f"{name}=0.2"), 0)
    (true,) = env.reset(seeds=[seed])
    rows = [seen[np.any(seen, axis=1)] for seen in policy.seen]
    first = rows[6 if name.startswith("query") else 0]  # the true one and five questions before it
    off = np.abs((first[0] - true) / SCALED.observation_scale)
    assert 0.0 < off.max() <= 0.2 + 1e-9
    if name != "random_attack":
        assert np.mean(off > 0.199) > 0.7  # of the box, mostly corners


def test_what_a_policy_cannot_be_attacked_by_is_left_out_and_said(make_network):
    table = evaluate(make_network("Hopper"), "Hopper", "attacks", 1, show=None)
    assert set(table.perturbation) == {"none", "random_attack", "query_attack"}
    assert table.info["left_out"] == {
        "action_attack=0.075": "the policy gives no gradient",
        "critic_attack=0.075": "the policy comes without its critic",
    }
    assert "left out: action_attack=0.075 (the policy gives no gradient)" in table.left_out
    assert table.info["attack_scale"]["from"] == "standard deviation in 8 nominal episodes"
    assert min(table.info["attack_scale"]["scale"]) > 0
    own = evaluate(SCALED, "Hopper", SUITE, 1, show=None).info["attack_scale"]
    assert own["from"] == "the policy's normaliser"
    np.testing.assert_allclose(own["scale"], SCALED.observation_scale)
    with pytest.raises(InputError, match="'a' has no setting for policy: the policy gives no grad"):
        evaluate(make_network("Hopper"), "Hopper", Suite("a", [parse("action_attack=0.1")]), 1)


def test_policies_with_and_without_gradients_share_a_batch(make_network):
    policies = {"ours": SCALED, "foreign": make_network("Hopper")}
    found = drspcrl.evaluation.evaluate_policies(policies, "Hopper", SUITE, 2, show=None)
    tables = {outcome.policy: outcome.table for outcome in found}
    assert {name: len(table or ()) for name, table in tables.items()} == {"ours": 8, "foreign": 6}
    alone = evaluate(make_network("Hopper"), "Hopper", SUITE, 2, show=None)
    (beside,) = (table for name, table in tables.items() if name == "foreign" and table)
    np.testing.assert_array_equal(alone.returns, beside.returns)


def test_a_policy_that_cannot_be_attacked_does_not_stop_the_others(make_network):
    class Broken:
        vjp = SCALED.vjp

        def __call__(self, observations):  # refused where its readings are measured
            return np.full((len(observations), 3), np.nan)

    suite = Suite("a", [parse("action_attack=0.1")])
    policies = {
        "foreign": make_network("Hopper"),  # nothing of the suite is left for it
        "broken": Broken(),
        "ours": SCALED,
    }
    found = drspcrl.evaluation.evaluate_policies(policies, "Hopper", suite, 1, show=None)
    results = {result.policy: result for result in found}
    assert "no setting for foreign: the policy gives no" in str(results["foreign"].error)
    assert "finite" in str(results["broken"].error)
    alone = evaluate(SCALED, "Hopper", suite, 1, show=None)
    table = results["ours"].table
    assert table is not None
    np.testing.assert_array_equal(table.returns, alone.returns)


class Remembering:
    """In the manner of Stable-Baselines3, with a memory that counts real steps alone."""

    def __init__(self):
        self.longest = 0

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        count = (
            np.zeros(len(observation))
            if state is None
            else np.where(np.asarray(episode_start), 0, state)
        )
        self.longest = max(self.longest, int(count.max()) + 1)
        action = 0.1 * np.tanh(observation[:, :3]) + 0.0 * count[:, None]
        return action.astype(np.float32), count + 1


def test_questions_do_not_enter_the_memory_of_a_policy():
    policy = Remembering()
    table = evaluate(policy, "Hopper", Suite("q", [parse("query_attack=0.1")]), 1, show=None)
    nominal = evaluate(policy, "Hopper", Suite("n", [None]), 8, show=None)
    assert policy.longest <= max(int(table.length.max()), int(nominal.length.max()))


def test_a_run_without_checkpoint_says_so(tmp_path):
    folder = make_run(tmp_path, 0)
    (result,) = evaluate_runs(folder, load_policy, "attacks", episodes=1, show=None)
    assert result.status == "evaluated"
    assert (folder / "evaluation-attacks.csv").exists()
    assert "no critic: the run folder has no checkpoint" in result.table.left_out  # type: ignore[union-attr]
    assert read_run(folder).evaluations["attacks"].statistic == "worst"


def test_the_suite_has_the_published_radii_and_every_task_has_one():
    suite = load_suite("attacks")
    radii = {task: {row.level for row in suite.for_task(task).rows[1:]} for task in suite.tasks}
    published = {"Hopper": {0.075}, "Walker2d": {0.05}, "HalfCheetah": {0.15}, "Humanoid": {0.075}}
    assert {task: radii[task] for task in published} == published
    assert len(suite.for_task("Pendulum-v1").rows) == 5


def test_observations_that_are_no_numbers_on_one_axis_are_refused(counter):
    class Images(counter):
        import gymnasium

        observation_space = gymnasium.spaces.Box(0, 255, (4, 4), np.uint8)

        def _observation(self):
            return np.zeros((4, 4), np.uint8)

    with pytest.raises(InputError, match="attacks are on observations of one axis"):
        evaluate(lambda o: np.zeros((len(o), 1)), Images, Suite("r", [parse("random_attack=0.1")]))


def test_attacks_on_our_policies_do_without_jax(tmp_path):
    make_run(tmp_path, 0)
    program = (
        "import sys, drspcrl; "
        f"run = next(__import__('pathlib').Path({str(tmp_path)!r}).iterdir()); "
        "list(drspcrl.evaluation.evaluate_runs("
        "run, drspcrl.load_policy, 'attacks', episodes=1, show=None)); "
        "print('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False"], done.stderr


# Three times the published radii: within those some policies lose nothing to any attack.
_RADII = {"Hopper": 0.225, "HalfCheetah": 0.45, "Walker2d": 0.15, "InvertedPendulum-v5": 0.8}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in zoo.names() if "Humanoid" not in name])
def test_attacks_are_stronger_than_noise_of_their_size(name):
    task = read_run(zoo.folder_of(name), metrics=()).environment
    kinds = ("random_attack", "action_attack", "query_attack")
    suite = Suite("near", [parse(f"{kind}={_RADII[task]}") for kind in kinds])
    table = evaluate(load_policy(zoo.folder_of(name)), task, suite, 10, show=None)
    means = {s.perturbation: s.mean for s in table.summary()}
    assert means["action_attack"] < means["random_attack"]
    assert means["query_attack"] < means["random_attack"]
