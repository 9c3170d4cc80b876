"""One clear line for a mistake on the command line, instead of the parser's box."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr

from drspcrl.errors import InputError


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
