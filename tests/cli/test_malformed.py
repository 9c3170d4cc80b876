"""Whatever a command is given: one clear line, exit code 2, nothing executed, nothing written."""

import errno
import json
import os
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from hanging import no_hang
from safetensors.numpy import save

from drspcrl.cli import main
from drspcrl.policy import Policy, save_policy
from drspcrl.runfolder.checkpoint import Store
from drspcrl.training.config import TrainConfig

NAME = "Pendulum-v1-sac-vanilla-s0"
METRICS = "step,episode_return,epsilon\n1000,5,0\n2000,7,0.1\n"
EVALUATION = "perturbation,level,episode,return,length\nnone,0,0,100,10\naction,0.1,0,50,10\n"
CANARY = "executed"
BOMB = tuple(pairwise("abcdefghijklmnopqrstuvwxyz"))
BOMB_IN_A_LINE = "[&a [1,1]," + "".join(f"&{c} [*{p},*{p},*{p}]," for p, c in BOMB) + "1]"
LONG = "x" * 5000
DIGITS = "9" * 3000
EXECUTE = f"!!python/object/apply:pathlib.Path.touch [{CANARY}]"
PICKLE = b"cpathlib\nPath\n(S'executed'\ntR."


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """A folder with one run that every command would accept."""
    out = tmp_path_factory.mktemp("sound") / "runs"
    config = TrainConfig(env="Pendulum-v1", algorithm="sac", out=out, steps=2000)
    run = out / NAME
    run.mkdir(parents=True)
    info = {"format_version": 1, "env": "Pendulum-v1", "algorithm": "sac", "method": "vanilla"}
    info |= {"seed": 0, "status": "stopped", "steps": 1000}
    (run / "run.json").write_text(json.dumps(info))
    (run / "config.yaml").write_text(yaml.safe_dump(config.describe(config.members[0])))
    (run / "metrics.csv").write_text(METRICS)
    (run / "evaluation.csv").write_text(EVALUATION)
    save_policy(run / "policy.safetensors", policy())
    store = Store(run)
    for step in (500, 1000):
        notes = {"total": 2000, "metrics_bytes": 0, "best": None}
        store.write(step, {"loop": {"x": np.zeros(3, np.float32)}}, notes)
    return out


def policy() -> Policy:
    one, three = np.ones(1, np.float32), np.ones(3, np.float32)
    layers = ((np.zeros((3, 1), np.float32), np.zeros(1, np.float32)),)
    return Policy("gaussian", "relu", layers, -one, one, 0 * three, three, np.inf, 0 * one)


@pytest.fixture
def place(sound, tmp_path, monkeypatch) -> Path:
    """A copy of it in a folder of its own, which is also where the command runs."""
    shutil.copytree(sound, tmp_path / "runs")
    group = "{env: Hopper, algorithm: ppo, methods: [vanilla], seeds: [0], steps: 4096}"
    text = f"groups: [{group}]\nevaluation: {{suite: nonsense}}\n"
    (tmp_path / "unknown-suite.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(root: Path) -> dict[str, bytes]:
    files = (file for file in root.rglob("*") if file.is_file())
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


def refused(capsys, place: Path, line: str | list[str]) -> str:
    """Run a command that must fail as a mistake does; the line that it printed."""
    before = contents(place)
    code = main(line.split() if isinstance(line, str) else line)
    printed = capsys.readouterr()
    assert code == 2, printed
    assert printed.err.count("\n") == 1, printed.err
    assert printed.err.startswith("drspcrl: error: ")
    assert len(printed.err) < 2100
    assert "\x1b" not in printed.err
    assert "Traceback" not in printed.err + printed.out
    assert contents(place) == before
    assert not (place / CANARY).exists()
    return printed.err


TRAIN = "train --algorithm sac --out new --env"
LINES = {
    # train
    "no task": "train --algorithm sac --out new",
    "empty task": ["train", "--algorithm", "sac", "--out", "new", "--env", ""],
    "unknown task": f"{TRAIN} Hoper",
    "a path as task": f"{TRAIN} ../../etc/passwd",
    "a task with a line break": ["train", "--algorithm", "sac", "--out", "new", "--env", "a\nb"],
    "a task with a null byte": ["train", "--algorithm", "sac", "--out", "new", "--env", "a\0b"],
    "a task of another space": f"{TRAIN} CartPole-v1",
    "unknown learner": "train --env Hopper --algorithm a2c --out new",
    "unknown method": f"{TRAIN} Hopper --methods magic",
    "a path as method": f"{TRAIN} Hopper --methods ../../x",
    "a method of no module": f"{TRAIN} Hopper --methods nowhere:Curriculum",
    "a method that a module lacks": f"{TRAIN} Hopper --methods os:Curriculum",
    "a method twice": f"{TRAIN} Hopper --methods vanilla vanilla",
    "a negative seed": f"{TRAIN} Hopper --seeds -1",
    "a huge seed": f"{TRAIN} Hopper --seeds {10**30}",
    "a seed in words": f"{TRAIN} Hopper --seeds one",
    "no steps": f"{TRAIN} Hopper --steps 0",
    "a fraction of steps": f"{TRAIN} Hopper --steps 1.5",
    "huge steps and buffer": f"{TRAIN} Pendulum-v1 --steps {10**15} --set buffer_size={10**15}",
    "huge threads": f"{TRAIN} Hopper --threads -5",
    "a setting without value": f"{TRAIN} Hopper --set critic_lr",
    "an unknown setting": f"{TRAIN} Hopper --set lr=1",
    "a setting that executes": [*f"{TRAIN} Hopper --set".split(), f"tau={EXECUTE}"],
    "a setting that is infinite": f"{TRAIN} Hopper --set critic_lr=1e999",
    "a setting of another kind": f"{TRAIN} Hopper --set hidden={{a:1}}",
    "a deep setting": f"{TRAIN} Hopper --set tau={'[' * 5000}",
    "a huge network": f"{TRAIN} Pendulum-v1 --set hidden=[{10**9}]",
    "a time that is none": f"{TRAIN} Hopper --time-limit soon",
    "out is a file": f"train --algorithm sac --env Hopper --out runs/{NAME}/run.json",
    "out below a file": f"train --algorithm sac --env Hopper --out runs/{NAME}/run.json/x",
    "out with a null byte": ["train", "--algorithm", "sac", "--env", "Hopper", "--out", "a\0b"],
    "out that holds the run": "train --algorithm sac --env Pendulum-v1 --out runs",
    # resume
    "resume nothing": "resume",
    "resume what is not there": "resume nowhere",
    "resume a file": f"resume runs/{NAME}/run.json",
    "resume fewer steps": "resume runs --steps 10",
    "resume steps in words": "resume runs --steps many",
    "resume a null byte": ["resume", "a\0b"],
    # evaluate
    "evaluate what is not there": "evaluate nowhere",
    "evaluate a file": f"evaluate runs/{NAME}/run.json",
    "evaluate no episodes": "evaluate runs --episodes 0",
    "evaluate many episodes": f"evaluate runs --suite quick --episodes {10**30}",
    "evaluate a negative seed": "evaluate runs --seed -1",
    "evaluate negative threads": "evaluate runs --threads -1 --overwrite --suite quick",
    "evaluate an unknown suite": "evaluate runs --suite nonsense",
    "evaluate a suite that is a path": "evaluate runs --suite ../../etc/passwd",
    "evaluate a suite that is not there": "evaluate runs --suite none.yaml",
    # report
    "report what is not there": "report nowhere --out new",
    "report a file": f"report runs/{NAME}/run.json --out new",
    "report into a file": f"report runs --out runs/{NAME}/run.json",
    "report into the runs": "report runs --out runs",
    "report without out": "report runs",
    "report compared with nothing": "report runs --out new --compare magic",
    # solve
    "solve an unknown mdp": "solve --mdp ../../etc/passwd --out new",
    "solve an unknown ball": "solve --divergence euclid --out new",
    "solve no budget": "solve --budget 0 --out new",
    "solve nan": "solve --budget nan --out new",
    "solve an infinite budget": "solve --budget 1e999 --out new",
    "solve a discount of one": "solve --discount 1.0 --out new",
    "solve a discount of nan": "solve --discount nan --out new",
    "solve one point": "solve --points 1 --out new",
    "solve too many points": f"solve --points {10**12} --out new",
    "solve no iterations": "solve --iterations 0 --out new",
    "solve into a file": f"solve --out runs/{NAME}/run.json",
    "solve by an unknown rule": "solve --rule magic --out new",
    # names that no file system takes
    "a long task": f"{TRAIN} {LONG}",
    "a long task of a module": f"{TRAIN} {LONG}:x",
    "a long folder": f"train --algorithm sac --env Pendulum-v1 --out {LONG}",
    "a long method": f"{TRAIN} Hopper --methods {LONG}:x",
    "a long path as setting": f"{TRAIN} Hopper --methods yoked --set yoked_to={LONG}",
    "resume a long name": f"resume {LONG}",
    "evaluate a long name": f"evaluate {LONG}",
    "evaluate a long suite": f"evaluate runs --suite {LONG}",
    "evaluate a long file": f"evaluate runs --suite {LONG}.yaml",
    "report a long name": f"report {LONG} --out new",
    "report into a long name": f"report runs --out {LONG}",
    "keep a long name": f"keep {LONG} --out new",
    "keep in a long name": f"keep runs --out {LONG}",
    "solve into a long name": f"solve --out {LONG}",
    "a long grid": f"grid {LONG} --out new",
    "a grid of a long file": f"grid {LONG}.yaml --out new",
    "a grid in a long name": f"grid quick --out {LONG}",
    "plan in a long name": f"grid quick --plan --out {LONG}",
    # nothing where a name is needed: an empty path would be the folder one is in
    "train into nothing": ["train", "--algorithm", "sac", "--env", "Hopper", "--out", ""],
    "train into nothing, with =": [*["train", "--algorithm", "sac", "--env", "Hopper"], "--out="],
    "evaluate nothing": ["evaluate", ""],
    "report nothing": ["report", "", "--out", "new"],
    "report into nothing": ["report", "runs", "--out", ""],
    "keep in nothing": ["keep", "runs", "--out", ""],
    "solve into nothing": ["solve", "--out", " "],
    "a grid in nothing": ["grid", "quick", "--plan", "--out", ""],
    "report into a null byte": ["report", "runs", "--out", "a\0b"],
    "solve into a null byte": ["solve", "--out", "a\0b"],
    # modules that are none
    "a method of a relative module": f"{TRAIN} Hopper --methods .os:x",
    "a method of two dots": f"{TRAIN} Hopper --methods ..:x",
    "a method of a path": f"{TRAIN} Hopper --methods ./mine:x",
    "a method that is no class": f"{TRAIN} Hopper --methods os:path",
    "a method whose module fails": f"{TRAIN} Hopper --methods fails_on_import:x",
    # numbers with 3,000 digits
    "endless steps": f"{TRAIN} Pendulum-v1 --steps {DIGITS}",
    "endless seeds": f"{TRAIN} Pendulum-v1 --seeds {DIGITS}",
    "endless threads": f"{TRAIN} Pendulum-v1 --threads {DIGITS}",
    "endless rows": f"{TRAIN} Pendulum-v1 --log-every {DIGITS}",
    "an endless rate": f"{TRAIN} Pendulum-v1 --set critic_lr={DIGITS}",
    "an endless buffer": f"{TRAIN} Pendulum-v1 --set buffer_size=0x{'f' * 5000}",
    "an endless layer": f"{TRAIN} Pendulum-v1 --set hidden=[{DIGITS}]",
    "an endless variant": f"{TRAIN} Pendulum-v1 --methods self_paced:pacing={DIGITS}",
    "an endless time": f"{TRAIN} Pendulum-v1 --time-limit {DIGITS}",
    "resume endless steps": f"resume runs --steps {DIGITS}",
    "evaluate endless episodes": f"evaluate runs --episodes {DIGITS}",
    "evaluate endless threads": f"evaluate runs --threads {DIGITS}",
    "keep an endless seed": f"keep runs --out new --policies a:{DIGITS}",
    "solve endless points": f"solve --points {DIGITS} --out new",
    "a grid of endless jobs": f"grid quick --plan --jobs {DIGITS}",
    "a grid of endless seeds": f"grid quick --plan --only seeds={'9' * 5000}",
    # bombs
    "a setting that unfolds": [*f"{TRAIN} Hopper --set".split(), f"tau={BOMB_IN_A_LINE}"],
    "a variant that unfolds": [
        *f"{TRAIN} Hopper --methods".split(),
        f"self_paced:pacing={BOMB_IN_A_LINE}",
    ],
    "a setting with a kind": [*f"{TRAIN} Hopper --set".split(), "tau=!!int ''"],
    # out of range, before anything is done
    "evaluate with threads below 0": "evaluate runs --threads -1",
    "evaluate with jobs below 0": "evaluate runs --jobs -1",
    "solve an infinite rate": "solve --rate inf --out new",
    "solve an infinite pacing": "solve --pacing inf --out new",
    "solve an infinite learning rate": "solve --learning-rate inf --out new",
    "solve 1e30 iterations": "solve --iterations 1e30 --out new",
    "solve a great many iterations": f"solve --iterations {10**30} --out new",
    "keep in the same folder": "keep runs --out runs",
    "keep in the same folder, written otherwise": "keep runs --out runs/../runs",
    "keep in a run": f"keep runs --out runs/{NAME}",
    "plan an unknown suite": "grid unknown-suite.yaml --plan",
    "plan no episodes": "grid quick --plan --episodes 0",
    "plan episodes below 0": "grid quick --plan --episodes -3",
    "plan an infinite rate": "grid quick --plan --rate inf",
    "plan a rate of nan": "grid quick --plan --rate nan",
    "plan in a file": "grid quick --plan --out unknown-suite.yaml",
    # doctor
    "doctor with arguments": "doctor now",
    "doctor with an option": "doctor --fast",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_arguments(capsys, place, line, monkeypatch):
    modules = place.parent / "modules"
    modules.mkdir(exist_ok=True)
    (modules / "fails_on_import.py").write_text("raise ValueError('not today')")
    monkeypatch.syspath_prepend(str(modules))
    refused(capsys, place, line)


@pytest.mark.parametrize(
    "line",
    [
        [*f"{TRAIN}".split(), "o[/b]\x1b[31m"],
        [*f"{TRAIN} Hopper --methods".split(), "\x1b[31mred"],
        ["evaluate", "\x1b]0;title\x07"],
        ["report", "runs[/b]", "--out", "x\x1b[2J"],
        ["train", "--\x1b[31moption"],
    ],
)
def test_nothing_that_a_terminal_obeys_is_told(capsys, place, line):
    told = refused(capsys, place, line)
    assert told.rstrip("\n").isprintable()


def changed(**changes):
    """A change of config.yaml."""

    def change(file: Path) -> None:
        content = yaml.safe_load(file.read_text())
        for name, value in changes.items():
            content.pop(name) if value is None else content.update({name: value})
        file.write_text(yaml.safe_dump(content))

    return change


def population(**changes):
    return changed(
        population={"methods": ["vanilla"], "seeds": [0], "settings": {}} | changes,
    )


RUN_JSON = {
    "is gone": None,
    "is empty": "",
    "breaks off": '{"format_version": 1, "env": "Pend',
    "is a list": "[1, 2]",
    "is deep": "[" * 100_000,
    "is no text": b"\xff\xfe\x00",
    "is newer": '{"format_version": 99}',
    "has a huge version": '{"format_version": 1e999}',
    "has no version": "{}",
}
CONFIG_YAML = {
    "is gone": None,
    "is empty": "",
    "breaks off": "env: [",
    "executes": EXECUTE,
    "executes within": f"env: {EXECUTE}\n",
    "is a list": "- 1\n",
    "is a bomb": "a: &a [x]\n" + "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in BOMB),
    "is deep": "[" * 20_000,
    "is no text": b"\xff\xfe\x00",
    "has no population": changed(population=None),
    "has a population of text": changed(population="all"),
    "has methods of text": population(methods="vanilla"),
    "has seeds of text": population(seeds=["zero"]),
    "has huge seeds": population(seeds=[10**40]),
    "has no seeds": population(seeds=[]),
    "has nested seeds": population(seeds=[[1], [2]]),
    "has settings of a list": population(settings=[1]),
    "has an unknown setting": population(settings={"lr": 1}),
    "has a hostile method": population(methods=["../../../x"]),
    "has an unknown entry": changed(unheard_of=1),
    "has no steps": changed(steps=None),
    "has steps of text": changed(steps="many"),
    "has negative steps": changed(steps=-1),
    "has huge steps": changed(steps=10**18),
    "has another learner": changed(algorithm="dqn"),
    "has a hostile task": changed(env="../../../etc/passwd"),
    "has a task of another type": changed(env=["Hopper"]),
    "has a hostile device": changed(device="/dev/null"),
    "has a tracker that is code": changed(track="os.system"),
    "has a time of text": changed(time_limit="soon"),
}


def put(file: Path, content) -> None:
    if content is None:
        file.unlink()
    elif callable(content):
        content(file)
    elif isinstance(content, bytes):
        file.write_bytes(content)
    else:
        file.write_text(content)


@pytest.mark.parametrize("content", RUN_JSON.values(), ids=RUN_JSON)
@pytest.mark.parametrize("command", ["resume runs", "report runs --out new", "evaluate runs"])
def test_run_json(capsys, place, command, content):
    put(place / "runs" / NAME / "run.json", content)
    refused(capsys, place, command)


@pytest.mark.parametrize("content", CONFIG_YAML.values(), ids=CONFIG_YAML)
def test_config_yaml(capsys, place, content):
    put(place / "runs" / NAME / "config.yaml", content)
    refused(capsys, place, "resume runs")


@pytest.mark.parametrize(
    ("change", "command"),
    [
        (changed(env="leaves_a_trace:Mine-v0"), "resume runs"),
        (population(methods=["leaves_a_trace:Mine"]), "resume runs"),
        (population(methods=["leaves_a_trace:Mine:rate=1"]), "resume runs"),
        (changed(env="leaves_a_trace:Mine-v0"), "evaluate runs --suite quick --episodes 1"),
    ],
)
def test_a_folder_names_code(capsys, place, monkeypatch, change, command):
    """What a run folder names is not imported, though it could be."""
    (place / "leaves_a_trace.py").write_text("import os\nos.environ['TRACE'] = 'here'\n")
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.delenv("TRACE", raising=False)
    run = place / "runs" / NAME
    change(run / "config.yaml")
    if "evaluate" in command:  # which asks run.json
        content = json.loads((run / "run.json").read_text()) | {"env": "leaves_a_trace:Mine-v0"}
        (run / "run.json").write_text(json.dumps(content))
    assert "--trust leaves_a_trace:Mine" in refused(capsys, place, command)
    assert "TRACE" not in os.environ


POLICIES = {
    "is gone": None,
    "is empty": b"",
    "breaks off": b"\x40\x00\x00\x00\x00\x00\x00\x00{",
    "has a huge header": b"\xff" * 8 + b"{}",
    "is a pickle": PICKLE,
    "has no policy": save({"x": np.zeros(3, np.float32)}),
    "has a hostile description": save(
        {"x": np.zeros(3, np.float32)}, {"drspcrl-policy": "[" * 50_000}
    ),
}


@pytest.mark.parametrize("content", POLICIES.values(), ids=POLICIES)
def test_policies(capsys, place, content):
    put(place / "runs" / NAME / "policy.safetensors", content)
    refused(capsys, place, "evaluate runs --suite quick --episodes 1")


SUITES = {
    "is empty": "",
    "breaks off": "settings: [",
    "executes": f"settings: {EXECUTE}",
    "is a list": "- none",
    "has an unknown perturbation": "settings: [earthquake=1]",
    "has a negative level": "settings: [action=-1]",
    "has an infinite level": "settings: [{perturbation: action, levels: [.inf]}]",
    "has levels of text": "settings: [{perturbation: action, levels: many}]",
    "has no settings": "settings: []",
    "is no text": b"\xff\xfe\x00",
    "is a bomb": "a: &a [x]\n" + "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in BOMB),
    "is a bomb of merge keys": "a: &a {x: 1}\n"
    + "".join(f"{c}: &{c} {{<<: [*{p}, *{p}]}}\n" for p, c in BOMB),
    "is deep": "[" * 20_000,
    "has an impossible date": "settings: [2026-13-45]",
    "has an endless level": "settings: [{perturbation: action, levels: [0x" + "f" * 5000 + "]}]",
    "has settings without end": "settings: [{grid: {"
    + ", ".join(f"p{i}: [1, 2, 3, 4, 5, 6, 7, 8]" for i in range(9))
    + "}}]",
    "has an escape": "settings: ['\x1b[31m=1']",
    "has a bomb as settings": f"settings: {BOMB_IN_A_LINE}",
}


@pytest.mark.parametrize("content", SUITES.values(), ids=SUITES)
def test_suites(capsys, place, content):
    put(place / "mine.yaml", content)
    refused(capsys, place, "evaluate runs --suite mine.yaml --episodes 1")


GRIDS = {
    "is a bomb": SUITES["is a bomb"],
    "is a bomb of merge keys": SUITES["is a bomb of merge keys"],
    "is deep": SUITES["is deep"],
    "has a bomb as title": f"title: {BOMB_IN_A_LINE}\ngroups: [1]",
    "has a bomb as a task": f"groups: [{{env: {BOMB_IN_A_LINE}}}]",
    "executes": f"groups: {EXECUTE}",
    "has endless steps": f"groups: [{{env: Hopper, algorithm: ppo, seeds: 0, steps: {DIGITS}}}]",
    "has endless episodes": f"groups: [1]\nevaluation: {{episodes: {DIGITS}}}",
    "is no text": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("content", GRIDS.values(), ids=GRIDS)
def test_grids(capsys, place, content):
    put(place / "mine.yaml", content)
    refused(capsys, place, "grid mine.yaml --plan")


TABLES = {
    "breaks off": "step,episode_return\n1000,5",
    "has a short line": "step,episode_return\n1000\n",
    "has words": "step,episode_return\n1000,good\n",
    "has no step": "episode_return\n5\n",
    "is no text": b"\xff\xfe\x00",
    "has a huge field": "step,episode_return\n1000," + "9" * 200_000 + "x\n",
}


@pytest.mark.parametrize("content", TABLES.values(), ids=TABLES)
def test_metrics(capsys, place, content):
    put(place / "runs" / NAME / "metrics.csv", content)
    refused(capsys, place, "report runs --out new")


@pytest.mark.parametrize("content", ["perturbation\n", EVALUATION[:-3], "a,b\n1\n", b"\xff"])
def test_evaluations(capsys, place, content):
    put(place / "runs" / NAME / "evaluation.csv", content)
    refused(capsys, place, "report runs --out new")


@pytest.mark.parametrize("name", ["manifest.json", "state.safetensors"])
@pytest.mark.parametrize("content", [None, b"", b"{", PICKLE, b"\xff" * 8])
def test_checkpoints(capsys, place, name, content):
    for step in (500, 1000):
        put(place / "runs" / NAME / "checkpoint" / f"step-{step:012d}" / name, content)
    assert "no checkpoint that is whole" in refused(capsys, place, "resume runs")


def test_a_checkpoint_of_something_else(capsys, place):
    assert "made by another version" in refused(capsys, place, "resume runs")


def test_a_run_folder_of_another_name(capsys, place):
    (place / "runs" / NAME).rename(place / "runs" / "mine")
    assert "rename it back" in refused(capsys, place, "resume runs")


def test_a_damaged_evaluation_is_mended_by_overwriting(capsys, place):
    put(place / "mine.yaml", "settings: [none]")
    file = place / "runs" / NAME / "evaluation-mine.csv"
    file.write_text("perturbation,level\nhalf")
    assert main(["evaluate", "runs", "--suite", "mine.yaml", "--episodes", "1", "--overwrite"]) == 0
    capsys.readouterr()
    assert file.read_text().startswith("perturbation,level,episode,return,length\n")


SOLVE = ("solve", "--mdp", "machine", "--points", "2", "--iterations", "1", "--out")
FULL = OSError(errno.ENOSPC, "No space left on device")  # as writing raises it, without a name


def fail(*_, **__):
    raise FULL


@pytest.mark.parametrize(
    ("command", "broken"),
    [
        ("report runs --out new", "drspcrl.report.write.os.replace"),
        ("keep runs --out new", "drspcrl.runfolder.digest.os.replace"),
        ("solve --mdp machine --points 2 --iterations 1 --out new", "drspcrl.files.os.replace"),
        ("evaluate runs --suite one.yaml --episodes 1", "drspcrl.files.os.replace"),
    ],
)
def test_a_full_disk(capsys, place, monkeypatch, command, broken):
    """One clear line, and no half of a result."""
    put(place / "one.yaml", "settings: [none]")
    run = place / "runs" / NAME / "run.json"
    run.write_text(run.read_text().replace("stopped", "finished"))
    monkeypatch.setattr(broken, fail)
    assert main(command.split()) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("drspcrl: error: ")
    assert "No space left on device" in told
    left = [path.name for path in place.rglob("*") if path.is_file()]
    assert not {"index.html", "solution.csv", "evaluation-one.csv", "metrics.csv.xz"} & set(left)


@pytest.mark.parametrize(
    "command",
    [
        "train --env probe/noise --algorithm ppo --steps 64 --out loop.yaml",
        "train --env probe/noise --algorithm ppo --steps 64 --out new --worlds loop.yaml",
        "resume loop.yaml",
        "evaluate loop.yaml",
        "evaluate runs --suite loop.yaml",
        "report loop.yaml --out new",
        "report runs --out loop.yaml",
        "keep runs --out loop.yaml",
        "grid --plan loop.yaml",
        "grid --plan mine.yaml",
        "stress loop.yaml",
        "export loop.yaml --out new.npz",
        f"export runs/{NAME} --out loop.yaml/new.npz",
        "solve --mdp machine --points 2 --iterations 1 --out loop.yaml",
    ],
)
def test_a_link_that_leads_to_itself(capsys, place, command):
    (place / "loop.yaml").symlink_to("loop.yaml")
    group = {"env": "probe/noise", "algorithm": "ppo", "methods": ["vanilla"], "seeds": [0]}
    grid = {"title": "x", "groups": [group], "evaluation": {"suite": "loop.yaml"}}
    put(place / "mine.yaml", json.dumps(grid))
    run = place / "runs" / NAME / "run.json"
    run.write_text(run.read_text().replace("stopped", "finished"))
    assert main(command.split()) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("drspcrl: error: ")


def test_a_full_disk_stops_no_other_run(capsys, place, monkeypatch):
    """Of two runs the one whose folder takes nothing is named, and the other is evaluated."""
    put(place / "one.yaml", "settings: [none]")
    other = place / "runs" / NAME.replace("-s0", "-s1")
    shutil.copytree(place / "runs" / NAME, other)
    info = json.loads((other / "run.json").read_text()) | {"seed": 1}
    (other / "run.json").write_text(json.dumps(info))
    replace = os.replace

    def sometimes(source, target):
        fail() if Path(target).parent.name == NAME else replace(source, target)

    monkeypatch.setattr("drspcrl.files.os.replace", sometimes)
    line = "evaluate runs --suite one.yaml --episodes 1 --jobs 1"
    with pytest.raises(SystemExit) as stop:
        main(line.split())
    assert stop.value.code == 1
    told = capsys.readouterr().out
    assert f"/runs/{NAME}: evaluation-one.csv cannot be written: No space left" in told
    assert (other / "evaluation-one.csv").exists()


@pytest.mark.parametrize("name", ["o[/b]", "o[red]x", "ö ε", "a:smile:"])
def test_any_name_of_a_folder_is_told_as_it_is(capsys, place, name):
    """Rich would end in a MarkupError, or print another path."""
    lines = (
        ["report", "runs", "--out", f"{name}/report"],
        [
            *["solve", "--mdp", "machine", "--points", "2", "--iterations", "1", "--out"],
            f"{name}/solved",
        ],
    )
    for line in lines:
        assert main(line) == 0
    told = capsys.readouterr().out
    assert f"wrote {name}/report/index.html\n" in told
    assert f"wrote {name}/solved/solution.csv\n" in told


def test_escapes_in_a_folder_are_told_as_escapes(capsys, place):
    assert main(["report", "runs", "--out", "new\x1b[31m"]) == 0
    assert capsys.readouterr().out == "wrote new\\x1b[31m/index.html\n"


def test_there_are_at_least_sixty():
    groups = (LINES, RUN_JSON, CONFIG_YAML, POLICIES, SUITES, TABLES)
    assert sum(map(len, groups)) >= 60


RUN_FILES = ["run.json", "config.yaml", "metrics.csv", "policy.safetensors", ".lock"]
RUN_FOLDERS = ["checkpoint", "checkpoint/blocks", "checkpoint/step-000000001000"]


@pytest.mark.parametrize("name", [*RUN_FILES, *RUN_FOLDERS, "", "events.out.tfevents.1.2"])
def test_resume_follows_no_link_of_a_run(place, capsys, name):
    """Everything that a link leads to stays as it is, and so does the run folder."""
    link, elsewhere = place / "runs" / NAME / name, place / "elsewhere"
    if link.exists():
        link.rename(elsewhere)
    elif "." in name:
        elsewhere.write_text("mine")
    else:
        elsewhere.mkdir()
    if elsewhere.is_dir():
        for mine in (elsewhere / "thesis.tex", elsewhere / ".hidden" / "mine"):
            mine.parent.mkdir(exist_ok=True)
            mine.write_text("mine")
    link.symlink_to(elsewhere)
    assert f"{link.name} is a symbolic link" in refused(capsys, place, "resume runs")
    assert link.is_symlink()


@pytest.mark.parametrize("name", ["run.json", "config.yaml"])
@pytest.mark.parametrize("command", ["resume runs", "keep runs --out new"])
def test_a_fifo_in_a_run_hangs_nothing(place, capsys, name, command):
    (place / "runs" / NAME / name).unlink()
    os.mkfifo(place / "runs" / NAME / name)
    with no_hang():
        assert f"{name} is no regular file" in refused(capsys, place, command)


@pytest.mark.parametrize("name", ["run.json", "config.yaml", "metrics.csv", "policy.safetensors"])
@pytest.mark.parametrize("command", ["report runs --out new", "evaluate runs --suite quick"])
def test_a_fifo_in_one_run_is_named_and_skipped(place, capsys, name, command):
    (place / "runs" / NAME / name).unlink()
    os.mkfifo(place / "runs" / NAME / name)
    with no_hang():
        code = main(command.split())
    printed = " ".join("".join(capsys.readouterr()).split())
    if command.startswith("report") and name == "policy.safetensors":
        assert code == 0  # a report needs none
    else:
        assert code == 2, printed
        assert "is no regular file" in printed.replace("- ", "")
    assert not (place / "runs" / NAME / "evaluation-quick.csv").exists()
