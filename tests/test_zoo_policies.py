"""What lies in zoo/: whole, small, measured as it is, and made by its script."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from hopper_runs import hopper_policy, make_run

from drspcrl.policy import POLICY_FILE, load_policy, save_policy
from drspcrl.runfolder import tables
from drspcrl.runfolder.runs import read_run, read_runs

ROOT = Path(__file__).parents[1]
FOLDERS = sorted(path.parent for path in (ROOT / "zoo").glob("*/run.json"))
OWN = {"run.json", "config.yaml", "metrics.csv.xz", "card.md", POLICY_FILE}


@pytest.fixture(autouse=True)
def checkout():
    if not FOLDERS:
        pytest.skip("the zoo is not part of this distribution")


def test_it_is_small_and_no_run_is_twice():
    files = [path for path in (ROOT / "zoo").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 8e6
    found = read_runs(ROOT / "zoo", metrics=())
    assert len(found.runs) == len(FOLDERS)
    assert not found.skipped
    clips = [path.stat().st_size for path in (ROOT / "docs/images/zoo").iterdir()]
    assert sum(clips) < 2e6
    assert (ROOT / "docs/images/changed_body.gif").stat().st_size < 1.5e6


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_policy_and_its_card(folder):
    run, policy = read_run(folder), load_policy(folder)
    assert {file.name for file in folder.iterdir() if "evaluation" not in file.name} == OWN
    assert folder.name.startswith(f"{run.environment}-{run.algorithm}-{run.method}")
    assert folder.name.endswith("-transitions") == (
        run.uncertainty == "transitions" and run.method != "vanilla"
    )
    assert np.isfinite(policy(np.zeros(policy.observation_size))).all()
    # Returns are those of this very file.
    digest = hashlib.sha256((folder / POLICY_FILE).read_bytes()).hexdigest()
    for suite in ("", "-beyond"):
        told = json.loads((folder / f"evaluation{suite}.json").read_text())
        assert told["policy_sha256"] == digest
    card = (folder / "card.md").read_text()
    assert card.startswith(f"# {folder.name}\n")
    assert f"drspcrl train --env {run.environment} --algorithm {run.algorithm}" in card
    assert "Licence: MIT" in card
    assert f"`{folder.name}`" in (ROOT / "docs/reference/zoo.md").read_text()


def trained(root: Path, policy) -> Path:
    """A run folder as a finished training leaves it."""
    folder = make_run(root, 0, policy=policy)
    told = json.loads((folder / "run.json").read_text())
    told |= {"steps": 2000, "status": "finished", "commit": "0" * 40, "started": "2026-11-19T00:00"}
    told |= {"versions": {"mujoco": "4.0.0", "jax": "0.10.2"}, "method": "self_paced"}
    (folder / "run.json").write_text(json.dumps(told))
    config = {k: told[k] for k in ("env", "algorithm", "method", "seed", "steps")}
    config |= {"uncertainty": "worlds", "settings": {"epsilon_budget": 1.0}, "out": "/home/me/runs"}
    config |= {"worlds": {"physics": {"mass": 0.2}, "sensor": 0.0}}
    config["population"] = {"methods": ["self_paced"], "seeds": [0], "settings": {"clip": 0.3}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    (folder / "metrics.csv.xz").write_bytes(tables.pack("step,epsilon\n1000,0\n2000,0.25\n"))
    return folder


def made(folder: Path, zoo: Path) -> Path:
    sizes = ["--paper", "2", "--beyond", "0", "--zoo", str(zoo)]
    program = [sys.executable, ROOT / "scripts/make_zoo.py", folder, *sizes]
    subprocess.run(program, check=True, timeout=600)
    (entry,) = zoo.iterdir()
    return entry


@pytest.mark.slow
def test_the_script_measures_what_it_stores(tmp_path):
    entry = made(trained(tmp_path / "runs", hopper_policy(0)), tmp_path / "zoo")
    assert entry.name == "Hopper-sac-self_paced"
    told = json.loads((entry / "evaluation.json").read_text())
    digest = hashlib.sha256((entry / POLICY_FILE).read_bytes()).hexdigest()
    assert told["policy_sha256"] == digest
    save_policy(tmp_path / "half.safetensors", hopper_policy(0), half=True)
    assert (entry / POLICY_FILE).read_bytes() == (tmp_path / "half.safetensors").read_bytes()
    assert yaml.safe_load((entry / "config.yaml").read_text())["out"] == "runs"
    card = (entry / "card.md").read_text()
    assert "up to ε = 0.25 of 1" in card
    assert '{"physics": {"mass": 0.2}}' in card
    assert "--methods self_paced --seeds 0 --steps 2000 --set clip=0.3 --out runs" in card
    assert "half precision; half against single" in card


def test_half_precision_is_for_returns_that_do_not_change():
    from drspcrl.runfolder.tables import Evaluation
    from make_zoo import difference

    def evaluation(returns: list[float]) -> Evaluation:
        kinds = np.array(["none", "none", *["action"] * 4])
        levels = np.array([0.0, 0.0, 0.1, 0.1, 0.2, 0.2])
        return Evaluation(kinds, levels, np.arange(6), np.array(returns), np.ones(6))

    # Perturbed settings differ by (2, 4) and (0, 2): means 3 and 1, variances 2 and 2 of two each.
    mean, error = difference(evaluation([9, 9, 12, 14, 20, 22]), evaluation([0, 0, 10, 10, 20, 20]))
    assert mean == 2.0
    np.testing.assert_allclose(error, np.sqrt(2 / 2 + 2 / 2) / 2)
