"""An attack from all sides: kills, malformed commands and files, damaged and forged folders.

Every case demands the same: no traceback, no hang, no file touched outside, nothing imported, and
after a kill everything but the clock's column bit for bit as if nothing had happened.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import pairwise, product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jax
import numpy as np
import pytest
import yaml
from attacked import Here, Told, command, done, train_line, write_inputs
from file_operations import put_back, recorded, spread, state_of
from hanging import no_hang
from without_clock import without_clock

from drspcrl.errors import InputError
from drspcrl.runfolder.checkpoint import Store
from drspcrl.runfolder.checkpoint.store import _sealed

pytestmark = pytest.mark.slow

RUN = "probe_noise-ppo-fixed-s3"
LONGEST = 200  # seconds; alone, no command takes a tenth of it, but a machine may be busy
BOMB = tuple(pairwise("abcdefghijklmnopqrstuvwxyz"))
BOMB_IN_A_LINE = "[&a [1,1]," + "".join(f"&{c} [*{p},*{p},*{p}]," for p, c in BOMB) + "1]"
ALIASES = "a: &a [x]\n" + "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in BOMB)
MERGES = "a: &a {x: 1}\n" + "".join(f"{c}: &{c} {{<<: [*{p}, *{p}]}}\n" for p, c in BOMB)
ESCAPES = "\x1b[31m[/b][red]\u202e\x9b2J"


@pytest.fixture(scope="module", autouse=True)
def grids_in_this_process() -> Iterator[None]:
    """So that the file operations of a grid's trainings can be seen."""
    with patch("drspcrl.experiments.run._engine", lambda *_: nullcontext(Here())):
        yield


@pytest.fixture(scope="module", autouse=True)
def compile_all_once(compile_once) -> Iterator[None]:
    """Even the smallest programs are kept: they are made hundreds of times."""
    name = "jax_persistent_cache_min_compile_time_secs"
    jax.config.update(name, 0.0)
    yield
    jax.config.update(name, 0.2)


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    """Finished runs, evaluated; a grid; a digest; and what must stay as it is."""
    place = tmp_path_factory.mktemp("base")
    write_inputs(place)
    done(*train_line(place / "runs"))
    done("evaluate", place / "runs", "--suite", place / "one.yaml", "--episodes", 2, "--jobs", 1)
    done("stress", place / "runs" / RUN, "--budget", 310, "--episodes", 1)
    done("grid", place / "grid.yaml", "--out", place / "grid", "--no-report")
    done("keep", place / "runs", "--out", place / "kept", "--policies", "fixed:3", "fixed:4")
    for file in (place / "outside" / "thesis.tex", place / "outside" / ".hidden" / "mine"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("mine")
    trap = "import pathlib\npathlib.Path(__file__).with_name('sprung').touch()\n"
    (place / "outside" / "trap.py").write_text(trap)
    return place


@pytest.fixture
def place(base, tmp_path, monkeypatch) -> Path:
    """A copy of it, in which the commands run; modules outside can be imported."""
    shutil.copytree(base, tmp_path / "here")
    shutil.move(tmp_path / "here" / "outside", tmp_path / "outside")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(str(tmp_path / "outside"))
    return tmp_path / "here"


# Kills


def evidence(root: Path) -> dict[str, Any]:
    """All that a training leaves but for the clock: its column, and the times in run.json."""
    found: dict[str, Any] = {}
    # A lock whose process is gone locks nothing; one that was killed at its very end leaves it.
    for file in (path for path in root.rglob("*") if path.is_file() and path.name != ".lock"):
        name = str(file.relative_to(root))
        if file.name == "run.json":
            info = json.loads(file.read_bytes())
            times = ("started", "ended", "resumed", "metrics")
            found[name] = {k: v for k, v in info.items() if k not in times}
        elif file.name == "config.yaml":
            found[name] = yaml.safe_load(file.read_text()) | {"out": ""}
        elif file.name == "metrics.csv":
            found[name] = without_clock(file.parent)
        elif file.name == "manifest.json" and file.parent.parent.name == "checkpoint":
            sealed = json.loads(json.loads(file.read_bytes())["manifest"])
            sealed["notes"] = {k: v for k, v in sealed["notes"].items() if "metrics" not in k}
            found[name] = sealed
        elif file.suffix in (".safetensors", ".csv", ".json", ".xz") or "blocks" in file.parts:
            found[name] = file.read_bytes()
        else:
            found[name] = None
    return found


def files_of(root: Path) -> dict[str, bytes]:
    return {name: found for name, found in state_of(root).items() if found is not None}


def gone_on(out: Path, line: list[object]) -> None:
    """Bring a killed training to its end as its user would."""
    told = command("resume", out)
    if told.code == 2 and "is finished" not in told.err:
        reasons = ("train command again", "no run at or below", "is not a folder; give")
        assert any(reason in told.err for reason in reasons), told
        told = command(*line)
    assert told.code == 0 or "is finished" in told.err, told


@pytest.mark.parametrize("uncertainty", ["transitions", "worlds"])
def test_kills_of_a_training(tmp_path, uncertainty):
    """14 kills of a training, and 6 of its resumption from a kill in its middle."""
    write_inputs(tmp_path)
    out = tmp_path / "runs"
    line = train_line(out, uncertainty)
    with recorded(out) as states:
        done(*line)
    straight = evidence(out)
    killed = spread(states, 14)
    shutil.rmtree(out)
    put_back(states[len(states) // 2], out)
    with recorded(out) as resumed:
        gone_on(out, line)
    assert len(states) >= 60
    assert len(resumed) >= 20
    for state in [*killed, *spread(resumed, 6)]:
        shutil.rmtree(out)
        put_back(state, out)
        gone_on(out, line)
        assert evidence(out) == straight


def test_kills_of_checkpoints(tmp_path):
    """Killed anywhere, the newest checkpoint that is seen is whole, and nothing piles up."""
    parts = [{"loop": {"x": np.full(40_000, n, np.float32), "n": n}} for n in range(5)]
    with recorded(tmp_path) as states:
        store = Store(tmp_path)
        for n, part in enumerate(parts):
            store.write(n, part, {}, {"policy.safetensors": bytes([n])})
            store.keep()
    straight = state_of(tmp_path)
    assert len(states) >= 60
    for i, state in enumerate(states):
        place = tmp_path / f"killed{i}"
        put_back(state, place)
        store = Store(place)
        steps = store.steps()
        for step in steps[-2:]:
            assert store.read(step).leaves["loop/n"] == step
        for n in range(steps[-1] + 1 if steps else 0, 5):
            store.write(n, parts[n], {}, {"policy.safetensors": bytes([n])})
        store.keep()
        assert state_of(place) == straight
        shutil.rmtree(place)


def test_kills_of_an_evaluation(place):
    line = ("evaluate", "runs", "--suite", "one.yaml", "--episodes", 2, "--jobs", 1)
    straight = evidence(place / "runs")
    for table in place.glob("runs/*/evaluation-one.*"):
        table.unlink()
    with recorded(place) as states:
        done(*line)
    assert len(states) >= 8
    for state in states:
        shutil.rmtree(place / "runs")
        put_back({k: v for k, v in state.items() if k.startswith("runs")}, place)
        done(*line)
        assert evidence(place / "runs") == straight


def test_kills_of_keep(place):
    line = ("keep", "runs", "--out", "kept", "--policies", "fixed:3", "fixed:4")
    straight = files_of(place / "kept")
    shutil.rmtree(place / "kept")
    with recorded(place) as states:
        done(*line)
    assert len(states) >= 20
    for state in states:
        shutil.rmtree(place / "kept")
        put_back({k: v for k, v in state.items() if k.startswith("kept")}, place)
        done(*line)
        assert files_of(place / "kept") == straight


def test_kills_of_a_grid(place):
    line = ("grid", "grid.yaml", "--out", "grid", "--no-report")
    straight = evidence(place / "grid")
    straight.pop("manifest.json")
    shutil.rmtree(place / "grid")
    with recorded(place / "grid") as states:
        done(*line)
    for state in spread(states, 10):
        shutil.rmtree(place / "grid")
        put_back(state, place / "grid")
        done(*line)
        pieces = json.loads((place / "grid" / "manifest.json").read_text())["pieces"]
        assert {piece["state"] for piece in pieces} == {"evaluated"}
        found = evidence(place / "grid")
        found.pop("manifest.json")
        assert found == straight


# Malformed command lines and files

NUMBERS = ("x", "nan", "-1", "1e400", "0x", "1;2", "½", "[red]1", "\x1b[31m", "9" * 1500, "")
WHOLE = (*NUMBERS, "1.5", "inf")
TRAIN = "train --env Hoper --algorithm ppo --out new"
OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    **{f"--{name}": (TRAIN, WHOLE) for name in ("steps", "seeds", "threads", "log-every")},
    **{f"--{name}": (TRAIN, WHOLE) for name in ("evaluate-every", "checkpoint-every")},
    "--evaluate-episodes": (TRAIN, (*WHOLE, "9" * 30)),
    "--time-limit": (TRAIN, (*NUMBERS, "1h1h", "-1s")),
    "evaluate --episodes": ("evaluate runs", (*WHOLE, "0", "9" * 30)),
    "evaluate --threads": ("evaluate runs", WHOLE),
    "evaluate --seed": ("evaluate runs", WHOLE),
    "resume --steps": ("resume runs", (*WHOLE, "10")),
    "solve --budget": ("solve --mdp machine --out new", (*NUMBERS, "inf", "0")),
    "solve --points": ("solve --mdp machine --out new", (*WHOLE, "1")),
    "grid --episodes": ("grid grid.yaml --plan", (*WHOLE, "0")),
    "grid --jobs": ("grid grid.yaml --plan", (*WHOLE, "0")),
    "grid --rate": ("grid grid.yaml --plan", (*NUMBERS, "inf", "0")),
    "stress --budget": (f"stress runs/{RUN}", (*WHOLE, "0", "3")),
    "stress --limit": (f"stress runs/{RUN}", (*NUMBERS, "inf", "1")),
    "stress --reach": (f"stress runs/{RUN}", (*NUMBERS, "inf", "0")),
    "render --seconds": (f"render runs/{RUN} --out new.gif", (*NUMBERS, "inf", "0")),
}
NAMES = ("", "\0", "x" * 5000, ESCAPES, "no/such", "/dev/null", "outside\n", "trap:")
PLACES = {
    "a task": "train --algorithm ppo --out new --env",
    "a learner": "train --env probe/noise --out new --algorithm",
    "a method": "train --env probe/noise --algorithm ppo --out new --methods",
    "a setting": "train --env probe/noise --algorithm ppo --out new --set",
    "resume": "resume",
    "evaluate": "evaluate",
    "a suite": "evaluate runs --suite",
    "report": "report --out new",
    "a grid": "grid --plan",
    "a selection": "grid grid.yaml --plan --only",
    "an mdp": "solve --out new --mdp",
    "a stressed run": "stress",
    "a stressed policy": "stress --env probe/noise --policy",
    "an exported run": "export --out new.npz",
    "an exported file": f"export runs/{RUN} --out",
    "a filmed run": "render --out new.gif",
    "a policy": "evaluate --env probe/noise --out new --policy",
    "a policy of the zoo": "zoo",
    "a file of a training": "train --out new --config",
}
LINES = [
    [*line.split(), option.split()[-1], value]
    for option, (line, values) in OPTIONS.items()
    for value in values
] + [[*line.split(), name] for line, name in product(PLACES.values(), NAMES)]


def unharmed(told: Told, outside: Path, before: dict) -> None:
    """What every attack must end in."""
    assert told.code in (0, 1, 2), told
    assert "Traceback" not in told.out + told.err
    assert "--debug shows where" not in told.err, told.err
    printed = (told.out + told.err).replace("\n", "")
    assert printed.isprintable(), printed
    assert state_of(outside) == before


def refused(told: Told) -> None:
    assert told.code == 2, told
    assert told.err.startswith("drspcrl: error: ")
    assert told.err.count("\n") == 1, told.err
    assert len(told.err) < 2200


def short(words: list[str]) -> str:
    return ascii(" ".join(words))[-60:]


def attacked(place: Path, *words: object) -> Told:
    """A command, and that it harmed nothing."""
    before = state_of(place.parent / "outside")
    with no_hang(LONGEST):
        told = command(*words)
    unharmed(told, place.parent / "outside", before)
    return told


def test_malformed_lines(place):
    before, wrong = files_of(place), []
    for words in LINES:
        try:
            refused(attacked(place, *words))
            assert files_of(place) == before
        except (AssertionError, TimeoutError) as error:
            wrong.append((short(words), str(error)[:600]))
    assert not wrong, "\n".join(map(str, wrong))


CONTENTS: dict[str, bytes | str | Callable[[Path], None]] = {
    "gone": lambda file: None,
    "empty": "",
    "a text": "all",
    "a number": "3",
    "a list": "[1, 2]",
    "half": "groups: [",
    "a tag": "settings: !!python/name:trap.x ''",
    "code": "!!python/object/apply:os.system ['touch sprung']",
    "aliases": ALIASES,
    "merge keys": MERGES,
    "deep": "[" * 50_000,
    "long": "settings: [" + "1, " * 200_000 + "1]",
    "binary": bytes(range(256)),
    "two documents": "a: 1\n---\nb: 2\n",
    "a null byte": "a: \0",
    "a huge number": f"steps: {'9' * 3000}",
    "a huge hexadecimal": f"steps: 0x{'f' * 5000}",
    "an unknown entry": f'"{ESCAPES.encode("unicode_escape").decode()}": 1',
    "a key that is a list": "? [1]\n: 2",
    "a date": "settings: 2026-13-45",
    "itself": "a: &a [*a]",
    "a FIFO": os.mkfifo,
    "a folder": os.mkdir,
    "endless": lambda file: file.symlink_to("/dev/zero"),
    "a loop": lambda file: file.symlink_to(file.name),
    "dangling": lambda file: file.symlink_to("nowhere"),
    "no text": b"\xff\xfe\x00",
}
READERS = {
    "suite": "evaluate runs --episodes 1 --suite mine.yaml",
    "grid": "grid --plan mine.yaml",
    "worlds": "train --env probe/noise --algorithm ppo --out new --worlds mine.yaml",
    "stress": f"stress runs/{RUN} --out new --worlds mine.yaml",
    "training": "train --out new --config mine.yaml",
    "policy": "evaluate --env probe/noise --out new --policy mine.yaml",
    "export": "export mine.yaml --out new.npz",
}


def put(file: Path, content: bytes | str | Callable[[Path], None]) -> None:
    if callable(content):
        content(file)
    elif isinstance(content, bytes):
        file.write_bytes(content)
    else:
        file.write_text(content)


def test_malformed_files(place):
    wrong = []
    for (what, content), (reader, line) in product(CONTENTS.items(), READERS.items()):
        file = place / "mine.yaml"
        put(file, content)
        try:
            refused(attacked(place, *line.split()))
        except (AssertionError, TimeoutError) as error:
            wrong.append((reader, what, str(error)[:600]))
        if file.is_dir() and not file.is_symlink():
            file.rmdir()
        else:
            file.unlink(missing_ok=True)
    assert not wrong, "\n".join(map(str, wrong))


def test_there_are_two_hundred():
    assert len(LINES) >= 200
    assert len(CONTENTS) * len(READERS) >= 150


# Damaged and forged folders


def linked(file: Path) -> None:
    """Put a link in its place, to a file outside with the same content."""
    elsewhere = Path("../outside").resolve() / file.name
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


def linked_hard(file: Path) -> None:
    elsewhere = Path("../outside").resolve() / file.name
    file.rename(elsewhere)
    os.link(elsewhere, file)


def dangling(file: Path) -> None:
    file.unlink()
    file.symlink_to(Path("../outside").resolve() / "not-yet-there")


def without(make: Callable[[Path], None]) -> Callable[[Path], None]:
    def instead(file: Path) -> None:
        file.unlink()
        make(file)

    return instead


DAMAGE: dict[str, Any] = {
    "is gone": Path.unlink,
    "is empty": b"",
    "breaks off": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "is doubled": lambda file: file.write_bytes(file.read_bytes() * 2),
    "is binary": bytes(range(256)),
    "has zeros": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "is deep": "[" * 50_000,
    "has aliases": ALIASES,
    "is a link": linked,
    "is a hard link": linked_hard,
    "is a dangling link": dangling,
    "is a FIFO": without(os.mkfifo),
    "is a folder": without(os.mkdir),
    "is endless": without(lambda file: file.symlink_to("/dev/zero")),
}
RESUME, KEEP = f"resume runs/{RUN}", "keep runs --out again --policies fixed:3"
EVALUATE = f"evaluate runs/{RUN} --suite one.yaml --episodes 1 --jobs 1"
REPORT = f"report runs/{RUN} --out new"
GRID = "grid grid.yaml --out grid --no-report"
EXPORT, STRESS = (
    f"export runs/{RUN} --out new.npz",
    f"stress runs/{RUN} --budget 310 --episodes 1 --out new",
)
ZOO = ("zoo", f"zoo {RUN}", f"export zoo:{RUN} --out new.npz")
LAST = "checkpoint/step-000000000064"
DAMAGED = {
    f"runs/{RUN}/run.json": (RESUME, EVALUATE, KEEP, REPORT, EXPORT, STRESS, *ZOO),
    f"runs/{RUN}/config.yaml": (RESUME, EVALUATE, KEEP, REPORT, EXPORT, STRESS, *ZOO),
    f"runs/{RUN}/metrics.csv": (RESUME, KEEP, EXPORT),
    f"runs/{RUN}/policy.safetensors": (RESUME, EVALUATE, KEEP, EXPORT, STRESS, *ZOO),
    f"runs/{RUN}/stress-state.json": (f"stress runs/{RUN} --budget 310 --episodes 1",),
    f"runs/{RUN}/evaluation-one.csv": (EVALUATE, f"{EVALUATE} --overwrite", KEEP),
    f"runs/{RUN}/evaluation-one.json": (EVALUATE, f"{EVALUATE} --overwrite", KEEP),
    f"runs/{RUN}/{LAST}/manifest.json": (RESUME,),
    f"runs/{RUN}/{LAST}/state.safetensors": (RESUME,),
    f"kept/probe_noise-ppo/{RUN}/run.json": ("keep runs --out kept", "evaluate kept --suite x"),
    f"kept/probe_noise-ppo/{RUN}/metrics.csv.xz": ("keep runs --out kept",),
    "grid/manifest.json": (f"{GRID} --plan", GRID),
}


def as_killed_at_its_end(place: Path) -> None:
    """Let runs say that they still run, so that `resume` takes them up."""
    for file in place.glob("runs/*/run.json"):
        info = json.loads(file.read_text())
        file.write_text(json.dumps(info | {"status": "running"}))


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_folders(place, name, how, monkeypatch):
    monkeypatch.setenv("DRSPCRL_ZOO", str(place / "runs"))
    if name.startswith("runs") and DAMAGED[name][0] == RESUME:
        as_killed_at_its_end(place)
    put(place / name, DAMAGE[how])
    for line in DAMAGED[name]:
        told = attacked(place, *line.split())
        leads_out = name.endswith("policy.safetensors") and line in (EXPORT, STRESS, ZOO[2])
        if "is a link" in how and (leads_out or line in (RESUME, GRID)):
            refused(told)
            assert "is a symbolic link" in told.err
    assert not (place.parent / "outside" / "sprung").exists()


VALUES: dict[str, Any] = {
    "code in a setting": {"divergence": "trap:Mine", "nominal": "trap:Mine"},
    "nothing": None,
    "a list": [[1], {"a": 2}],
    "a mapping": {"a": [1]},
    "a huge number": 10**37,
    "nan": float("nan"),
    "code": "trap:Mine",
    "a path": "../../outside/thesis.tex",
    "escapes": ESCAPES,
    "a long text": "x" * 9000,
}
FORGED = {
    "run.json": ("env", "algorithm", "method", "seed", "status", "steps", "metrics", "resumed"),
    "config.yaml": (
        "env",
        "algorithm",
        "steps",
        "uncertainty",
        "worlds",
        "worlds_file",
        "threads",
        "settings",
    ),
    "population": ("methods", "seeds", "settings"),
    "grid": ("env", "algorithm", "methods", "seeds", "steps", "settings", "group"),
    "evaluation": ("suite", "settings", "episodes", "left_out"),
}


def forge(place: Path, file: str, field: str, value: Any) -> tuple[str, ...]:
    """Put a value in; the commands that will read it."""
    run = place / "runs" / RUN
    if file in ("config.yaml", "population"):
        path = run / "config.yaml"
        content = yaml.safe_load(path.read_text())
        (content if file == "config.yaml" else content["population"])[field] = value
        path.write_text(yaml.safe_dump(content))
        endless = field == "steps"  # as many as it says would be trained
        again = f"train --config runs/{RUN}/config.yaml --out new"
        return (RESUME, KEEP, EXPORT, *(() if endless else (again,)))
    names = {"run.json": run / "run.json", "grid": place / "grid" / "manifest.json"}
    path = names.get(file, run / "evaluation-one.json")
    content = json.loads(path.read_text())
    (content["pieces"][0]["population"] if file == "grid" else content)[field] = value
    path.write_text(json.dumps(content))
    commands = {"run.json": (RESUME, EVALUATE, KEEP, EXPORT), "grid": (f"{GRID} --plan", GRID)}
    return commands.get(file, (EVALUATE, KEEP))


@pytest.mark.parametrize("what", VALUES)
@pytest.mark.parametrize(("file", "field"), [(f, n) for f, names in FORGED.items() for n in names])
def test_forged_folders(place, file, field, what):
    as_killed_at_its_end(place)
    for line in forge(place, file, field, VALUES[what]):
        attacked(place, *line.split())
    assert not (place.parent / "outside" / "sprung").exists()


NOTES: dict[str, Callable[[dict], Any]] = {
    "a total that is huge": lambda m: m["notes"].update(total=10**37),
    "a total that is none": lambda m: m["notes"].update(total=-1),
    "a total of text": lambda m: m["notes"].update(total="x"),
    "rows of text": lambda m: m["notes"].update(metrics_bytes="x"),
    "rows below nothing": lambda m: m["notes"].update(metrics_bytes=-1),
    "rows without end": lambda m: m["notes"].update(metrics_bytes=10**37),
    "a best of text": lambda m: m["notes"].update(best="x"),
    "no notes": lambda m: m.update(notes=None),
    "another step": lambda m: m.update(step=10**20),
    "a step of text": lambda m: m.update(step="x"),
    "a file elsewhere": lambda m: m["files"].update({"../../../outside/thesis.tex": "0"}),
    "files of a list": lambda m: m.update(files=[1]),
    "leaves of a list": lambda m: m.update(leaves=[1]),
    "no leaves": lambda m: m.update(leaves={}),
    "a leaf of another type": lambda m: first_array(m).update(dtype="object"),
    "a leaf of no type": lambda m: first_array(m).update(dtype=ESCAPES),
    "a leaf without end": lambda m: first_array(m).update(shape=[10**12, 10**12]),
    "a leaf below nothing": lambda m: first_array(m).update(shape=[-5]),
    "a leaf of text": lambda m: first_array(m).update(shape="x"),
    "a leaf of blocks elsewhere": lambda m: first_array(m).update(
        blocks=["../../../outside/thesis.tex"], rows=1
    ),
    "a leaf of an unknown kind": lambda m: first_array(m).update(kind="code"),
    "a number of a great many digits": lambda m: first_array(m).update(
        kind="int", value="9" * 9000
    ),
    "another format": lambda m: m.update(format_version=ESCAPES),
}


def first_array(manifest: dict) -> dict:
    return next(entry for entry in manifest["leaves"].values() if entry["kind"] == "array")


@pytest.mark.parametrize("note", NOTES)
def test_forged_checkpoints(place, note):
    as_killed_at_its_end(place)
    for file in place.glob("runs/*/checkpoint/step-*/manifest.json"):
        manifest = json.loads(json.loads(file.read_bytes())["manifest"])
        NOTES[note](manifest)
        file.write_bytes(_sealed(manifest))
    attacked(place, *RESUME.split())


LINKED = ("checkpoint", "checkpoint/blocks", LAST, ".lock", "events.out.tfevents.1.2", "")


@pytest.mark.parametrize("name", LINKED)
@pytest.mark.parametrize("line", [RESUME, KEEP, f"{EVALUATE} --overwrite"])
def test_linked_folders(place, name, line):
    as_killed_at_its_end(place)
    link, outside = place / "runs" / RUN / name, place.parent / "outside"
    if link.is_dir():
        shutil.copytree(link, outside, dirs_exist_ok=True)
        shutil.rmtree(link)
    link.symlink_to(outside / "thesis.tex" if "." in name else outside)
    # What the user names is followed, what is found below it is not.
    told = attacked(place, *(line if name else line.replace(f"runs/{RUN}", "runs")).split())
    if line == RESUME:
        refused(told)
        assert "is a symbolic link" in told.err


def test_there_are_one_hundred_and_fifty():
    assert len(DAMAGED) * len(DAMAGE) >= 150
    assert sum(map(len, FORGED.values())) * len(VALUES) + len(NOTES) >= 150
    with pytest.raises(InputError):
        Store(Path("nowhere")).read(0)
