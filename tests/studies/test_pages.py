"""The pages of results and claims: they are what the committed digests give, and say so plainly."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from matplotlib.image import imread

from drspcrl.runfolder.digest import keep_runs
from drspcrl.statistics import gain_by_chance, headline_gain
from drspcrl.training.settings import resolve
from protocol_pages.claim_list import CLAIMS
from protocol_pages.evidence import SEVEN, read_evidence
from protocol_pages.readme_table import BEGIN, END, readme_table, renewed
from protocol_pages.sums import gain, part
from results_pages import ROOT, write_pages
from synthetic_runs import write_run

PAGES = ("results.md", "claims.md", "details.md", "groups.md")
SENSORS_OFF = "self_paced:sensor=0"


def claim_rows(page: str) -> list[list[str]]:
    """The table of claims: number, the paper's words, recomputed, ours, verdict."""
    lines = page.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|  | the paper says"))
    rows = [line.strip("| ").split(" | ") for line in lines[start + 2 : start + 2 + len(CLAIMS)]]
    assert [row[0] for row in rows] == [str(i + 1) for i in range(len(CLAIMS))]
    return rows


def pages_of(source: Path, docs: Path) -> dict[str, str]:
    write_pages(source, docs)
    return {name: (docs / "results" / name).read_text(encoding="utf-8") for name in PAGES}


@pytest.fixture(scope="module")
def partial(tmp_path_factory) -> Path:
    """Digests of SAC on HalfCheetah, all nine methods, seeds 0 and 1 only."""
    base = tmp_path_factory.mktemp("partial")
    for method in (*SEVEN, "nominal", SENSORS_OFF):
        for seed in (0, 1):
            write_run(base / "runs", "HalfCheetah", "sac", method, seed, rows=1000, episodes=4)
    keep_runs(base / "runs", base / "digest")
    return base / "digest"


@pytest.fixture(scope="module")
def partial_pages(partial, tmp_path_factory) -> dict[str, str]:
    docs = tmp_path_factory.mktemp("docs")
    pages = pages_of(partial, docs)
    assert [path.name for path in (docs / "images").iterdir()] == ["protocol-epsilon-sac.png"]
    return pages


def test_the_committed_pages_are_what_the_committed_digests_give(tmp_path):
    made = pages_of(ROOT / "studies" / "results" / "protocol", tmp_path)
    for name, text in made.items():
        committed = (ROOT / "docs" / "results" / name).read_text(encoding="utf-8")
        assert text == committed, f"docs/results/{name} is stale: run `make results` and commit it"
    here, there = (folder / "images" for folder in (ROOT / "docs", tmp_path))
    names = sorted(path.name for path in here.glob("protocol-*"))
    assert names == sorted(path.name for path in there.iterdir())
    for name in names:
        before, after = imread(here / name), imread(there / name)
        assert before.shape == after.shape
        # Fonts differ between versions of Matplotlib; another curve differs by more than that.
        assert np.abs(before - after).mean() < 0.01, f"docs/images/{name} is stale"


def test_the_readmes_table_is_what_the_committed_digests_give():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    evidence = read_evidence(ROOT / "studies" / "results" / "protocol")
    assert readme_table(evidence) in text, "the README's table is stale: run `make results`"
    assert renewed(text, evidence) == text


def test_the_readmes_sentences_have_the_numbers_of_the_results():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    results = read_evidence(ROOT / "studies" / "results" / "protocol").results
    off = part(results, (SENSORS_OFF, "vanilla"), groups=[("sac", "HalfCheetah")])
    ahead = gain(part(results, ("self_paced", "vanilla")), "self_paced")
    seven = part(results, SEVEN)
    behind, chance = gain(seven, "self_paced"), gain_by_chance(seven)
    for found in (ahead, gain(off, SENSORS_OFF)):
        assert f"{100 * found.value:.1f}% [{100 * found.low:.1f}, {100 * found.high:.1f}]" in text
    for found in (behind, chance):
        ends = f"[{-100 * found.high:.1f}, {-100 * found.low:.1f}]"
        assert f"{-100 * found.value:.1f}% {ends} behind" in text


def test_a_readme_without_marks_stays_as_it_is(partial):
    evidence = read_evidence(partial)
    assert renewed("no table here", evidence) == "no table here"
    assert renewed(f"{BEGIN}old\n{END}more", evidence) == (
        f"{BEGIN}{readme_table(evidence)}{END}more"
    )
    assert "| SAC, HalfCheetah (2 seeds) |" in readme_table(evidence)


def test_the_answer_is_short_and_its_numbers_are_those_behind_it():
    docs = ROOT / "docs" / "results"
    answer = (docs / "results.md").read_text(encoding="utf-8").split("\n## ")[0]
    assert len(answer.split()) < 500
    details = (docs / "details.md").read_text(encoding="utf-8")
    for number in ("+22.6% [+11.6, +35.8]", "−12.1% [−21.7, −6.2]", "−10.7% [−19.2, −0.9]"):
        assert number in answer
        assert number in details
    groups = (docs / "groups.md").read_text(encoding="utf-8")
    assert "gain −10.2% [" in groups  # the one group that the findings name
    assert "[−9.0, +4.3]" in groups


def test_the_committed_digests_stay_small():
    files = [
        file for file in (ROOT / "studies" / "results" / "protocol").rglob("*") if file.is_file()
    ]
    assert sum(file.stat().st_size for file in files) <= 6_000_000


def test_with_no_runs_at_all_every_claim_is_not_yet_measured(tmp_path):
    pages = pages_of(tmp_path / "nothing", tmp_path / "docs")
    for row in claim_rows(pages["claims.md"]):
        assert row[3:] == ["not yet measured", "**not yet measured**"]
    assert "No run of this length has been kept yet" in pages["results.md"]
    assert pages["results.md"].count("0 of 40 | not yet measured | – |") == 5
    assert pages["results.md"].count("0 of 45 | not yet measured | – |") == 2
    assert not list((tmp_path / "docs" / "images").iterdir())


def test_the_papers_own_tables_are_recomputed(tmp_path):
    rows = claim_rows(pages_of(tmp_path / "nothing", tmp_path / "docs")["claims.md"])
    assert [row[2] for row in rows[:4]] == ["+30.6%", "60/60", "54/60", "164/180"]
    # The only statement that our reading of its tables gives as it stands: 40 to 60%.
    assert rows[6][2] == "narrower by +55.8%"
    assert "action noise +24.1%" in rows[5][2]  # as the note below the table says


def test_a_partial_group_says_how_partial_it_is(partial_pages):
    results, claims = (partial_pages[name] for name in PAGES[:2])
    assert "| SAC, HalfCheetah | 18 of 45 | partial: fewer than 5 seeds of vanilla" in results
    assert "**4 episodes** for each setting" in results
    assert "by hand" not in results + partial_pages["details.md"].split("\n## ", 1)[1]
    assert "| SAC, Hopper | 0 of 40 | not yet measured | – |" in results
    rows = claim_rows(claims)
    for number in (1, 3, 4, 5, 6, 8, 9, 10, 11, 12):
        assert rows[number - 1][4].startswith("**so far "), rows[number - 1]
        of = 4 if number == 3 else 12
        assert rows[number - 1][4].endswith(f"(1 of {of} groups)**")
    for number in (2, 7, 13, 14, 15, 16):
        assert rows[number - 1][3:] == ["not yet measured", "**not yet measured**"]


def test_made_up_runs_are_marked(partial_pages):
    assert all('!!! danger "Synthetic data"' in page for page in partial_pages.values())


def test_the_gain_is_the_librarys(partial, partial_pages):
    scores = read_evidence(partial).results.runs
    for methods in (SEVEN, ("self_paced", "vanilla"), ("self_paced", "nominal")):
        chosen = {g: {m: x for m, x in f.items() if m in methods} for g, f in scores.items()}
        found = headline_gain(chosen).estimate
        ends = f"[{100 * found.low:+.1f}, {100 * found.high:+.1f}], {found.n} runs"
        text = f"{100 * found.value:+.1f}% {ends}".replace("-", "−")
        assert f"| all 15 settings | {_over(methods)} | {text} |" in partial_pages["details.md"]


def _over(methods: tuple[str, ...]) -> str:
    return "the best rival" if methods == SEVEN else f"`{methods[1]}`"


def test_sensor_noise_off_has_rows_of_its_own(partial, partial_pages):
    section = partial_pages["details.md"].split("## Sensor noise off")[1].split("\n## ")[0]
    scores = read_evidence(partial).results.runs["sac", "HalfCheetah"]
    off, plain = (scores[name].mean() for name in (SENSORS_OFF, "vanilla"))
    row = next(line for line in section.splitlines() if "| all 15 |" in line)
    assert f"| {off:,.0f} ± " in row
    assert f"| {plain:,.0f} ± " in row
    assert f"{100 * (off - plain) / plain:+.1f}%".replace("-", "−") in row
    assert section.count(f"`{SENSORS_OFF}`") == 4


def test_the_papers_group_stands_beside_ours(partial_pages):
    section = partial_pages["groups.md"].split("## SAC, HalfCheetah")[1]
    assert section.count("*the paper's*") == 7  # nominal has none
    assert "best of 6 rivals" in section
    assert "| HalfCheetah | Vanilla | paper | 5 | 6497.6 <sub>(406.5)</sub>" in section
    assert partial_pages["details.md"].count("9,635 ± 1,424") == 1


def test_a_group_that_lacks_a_method_decides_no_comparison_with_the_best(tmp_path):
    for method in ("vanilla", "self_paced"):
        for seed in (0, 1):
            write_run(tmp_path / "runs", "Hopper", "sac", method, seed, rows=10, episodes=2)
    pages = pages_of(tmp_path / "runs", tmp_path / "docs")
    rows = claim_rows(pages["claims.md"])
    assert all(rows[i][3] == "not yet measured" for i in range(6))
    assert rows[10][3] != "not yet measured"  # over vanilla alone
    assert "| all 15 settings | the best rival | not yet measured |" in pages["details.md"]
    assert "| all 15 settings | `vanilla` | not yet measured |" not in pages["details.md"]


def test_runs_of_another_length_are_not_counted(tmp_path):
    run = write_run(tmp_path / "runs", "Hopper", "sac", "vanilla", 0, rows=10, episodes=2)
    config = yaml.safe_load((run / "config.yaml").read_text())
    (run / "config.yaml").write_text(yaml.safe_dump({**config, "steps": 80_000}))
    page = pages_of(tmp_path / "runs", tmp_path / "docs")["results.md"]
    assert "Not counted: `Hopper-sac-vanilla-s0` (it has 80000 steps, not 1,000,000)" in page
    assert "| SAC, Hopper | 0 of 40 | not yet measured |" in page


def test_what_runs_were_made_with_is_said(tmp_path):
    for seed, draws in ((0, 8), (1, 16)):
        run = write_run(tmp_path / "runs", "Hopper", "sac", "fixed", seed, rows=5, episodes=100)
        info = json.loads((run / "run.json").read_text())
        facts = {
            "commit": "0123456789",
            "versions": {"mujoco": "4.0.0"},
            "machine": {"device": "gpu"},
        }
        (run / "run.json").write_text(json.dumps({**info, **facts}))
        config = yaml.safe_load((run / "config.yaml").read_text())
        # The first is as by default, but for a setting that there was not yet.
        config["settings"] = resolve("sac", {"draws": draws}, steps=1_000_000).flat()
        del config["settings"]["level_spread"]
        (run / "config.yaml").write_text(yaml.safe_dump(config))
    page = pages_of(tmp_path / "runs", tmp_path / "docs")["results.md"]
    # Unlike settings within a group would be no comparison, so they are shown.
    settings = "settings `draws=16` and `draws=8`, no `level_spread`"
    assert f"{settings}; commit 0123456; MuJoCo 4.0.0; on gpu |" in page


def test_runs_that_diverged_are_named(tmp_path):
    for seed in (0, 1):
        write_run(tmp_path / "runs", "Hopper", "sac", "fixed", seed, rows=10, episodes=2)
    run = tmp_path / "runs" / "Hopper-sac-fixed-s1"
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**info, "status": "diverged"}))
    (run / "evaluation.csv").unlink()
    page = pages_of(tmp_path / "runs", tmp_path / "docs")["results.md"]
    assert "| SAC, Hopper | 1 of 40 |" in page
    assert "which flatters its method" in page
    assert ", 1 diverged | **2 episodes**" in page


def test_figures_of_learners_that_are_gone_do_not_stay(partial, tmp_path):
    write_pages(partial, tmp_path)
    write_pages(tmp_path / "nothing", tmp_path)
    assert not list((tmp_path / "images").iterdir())
