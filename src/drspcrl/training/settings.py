"""Settings of a training: presets and the user's changes, checked, resolved and listed."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from drspcrl.config.baselines import BaselineSettings, WR2LSettings
from drspcrl.config.curricula import (
    RULES,
    WORLD_RULES,
    CurriculumSettings,
    WorldCurriculumSettings,
)
from drspcrl.config.field import Component, Spec
from drspcrl.config.learners import LearnerSettings, OffPolicySettings
from drspcrl.config.presets import preset
from drspcrl.config.transitions import (
    NOMINAL_MODELS,
    ReplayTransitionSettings,
    TransitionSettings,
)
from drspcrl.config.worlds import WorldSettings
from drspcrl.curricula.registry import METHODS
from drspcrl.display import shown
from drspcrl.divergences.registry import DIVERGENCES
from drspcrl.errors import InputError
from drspcrl.learners.registry import LEARNERS, settings_class
from drspcrl.variants import parse_variant, written

UNCERTAINTIES = ("worlds", "transitions")
PARTS = ("divergence", "nominal")
"""Settings that name a part of the library, or one's own as `module:Class`."""


@dataclass(frozen=True)
class Settings:
    """Every number of one member; of the two forms of uncertainty the one that it is trained with.

    Attributes:
        learner: of the algorithm.
        curriculum: of all curricula.
        transitions: of the nominal model, its draws and their dual; None in worlds.
        worlds: of learning in worlds; None with transitions.
        baselines: of what practitioners would try first.
        wr2l: of WR2L's adversary; None where the learner has none.
    """

    learner: LearnerSettings
    curriculum: CurriculumSettings
    transitions: TransitionSettings | None
    worlds: WorldSettings | None
    baselines: BaselineSettings
    wr2l: WR2LSettings | None

    @property
    def uncertainty(self) -> TransitionSettings | WorldSettings:
        """The numbers of what it is trained against."""
        found = self.transitions or self.worlds
        assert found is not None, "one of the two forms"
        return found

    def components(self) -> tuple[Component, ...]:
        """Those that it has."""
        each = (getattr(self, one.name) for one in fields(self))
        return tuple(component for component in each if component is not None)

    def flat(self) -> dict[str, Any]:
        """Every number by name, as config.yaml has it."""
        return {k: v for component in self.components() for k, v in component.flat().items()}


def component_classes(algorithm: str, uncertainty: str) -> dict[str, type[Component]]:
    """The components of a training by their name in `Settings`, in the order of help texts."""
    learner = settings_class(algorithm)
    off_policy = issubclass(learner, OffPolicySettings)
    noise = ReplayTransitionSettings if off_policy else TransitionSettings
    in_worlds = uncertainty == "worlds"
    paced: type[Component] = WorldCurriculumSettings if in_worlds else CurriculumSettings
    found: dict[str, type[Component]] = {"learner": learner, "curriculum": paced}
    found |= {"worlds": WorldSettings} if in_worlds else {"transitions": noise}
    found["baselines"] = BaselineSettings
    return found if off_policy else found | {"wr2l": WR2LSettings}


def specs_of(algorithm: str, uncertainty: str) -> dict[str, Spec]:
    """What is allowed in every setting of a training, by name."""
    parts = component_classes(algorithm, uncertainty).values()
    return {name: spec for part in parts for name, spec in part.specs().items()}


def is_shared(algorithm: str, name: str) -> bool:
    """Whether all members of a population have a setting in common; unknown ones are nobody's."""
    known = specs_of(algorithm, "transitions") | specs_of(algorithm, "worlds")
    return name in known and known[name].shared


def resolve(
    algorithm: str, changes: Mapping[str, Any], steps: int, uncertainty: str = "transitions"
) -> Settings:
    """Defaults, the preset of an algorithm on top, and the user's changes on top of it.

    Raises:
        InputError: an unknown name, a value of another kind or out of range, sizes that do not fit.
    """
    classes = component_classes(algorithm, uncertainty)
    known = specs_of(algorithm, uncertainty)
    for name in changes:
        if name not in known:
            raise InputError(_unknown(algorithm, name, sorted(known), uncertainty))
    _check_rule(changes.get("rule"), uncertainty)
    given = {**preset(algorithm), **changes}
    made = {name: kind.of(given) for name, kind in classes.items()}
    absent = dict.fromkeys(("transitions", "worlds", "wr2l"))
    settings = Settings(**(absent | made))  # type: ignore[arg-type]
    envs = settings.learner.envs_per_member
    if steps < envs:
        raise InputError(f"steps is {steps}, fewer than the {envs} environments of each run")
    return settings


def named_parts(described: Mapping[str, Any]) -> list[str]:
    """The names in a description of a training that may be somebody's own `module:Class`.

    Args:
        described: a run's config.yaml, or a population of a grid's manifest.
    """
    population = described.get("population")
    whole = population if isinstance(population, Mapping) else described
    found = [described.get("env"), described.get("algorithm")]
    methods = whole.get("methods")
    texts = [text for text in methods if isinstance(text, str)] if isinstance(methods, list) else []
    variants = [parse_variant(text) for text in texts]
    found += [variant.method for variant in variants]
    settings = [described.get("settings"), whole.get("settings")]
    for own in (*settings, *(variant.changes for variant in variants)):
        if isinstance(own, Mapping):
            found += [own.get(name) for name in PARTS]
    return [name for name in found if isinstance(name, str)]


def _check_rule(rule: Any, uncertainty: str) -> None:
    """Refuse a rule of self_paced that is there, and about the other form."""
    here, there = (WORLD_RULES, RULES) if uncertainty == "worlds" else (RULES, WORLD_RULES)
    if isinstance(rule, str) and rule in there:
        raise InputError(
            f"rule is {shown(rule)}, which is not for uncertainty={uncertainty}; choose one of "
            f"{', '.join(here)}"
        )


def _unknown(algorithm: str, name: str, known: list[str], uncertainty: str) -> str:
    elsewhere = "transitions" if uncertainty == "worlds" else "worlds"
    if name in specs_of(algorithm, elsewhere):
        if uncertainty == "worlds":
            return (
                f"setting {shown(name)} is about noise in every transition; tolerances of worlds "
                "are declared in a file (--worlds), or give --uncertainty transitions"
            )
        return f"setting {shown(name)} is about worlds; leave out --uncertainty transitions"
    near = difflib.get_close_matches(str(name), known, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}? It has" if near else "it has"
    return f"{algorithm} has no setting {shown(name)}; {hint} {', '.join(known)}"


class SettingRow(NamedTuple):
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


class SettingGroup(NamedTuple):
    """The settings of one component: its title, its first sentence, its numbers."""

    title: str
    summary: str
    rows: list[SettingRow]


def groups(algorithm: str | None = None, uncertainty: str | None = None) -> list[SettingGroup]:
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
        SettingGroup(kind.title, _summary(kind), list(_rows(kind, users[kind])))
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


def _rows(kind: type[Component], algorithms: list[str]) -> Iterator[SettingRow]:
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
        yield SettingRow(name, default, spec.interval, spec.help, spec.shared)


def parts_text() -> str:
    """The parts of each kind that a training may have, for a terminal."""
    kinds = {
        "--algorithm NAME": LEARNERS,
        "--methods NAME": METHODS,
        "--set divergence=NAME": DIVERGENCES,
        "--set nominal=NAME": NOMINAL_MODELS,
    }
    lines = []
    for option, parts in kinds.items():
        lines += [f"{option}, or your own as {parts.own}:"]
        lines += [f"  {name}: {entry.help}" for name, entry in parts.items()] + [""]
    return "\n".join(lines)


def as_text(found: list[SettingGroup]) -> str:
    """For a terminal."""
    lines = ["settings, each given as --set NAME=VALUE:"]
    for group in found:
        lines += ["", f"{group.title}. {group.summary}"]
        for row in group.rows:
            allowed = f" ({row.allowed})" if row.allowed else ""
            lines.append(f"  {row.name} = {row.default}: {row.help}{allowed}")
    return "\n".join(lines)


def as_markdown(found: list[SettingGroup]) -> str:
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
