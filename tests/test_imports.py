"""Imports point one way, and importing the package is quick."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import drspcrl

SOURCE = Path(drspcrl.__file__).parent

# part → the parts it may import, beside itself and the foundations
FOUNDATIONS = {
    "errors",
    "files",
    "named",
    "precision",
    "versions",
    "display",
    "reading",
    "registry",
}
ALLOWED = {
    "errors": set(),
    "files": set(),
    "named": set(),
    "precision": set(),
    "versions": set(),
    "display": set(),
    "reading": set(),
    "registry": set(),
    "config": {"divergences", "nominal"},
    "divergences": set(),
    "tabular": {"divergences", "curricula"},
    "nominal": {"divergences"},
    "envs": {"perturbations"},
    "perturbations": {"envs"},
    "worlds": {"envs"},
    "learners": {"config", "divergences", "nominal", "policy", "worlds"},
    "curricula": {"config", "divergences", "runs"},
    "baselines": {"config", "curricula", "envs", "perturbations"},
    "policy": {"runs"},
    "data": set(),
    "packed": set(),
    "runs": {"variants", "packed"},
    "digest": {"runs", "packed", "policy", "checkpoint"},
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
        "config",
    },
    "experiments": {
        *("trainer", "evaluation", "report", "checkpoint", "runs", "variants", "presets"),
        *("policy", "envs", "worlds"),
    },
    "cli": {
        *("trainer", "evaluation", "report", "experiments", "digest", "tabular", "divergences"),
        *("policy", "runs", "variants", "envs", "export", "video", "worlds", "__init__"),
        "perturbations",
    },
    "__init__": {
        *("curricula", "data", "divergences", "envs", "evaluation", "experiments", "learners"),
        *("perturbations", "policy", "report", "runs", "statistics", "tabular", "trainer"),
        *("export", "video"),
    },
    "__main__": {"cli"},
}
# What stands for code when it is loaded; `yaml` is read by `reading` alone, within bounds.
UNSAFE = {"pickle", "cPickle", "dill", "joblib", "cloudpickle", "marshal", "shelve"}
WRITES_YAML = {Path("trainer/folder.py"), Path("digest/content.py")}
WITHOUT_JAX = (
    "worlds",
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
    "worlds",
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
    unknown = {part_of(f) for f in FILES} - ALLOWED.keys()
    assert not unknown, f"say in this test what {unknown} may import"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path):
    assert not forbidden(part_of(path), imports_of(path))


def forbidden(part: str, imports: list[tuple[str, bool]]) -> list[str]:
    """The drspcrl modules among the imports that a part must not import."""
    allowed = ALLOWED[part] | FOUNDATIONS | {part, "__version__"}
    own = [module for module, _ in imports if module.startswith("drspcrl.")]
    return [module for module in own if module.split(".")[1] not in allowed]


@pytest.mark.parametrize(
    ("part", "module"),
    [
        ("cli", "drspcrl.learners.sac"),
        ("experiments", "drspcrl.cli"),
        ("trainer", "drspcrl.experiments.grid"),
        ("reading", "drspcrl.runs"),
    ],
)
def test_a_wrong_import_is_seen(part, module):
    assert forbidden(part, [(module, True)]) == [module]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_that_is_loaded_runs_code(path: Path):
    """No pickle anywhere, and YAML from elsewhere through the one bounded reader."""
    inside = path.relative_to(SOURCE)
    banned = UNSAFE if inside in {Path("reading.py"), *WRITES_YAML} else UNSAFE | {"yaml"}
    assert not banned & {module.split(".")[0] for module, _ in imports_of(path)}


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
