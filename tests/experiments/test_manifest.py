"""The manifest: what begins stays, what is on disk wins, a grid may grow."""

import json

import pytest
import yaml

from drspcrl.errors import InputError
from drspcrl.experiments.grid import parse_grid
from drspcrl.experiments.manifest import MANIFEST, Manifest, Piece
from drspcrl.experiments.run import Options, plan_grid, run_grid
from drspcrl.experiments.selection import Selection

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
    assert words == [f"{grown.runs - 4} runs are new in the grid"]


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


def test_a_folder_from_before_there_were_worlds_goes_on(out, tiny):
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"format_version": 2, "pieces": []}', "format_version 2"),
        ('{"format_version": 1, "pieces": [{"population": {}}]}', "cannot be read"),
    ],
)
def test_a_damaged_manifest_is_named(out, content, message):
    out.mkdir()
    (out / MANIFEST).write_text(content)
    with pytest.raises(InputError, match=message):
        Manifest.read(out)


def test_a_manifest_cannot_point_elsewhere(out, tiny_grid):
    manifest = taken_up(out, tiny_grid())
    content = json.loads((out / MANIFEST).read_text())
    content["pieces"][0]["runs"] = {"../../elsewhere": "finished"}
    (out / MANIFEST).write_text(json.dumps(content))
    assert Manifest.read(out).pieces == manifest.pieces
