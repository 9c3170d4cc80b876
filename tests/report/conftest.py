"""Synthetic run folders for the tests of the report."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from report_runs import below_zero, foreign_run, rewrite

ROOT = Path(__file__).resolve().parents[2]


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """scripts/synthetic_runs.py"""
    return load_script("synthetic_runs")


@pytest.fixture(scope="session")
def small_runs(synthetic, tmp_path_factory) -> Path:
    """Two tasks, two algorithms, three methods, five seeds; a damaged folder among them."""
    root = tmp_path_factory.mktemp("small") / "runs"
    synthetic.write_runs(
        root,
        tasks=["Hopper", "HalfCheetah"],
        algorithms=["sac", "ppo"],
        methods=["vanilla", "fixed", "self_paced"],
        seeds=5,
        rows=40,
        episodes=4,
    )
    broken = root / "Hopper-sac-linear-s0"
    broken.mkdir()
    (broken / "run.json").write_text('{"format_version": 1')
    return root


@pytest.fixture(scope="session")
def small_report(small_runs, tmp_path_factory) -> Path:
    """A report on them, compared with the paper."""
    from drspcrl.report import write_report

    out = tmp_path_factory.mktemp("report") / "report"
    write_report(small_runs, out, compare="paper")
    return out


@pytest.fixture(scope="session")
def stressed() -> dict:
    """What `drspcrl stress` writes."""
    import spiral

    from drspcrl.evaluation.stress import stress

    return stress(
        spiral.act, spiral.Spiral, spiral.WORLDS, limit=0.0,
        parameters=["gain", "twist"], budget=320, episodes=1, show=None,
    ).record()  # fmt: skip


@pytest.fixture(scope="session")
def own_runs(synthetic, stressed, tmp_path_factory) -> Path:
    """A task of one's own with negative returns, in worlds, three seeds, and a policy of one's own.

    Two of the runs have been stressed.
    """
    root = tmp_path_factory.mktemp("own") / "runs"
    synthetic.write_runs(
        root, tasks=["Tank-v0"], algorithms=["sac"], methods=["vanilla", "fixed", "self_paced"],
        seeds=3, rows=20, episodes=4,
    )  # fmt: skip
    for file in root.rglob("config.yaml"):
        file.write_text(json.dumps(yaml.safe_load(file.read_text()) | {"uncertainty": "worlds"}))
    for file in root.rglob("metrics.csv"):
        rewrite(file, lambda row: row | {"beta": "0", "price": row["epsilon"]})
    foreign_run(synthetic, root, "Tank-v0", "my policy")
    for folder in root.iterdir():
        below_zero(folder)
    for name in ("Tank-v0-sac-vanilla-s0", "Tank-v0-sac-self_paced-s1"):
        (root / name / "stress.json").write_text(json.dumps(stressed))
    return root


@pytest.fixture(scope="session")
def own_report(own_runs, tmp_path_factory) -> Path:
    """A report on them."""
    from drspcrl.report import write_report

    out = tmp_path_factory.mktemp("own-report") / "report"
    assert write_report(own_runs, out) == ()
    return out


HOSTILE = {
    "task": "<img src=x onerror=window.hit=1>",
    "method": "</script><script>window.hit=2</script>",
    "other": "a|b*c_d`e`[x](javascript:window.hit=3)\\end{document}$&#%^~{}\"'",
    "proto": "__proto__",
    "template": "@SCRIPT@ ${7*7} @DATA@",
    "algorithm": "../../../etc/passwd",
    "unicode": "学习\u202e\u0000\n\u2028é🤖",
    "formula": "=HYPERLINK(1)",
}


@pytest.fixture(scope="session")
def hostile_report(synthetic, tmp_path_factory) -> Path:
    """A report on runs whose names try to break out of every format."""
    from drspcrl.report import write_report

    base = tmp_path_factory.mktemp("hostile")
    methods = [
        HOSTILE[key] for key in ("method", "other", "proto", "template", "unicode", "formula")
    ]
    for number, method in enumerate(methods):
        for seed in range(2):
            synthetic.write_run(
                base / "runs", HOSTILE["task"], HOSTILE["algorithm"], method, seed,
                rows=12, episodes=2, folder=f"run-{number}-{seed}",
            )  # fmt: skip
    broken = base / "runs" / "<b onclick=window.hit=4>-x-y-s0"
    broken.mkdir()
    write_report(base / "runs", base / "report")
    return base / "report"
