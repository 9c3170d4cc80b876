"""Imports point one way, and importing the package is quick."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import drspcrl

SOURCE = Path(drspcrl.__file__).parent

# Every room may import those before it, and no others.
ORDER = (
    *("errors", "files", "precision", "versions", "display", "named", "reading", "registry"),
    *("variants", "divergences", "config", "data", "statistics"),
    *("physics", "perturbations", "envs", "zoo", "policy", "runfolder", "curricula", "learners"),
    *("transitions", "worlds", "baselines", "tabular", "training", "evaluation", "export"),
    *("video", "report", "plot", "experiments", "cli", "__init__", "__main__"),
)
# What an order cannot say: these know the worlds, the tasks and the policies, no learner. A
# registry is names, labels and help lines alone, and nothing behind them is loaded.
NEVER = {
    "evaluation": {"learners", "training", "curricula", "tabular"},
    "report": {"learners", "training", "evaluation", "envs"},
    "export": {"learners", "training"},
    "tabular": {"learners", "training", "envs"},
    "curricula": {"envs", "worlds"},
    "cli": {"learners"},
}
# What stands for code when it is loaded; `yaml` is read by `reading` alone, within bounds.
UNSAFE = {"pickle", "cPickle", "dill", "joblib", "cloudpickle", "marshal", "shelve"}
WRITES_YAML = {Path("training/folder.py"), Path("runfolder/thinning.py")}
WITHOUT_JAX = (
    *("config", "variants", "data", "statistics", "report", "policy", "evaluation"),
    *(
        "plot",
        "video",
        "export",
        "physics",
        "envs",
        "worlds",
        "perturbations",
        "runfolder",
        "registry",
    ),
)
# The store of checkpoints holds keys of JAX, and worlds have a part that learns; the rest of their
# rooms does without.
WITH_JAX = (
    Path("runfolder/checkpoint"),
    *(Path("worlds") / name for name in ("learning.py", "signal.py", "tilt.py")),
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
    assert {part_of(f) for f in FILES} == set(ORDER), "say in ORDER where a room has its place"


def test_imports_point_one_way():
    wrong = {str(path): forbidden(part_of(path), imports_of(path)) for path in FILES}
    assert not {path: modules for path, modules in wrong.items() if modules}


def forbidden(part: str, imports: list[tuple[str, bool]]) -> list[str]:
    """The drspcrl modules among the imports that a part must not import."""
    below = {*ORDER[: ORDER.index(part) + 1], "__version__"}
    own = {module: module.split(".")[1:3] for module, _ in imports if module.startswith("drspcrl.")}
    never = NEVER.get(part, set())
    return [
        module
        for module, (room, *inside) in own.items()
        if room not in below or (room in never and inside != ["registry"])
    ]


@pytest.mark.parametrize(
    ("part", "module"),
    [
        ("cli", "drspcrl.learners.sac"),
        ("report", "drspcrl.learners.sac.SAC"),
        ("experiments", "drspcrl.cli"),
        ("training", "drspcrl.experiments.grid"),
        ("reading", "drspcrl.runfolder.runs"),
    ],
)
def test_a_wrong_import_is_seen(part, module):
    assert forbidden(part, [(module, True)]) == [module]


def test_nothing_that_is_loaded_runs_code():
    """No pickle anywhere, and YAML from elsewhere through the one bounded reader."""
    for path in FILES:
        inside = path.relative_to(SOURCE)
        banned = UNSAFE if inside in {Path("reading.py"), *WRITES_YAML} else UNSAFE | {"yaml"}
        assert not banned & {module.split(".")[0] for module, _ in imports_of(path)}, path


def test_reading_and_evaluating_never_import_jax():
    rooms = [f for f in FILES if part_of(f) in WITHOUT_JAX]
    exempt = [SOURCE / path for path in WITH_JAX]
    for path in (f for f in rooms if not any(map(f.is_relative_to, exempt))):
        assert not [m for m, _ in imports_of(path) if m.split(".")[0] in ("jax", "optax")], path


def loaded_after(statement: str) -> set[str]:
    program = f"{statement}\nimport sys\nprint(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(result.stdout.splitlines()[-1].split())


HEAVY = {"jax", "mujoco", "gymnasium", "matplotlib", "plotly", "scipy", "pandas", "ray"}


@pytest.mark.parametrize(
    "statement",
    ["import drspcrl", "from drspcrl.cli import main\ntry: main(['--help'])\nexcept SystemExit: 0"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(statement):
    assert not loaded_after(statement) & HEAVY


def test_ray_is_loaded_by_its_engine_alone():
    modules = ("run", "ray_engine", "cluster")
    for module in modules:
        assert "ray" not in loaded_after(f"import drspcrl.experiments.{module}")


def test_every_exported_name_is_there():
    for name in drspcrl.__all__:
        assert getattr(drspcrl, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = drspcrl.nonsense  # type: ignore[attr-defined]
