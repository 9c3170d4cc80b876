"""The `drspcrl` command: what each subcommand is, and one clear line per mistake."""

import errno
import io
import os
import re
import select
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from typing import Any

from drspcrl.display import brief
from drspcrl.errors import InputError

# Subcommand → module and dataclass, whose `run` does the work. These modules import nothing heavy
# before `run`.
COMMANDS = {
    "train": ("train", "Train"),
    "resume": ("train", "Resume"),
    "grid": ("grid", "Grid"),
    "evaluate": ("evaluate", "Evaluate"),
    "stress": ("stress", "Stress"),
    "report": ("report", "Report"),
    "render": ("render", "Render"),
    "export": ("export", "Export"),
    "zoo": ("zoo", "Zoo"),
    "keep": ("report", "Keep"),
    "solve": ("solve", "Solve"),
    "doctor": ("doctor", "Doctor"),
}

DESCRIPTION = (
    "Reinforcement learning that survives the real world: policies are trained in a set of worlds "
    "around the simulator, which grows at the agent's own pace.\n\n"
    "--version prints the version. With --debug, after any command, an error shows where it "
    "happened. --tyro-print-completion bash (or zsh, tcsh) prints a script that completes commands "
    "and options in that shell."
)

_LONGEST = 2000  # characters of a message
# No option takes a number as long as this, and no file system a name.
_ENDLESS_NUMBER = re.compile(r"\d{1000,}")
# What the disk, its permissions or the length of a name are to blame for.
_DISK = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG, errno.EIO),
    *(errno.ENOENT, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EEXIST),
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
        # What was to be saved is saved, and has been told; nothing went wrong.
        print("drspcrl: stopped by Ctrl-C", file=sys.stderr)
        return 130
    except OSError as error:
        if isinstance(error, BrokenPipeError) and _reader_has_left():
            return 128 + signal.SIGPIPE  # what a shell says of programs that the signal ends
        if error.errno in _DISK:
            return _fail(_of_the_disk(error), 2, debug)
        return _unexpected(error, debug)
    except Exception as error:
        return _unexpected(error, debug)
    return 0


def _parse(arguments: list[str]) -> Any:
    """The chosen command with its options."""
    import tyro

    from drspcrl import __version__

    if arguments == ["--version"]:
        print(f"drspcrl {__version__}", flush=True)
        raise SystemExit(0)
    _check(arguments)
    training = arguments[:1] == ["train"]
    if training and {"-h", "--help"} & set(arguments):
        return _train_help(arguments)
    if training and any(one.partition("=")[0] == "--config" for one in arguments):
        with one_line():
            return import_module("drspcrl.cli.train").from_file(arguments[1:])
    name = arguments[0] if arguments else ""
    if name in COMMANDS:  # the others need not be loaded
        with one_line():
            return tyro.cli(command(name), args=arguments[1:], prog=f"drspcrl {name}")
    commands = {name: command(name) for name in COMMANDS}
    with one_line():
        return tyro.extras.subcommand_cli_from_dict(
            commands, prog="drspcrl", description=DESCRIPTION, args=arguments
        )


def _train_help(arguments: list[str]) -> None:
    """The options of `train`, and below them every number."""
    import tyro

    train = import_module("drspcrl.cli.train")
    try:
        tyro.cli(train.Train, args=["--help"], prog="drspcrl train")
    finally:
        print(train.settings_help(arguments))


def _check(arguments: list[str]) -> None:
    """Refuse what no option can mean; an empty path, say, would be the folder one is in."""
    for before, argument in zip(["drspcrl", *arguments], arguments, strict=False):
        empty = not argument.strip() or argument == "--out="
        if empty or "\0" in argument:
            what = "an empty text" if empty else "a null byte"
            option = argument.rstrip("=") if argument.strip() and empty else before
            raise InputError(
                f"{brief(option, 60)} is given {what}; give it a value, or leave it out"
            )
        if found := _ENDLESS_NUMBER.search(argument):
            raise InputError(
                f"{brief(before, 60)} is given a number of {len(found[0]):,} digits; no option "
                "takes one that long"
            )
    _check_repeated(arguments)


def _check_repeated(arguments: list[str]) -> None:
    """Refuse an option that is given twice, of which the parser would silently drop the first."""
    options = [one.partition("=")[0].replace("_", "-") for one in arguments if one.startswith("--")]
    for option, count in Counter(options).items():
        if count > 1:
            raise InputError(
                f"{brief(option, 60)} is given {count} times; give it once, several values after "
                "one another where it takes them"
            )


def command(name: str) -> Callable[..., Any]:
    """The class or function behind one subcommand, by which tyro parses it."""
    module, kind = COMMANDS[name]
    return getattr(import_module(f"drspcrl.cli.{module}"), kind)


def _reader_has_left() -> bool:
    """Whether nobody reads what is printed, as after `drspcrl zoo | head`; nothing more is then."""
    printed = select.poll()
    printed.register(1, 0)
    left = any(events & select.POLLERR for _, events in printed.poll(0))
    if left:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return left


def _of_the_disk(error: OSError) -> str:
    place = "the disk" if error.filename is None else brief(error.filename, 200)
    return (
        f"{place} cannot be used: {error.strerror}; give another place, or "
        "make room or change its permissions (what was written before is whole)"
    )


def _unexpected(error: Exception, debug: bool) -> int:
    told = " ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    return _fail(f"{told} (--debug shows where)", 1, debug)


def _fail(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print(f"drspcrl: error: {brief(message, _LONGEST)}", file=sys.stderr)
    return code


@contextmanager
def one_line() -> Iterator[None]:
    """Turn the parser's error (exit code 2 and a box of text) into an `InputError`."""
    printed = io.StringIO()
    try:
        with redirect_stderr(printed):
            yield
    except SystemExit as stop:
        if stop.code != 2:
            raise
        raise InputError(condense(printed.getvalue())) from None


def condense(box: str) -> str:
    """The message, the suggestion if there is one, and where to read more.

    The text has a title and sections between horizontal rules; where the terminal can draw it,
    a frame around them carries the title.
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", box)
    framed = "╭" in text
    inner = [line.strip().strip("│").strip() for line in text.splitlines()]
    inner = [line for line in inner if not line.startswith(("╭", "╰"))]
    parts = re.split(r"(?m)^(?:─{3,}|-{3,})$", "\n".join(inner))
    sections = [" ".join(part.split()) for part in parts]
    if not framed and len(sections) > 1:
        sections = sections[1:]  # the title says no more than the message
    # The name of a class in the code says nothing to a user; the name of an option does.
    message = re.sub(r"^Error parsing \w+: ", "", sections[0].rstrip("."))
    for section in sections[1:]:
        if suggestion := re.match(r"Perhaps you meant: (--\S+)", section):
            message += f"; perhaps you meant {suggestion[1]}"
        elif section.startswith("Available subcommands"):
            message += f"; {section[0].lower()}{section[1:]}"
        elif helptext := re.search(r"(drspcrl\b.*--help)", section):
            message += f"; see {helptext[1]}"
    return message
