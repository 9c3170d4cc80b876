"""What a report has made: every file of its tables and figures, so that the page can link them."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Made:
    """One table or figure, in several formats.

    Attributes:
        folder: Where in the report it is.
        name: Its file's name without suffix.
        kind: `training`, `robustness`, `results`, …: which part of the page shows the same.
        title: What it is, in words.
        endings: Its formats.
        algorithm: The learner it is about, where it is about one.
        suite: The suite it is about, where it is about one.
    """

    folder: Literal["figures", "tables"]
    name: str
    kind: str
    title: str
    endings: tuple[str, ...]
    algorithm: str | None = None
    suite: str | None = None
