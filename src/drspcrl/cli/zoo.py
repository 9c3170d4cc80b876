"""The command `zoo`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from drspcrl.cli.say import say

if TYPE_CHECKING:
    from drspcrl.runfolder.runs import Run

HEADINGS = ("name", "task", "learner", "method", "trained in", "steps", "unperturbed", "perturbed")
_ALIGNED = "<<<<<>>>"


@dataclass(frozen=True)
class Zoo:
    """List the trained policies that come with the source, or show the card of one.

    The last two columns are mean returns: unperturbed, and over the 15 settings of the suite paper.
    render, export, evaluate and stress, and load_policy, take zoo:NAME in place of a run folder.
    The folder is the checkout's zoo/, or what the variable DRSPCRL_ZOO names.
    """

    name: Annotated[str | None, tyro.conf.Positional] = None
    """The policy whose card to show; all are listed unless given."""

    def run(self) -> None:
        """Print the table, or a card."""
        from drspcrl.errors import InputError
        from drspcrl.zoo import PREFIX, folder_of, names, zoo_folder

        if self.name is not None:
            for line in _card(folder_of(self.name.removeprefix(PREFIX))):
                say(line)
            return
        rows: list[tuple[str, ...]] = [HEADINGS]
        unreadable: list[str] = []
        for name in names():
            try:
                rows.append(_row(folder_of(name)))
            except InputError as error:
                unreadable.append(f"{name} is left out: {error}")
        for line in [*_aligned(rows), *unreadable]:
            say(line)
        say(f"in {zoo_folder()}; drspcrl zoo NAME shows a card")


def _card(folder: Path) -> list[str]:
    from drspcrl.display import brief
    from drspcrl.errors import InputError
    from drspcrl.files import read_text

    try:
        return read_text(folder / "card.md", most=100_000).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{folder / 'card.md'} cannot be read: {brief(error)}") from None


def _row(folder: Path) -> tuple[str, ...]:
    """What the run folder says; a dash for what it does not."""
    from drspcrl.runfolder.runs import read_run

    run = read_run(folder, metrics=())
    steps = run.info.get("steps")
    trained_in = "simulator" if run.method == "vanilla" else run.uncertainty
    return (
        *(folder.name, run.environment, run.algorithm, run.method, trained_in),
        f"{steps:,}" if isinstance(steps, int) else "–",
        *(f"{value:,.0f}" if value == value else "–" for value in returns_of(run)),
    )


def returns_of(run: "Run") -> tuple[float, float]:
    """Mean return unperturbed, and over the settings of the suite `paper`; nan for what is not."""
    from drspcrl.report.results import setting_means
    from drspcrl.runfolder.tables import DEFAULT_SUITE

    if DEFAULT_SUITE not in run.evaluations:
        return float("nan"), float("nan")
    means = setting_means(run.evaluations[DEFAULT_SUITE], run.path.name, [])
    perturbed = [mean for (name, _), mean in means.items() if name != "none"]
    plain = [mean for (name, _), mean in means.items() if name == "none"]
    nothing = [float("nan")]
    return (plain or nothing)[0], sum(perturbed or nothing) / max(1, len(perturbed))


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows as lines; no name is cut, whatever the terminal's width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(_padded, row, widths, _ALIGNED)).rstrip() for row in rows]


def _padded(text: str, width: int, alignment: str) -> str:
    return f"{text:{alignment}{width}}"
