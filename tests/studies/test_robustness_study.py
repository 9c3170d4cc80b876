"""The study of balls beyond KL: its one command at a tiny size, and what is made of its files."""

import csv
import importlib.util
import lzma
from collections.abc import Mapping
from pathlib import Path

import jax
import pytest

from drspcrl.training.settings import resolve
from drspcrl.variants import parse_variant, variant_label

PATH = Path(__file__).parents[2] / "studies" / "robustness_study.py"
TINY = ("hidden=8", "rollout_size=64", "curriculum_every=64", "envs_per_member=4", "draws=4")
BALLS = [f"self_paced:divergence={name}" for name in ("kl", "chi2", "tv", "wasserstein")]


@pytest.fixture(scope="module")
def study():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PATH.parent)  # as for a program that is run
        yield loaded()


def loaded():
    spec = importlib.util.spec_from_file_location("robustness_study", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def train_tiny(study, out: Path) -> Path:
    start = ["train", "divergences", "--env", "Hopper", "--algorithm", "ppo", "--seeds", "1", "2"]
    size = ["--steps", "192", "--episodes", "1", "--set", *TINY, "minibatches=2", "epochs=1"]
    # Programs that run for a moment: compiling them with care would take minutes.
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        study.main([*start, *size, "--out", str(out), "--scratch", str(out / "runs")])
    finally:
        jax.config.update("jax_disable_most_optimizations", False)
    return out


@pytest.fixture(scope="module")
def made(study, tmp_path_factory) -> Path:
    """The study with the references and one of its balls: a program for each is what takes time."""
    with pytest.MonkeyPatch.context() as patch:
        parts = study.STUDIES["divergences"]
        patch.setitem(study.STUDIES, "divergences", [parts[0], parts[-1]])
        return train_tiny(study, tmp_path_factory.mktemp("study"))


def rows(path: Path) -> list[dict[str, str]]:
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check(out: Path, balls: list[str]) -> None:
    """Every run was tried in every setting, and ε left 0 in every ball and nowhere else."""
    found = rows(out / "Hopper-ppo-divergences.csv")
    runs = {(row["method"], row["seed"]) for row in found}
    assert runs == {(m, s) for m in ("vanilla", "nominal", *balls) for s in "12"}
    assert len({(row["perturbation"], row["level"]) for row in found}) == 16
    assert len(found) == 16 * len(runs)
    largest: dict[str, float] = {}
    for row in rows(out / "Hopper-ppo-divergences-curves.csv.xz"):
        largest[row["method"]] = max(largest.get(row["method"], 0.0), float(row["epsilon"]))
    assert largest.pop("vanilla") == largest.pop("nominal") == 0
    assert set(largest) == set(balls)
    assert min(largest.values()) > 0


def test_the_study_has_the_references_and_every_ball(study):
    references, *balls = study.STUDIES["divergences"]
    assert references.methods == ["vanilla", "nominal"]
    assert [f"{part.methods[0]}:{part.name}" for part in balls] == BALLS
    assert [part.settings["divergence"] for part in balls] == [b.split("=")[1] for b in BALLS]


def test_a_part_that_is_not_there_is_named_with_those_that_are(study):
    with pytest.raises(SystemExit, match="machinery has no part 'n=32'; it has '', 'draws=32', "):
        study.main(["train", "machinery", "--part", "n=32"])


def test_one_command_trains_and_evaluates(made):
    check(made, BALLS[-1:])


@pytest.mark.slow
def test_one_command_trains_and_evaluates_every_ball(study, tmp_path):
    check(train_tiny(study, tmp_path), BALLS)


def test_a_table_and_a_figure_come_of_it(study, made, capsys, tmp_path):
    study.main(["table", str(made / "Hopper-ppo-divergences.csv")])
    printed = capsys.readouterr().out
    assert all(f"| {method} |" in printed for method in ("vanilla", "nominal", BALLS[-1]))
    curves, drawn = made / "Hopper-ppo-divergences-curves.csv.xz", tmp_path / "epsilon.png"
    assert list(study.by_method([curves])) == BALLS[-1:]
    study.main(["figure", str(curves), "--by", "method", "--out", str(drawn)])
    assert drawn.read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def returns(tmp_path) -> Path:
    """Two methods and two seeds; a seed's returns are multiples of one number."""
    lines = ["method,seed,perturbation,level,return"]
    of_one = {"none": 100, "action": 10, "observation": 20, "environment": 30}
    for method, seed, value in (("m", 0, 1.0), ("m", 1, 3.0), ("base", 1, 2.0), ("base", 0, 1.0)):
        lines += [f"{method},{seed},{kind},0.1,{one * value}" for kind, one in of_one.items()]
    file = tmp_path / "made.csv"
    file.write_text("\n".join(lines))
    return file


def test_the_table_is_a_mean_over_seeds_with_its_interval(study, returns):
    # Two seeds: t = 12.706 for 95%, and the standard error of (1, 3) is 1.
    row = "| m | 200 ± 1,271 | 20 ± 127 | 40 ± 254 | 60 ± 381 | 40 ± 254 |"
    assert row in study.table(returns)


def test_differences_are_taken_seed_by_seed(study, returns):
    # (1 − 1, 3 − 2) has mean 0.5 and standard error 0.5.
    found = study.table(returns, less="base")
    assert "| m | 50 ± 635 | 5 ± 64 | 10 ± 127 | 15 ± 191 | 10 ± 127 |" in found
    assert "| base |" not in found


def written(path: Path, numbers: Mapping[str, tuple[float, float]]) -> Path:
    """A file of two seeds in which a method's return is the same in every setting."""
    lines = ["method,seed,perturbation,level,return"]
    for method, seeds in numbers.items():
        lines += [
            f'"{method}",{seed},{kind},0.1,{value}'
            for seed, value in enumerate(seeds)
            for kind in ("none", "action", "observation", "environment")
        ]
    path.write_text("\n".join(lines))
    return path


def test_an_effect_is_a_mean_over_the_other_levels_of_each_seed(study, tmp_path):
    one, two = "fixed:epsilon_budget=1,sensor=0.1", "fixed:epsilon_budget=1,sensor=0.2"
    numbers = {one: (1.0, 2.0), two: (3.0, 6.0), "nominal:sensor=0.1": (5.0, 5.0)}
    found = study.effects(written(tmp_path / "a.csv", numbers))
    assert "| ε = 1 | 3 ± 13 |" in found  # seeds (2, 4)
    assert "| σ = 0.1 | 3 ± 3 |" in found  # seeds (3, 3.5)
    less = study.effects(
        tmp_path / "a.csv", written(tmp_path / "b.csv", {one: (1.0, 1.0), "vanilla": (9.0, 9.0)})
    )
    assert "| ε = 1 | 0 ± 6 |" in less  # only what both have: seeds (0, 1)
    assert "vanilla" not in less
    assert "σ = 0.2" not in less


def test_pairs_are_differences_to_the_same_without_the_change(study, tmp_path):
    quiet = {"nominal": (10, 20), "nominal:sensor=0": (5, 5)}
    noisy = {"nominal:rollout_noise=1": (50, 100), "nominal:rollout_noise=1,sensor=0": (6, 8)}
    numbers = quiet | noisy | {"fixed:rollout_noise=1": (9, 9)}
    found = study.pairs(written(tmp_path / "a.csv", numbers), "rollout_noise=1")
    assert "| nominal | 60 ± 254 |" in found  # seeds (40, 80)
    assert "| nominal:sensor=0 | 2 ± 13 |" in found  # seeds (1, 3)
    assert "| mean of these | 31 ± 133 |" in found  # seeds (20.5, 41.5)
    assert "fixed" not in found  # which was not tried without
    with pytest.raises(SystemExit, match="with and without 'sensor=7'"):
        study.pairs(tmp_path / "a.csv", "sensor=7")


def test_tasks_count_alike_in_units_of_what_vanilla_reaches(study, tmp_path):
    low = {"vanilla": (5, 15), "self_paced": (10, 10), "nominal": (11, 12)}  # a unit of 0.1
    high = {"vanilla": (1000, 1000), "self_paced": (900, 700), "nominal": (920, 700)}  # of 10
    files = [written(tmp_path / f"{k}.csv", x) for k, x in enumerate((low, high))]
    found = study.overall(files, "self_paced")
    # Pairs of a task and a seed: (10, 20, 2, 0), of standard deviation 9.09.
    assert "| nominal | 8 ± 14 |" in found
    rows = [line.split(" | ")[0] for line in found.splitlines()[2:]]
    assert rows == ["| vanilla", "| nominal", "| self_paced"]  # vanilla: (-50, 50, 10, 30)
    with pytest.raises(SystemExit, match="it has no fixed"):
        study.overall(files, "fixed")


def test_methods_are_taken_together_seed_by_seed(study, tmp_path):
    low = {"vanilla": (5, 15), "a": (10, 20), "b": (20, 30)}  # a unit of 0.1
    high = {"vanilla": (1000, 1000), "a": (900, 700), "b": (1100, 1100)}  # of 10
    files = [written(tmp_path / f"{k}.csv", x) for k, x in enumerate((low, high))]
    found = study.together(files, ["a", "b"], ["vanilla"])
    assert "| 0 | 100 ± 0 |" in found  # seeds (15 - 5, 25 - 15)
    assert "| 1 | -5 ± 64 |" in found  # seeds (0, -10)
    assert "| all of these | 48 ± 97 |" in found  # (100, 100, 0, -10)
    assert "all of these" not in study.together(files[:1], ["a"], ["b"])
    with pytest.raises(SystemExit, match="it has no c"):
        study.together(files, ["a"], ["c"])


def test_effects_keep_other_methods_out_of_the_rows_of_radii(study, tmp_path):
    numbers = {"nominal:sensor=0.1": (5, 5), "self_paced:sensor=0.1": (9, 9)}
    found = study.effects(written(tmp_path / "a.csv", numbers))
    assert "| ε = 0 (nominal) | 5 ± 0 |" in found
    assert "| σ = 0.1 | 5 ± 0 |" in found
    assert "| self_paced:sensor=0.1 | 9 ± 0 |" in found


def test_every_study_is_of_variants_that_its_learner_knows(study):
    for name, parts in study.STUDIES.items():
        for part in parts:
            variants = [parse_variant(method) for method in part.methods]
            assert len({variant_label(variant) for variant in variants}) == len(variants), name
            for variant in variants:
                learner = "ppo" if name == "on_policy" else "sac"
                resolve(learner, {**part.settings, **variant.changes}, 10_000)
