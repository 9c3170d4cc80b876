"""`drspcrl solve`: the table, the files, and one clear line for every mistake."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from drspcrl.cli.solve import Solve, make_divergence
from drspcrl.divergences import KL, Divergence
from drspcrl.divergences.registry import DIVERGENCES
from drspcrl.errors import InputError
from drspcrl.tabular import make_instance, robust_value_iteration
from drspcrl.tabular.mdp import hop_distance
from drspcrl.tabular.solvers import nominal_return

QUICK: dict[str, Any] = {"points": 3, "iterations": 25}


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def png_size(path: Path) -> tuple[int, int]:
    header = path.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(header[16:20]), int.from_bytes(header[20:24])


def test_solve_prints_the_optimum_and_writes_three_files(tmp_path, capsys):
    Solve(mdp="riverswim", budget=0.2, out=tmp_path / "deep" / "er", **QUICK).run()
    out = tmp_path / "deep" / "er"
    assert sorted(path.name for path in out.iterdir()) == [
        "curriculum.png",
        "frontier.png",
        "solution.csv",
    ]
    for picture in ("frontier.png", "curriculum.png"):
        assert min(png_size(out / picture)) > 700

    rows = read(out / "solution.csv")
    assert len(rows) == 3 + 3 * 3
    mdp = make_instance("riverswim")
    for row in rows[:3]:
        best = robust_value_iteration(mdp, KL(), float(row["radius"]))
        assert row["method"] == "optimal"
        assert float(row["worst_case_return"]) == pytest.approx(best.expected_return)
        assert float(row["nominal_return"]) == pytest.approx(nominal_return(mdp, best.policy))
        assert float(row["mean_multiplier"]) == pytest.approx(best.mean_multiplier)
    printed = capsys.readouterr().out
    for header in ("ε", "nominal return", "worst-case return", "mean β*", "∞"):
        assert header in printed
    assert f"{float(rows[1]['worst_case_return']):.6g}" in printed
    assert "frontier.png" in printed


def test_nobody_beats_the_optimum_and_nominal_training_is_nominally_best(tmp_path):
    Solve(mdp="machine", budget=0.5, points=3, iterations=120, out=tmp_path).run()
    rows = read(tmp_path / "solution.csv")
    best = {r["radius"]: float(r["worst_case_return"]) for r in rows if r["method"] == "optimal"}
    for row in rows:
        assert float(row["worst_case_return"]) <= best[row["radius"]] + 1e-9
        if row["method"] == "fixed":
            assert float(row["worst_case_return"]) == pytest.approx(best[row["radius"]], rel=0.02)
            assert row["training_radius"] == row["radius"]
        if row["method"] == "nominal":
            assert float(row["nominal_return"]) == pytest.approx(max(best.values()), rel=0.02)
            assert float(row["training_radius"]) == 0.0


@pytest.mark.parametrize("name", sorted(DIVERGENCES))
def test_every_divergence_by_name(name):
    mdp = make_instance("riverswim")
    divergence = make_divergence(name, mdp)
    assert isinstance(divergence, Divergence)
    nominal = robust_value_iteration(mdp, divergence, 0.0).expected_return
    assert robust_value_iteration(mdp, divergence, 0.1).expected_return < nominal


def test_wasserstein_runs_on_a_sparse_instance(tmp_path):
    Solve(
        mdp="garnet", divergence="wasserstein", budget=0.1, points=2, iterations=3, out=tmp_path
    ).run()
    assert (tmp_path / "frontier.png").exists()


def test_the_papers_rule_stays_at_zero(tmp_path):
    Solve(mdp="riverswim", rule="radius", budget=0.2, out=tmp_path, **QUICK).run()
    paced = [row for row in read(tmp_path / "solution.csv") if row["method"] == "self_paced"]
    assert all(float(row["training_radius"]) == 0.0 for row in paced)


def test_an_empty_ball_is_said_to_be_empty(tmp_path, capsys, monkeypatch):
    from drspcrl.tabular import garnet, instances

    monkeypatch.setitem(instances.INSTANCES, "garnet", lambda: garnet(4, 2, 1))
    Solve(mdp="garnet", points=2, iterations=2, out=tmp_path).run()
    assert "every row of garnet is a point mass" in " ".join(capsys.readouterr().out.split())


def test_hops_are_counted_in_both_directions():
    hops = hop_distance(make_instance("riverswim"))
    assert hops.tolist() == [[float(abs(i - j)) for j in range(6)] for i in range(6)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mdp": "maze"}, "unknown MDP 'maze'; choose one of cliffwalking"),
        ({"divergence": "renyi"}, "divergence is 'renyi'; choose one of kl"),
        ({"budget": -1.0}, r"--budget is -1\.0; it must be a number above 0"),
        ({"budget": float("nan")}, "--budget is nan"),
        ({"discount": 1.0}, r"discount is 1\.0"),
        ({"points": 1}, "--points is 1"),
        ({"pacing": 0.0}, "--pacing 0"),
    ],
)
def test_a_mistake_is_named_before_anything_is_written(options, message, tmp_path):
    with pytest.raises(InputError, match=message):
        Solve(**({"out": tmp_path / "out"} | options)).run()
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InputError, match="is a file; name a folder"):
        Solve(out=tmp_path / "out").run()
    assert (tmp_path / "out").read_text() == "mine"


def test_the_command_line_runs_it(tmp_path, capsys):
    from drspcrl.cli import main

    arguments = ["solve", "--mdp", "machine", "--points", "2", "--iterations", "2"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    assert (tmp_path / "solution.csv").exists()
    assert main([*arguments, "--budget", "-1", "--out", str(tmp_path)]) == 2
    assert "--budget is -1.0" in capsys.readouterr().err


def test_it_tells_how_far_it_is_where_there_is_no_terminal(tmp_path, capsys, monkeypatch):
    """An instance of minutes must not look like one that hangs."""
    monkeypatch.setattr("drspcrl.cli.solve._SECONDS_BETWEEN_LINES", 0.0)
    Solve(mdp="machine", points=2, iterations=1, out=tmp_path).run()
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "solving machine: 8 policies"
    assert told[1].startswith("robust optimum: 1 of 8 policies after ")
    assert told[3].startswith("training nominal, fixed and self-paced: 3 of 8 policies after ")
    assert all(re.search(r" after \d+s, about \d+:\d\d left$", line) for line in told[2:8])
    assert "left" not in told[8]
    assert len(told) == 9
