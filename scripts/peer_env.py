"""Make a throwaway environment with another library in it, for the tests marked `peers`.

    python scripts/peer_env.py rliable "rliable==1.2.0" "pandas<3"

The environment is `.venv-peers/<name>`, made once and made again when what it is asked for
changes. The last line printed is the path of its Python. Nothing here touches the package's own
environment.
"""

import argparse
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / ".venv-peers"


def peer_python(name: str, requirements: list[str]) -> Path:
    """Return the Python of the environment `name` that holds the requirements."""
    folder = ROOT / name
    python = folder / "bin" / "python"
    stamp = folder / "requirements.txt"
    # An environment that holds this package too must follow its dependencies.
    own = any(requirement.startswith("--editable") for requirement in requirements)
    package = (ROOT.parent / "pyproject.toml").read_text(encoding="utf-8") if own else ""
    wanted = "\n".join([*sorted(requirements), package])
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([*pip, *requirements], check=True, stdout=sys.stderr)
    # Written last: an environment whose installation broke off is made again.
    stamp.write_text(wanted, encoding="utf-8")
    return python


def main() -> None:
    """Make the environment and print its Python."""
    parser = argparse.ArgumentParser(description="an environment with another library")
    parser.add_argument("name", help="name of the environment")
    parser.add_argument("requirements", nargs="+", help="what pip installs into it")
    arguments = parser.parse_args()
    print(peer_python(arguments.name, arguments.requirements))


if __name__ == "__main__":
    main()
