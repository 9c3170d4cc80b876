"""Imports point one way, and importing the package is quick."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import drspcrl

SOURCE = Path(drspcrl.__file__).parent

# part → the parts it may import, beside itself and the foundations
FOUNDATIONS = {"errors", "named", "precision", "versions"}
ALLOWED = {
    "errors": set(),
    "named": set(),
    "precision": set(),
    "versions": set(),
    "divergences": set(),
    "tabular": {"divergences", "curricula"},
    "nominal": {"divergences"},
    "envs": {"perturbations"},
    "perturbations": {"envs"},
    "worlds": {"envs"},
    "learners": {"divergences", "nominal", "policy", "worlds"},
    "curricula": {"divergences", "runs"},
    "baselines": {"learners", "envs", "perturbations", "divergences", "nominal"},
    "policy": {"runs"},
    "data": set(),
    "packed": set(),
    "runs": {"variants", "packed"},
    "digest": {"runs", "packed"},
    "statistics": {"data", "runs"},
    "report": {"statistics", "runs", "data", "variants"},
    "evaluation": {"envs", "perturbations", "runs", "statistics", "worlds"},
    "video": {"evaluation", "envs", "perturbations", "policy", "runs"},
    "export": {"envs", "policy", "runs"},
    "presets": {"variants"},
    "variants": set(),
    "checkpoint": set(),
    "trainer": {
        *("learners", "curricula", "nominal", "divergences", "baselines", "envs", "variants"),
        *("perturbations", "evaluation", "policy", "runs", "presets", "checkpoint", "worlds"),
    },
}
TOP = {"cli", "experiments", "__init__", "__main__"}
WITHOUT_JAX = (
    "variants",
    "statistics",
    "report",
    "runs",
    "packed",
    "digest",
    "policy",
    "evaluation",
    "video",
    "export",
    "envs",
    "perturbations",
    "worlds",
    "data",
)


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> list[tuple[str, bool]]:
    """The modules that a file imports, and whether it does so when it is loaded."""
    tree = ast.parse(path.read_text())
    at_load = set(tree.body)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node in at_load) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: use absolute imports"
            found += [(f"{node.module}.{a.name}", node in at_load) for a in node.names]
    return found


FILES = sorted(SOURCE.rglob("*.py"))


def test_every_part_has_its_place():
    unknown = {part_of(f) for f in FILES} - ALLOWED.keys() - TOP
    assert not unknown, f"say in this test what {unknown} may import"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path):
    part = part_of(path)
    if part in TOP:
        return
    allowed = ALLOWED[part] | FOUNDATIONS | {part}
    for module, _ in imports_of(path):
        words = module.split(".")
        if words[0] == "drspcrl" and len(words) > 1 and words[1] != "__version__":
            assert words[1] in allowed, f"{part} must not import {module}"
        assert words[0] not in ("pickle", "cPickle", "dill", "joblib"), "nothing is pickled"


@pytest.mark.parametrize(
    "path",
    [f for f in FILES if part_of(f) in WITHOUT_JAX],
    ids=lambda p: str(p.relative_to(SOURCE)),
)
def test_reading_and_evaluating_never_import_jax(path: Path):
    assert not [m for m, _ in imports_of(path) if m.split(".")[0] in ("jax", "optax")]


def loaded_after(statement: str) -> set[str]:
    program = f"{statement}\nimport sys\nprint(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(result.stdout.splitlines()[-1].split())


HEAVY = {"jax", "mujoco", "gymnasium", "matplotlib", "plotly", "scipy", "pandas"}


@pytest.mark.parametrize(
    "statement",
    ["import drspcrl", "from drspcrl.cli import main\ntry: main(['--help'])\nexcept SystemExit: 0"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(statement):
    assert not loaded_after(statement) & HEAVY


def test_every_exported_name_is_there():
    for name in drspcrl.__all__:
        assert getattr(drspcrl, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = drspcrl.nonsense
