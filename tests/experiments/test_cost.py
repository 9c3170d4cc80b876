"""Estimates of time, memory and disk."""

import subprocess
import sys
from dataclasses import replace

import pytest

from drspcrl.envs import make
from drspcrl.errors import InputError
from drspcrl.experiments import cost
from drspcrl.experiments.cost import Timing, bytes_of, members_that_fit, needs, rate_of
from drspcrl.experiments.grid import load_grid
from drspcrl.experiments.plan import _makespan
from drspcrl.experiments.population import Population
from drspcrl.experiments.run import Options, plan_grid
from drspcrl.training.collector import Collector
from drspcrl.training.memory import estimate
from drspcrl.training.worlds import task_worlds

SAC = Population("Hopper", "sac", ("vanilla", "fixed"), (0, 1, 2, 3, 4), 1_000_000)


@pytest.mark.parametrize("task", cost.SIZES)
def test_the_sizes_are_those_of_the_tasks(task):
    env = make(task)
    assert cost.SIZES[task] == (env.observation_space.shape[-1], env.action_space.shape[-1])
    env.close()


def test_other_tasks_are_asked():
    assert cost.task_sizes("probe/noise") == (1, 1)
    with pytest.raises(InputError, match="Nonsense"):
        cost.task_sizes("Nonsense-v0")


def test_memory_limits_the_members():
    each = (needs(SAC).replay + needs(SAC).learning) / SAC.size
    room = each / cost.SAFE_SHARE
    assert members_that_fit(SAC, 4.5 * room, None) == 4
    assert members_that_fit(SAC, 4.5 * room, 3) == 3
    assert members_that_fit(SAC, 1.0, None) == 1
    assert members_that_fit(SAC, None, None) >= 10


@pytest.mark.parametrize("worlds", [None, {"physics": {"mass": 0.1}, "actuator": 0.0}])
def test_a_plan_counts_the_worlds_that_a_training_keeps(worlds, tmp_path):
    asked = replace(SAC, training={"worlds": worlds})
    config = asked.config(tmp_path)
    collector = Collector("Hopper", [0], 1)
    size = task_worlds(config, collector).size
    collector.env.close()
    assert needs(asked) == estimate(config, *cost.SIZES["Hopper"], size)
    transitions = replace(SAC, training={"uncertainty": "transitions"})
    assert needs(asked).replay > needs(transitions).replay
    plain = [replace(one, methods=("vanilla",)) for one in (asked, transitions)]
    assert needs(plain[0]) == needs(plain[1])


def test_the_grid_in_worlds_has_a_plan():
    lines = plan_grid(load_grid("worlds"), None, Options(memory=1e12, device="cpu"))
    assert len([line for line in lines if "1,000,000" in line]) == 12
    assert any("420 pending" in line for line in lines)


def test_a_rate_says_where_it_comes_from():
    timings = [Timing("Hopper", "sac", 1000, 10.0), Timing("Walker2d", "sac", 9000, 10.0)]
    assert rate_of(SAC, 7.0, timings, gpu=True) == cost.Rate(7.0, "given by --rate")
    assert rate_of(SAC, None, timings, gpu=True) == cost.Rate(100.0, "measured here on Hopper")
    assert rate_of(SAC, None, timings[1:], gpu=True) == cost.Rate(
        900.0, "measured here on Walker2d"
    )


@pytest.mark.parametrize(
    ("env", "algorithm", "source"),
    [
        ("Hopper", "sac", "SAC on Hopper"),
        ("Humanoid-v5", "ppo", "SAC on Humanoid"),  # nobody measured PPO there
        ("HalfCheetah", "ddpg", "DDPG on HalfCheetah"),
    ],
)
def test_a_table_knows_the_usual_tasks(env, algorithm, source):
    tabled = rate_of(replace(SAC, env=env, algorithm=algorithm), None, [], gpu=True)
    assert tabled.steps_per_second > 1000
    assert source in tabled.source
    assert "H200" in tabled.source


@pytest.mark.parametrize("algorithm", ["ppo", "sac", "ddpg", "td3"])
@pytest.mark.parametrize("env", ["probe/noise", "Ant-v5", "Hopper"])
@pytest.mark.parametrize("gpu", [True, False])
def test_for_any_other_task_there_is_a_guess_that_says_so(env, algorithm, gpu):
    guess = rate_of(replace(SAC, env=env, algorithm=algorithm), None, [], gpu)
    known = {("Hopper", "sac", True)}
    assert guess.source.startswith("a guess") == ((env, algorithm, gpu) not in known)
    assert ("H200" if gpu else "two cores") in guess.source
    assert guess.steps_per_second > 100


def test_a_guess_is_the_slowest_of_the_same_learner():
    guess = rate_of(replace(SAC, env="probe/noise"), None, [], gpu=True)
    assert guess.steps_per_second == 13477  # SAC on Humanoid


@pytest.mark.parametrize(("text", "count"), [("500", 500), ("1K", 1024), ("80G", 80 * 2**30)])
def test_bytes(text, count):
    assert bytes_of(text) == bytes_of(f"{text}B") == count


@pytest.mark.parametrize("text", ["", "much", "-1G", "infG"])
def test_no_bytes(text):
    with pytest.raises(InputError, match="give bytes such as"):
        bytes_of(text)


def test_a_plan_tells_totals(tiny_grid, tmp_path):
    lines = plan_grid(tiny_grid(), tmp_path / "none", Options(rate=256.0, device="cpu"))
    assert "pending" in lines[2]
    assert lines[-3] == "4 runs: 4 pending"
    assert "training takes 8s from the beginning" in lines[-2]  # 4 runs × 512 steps / 256
    assert "given by --rate" in lines[-2]
    assert not (tmp_path / "none").exists()


def test_a_plan_needs_no_jax():
    program = (
        "import sys\nfrom drspcrl.cli import main\n"
        "assert main(['grid', 'paper', '--plan', '--memory', '100G']) == 0\n"
        "print('jax' in sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "420 runs: 420 pending" in told.stdout
    assert told.stdout.splitlines()[-1] == "False"


def test_pieces_begin_in_their_order_where_a_node_is_free_first():
    # 5 and 4 begin; 3 follows 4 and ends at 7; 3 follows 5 and ends at 8; 1 follows at 7.
    assert _makespan([5, 4, 3, 3, 1], 2) == 8
    assert _makespan([5, 4, 3, 3, 1], 1) == 16
    assert _makespan([], 3) == 0


def test_a_plan_for_machines_of_a_kind(tiny_grid):
    grid = load_grid("protocol")
    lines = plan_grid(grid, None, Options(nodes="8xH200"))
    (total,) = [line for line in lines if "from the beginning" in line]
    assert "on 8 nodes (one H200 with 16 cores each)" in total
    # The longest piece, 40 members of 1M steps with SAC on Walker2d at the tabled rate.
    assert f"training takes {40e6 / 24608 / 60:.0f}m" in total
    (total,) = [li for li in plan_grid(grid, None, Options(nodes="1xH200")) if "beginning" in li]
    assert "training takes 2.3h" in total


@pytest.mark.parametrize("text", ["8xA100", "H200", "0xH200", "8x", "-1xcpu", "²xH200"])
def test_machines_that_nothing_was_measured_on(text):
    with pytest.raises(InputError, match=r"nodes is .*measured on: H200, cpu"):
        cost.nodes_of(text)
