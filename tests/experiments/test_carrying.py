"""Run folders carried in messages: all of it, whole wherever it ends, and twice the same."""

import json
from pathlib import Path

import numpy as np
import pytest

from drspcrl.errors import InputError
from drspcrl.experiments.carrying import Copy, Packer, bring, pin, progress
from drspcrl.runfolder.checkpoint import FolderLock, Store

RUNS = ["group/a-s0", "group/a-s1"]


def write(out: Path, step: int, status: str = "running", rows: int = 300_000) -> None:
    """Two runs at a checkpoint, each with one array that is kept in blocks."""
    for k, run in enumerate(RUNS):
        folder = out / run
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text(json.dumps({"format_version": 1, "status": status}))
        (folder / "metrics.csv").write_text("step\n" + f"{step}\n")
        replay = np.full(rows, k, np.float32)
        replay[:step] = np.arange(step)
        Store(folder).write(step, {"loop": {"replay": replay, "step": step}})
        Store(folder).keep()


def contents(out: Path) -> dict[str, bytes]:
    files = (path for run in RUNS for path in (out / run).rglob("*") if path.is_file())
    return {str(file.relative_to(out)): file.read_bytes() for file in files}


def carry(packer: Packer, target: Path) -> int:
    count = 0
    with Copy(target, RUNS) as copy:
        for message in packer.pack():
            copy.take(message)
            count += 1
    return count


@pytest.mark.parametrize("written", [False, True])
def test_what_arrives_is_what_was_there(tmp_path, written):
    here, there = tmp_path / "here", tmp_path / "there"
    write(here, 100)
    packer = Packer(here, RUNS, written=written)
    carry(packer, there)
    assert contents(there) == contents(here)
    assert not packer.due
    for step in (200, 300):
        write(here, step)
        assert packer.due
        carry(packer, there)
        assert contents(there) == contents(here)
        assert Store(there / RUNS[0]).read(step).value("loop", "step") == step
    assert carry(packer, there) == 0
    assert sorted(path.name for path in here.iterdir()) == ["group"]


def test_blocks_are_carried_once(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    write(here, 100)
    packer = Packer(here, RUNS)
    carry(packer, there)
    write(here, 200)
    carried = [name for message in packer.pack() for name in message.get("files", ())]
    blocks = [name for name in carried if "/blocks/" in name]
    assert len(blocks) == 2  # the first of each run, where its rows have changed


def test_wherever_it_ends_the_newest_whole_checkpoint_is_there(tmp_path):
    here = tmp_path / "here"
    write(here, 100)
    total = len(list(Packer(here, RUNS).pack()))
    for end in range(total + 1):
        there = tmp_path / str(end)
        write(there, 50)
        with Copy(there, RUNS) as copy:
            for message, _ in zip(Packer(here, RUNS).pack(), range(end), strict=False):
                copy.take(message)
        reached = int(progress(there, RUNS))
        assert reached in (50, 100)
        for run in RUNS:
            assert Store(there / run).read(reached).step == reached
        carry(Packer(here, RUNS), there)
        assert progress(there, RUNS) == 100


def test_only_what_is_further_is_brought(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    write(here, 100)
    write(there, 200)
    before = contents(there)
    bring(here, there, RUNS)
    assert contents(there) == before
    bring(there, here, RUNS)
    assert progress(here, RUNS) == 200
    write(here, 300, "finished")
    assert progress(here, RUNS) == float("inf")
    bring(here, there, RUNS)
    assert progress(there, RUNS) == float("inf")


def test_results_are_carried_without_checkpoints(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    write(here, 100)
    carry(Packer(here, RUNS, checkpoints=False), there)
    assert sorted(contents(there)) == sorted(
        f"{r}/{f}" for r in RUNS for f in ("metrics.csv", "run.json")
    )


def test_what_is_taken_for_carried_is_left_out(tmp_path):
    write(tmp_path, 100)
    packer = Packer(tmp_path, RUNS)
    packer.skip()
    assert not packer.due
    assert not list(packer.pack())


def test_a_checkpoint_stays_pinned_when_it_is_removed(tmp_path):
    write(tmp_path, 100)
    run, place = tmp_path / RUNS[0], tmp_path / "pinned"
    pin(run, place)
    for step in (200, 300):
        write(tmp_path, step)
    assert Store(run).steps() == [200, 300]
    assert Store(place).read(100).step == 100


@pytest.mark.parametrize("name", ["../elsewhere", "/etc/elsewhere", "group/../../elsewhere"])
def test_no_message_writes_elsewhere(tmp_path, name):
    with pytest.raises(InputError, match="outside of its folder"):
        Copy(tmp_path / "out", RUNS).take({"files": {name: b""}})


def test_a_run_that_somebody_writes_is_not_written_to(tmp_path):
    write(tmp_path, 100)
    lock = FolderLock(tmp_path / RUNS[1])
    with pytest.raises(InputError, match="is being written by"), Copy(tmp_path, RUNS, patience=0.0):
        pass
    lock.release()
    with Copy(tmp_path, RUNS, patience=0.0):
        pass
