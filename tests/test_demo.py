"""`make demo` at a tiny size: every step of it, and a page that says what was seen."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from drspcrl.evaluation import load_suite

SCRIPTS = Path(__file__).parents[1] / "scripts"


def test_what_was_seen_is_said_whichever_way_it_went():
    from demo import finding

    ahead = finding([400.0, 500.0], [700.0, 600.0])
    assert ahead == (
        "Self-paced is ahead of vanilla: mean return 650 against 450 (+44%), every seed above "
        "every seed"
    )
    assert finding([400.0, 650.0], [700.0, 600.0]).endswith("525 (+24%), 75% of pairs of seeds")
    for robust in ([450.0], [100.0]):
        assert "is not ahead of vanilla here: mean return" in finding([400.0, 500.0], robust)


def test_the_suite_has_three_kinds_at_five_levels():
    assert len(load_suite(SCRIPTS / "demo_suite.yaml").rows) == 16
    assert yaml.safe_load((SCRIPTS / "demo_suite.yaml").read_text())["settings"][0] == "none"


@pytest.mark.slow
def test_the_demo(tmp_path):
    tiny = ["--steps", "4096", "--seeds", "2", "--episodes", "1"]
    done = subprocess.run(
        [sys.executable, SCRIPTS / "demo.py", *tiny],
        capture_output=True, text=True, cwd=tmp_path, check=True, timeout=600,
    )  # fmt: skip
    assert "$ drspcrl train --env InvertedPendulum-v5 --algorithm ppo" in done.stdout
    for method in ("vanilla", "self_paced"):
        assert any(line.startswith(f"│ {method} ") for line in done.stdout.splitlines())
    (seen,) = [line for line in done.stdout.splitlines() if line.startswith("Self-paced is")]
    assert "A short demonstration: a pole on a cart, 4,096 steps, 2 seeds" in seen
    page = (tmp_path / "demo-output/report/index.html").read_text()
    assert json.dumps(seen)[1:-1] in page
    assert len(list((tmp_path / "demo-output/runs").iterdir())) == 4
