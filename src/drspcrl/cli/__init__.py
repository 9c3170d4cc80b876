"""The `drspcrl` command: one file per subcommand, one clear line per mistake."""

import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from drspcrl.errors import InputError

# Subcommand → the dataclass in the module of the same name whose `run` does the work. These
# modules import nothing heavy before `run`.
COMMANDS = {
    "train": "Train",
    "resume": "Resume",
    "grid": "Grid",
    "evaluate": "Evaluate",
    "stress": "Stress",
    "report": "Report",
    "render": "Render",
    "export": "Export",
    "keep": "Keep",
    "solve": "Solve",
    "doctor": "Doctor",
}

DESCRIPTION = (
    "Reinforcement learning that survives the real world: policies trained against the worst case "
    "in a ball around the nominal model, whose radius grows at the agent's own pace. "
    "With --debug, an error shows where it happened."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 failed, 2 wrong input."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments
    try:
        _parse([argument for argument in arguments if argument != "--debug"]).run()
    except InputError as error:
        return _fail(str(error), 2, debug)
    except KeyboardInterrupt:
        return _fail("interrupted", 130, debug)
    except Exception as error:
        return _fail(f"{type(error).__name__}: {error} (--debug shows where)", 1, debug)
    return 0


def _parse(arguments: list[str]) -> Any:
    """The chosen command with its options."""
    import tyro

    from drspcrl import __version__
    from drspcrl.cli.mistakes import one_line

    if arguments == ["--version"]:
        print(f"drspcrl {__version__}")
        raise SystemExit(0)
    commands = {name: _command(name) for name in COMMANDS}
    with one_line():
        return tyro.extras.subcommand_cli_from_dict(
            commands, prog="drspcrl", description=DESCRIPTION, args=arguments
        )


def _command(name: str) -> Callable[..., Any]:
    return getattr(import_module(f"drspcrl.cli.{name}"), COMMANDS[name])


def _fail(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print(f"drspcrl: error: {' '.join(message.split())}", file=sys.stderr)
    return code
