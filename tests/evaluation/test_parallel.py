"""Several processes: the same results, little lost when one dies, none left behind."""

import os
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hopper_runs import hopper_policy, make_run, statuses
from processes import endless, read_and_be_killed, some_die

from drspcrl.errors import InputError
from drspcrl.evaluation import EvaluationTable, evaluate_runs
from drspcrl.evaluation.parallel import in_processes, processes_for
from drspcrl.policy import load_policy


def test_results_do_not_depend_on_the_number_of_processes(tmp_path):
    for seed in range(3):
        for root in ("one", "two"):
            make_run(tmp_path / root, seed)
    make_run(tmp_path / "two", 9, policy=hopper_policy(9)).joinpath("policy.safetensors").unlink()
    list(evaluate_runs(tmp_path / "one", load_policy, "quick", episodes=3, show=None))
    found = list(evaluate_runs(tmp_path / "two", load_policy, "quick", 3, jobs=2, show=None))
    expected = {f"Hopper-sac-vanilla-s{seed}": "evaluated" for seed in range(3)}
    assert statuses(found) == expected | {"Hopper-sac-vanilla-s9": "skipped"}
    for one in (tmp_path / "one").iterdir():
        there = tmp_path / "two" / one.name / "evaluation-quick.csv"
        assert there.read_bytes() == (one / "evaluation-quick.csv").read_bytes()
        table = EvaluationTable.from_csv(there)
        assert np.isfinite(table.returns).all()
    again = list(evaluate_runs(tmp_path / "two", load_policy, "quick", 3, jobs=2, show=None))
    assert sorted(statuses(again).values()) == ["kept", "kept", "kept", "skipped"]


def test_a_process_that_dies_takes_only_its_own_folders_down():
    folders = [Path(name) for name in ("a", "b", "c", "deadly", "e", "f")]
    found = list(in_processes(folders, 2, 6, some_die))
    # The first process has a, c and e, the second b, deadly and f.
    done = {one.path.name: one.threads for one in found if not isinstance(one, tuple)}
    assert done == {"a": 3, "c": 3, "e": 3, "b": 3}
    lost = {folder.name: reason for folder, reason in (x for x in found if isinstance(x, tuple))}
    assert set(lost) == {"deadly", "f"}
    assert all("ended with code 3" in reason for reason in lost.values())


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_whoever_stops_reading_ends_the_processes():
    results = in_processes([Path("a"), Path("b")], 2, 2, endless)
    children = [next(results).process for _ in range(2)]
    assert all(map(alive, children))
    results.close()
    assert not any(map(alive, children))


def test_processes_end_when_their_reader_is_killed():
    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    reader = context.Process(target=read_and_be_killed, args=(there,))
    reader.start()
    children = here.recv()
    reader.join()
    end = time.monotonic() + 30
    while any(map(alive, children)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(alive, children))


@pytest.mark.parametrize(
    ("jobs", "runs", "threads", "processes"), [(1, 9, 4, 1), (3, 9, 4, 3), (8, 2, 4, 2),
                                               (0, 9, 4, 4), (0, 3, 4, 3), (0, 0, 4, 1)]
)  # fmt: skip
def test_there_are_no_more_processes_than_runs(jobs, runs, threads, processes):
    assert processes_for(jobs, runs, threads) == processes


@pytest.mark.parametrize("jobs", [-1, 1.5, True])
def test_a_number_that_is_none_of_processes_is_refused(jobs):
    with pytest.raises(InputError, match=r"jobs is .*; give a number of processes"):
        processes_for(jobs, 3, 1)
