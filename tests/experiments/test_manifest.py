"""The manifest: what begins stays, what is on disk wins, a grid may grow."""

import json
import math
import sys
from dataclasses import replace

import pytest
import yaml
from hanging import no_hang

from drspcrl.errors import InputError
from drspcrl.experiments.engine import Task
from drspcrl.experiments.grid import parse_grid
from drspcrl.experiments.local import LOGS, LocalEngine
from drspcrl.experiments.manifest import JOURNAL, MANIFEST, Manifest, Piece
from drspcrl.experiments.run import Options, plan_grid, run_grid
from drspcrl.experiments.selection import Selection
from drspcrl.experiments.worker import _can_resume, work
from drspcrl.training.stopping import Stop

ALL = Selection()


@pytest.fixture
def out(tmp_path):
    return tmp_path / "grid"


def taken_up(out, grid, selection=ALL, most=99) -> Manifest:
    """The manifest after one call of the command."""
    with Manifest.held(out) as manifest:
        manifest.follow(grid, selection, {p.group: most for p in grid.populations})
        manifest.save()
        return manifest


def begin(manifest: Manifest, piece: Piece, status: str = "finished") -> None:
    """What a training would leave of a piece, as far as a manifest looks."""
    config = piece.population.config(manifest.out)
    for member in config.members:
        folder = config.folder(member)
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"format_version": 1, "status": status}))
        (folder / "config.yaml").write_text(yaml.safe_dump(config.describe(member)))


def states(manifest: Manifest) -> list[str]:
    return [piece.state for piece in manifest.pieces.values()]


def test_it_comes_back_from_disk(out, tiny_grid):
    manifest = taken_up(out, tiny_grid(), most=2)
    assert states(manifest) == ["pending", "pending"]
    again = Manifest.read(out)
    assert again.pieces == manifest.pieces
    assert not (out / ".lock").exists()


def noted(out, grid, count: int) -> Manifest:
    """A manifest of many pieces, of which so many were noted one by one."""
    manifest = taken_up(out, grid, most=1)
    for piece in list(manifest.pieces.values())[:count]:
        manifest.put(replace(piece, attempts=3, seconds=1.5))
    return manifest


def test_what_is_noted_is_known_after_a_crash(out, tiny_grid):
    manifest = noted(out, tiny_grid(), 2)
    assert [piece.attempts for piece in Manifest.read(out).pieces.values()] == [3, 3, 0, 0]
    with open(out / JOURNAL, "ab") as file:  # a crash while a line was written
        file.write((out / JOURNAL).read_bytes()[:-9])
    assert Manifest.read(out).pieces == manifest.pieces
    assert Manifest.read(taken_up(out, tiny_grid(), most=1).out).pieces == manifest.pieces
    assert not (out / JOURNAL).exists()


def test_a_journal_is_taken_up_before_it_is_too_large_to_read(out, tiny_grid, monkeypatch):
    noted(out, tiny_grid(), 1)
    line = (out / JOURNAL).stat().st_size
    monkeypatch.setattr("drspcrl.experiments.manifest._MOST_JOURNAL", 3 * line // 2)
    written = noted(out, tiny_grid(), 4)
    assert Manifest.read(out).pieces == written.pieces
    with open(out / JOURNAL, "ab") as file:
        file.write(b" " * 2 * line)
    with pytest.raises(InputError, match=r"journal has .* bytes; at most .* are read"):
        Manifest.read(out)


def test_the_journal_of_an_earlier_manifest_says_nothing(out, tiny_grid):
    noted(out, tiny_grid(), 2)
    left = (out / JOURNAL).read_bytes()
    manifest = taken_up(out, tiny_grid(), most=1)
    (out / JOURNAL).write_bytes(left.replace(b'"attempts": 3', b'"attempts": 9'))
    assert Manifest.read(out).pieces == manifest.pieces


def test_noting_a_piece_writes_as_much_however_many_there_are(tmp_path, tiny_grid):
    sizes = []
    for count in (2, 40):
        grid = tiny_grid(methods="vanilla", seeds=", ".join(map(str, range(10, 10 + count))))
        manifest = noted(tmp_path / str(count), grid, 1)
        sizes.append((manifest.out / JOURNAL).stat().st_size)
        assert (manifest.out / MANIFEST).stat().st_size > count * sizes[0] / 2
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("finished", "finished"),
        ("running", "interrupted"),
        ("stopped", "interrupted"),
        ("interrupted", "interrupted"),
        ("failed", "failed"),
        ("diverged", "evaluated"),
    ],
)
def test_run_folders_overrule_it(out, tiny_grid, status, state):
    manifest = taken_up(out, tiny_grid())
    begin(manifest, next(iter(manifest.pieces.values())), status)
    assert states(taken_up(out, tiny_grid())) == [state]


def test_results_make_a_run_evaluated(out, tiny_grid):
    manifest = taken_up(out, tiny_grid())
    (piece,) = manifest.pieces.values()
    begin(manifest, piece)
    *most, last = piece.runs
    for run in most:
        (out / run / "evaluation-noise.csv").touch()
    assert states(taken_up(out, tiny_grid())) == ["finished"]
    (out / last / "evaluation.csv").touch()  # of another suite
    assert states(taken_up(out, tiny_grid())) == ["finished"]
    (out / last / "evaluation-noise.csv").touch()
    assert states(taken_up(out, tiny_grid())) == ["evaluated"]


def test_a_piece_is_cut_anew_until_it_begins(out, tiny_grid):
    assert len(taken_up(out, tiny_grid()).pieces) == 1
    manifest = taken_up(out, tiny_grid(), most=2)
    first, _ = manifest.pieces.values()
    begin(manifest, first)
    again = taken_up(out, tiny_grid())
    assert [piece.population.seeds for piece in again.pieces.values()] == [(3,), (4,)]
    assert states(again) == ["finished", "pending"]


def test_a_selection_is_cut_off(out, tiny_grid):
    selection = Selection(methods=("noise_training",), seeds=(4,))
    manifest = taken_up(out, tiny_grid(), selection)
    parts = [(p.population.methods, p.population.seeds) for p in manifest.pieces.values()]
    assert parts[0] == (("noise_training",), (4,))
    assert len([run for piece in manifest.pieces.values() for run in piece.runs]) == 4


@pytest.mark.parametrize(
    "growth", [{"seeds": "3, 4, 5"}, {"methods": "vanilla, noise_training, linear"}]
)
def test_a_grid_may_grow(out, tiny_grid, growth):
    manifest = taken_up(out, tiny_grid())
    begin(manifest, next(iter(manifest.pieces.values())))
    grown = tiny_grid(**growth)
    with Manifest.held(out) as manifest:
        words = manifest.follow(grown, ALL, {p.group: 99 for p in grown.populations})
    assert states(manifest) == ["finished", "pending"]
    new = grown.runs - 4
    assert words == [f"new in the grid: {new} run{'s' if new > 1 else ''}"]


@pytest.mark.parametrize("change", [{"seeds": "3"}, {"methods": "noise_training"}, {"steps": 1024}])
def test_what_has_begun_cannot_be_taken_back(out, tiny_grid, change):
    manifest = taken_up(out, tiny_grid())
    taken_up(out, tiny_grid(**change))  # nothing has begun
    taken_up(out, tiny_grid())
    begin(manifest, next(iter(manifest.pieces.values())))
    with pytest.raises(InputError, match="no longer asks for in this way; give another --out"):
        taken_up(out, tiny_grid(**change))


def test_a_run_of_another_training_is_refused(out, tiny_grid):
    manifest = taken_up(out, tiny_grid())
    begin(manifest, next(iter(manifest.pieces.values())))
    config = out / next(iter(tiny_grid().folders())) / "config.yaml"
    config.write_text(config.read_text().replace("- 4", "- 7"))
    with pytest.raises(InputError, match="holds a run of another training"):
        taken_up(out, tiny_grid())


def test_a_folder_from_before_there_were_worlds_continues(out, tiny):
    """Its manifest and config.yaml do not say `uncertainty`; pieces and logs keep their names."""
    text = tiny(methods="vanilla, self_paced")
    grid = parse_grid(text.replace("{log_every", "{uncertainty: transitions, log_every"), "", out)
    manifest = taken_up(out, grid)
    (piece,) = manifest.pieces.values()
    begin(manifest, piece, "running")
    content = json.loads((out / MANIFEST).read_text())
    del content["pieces"][0]["population"]["training"]["uncertainty"]
    (out / MANIFEST).write_text(json.dumps(content))
    for run in piece.runs:
        config = yaml.safe_load((out / run / "config.yaml").read_text())
        del config["uncertainty"], config["worlds"]
        (out / run / "config.yaml").write_text(yaml.safe_dump(config))
    again = taken_up(out, grid)
    assert states(again) == ["interrupted"]
    assert list(again.pieces) == list(manifest.pieces)
    # Its name in versions before there was the word.
    assert (
        piece.name == "probe_noise-ppo-envs_per_member_4-hidden__16__16_-miniba_e5415bda.f818429a"
    )
    with pytest.raises(InputError, match="no longer asks for in this way; give another --out"):
        taken_up(out, parse_grid(text, "", out))


def test_a_run_in_other_worlds_is_refused(out, tiny):
    def grid(sensor: float):
        text = tiny(methods="vanilla, self_paced")
        return parse_grid(
            text.replace("{log_every", f"{{worlds: {{sensor: {sensor}}}, log_every"), "", out
        )

    manifest = taken_up(out, grid(0.1))
    (piece,) = manifest.pieces.values()
    begin(manifest, piece)
    assert states(taken_up(out, grid(0.1))) == ["finished"]
    config = out / next(iter(piece.runs)) / "config.yaml"
    described = yaml.safe_load(config.read_text())
    described["worlds"]["sensor_unit"] = [0.5] * 4  # measured when it began
    config.write_text(yaml.safe_dump(described))
    assert states(taken_up(out, grid(0.1))) == ["finished"]
    described["worlds"]["sensor"] = 0.3
    config.write_text(yaml.safe_dump(described))
    with pytest.raises(InputError, match="holds a run of another training"):
        taken_up(out, grid(0.1))


@pytest.mark.parametrize("work", [run_grid, plan_grid])
def test_a_folder_with_runs_of_the_other_form_is_refused(out, tiny_grid, tiny, work):
    manifest = taken_up(out, tiny_grid())
    begin(manifest, next(iter(manifest.pieces.values())))
    (out / MANIFEST).unlink()
    before = sorted(out.rglob("*"))
    text = tiny().replace("{log_every", "{uncertainty: transitions, log_every")
    with pytest.raises(InputError, match="holds runs of uncertainty=worlds, such as probe_noise"):
        work(parse_grid(text, "", out), out, Options())
    assert sorted(out.rglob("*")) == before


def test_one_grid_at_a_time(out, tiny_grid):
    with Manifest.held(out), pytest.raises(InputError, match="is being written by process"):
        taken_up(out, tiny_grid())


UNKNOWN_PART = {
    **dict.fromkeys(("env", "algorithm", "colour"), "a"),
    **{key: [] for key in ("methods", "seeds")},
    **{key: {} for key in ("settings", "training")},
    "steps": 1,
}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"format_version": 2, "pieces": []}', "format_version 2"),
        ('{"format_version": 1, "pieces": [{"population": {}}]}', "lacks algorithm, env, "),
        ('{"format_version": 1}', "lacks 'pieces'"),
        (
            json.dumps({"format_version": 1, "pieces": [{"population": UNKNOWN_PART}]}),
            r"a population has \['colour'\]",
        ),
        ("[" * 100_000, "cannot be read"),
        ('{"format_version": ' + "9" * 5000 + "}", "a whole number in it is too large"),
        (
            '{"format_version": [' + "1," * 9999 + '1], "pieces": []}',
            r"format_version \[1.*\.\.\.\]",
        ),
        ('{"format_version": 1, "pieces": 7}', "cannot be read"),
        ('{"format_version": 1, "pieces": {"a": 1}}', "cannot be read"),
    ],
)
def test_a_damaged_manifest_is_named(out, content, message):
    out.mkdir()
    (out / MANIFEST).write_text(content)
    with pytest.raises(InputError, match=message):
        Manifest.read(out)


FORGED = {
    "a huge attempt": {"attempts": 1e999},
    "attempts of a list": {"attempts": []},
    "no time": {"seconds": math.nan},
    "endless time": {"seconds": math.inf},
    "time before the beginning": {"seconds": -1},
    "runs of a list": {"runs": ["a"]},
    "a run of a list": {"runs": []},
    "an unknown state": {"state of all runs": "happy"},
    "a state of a list": {"state of all runs": []},
    "a population of a list": {"population": []},
    "steps of text": {"steps": "many"},
    "endless steps": {"steps": math.inf},
    "seeds of lists": {"seeds": [[1]]},
    "seeds of a number": {"seeds": 3},
    "no methods": {"methods": []},
    "methods of numbers": {"methods": [1]},
    "settings of a list": {"settings": [1]},
    "an unknown setting": {"settings": {"x": {"y": 1}}},
    "training of text": {"training": "fast"},
    "an env of a list": {"env": ["Hopper"]},
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_a_forged_manifest_is_named(out, tiny_grid, change):
    taken_up(out, tiny_grid())
    content = json.loads((out / MANIFEST).read_text())
    (piece,) = content["pieces"]
    for name, value in change.items():
        if name == "state of all runs":
            piece["runs"] = dict.fromkeys(piece["runs"], value)
        else:
            (piece if name in piece else piece["population"])[name] = value
    (out / MANIFEST).write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"manifest.json cannot be read: .+; restore or remove it"):
        Manifest.read(out)


@pytest.mark.parametrize(
    ("where", "name"),
    [("methods", "this:d"), ("methods", "this:d:rate=1"), ("env", "this:My-v0")],
)
def test_a_manifest_names_code(out, tiny_grid, where, name, monkeypatch):
    """What a folder names is not imported; what the grid or the user names may be."""
    monkeypatch.delitem(sys.modules, "this", raising=False)
    taken_up(out, tiny_grid())
    content = json.loads((out / MANIFEST).read_text())
    population = content["pieces"][0]["population"]
    population[where] = [name] if where == "methods" else name
    (out / MANIFEST).write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"--trust this:"):
        Manifest.read(out)
    assert "this" not in sys.modules
    if where == "env":
        assert Manifest.read(out, ["this:My-v0"]).pieces


def test_trusted_code_of_a_manifest_is_imported(out, tiny_grid, monkeypatch, capsys):
    """The one trusted name goes as far as it can: `this` has a dictionary d, and no curriculum."""
    monkeypatch.delitem(sys.modules, "this", raising=False)
    taken_up(out, tiny_grid())
    content = json.loads((out / MANIFEST).read_text())
    content["pieces"][0]["population"]["methods"] = ["this:d"]
    (out / MANIFEST).write_text(json.dumps(content))
    with pytest.raises(InputError, match="'this:d': d is no class or function"):
        Manifest.read(out, ["this:d"])
    assert "this" in sys.modules


def test_a_grid_names_its_own_code(tiny_grid):
    assert tiny_grid().code == ("probe/noise", "vanilla", "noise_training")


def test_a_manifest_cannot_point_elsewhere(out, tiny_grid):
    manifest = taken_up(out, tiny_grid())
    content = json.loads((out / MANIFEST).read_text())
    content["pieces"][0]["runs"] = {"../../elsewhere": "finished"}
    (out / MANIFEST).write_text(json.dumps(content))
    assert Manifest.read(out).pieces == manifest.pieces


def test_a_grids_lock_that_leads_elsewhere_is_not_written_to(out, tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    out.mkdir()
    (out / ".lock").symlink_to(mine)
    with pytest.raises(InputError, match=r"\.lock is a symbolic link"), Manifest.held(out):
        pass
    assert mine.read_text() == "mine"


def test_a_grids_folder_may_be_a_link_that_the_user_names(out, tmp_path, tiny_grid):
    (tmp_path / "disk").mkdir()
    out.symlink_to(tmp_path / "disk")
    left = out / ".drspcrl-aside-0123456789abcdef"
    left.touch()
    assert states(taken_up(out, tiny_grid(), most=2)) == ["pending", "pending"]
    assert sorted(file.name for file in out.iterdir()) == [MANIFEST]


def test_a_run_with_a_link_is_not_waited_for(out, tmp_path):
    run = out / "Hopper-sac-vanilla-s0"
    (run / "checkpoint").mkdir(parents=True)
    (run / "config.yaml").touch()
    (run / ".lock").symlink_to(tmp_path / "mine")
    with no_hang(), pytest.raises(InputError, match=r"\.lock is a symbolic link"):
        _can_resume([run])
    assert (run / "config.yaml").exists()


def test_what_is_no_part_of_a_run_is_not_removed_with_it(tmp_path):
    runs = [tmp_path / f"Hopper-ppo-vanilla-s{seed}" for seed in (0, 1)]
    for run in runs:
        (run / "checkpoint").mkdir(parents=True)
        for name in ("config.yaml", "metrics.csv", "events.out.tfevents.1.host", ".DS_Store"):
            (run / name).touch()
    (runs[1] / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"s1 has no usable .* holds notes\.txt.*move that away"):
        _can_resume(runs)
    assert all((run / "config.yaml").exists() for run in runs)
    (runs[1] / "notes.txt").unlink()
    assert not _can_resume(runs)
    assert not any(run.exists() for run in runs)


def test_logs_are_written_through_no_link(out, tmp_path):
    out.mkdir()
    (tmp_path / "mine").mkdir()
    (out / LOGS).symlink_to(tmp_path / "mine")
    task = Task("piece", {}, str(out))
    with pytest.raises(InputError, match=f"{LOGS} is a symbolic link"):
        next(LocalEngine(1, Stop(None)).run([task]))
    assert not list((tmp_path / "mine").iterdir())


def test_where_checkpoints_are_is_noted_and_asked_for(out, tiny_grid, tmp_path):
    storage = str(tmp_path / "storage")
    manifest = taken_up(out, tiny_grid())
    manifest.keep_in(storage)
    manifest.save()
    manifest = Manifest.read(out)
    assert manifest.storage == storage
    manifest.keep_in(None)  # nothing has begun
    manifest.keep_in(storage)
    begin(manifest, next(iter(manifest.pieces.values())), "interrupted")
    manifest.follow(tiny_grid(), ALL, dict.fromkeys([p.group for p in tiny_grid().populations], 99))
    manifest.keep_in(storage)
    for other in (None, str(tmp_path / "other")):
        with pytest.raises(InputError, match=f"checkpoints of this grid are in {storage}; give"):
            manifest.keep_in(other)


def test_what_has_begun_in_a_storage_alone_is_known_after_a_crash(out, tiny_grid, tmp_path):
    """The command is killed before anything of a piece has come home."""
    storage, grid = str(tmp_path / "storage"), tiny_grid()
    manifest = taken_up(out, grid, most=2)
    manifest.keep_in(storage)
    manifest.save()
    first, _ = manifest.pieces.values()
    manifest.put(replace(first, runs=dict.fromkeys(first.runs, "running"), attempts=1))
    again = taken_up(out, grid, most=1)
    sizes = {name: piece.population.size for name, piece in again.pieces.items()}
    assert sizes.pop(first.name) == 2
    assert list(sizes.values()) == [1, 1]  # what has not begun is cut again
    for other in (None, str(tmp_path / "other")):
        with pytest.raises(InputError, match=f"checkpoints of this grid are in {storage}; give"):
            again.keep_in(other)
    again.keep_in(storage)
    with pytest.raises(InputError, match="has begun with 512 steps"):
        taken_up(out, tiny_grid(steps=1024))


def test_a_storage_that_cannot_be_seen_is_named(tiny_grid, out):
    (population,) = tiny_grid().populations
    task = Task("one", population.plain(), str(out), storage="/no/such/folder")
    assert "storage /no/such/folder is no folder on" in work(vars(task))["error"]
