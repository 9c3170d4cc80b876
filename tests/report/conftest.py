"""Synthetic run folders for the tests of the report."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

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
    """Two tasks, two algorithms, three methods, three seeds; a damaged folder among them."""
    root = tmp_path_factory.mktemp("small") / "runs"
    synthetic.write_runs(
        root,
        tasks=["Hopper", "HalfCheetah"],
        algorithms=["sac", "ppo"],
        methods=["vanilla", "fixed", "self_paced"],
        seeds=3,
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
