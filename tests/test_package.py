"""One version everywhere, and a wheel and an sdist that work on a bare machine."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_the_version_is_the_same_everywhere():
    read = {
        name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CHANGELOG.md")
    }
    install = (ROOT / "docs" / "start" / "install.md").read_text(encoding="utf-8")
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == VERSION
    assert f"version = {{{VERSION}}}" in read["README.md"]
    assert f"\n## {VERSION}" in read["CHANGELOG.md"]
    assert f"drspcrl-{VERSION}-py3-none-any.whl" in install


def run(*command: str | Path, folder: Path) -> str:
    """What a command prints, run outside the repository and without its paths."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**kept, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_wheel_and_sdist_work_on_a_bare_machine(tmp_path):
    pytest.importorskip("build", reason="build is not installed")
    run(sys.executable, "-m", "build", "--outdir", tmp_path, ROOT, folder=tmp_path)
    (wheel,), (source,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    assert wheel.name == f"drspcrl-{VERSION}-py3-none-any.whl"
    run(sys.executable, "-m", "venv", "venv", folder=tmp_path)
    binaries = tmp_path / "venv" / "bin"
    pins = ROOT / "constraints" / f"py{sys.version_info[0]}{sys.version_info[1]}.txt"
    pip = (binaries / "python", "-m", "pip", "--disable-pip-version-check", "install")
    run(*pip, wheel, *(("--constraint", pins) if pins.exists() else ()), folder=tmp_path)
    use(binaries / "drspcrl", tmp_path)
    run(*pip, "--force-reinstall", "--no-deps", source, folder=tmp_path)
    assert VERSION in run(binaries / "drspcrl", "doctor", folder=tmp_path)


def use(drspcrl: Path, folder: Path) -> None:
    """A newcomer's first commands."""
    assert VERSION in run(drspcrl, "--version", folder=folder)
    assert VERSION in run(drspcrl, "doctor", folder=folder)
    task = ("--env", "Hopper", "--algorithm", "ppo", "--methods", "self_paced")
    run(drspcrl, "train", *task, "--steps", "2000", "--out", "runs", folder=folder)
    run(drspcrl, "evaluate", "runs", "--suite", "quick", "--episodes", "1", folder=folder)
    run(drspcrl, "report", "runs", "--out", "report", folder=folder)
    assert (folder / "report" / "index.html").is_file()
