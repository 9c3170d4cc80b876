"""Write docs/reference/commands.md: what `--help` prints for every command, and an example of each.

python scripts/commands_page.py
"""

import contextlib
import io
import os
from pathlib import Path
from unittest import mock

import tyro

from drspcrl.cli import COMMANDS, command

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "commands.md"
HEAD = """# Every command

What `drspcrl COMMAND --help` prints. `drspcrl train --help` adds [every number](settings.md) of the
algorithm. Everything can be done [from Python](python.md) as well.

- **Exit codes**: 0 done; 1 something failed; 2 wrong input, said in one line; `grid` has 3 for
  stopped before its end. `--debug` shows where an error happened.
- **Completion**: `eval "$(drspcrl --tyro-print-completion bash)"` in `~/.bashrc` (or `zsh`, `tcsh`)
  completes commands and options.
- **Folders**: `DIR` is a folder of run folders or one of them; `RUN` is one run folder.

"""
EXAMPLES = {
    "train": "drspcrl train --env Hopper --algorithm sac --methods self_paced vanilla "
    "--seeds 0 1 2 --steps 1000000 --out DIR",
    "resume": "drspcrl resume DIR",
    "grid": "drspcrl grid paper --out DIR --only env=Hopper algorithm=sac",
    "evaluate": "drspcrl evaluate DIR --episodes 100 --suite paper",
    "stress": "drspcrl stress RUN --plot",
    "report": "drspcrl report DIR --out REPORT",
    "render": "drspcrl render RUN RUN --perturb action=0.3 --world mass:torso=1.5 --out clip.mp4",
    "export": "drspcrl export RUN --out policy.onnx",
    "keep": "drspcrl keep DIR --out DIGESTS",
    "solve": "drspcrl solve --mdp frozenlake --divergence kl --budget 1.0",
    "zoo": "drspcrl zoo",
    "doctor": "drspcrl doctor",
}


def help_text(name: str) -> str:
    """What `drspcrl NAME --help` prints in a terminal of 96 columns, without colours."""
    printed = io.StringIO()
    terminal = mock.patch.dict(os.environ, {"COLUMNS": "96", "NO_COLOR": "1", "TERM": "dumb"})
    with terminal, contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        tyro.cli(command(name), args=["--help"], prog=f"drspcrl {name}")
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())


def section(name: str) -> str:
    """One command: an example and its help."""
    example = f"`{EXAMPLES[name]}`\n\n" if name in EXAMPLES else ""
    return f"## drspcrl {name}\n\n{example}```text\n{help_text(name)}\n```\n"


def page() -> str:
    """The page's text."""
    return HEAD + "\n".join(map(section, COMMANDS))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
