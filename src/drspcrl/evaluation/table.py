"""The result: one row per episode, and what it was made with."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drspcrl.display import brief
from drspcrl.errors import InputError
from drspcrl.files import read_text, write_durably
from drspcrl.perturbations.setting import number
from drspcrl.reading import MOST_JSON, parse_json
from drspcrl.runfolder.tables import EVALUATION_COLUMNS, RECOVERY, read_evaluation

if TYPE_CHECKING:
    import pandas as pd


_LISTED = 8
_WORST_SHOWN = 5


class Summary(NamedTuple):
    """One setting of a table; mean and standard deviation leave out episodes that diverged."""

    perturbation: str
    level: float
    mean: float
    std: float
    length: float
    episodes: int
    diverged: int
    faulty: int = 0
    """Episodes that a fault reached, and of which its recovery can be said."""
    recovered: int = 0
    """Those whose return rate came back."""
    recovery: float = np.nan
    """Median steps until then, over all that a fault reached; inf where most did not recover."""


@dataclass(frozen=True, eq=False)
class EvaluationTable:
    """Episodes of one policy, in the order of the suite.

    Attributes:
        perturbation: Name of the perturbation, `none` for nominal episodes; str[rows].
        level: How strong it was, 0 for nominal episodes; float[rows].
        episode: Number of the episode in its setting, from 0; int[rows].
        returns: Undiscounted return, nan where the simulation diverged; float[rows]. Its column
            is called `return`, as in `table["return"]`.
        length: Steps; int[rows].
        info: What the table was made with: environment, suite, seed, versions, physics parameters.
        recovery: Steps until the return rate was back after a fault, see
            `drspcrl.evaluation.recovery`; float[rows], None for a suite without faults.
    """

    perturbation: np.ndarray
    level: np.ndarray
    episode: np.ndarray
    returns: np.ndarray
    length: np.ndarray
    info: Mapping[str, Any] = field(default_factory=dict)
    recovery: np.ndarray | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, as in CSV files."""
        return EVALUATION_COLUMNS if self.recovery is None else (*EVALUATION_COLUMNS, RECOVERY)

    @property
    def diverged(self) -> np.ndarray:
        """Where the simulation left the finite numbers, bool[rows]."""
        return np.isnan(self.returns)

    def __len__(self) -> int:
        return len(self.returns)

    def __getitem__(self, column: str) -> np.ndarray:
        """A column by the name it has in CSV files."""
        if column not in self.columns:
            raise KeyError(f"{column!r} is no column; choose from {', '.join(self.columns)}")
        return self.returns if column == "return" else getattr(self, column)

    @property
    def left_out(self) -> str:
        """One line about settings of the suite that the task has nothing for, "" if it has all."""
        why: dict[str, list[str]] = {}
        found = self.info.get("left_out")
        for label, reason in found.items() if isinstance(found, Mapping) else ():
            why.setdefault(str(reason), []).append(str(label))
        parts = [f"{_listed(labels)} ({reason})" for reason, labels in why.items()]
        return f"left out: {'; '.join(parts)}" if parts else ""

    def summary(self) -> list[Summary]:
        """Mean and standard deviation for every setting, in the order of the suite."""
        rows: dict[tuple[str, float], list[int]] = {}
        for i, key in enumerate(zip(self.perturbation.tolist(), self.level.tolist(), strict=True)):
            rows.setdefault(key, []).append(i)
        return [self._summary(*key, np.array(own)) for key, own in rows.items()]

    def _summary(self, perturbation: str, level: float, rows: np.ndarray) -> Summary:
        returns = self.returns[rows]
        kept = returns[np.isfinite(returns)]
        mean = float(np.mean(kept)) if len(kept) else np.nan
        std = float(np.std(kept, ddof=1)) if len(kept) > 1 else np.nan
        length = float(np.mean(self.length[rows]))
        lost = int(self.diverged[rows].sum())
        found = Summary(perturbation, level, mean, std, length, len(rows), lost)
        if self.recovery is None:
            return found
        steps = self.recovery[rows]
        steps = np.sort(steps[~np.isnan(steps)])
        middle = float(steps[len(steps) // 2]) if len(steps) else np.nan
        back = int(np.isfinite(steps).sum())
        return found._replace(faulty=len(steps), recovered=back, recovery=middle)

    @property
    def statistic(self) -> str:
        """What sums it up: `mean` over perturbed settings, or the `worst` of their means."""
        return "worst" if self.info.get("statistic") == "worst" else "mean"

    @property
    def worst(self) -> Summary | None:
        """The perturbed setting of the least mean return; None where there is none."""
        return next(iter(self._ranked()), None)

    @property
    def worst_line(self) -> str:
        """One line about the worst of the means, and the mean of them."""
        perturbed = [s for s in self.summary() if s.perturbation != "none"]
        if (worst := self.worst) is None:
            return ""
        mean = float(np.nanmean([s.mean for s in perturbed]))
        lost = sum(bool(np.isnan(s.mean)) for s in perturbed)
        return (
            f"worst of {len(perturbed)} means {worst.mean:.1f} at "
            f"{worst.perturbation}={number(worst.level)}, mean of them {mean:.1f}"
            + (f" ({lost} settings diverged in every episode and are in neither)" if lost else "")
        )

    def _ranked(self) -> list[Summary]:
        """The perturbed settings that have a mean, the worst first."""
        found = (s for s in self.summary() if s.perturbation != "none" and np.isfinite(s.mean))
        return sorted(found, key=lambda s: s.mean)

    def _shown(self) -> list[Summary]:
        """The settings to print: of a grid whose worst counts, the nominal and the worst ones."""
        found = self.summary()
        if self.statistic != "worst" or len(found) <= 2 * _WORST_SHOWN:
            return found
        return [*(s for s in found if s.perturbation == "none"), *self._ranked()[:_WORST_SHOWN]]

    def __str__(self) -> str:
        heads = ("perturbation", "level", "mean return", "std", "length", "episodes", "diverged")
        faults = ("recovered", "recovery") if self.recovery is not None else ()
        lines: list[tuple[str, ...]] = [(*heads, *faults)]
        for s in self._shown():
            numbers = (f"{s.mean:.1f}", f"{s.std:.1f}", f"{s.length:.0f}")
            counts = (str(s.episodes), str(s.diverged))
            back = (f"{s.recovered}/{s.faulty}", f"{s.recovery:.0f}") if faults else ()
            lines.append((s.perturbation, number(s.level), *numbers, *counts, *back))
        first, *others = (max(map(len, column)) for column in zip(*lines, strict=True))
        rows = [
            f"{name:<{first}}  " + "  ".join(f"{x:>{w}}" for x, w in zip(rest, others, strict=True))
            for name, *rest in lines
        ]
        last = [self.worst_line if self.statistic == "worst" else "", self.left_out]
        return "\n".join([*rows, *filter(None, last)])

    def to_csv(self, path: str | Path) -> None:
        """Write the rows to `path`, and `info` beside it, with the suffix `.json`.

        Both are written aside and put in place, the rows last, so a table that is there is whole.
        """
        path = Path(path)
        if path.suffix != ".csv":
            raise InputError(f"the table's path is {path}; it must end in .csv")
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        columns = (
            self.perturbation.tolist(),
            map(number, self.level.tolist()),
            self.episode.tolist(),
            map(number, self.returns.tolist()),
            self.length.tolist(),
            *([] if self.recovery is None else [map(_steps, self.recovery.tolist())]),
        )
        writer.writerows(zip(*columns, strict=True))
        if self.info:
            beside = json.dumps(self.info, indent=2) + "\n"
            write_durably(path.with_suffix(".json"), beside.encode())
        write_durably(path, text.getvalue().encode())

    @classmethod
    def from_csv(cls, path: str | Path) -> "EvaluationTable":
        """Read what `to_csv` wrote, or any CSV file with these columns.

        Raises:
            InputError: A file that is missing or damaged.
        """
        found = read_evaluation(path)
        whole = found.episode, found.length
        if any(np.any(column != np.floor(column)) for column in whole):
            raise InputError(f"{Path(path).name} is damaged: episode and length are whole numbers")
        episode, length = (column.astype(np.int64) for column in whole)
        info = read_info(path)
        return cls(
            *(found.perturbation, found.level, episode, found.returns, length, info),
            recovery=found.recovery,
        )

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a pandas DataFrame.

        Raises:
            InputError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise InputError("to_pandas() needs pandas; install it: pip install pandas") from None
        return pd.DataFrame({name: self[name] for name in self.columns})


def _steps(recovery: float) -> str:
    """A field of the column: empty where nothing can be said."""
    return "" if np.isnan(recovery) else number(recovery)


def read_info(path: str | Path) -> dict[str, Any]:
    """What the table at `path` was made with; empty where nothing beside it says so."""
    beside = Path(path).with_suffix(".json")
    try:
        info = parse_json(read_text(beside, most=MOST_JSON))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{beside.name} cannot be read: {brief(error)}") from None
    if not isinstance(info, dict):
        raise InputError(f"{beside.name} is damaged: it holds no mapping of names to values")
    return info


def _listed(labels: list[str]) -> str:
    """Labels in one line: levels of one perturbation together, no more than a line holds."""
    levels: dict[str, list[str]] = {}
    for label in labels[:_LISTED]:
        kind, _, level = label.rpartition("=")
        levels.setdefault(kind, []).append(level)
    words = [f"{kind}={', '.join(own)}" for kind, own in levels.items()]
    more = len(labels) - _LISTED
    return "; ".join(words) + (f" and {more} more settings" if more > 0 else "")
