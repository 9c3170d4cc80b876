"""Every Python block of the documentation runs; commands parse; a whole guide runs as it stands.

A block that cannot run here says so in the line above it: `<!-- not run: reason -->`.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import tyro
import yaml
from hopper_runs import hopper_policy, make_run

from drspcrl.cli import COMMANDS, command
from drspcrl.export import export, read_source
from drspcrl.training import TrainConfig, train
from synthetic_runs import write_runs

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>.+) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
TINY = {"hidden": [8], "batch_size": 8, "learning_starts": 32, "envs_per_member": 8}
GRID = """
title: tiny
groups:
  - {algorithm: ppo, env: probe/noise, methods: [vanilla], seeds: [0], steps: 512,
     settings: {hidden: [8], rollout_size: 64, minibatches: 4, envs_per_member: 4}}
evaluation: {suite: noise, episodes: 1}
"""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT)).removeprefix("docs/")


def blocks(page: Path | str, kind: str) -> list[str]:
    """The blocks of one language that are to be run, in their order."""
    path = ROOT / page if str(page) == "README.md" else ROOT / "docs" / page
    found = BLOCK.finditer(path.read_text(encoding="utf-8"))
    return [block["text"] for block in found if block["kind"] == kind and not block["why"]]


def a_policy(folder: Path) -> dict:
    return {"policy": hopper_policy(0), "controller": hopper_policy(1)}


def exported(folder: Path) -> dict:
    source = read_source(make_run(folder, 0))
    for name in ("policy.onnx", "policy.npz"):
        export(source, folder / name)
    return {"observations": np.zeros((4, 11), np.float32)}


def a_training(folder: Path) -> dict:
    train(TrainConfig("InvertedPendulum-v5", "sac", out=Path("runs"), steps=160, settings=TINY))
    return {}


def a_tank(folder: Path) -> dict:
    page = (ROOT / "docs" / "guides" / "own_simulator.md").read_text(encoding="utf-8")
    write_files(page, folder)
    return {"policy": lambda observations: np.zeros((len(observations), 1), np.float32)}


def runs_to_report(folder: Path) -> dict:
    write_runs(
        folder / "runs",
        tasks=["Hopper"],
        algorithms=["sac"],
        methods=["vanilla", "self_paced"],
        seeds=2,
        rows=20,
        episodes=2,
    )
    for file in folder.rglob("metrics.csv"):  # as runs in worlds have it
        head, *rows = file.read_text().splitlines()
        file.write_text("\n".join([f"{head},price", *(f"{row},0.1" for row in rows), ""]))
    return {}


def a_grid(folder: Path) -> dict:
    (folder / "tiny.yaml").write_text(GRID)
    return {}


def nothing(folder: Path) -> dict:
    return {}


# Page → what its code finds in its folder and among its names, and what is made smaller for a test.
QUICK: dict[str, Callable[[Path], dict]] = {
    "concepts/curricula.md": nothing,
    "concepts/divergences.md": nothing,
    "concepts/nominal_models.md": nothing,
    "concepts/statistics.md": nothing,
    "concepts/tabular.md": nothing,
    "guides/attacks_and_faults.md": nothing,
    "guides/export.md": exported,
    "guides/your_parts.md": nothing,
    "reference/environments.md": nothing,
    "reference/perturbations.md": nothing,
    "reference/zoo.md": nothing,
}
SLOW: dict[str, Callable[[Path], dict]] = {
    "guides/evaluation.md": a_policy,
    "guides/grids.md": a_grid,
    "guides/report.md": runs_to_report,
    "guides/resume.md": a_training,
    "guides/stress.md": a_tank,
    "guides/training.md": lambda folder: {"observations": np.zeros((4, 11), np.float32)},
    "reference/learners.md": nothing,
    "start/first_run.md": nothing,
    "start/test_your_policy.md": nothing,
    "README.md": nothing,
}
FILM = "guides/video.md"
WHOLE = "guides/own_simulator.md"  # all of it is run, in its order
SMALLER = {
    "guides/evaluation.md": {"episodes=100": "episodes=1"},
    "guides/grids.md": {'"quick"': '"tiny.yaml"'},
    "guides/resume.md": {"2_000_000": "240"},
    "guides/stress.md": {"limit=0.8": "limit=0.8, budget=340, episodes=1"},
    "guides/training.md": {
        "(0, 1, 2)": "(0,), steps=160, settings=" + repr(TINY),
        '("self_paced",)': '("self_paced",), steps=160, settings=' + repr(TINY),
    },
    "start/first_run.md": {"60_000": "2048", "episodes=10": "episodes=1"},
    "README.md": {"200_000": "2048", "episodes=50": "episodes=1"},
    WHOLE: {"--steps 50000": "--steps 2048", "--plot": "--plot --budget 480 --episodes 2"},
}


def smaller(page: str, text: str) -> str:
    for long, short in SMALLER.get(page, {}).items():
        text = text.replace(long, short)
    return text


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory; what a page registers and imports is forgotten afterwards."""
    registered, modules = dict(gymnasium.registry), set(sys.modules)
    gymnasium.registry.pop("Tank-v0", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    gymnasium.registry.clear()
    gymnasium.registry.update(registered)
    for name in {"tank_world"} & (set(sys.modules) - modules):
        del sys.modules[name]


def run_page(page: str, folder: Path, names: dict) -> None:
    text = "".join(blocks(page, "python"))
    for long in SMALLER.get(page, {}):
        assert long in text, f"{page} no longer says {long}"
    for block in blocks(page, "python"):
        exec(compile(smaller(page, block), page, "exec"), names)


def test_every_page_with_code_is_run():
    with_code = {
        name_of(page)
        for page in PAGES
        if any(block["kind"] == "python" for block in BLOCK.finditer(page.read_text("utf-8")))
    }
    assert with_code == {*QUICK, *SLOW, FILM, WHOLE}


@pytest.mark.parametrize("page", QUICK)
def test_code_runs(page, folder):
    run_page(page, folder, QUICK[page](folder))


@pytest.mark.slow
@pytest.mark.parametrize("page", SLOW)
def test_longer_code_runs(page, folder):
    run_page(page, folder, SLOW[page](folder))


@pytest.mark.slow
def test_the_code_that_films_runs(folder):
    """In a process of its own: graphics are chosen before MuJoCo is imported."""
    make_run(folder / "runs", 0).rename(folder / "runs" / "Hopper-sac-self_paced-s0")
    command = [sys.executable, "-c", "".join(blocks(FILM, "python"))]
    done = subprocess.run(command, capture_output=True, text=True)
    if "nothing can be drawn here" in done.stderr:
        pytest.skip("nothing can be drawn here; on Debian EGL is in the package libegl1")
    assert done.returncode == 0, done.stderr
    assert (folder / "clip.mp4").is_file()


def commands_of(page: Path) -> list[list[str]]:
    """The drspcrl commands of a page's shell blocks, as lists of arguments."""
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    shell = "".join(block["text"] for block in found if block["kind"] == "sh")
    lines = shell.replace("\\\n", " ").splitlines()
    lines = [line.removesuffix("&") for line in lines if "drspcrl " in line]
    split = [shlex.split(line, comments=True) for line in lines]
    return [words[words.index("drspcrl") + 1 :] for words in split if "drspcrl" in words]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_parse(page, folder):
    write_files((ROOT / "docs" / WHOLE).read_text(encoding="utf-8"), folder)
    for name, *arguments in commands_of(page):
        assert name in COMMANDS
        if "--config" not in arguments:
            tyro.cli(command(name), args=arguments)


def write_files(page: str, folder: Path) -> None:
    """The blocks that begin with a file's name, as files."""
    for block in BLOCK.finditer(page):
        first = block["text"].partition("\n")[0]
        if match := re.fullmatch(r"# (\w+\.(?:py|yaml))", first):
            (folder / match[1]).write_text(block["text"])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_yaml_is_whole(page):
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["kind"] == "yaml":
            assert yaml.safe_load(block["text"])


@pytest.mark.slow
def test_the_guide_to_ones_own_simulator_runs_from_top_to_bottom(folder):
    page = (ROOT / "docs" / WHOLE).read_text(encoding="utf-8")
    for long in SMALLER[WHOLE]:
        assert long in page
    write_files(page, folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for block in BLOCK.finditer(page):
        text = smaller(WHOLE, block["text"])
        if block["kind"] == "sh":
            environment = {**os.environ, "PATH": path}
            command = ["bash", "-euc", text]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        elif block["kind"] == "python" and not text.startswith("# tank_world.py"):
            exec(compile(text, WHOLE, "exec"), {})
    for name in ("report/index.html", "tank.onnx"):
        assert (folder / name).is_file()
    assert list(folder.rglob("stress.json"))
