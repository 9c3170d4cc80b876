"""Every number of a training, grouped: for `drspcrl train --help` and the reference page."""

from collections.abc import Iterator
from typing import NamedTuple

from drspcrl.config.field import Component
from drspcrl.learners.registry import LEARNERS
from drspcrl.presets import preset
from drspcrl.training.config import UNCERTAINTIES
from drspcrl.training.settings import component_classes
from drspcrl.variants import written


class Row(NamedTuple):
    """One setting.

    Attributes:
        name: as `--set NAME=VALUE` knows it.
        default: its default in words; with a preset, each algorithm's own.
        allowed: what it may be.
        help: one line on what it is.
        shared: whether all members of a population have it in common.
    """

    name: str
    default: str
    allowed: str
    help: str
    shared: bool


class Group(NamedTuple):
    """The settings of one component: its title, its first sentence, its numbers."""

    title: str
    summary: str
    rows: list[Row]


def groups(algorithm: str | None = None, uncertainty: str | None = None) -> list[Group]:
    """The settings of trainings with one algorithm or one form of uncertainty, or of all.

    A name that the library does not have stands for all.
    A component that extends another one lists what it adds or changes.
    """
    algorithms = [name for name in LEARNERS if algorithm in (name, None)] or list(LEARNERS)
    forms = [form for form in UNCERTAINTIES if uncertainty in (form, None)] or UNCERTAINTIES
    users: dict[type[Component], list[str]] = {}
    for name in algorithms:
        for form in forms:
            for kind in component_classes(name, form).values():
                for part in _lineage(kind):
                    known = users.setdefault(part, [])
                    known += [] if name in known else [name]
    made = [
        Group(kind.title, _summary(kind), list(_rows(kind, users[kind])))
        for kind in _in_order(users)
    ]
    return [group for group in made if group.rows]


def _lineage(kind: type[Component]) -> list[type[Component]]:
    """A component and those that it extends, the most general first."""
    return [k for k in reversed(kind.__mro__) if issubclass(k, Component) and k is not Component]


def _in_order(users: dict[type[Component], list[str]]) -> list[type[Component]]:
    """Learners first, then what all of them have."""
    return sorted(users, key=lambda kind: not kind.title.startswith("learner"))


def _summary(kind: type[Component]) -> str:
    return (kind.__doc__ or "").splitlines()[0]


def _rows(kind: type[Component], algorithms: list[str]) -> Iterator[Row]:
    defaults, specs = kind.defaults(), kind.specs()
    inherited = [base for base in _lineage(kind) if base is not kind]
    for name, spec in specs.items():
        if any(base.specs().get(name) == spec and base.defaults()[name] == defaults[name]
               for base in inherited):  # fmt: skip
            continue
        own = {a: preset(a)[name] for a in algorithms if name in preset(a)}
        default = written(defaults[name]) or "none"
        if own:
            default += "; " + ", ".join(f"{a} {written(value)}" for a, value in own.items())
        yield Row(name, default, spec.interval, spec.help, spec.shared)


def as_text(found: list[Group]) -> str:
    """For a terminal."""
    lines = ["settings, each given as --set NAME=VALUE:"]
    for group in found:
        lines += ["", f"{group.title}. {group.summary}"]
        for row in group.rows:
            allowed = f" ({row.allowed})" if row.allowed else ""
            lines.append(f"  {row.name} = {row.default}: {row.help}{allowed}")
    return "\n".join(lines)


def as_markdown(found: list[Group]) -> str:
    """For the reference page: a table for each component."""
    lines: list[str] = []
    for group in found:
        title = group.title
        lines += [f"## {title[0].upper()}{title[1:]}", "", group.summary, ""]
        lines += ["| setting | default | allowed | what it is | members may differ |"]
        lines += ["|---|---|---|---|---|"]
        for row in group.rows:
            cells = (f"`{row.name}`", row.default, row.allowed, row.help)
            escaped = (cell.replace("|", "\\|") for cell in cells)
            lines.append(f"| {' | '.join(escaped)} | {'no' if row.shared else 'yes'} |")
        lines.append("")
    return "\n".join(lines)
