"""The reference pages are complete: every command, every column, every public name."""

import re
from pathlib import Path

import pytest
import yaml

import commands_page
import drspcrl
from drspcrl.runfolder.tables import EVALUATION_COLUMNS, RECOVERY
from drspcrl.training import TrainConfig, train

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
TINY = {"hidden": [8]}
OFF_POLICY = {**TINY, "batch_size": 8, "learning_starts": 32, "envs_per_member": 8}
PPO = {**TINY, "rollout_size": 64, "minibatches": 2, "epochs": 1}
SETTINGS = {"sac": OFF_POLICY, "ddpg": OFF_POLICY, "td3": OFF_POLICY, "ppo": PPO}


def documented(heading: str) -> set[str]:
    """The names in the first columns of the tables below one heading of the metrics page."""
    page = (REFERENCE / "metrics.md").read_text(encoding="utf-8")
    part = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_the_page_of_commands_is_what_help_prints():
    text = commands_page.PAGE.read_text(encoding="utf-8")
    assert text == commands_page.page(), "run python scripts/commands_page.py"


def test_every_name_at_the_top_is_on_the_page_of_python():
    text = (REFERENCE / "python.md").read_text(encoding="utf-8")
    for name in drspcrl.__all__:
        value = getattr(drspcrl, name)
        if callable(value):
            assert f"::: {value.__module__}.{name}\n" in text, name


def test_the_site_is_made_to_open_as_a_file_and_has_every_page():
    """The slow tests of the site open it; this one sees a lost setting at once."""
    site = yaml.safe_load((REFERENCE.parents[1] / "mkdocs.yml").read_text(encoding="utf-8"))
    assert site["use_directory_urls"] is False
    assert "offline" in site["plugins"]
    assert site["extra"]["polyfills"] == ["javascripts/iframe-worker.js"]  # search without a server
    assert "mathml" in site["markdown_extensions"]
    pages = {str(page.relative_to(REFERENCE.parent)) for page in REFERENCE.parent.rglob("*.md")}
    assert set(re.findall(r"\w+/?\w*\.md", str(site["nav"]))) == pages


def test_the_columns_of_evaluations_are_documented():
    assert documented("evaluation.csv") == {*EVALUATION_COLUMNS, RECOVERY}


def columns(out: Path, config: TrainConfig) -> set[str]:
    train(config)
    files = [file.read_text(encoding="utf-8") for file in out.rglob("metrics.csv")]
    return {name for text in files for name in text.splitlines()[0].split(",")}


@pytest.mark.slow
@pytest.mark.parametrize("uncertainty", ["worlds", "transitions"])
@pytest.mark.parametrize("algorithm", list(SETTINGS))
def test_every_column_is_documented(tmp_path, algorithm, uncertainty):
    dual = {"dual": "network"} if uncertainty == "transitions" else {}
    config = TrainConfig(
        "InvertedPendulum-v5",
        algorithm,
        out=tmp_path,
        methods=("vanilla", "self_paced"),
        steps=160,
        log_every=80,
        evaluate_every=80,
        uncertainty=uncertainty,
        settings={**SETTINGS[algorithm], **dual},
    )
    found = columns(tmp_path, config)
    assert "evaluation_return" in found
    assert found <= documented("metrics.csv")


@pytest.mark.slow
def test_the_columns_of_the_adversary_are_documented(tmp_path):
    config = TrainConfig(
        *("Hopper", "ppo"),
        out=tmp_path,
        methods=("wr2l",),
        steps=128,
        log_every=64,
        uncertainty="transitions",
        settings={**PPO, "wr2l_every": 1},
    )
    found = columns(tmp_path, config)
    assert "adversary_steps" in found
    assert found <= documented("metrics.csv")
