"""How methods, perturbations and tasks are called, explained and drawn, the same everywhere."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from drspcrl.curricula.registry import LABELS, METHODS, METHODS_IN_WORLDS
from drspcrl.display import brief
from drspcrl.divergences.registry import DIVERGENCES
from drspcrl.errors import InputError
from drspcrl.learners.registry import LEARNERS
from drspcrl.perturbations.registry import PERTURBATIONS
from drspcrl.runfolder.runs import FOREIGN, Run
from drspcrl.variants import Variant, parse_variant, variant_label

FOCUS = "self_paced"
# In the order of tables, the method that a report is about last.
METHOD_LABELS = dict(sorted(LABELS.items(), key=lambda pair: pair[0] == FOCUS))
PERTURBATION_LABELS = {
    "none": ("Nominal", ""),
    **{name: entry.label.partition(", ")[::2] for name, entry in PERTURBATIONS.items()},
    "worst": ("Worst of the means", "settings"),
}
SETTING_SYMBOLS = {"pacing": "α", "rate": "λ", "epsilon_budget": "ε", "epsilon_start": "ε₀"}
BALL_LABELS = {name: entry.label for name, entry in DIVERGENCES.items()}
ALGORITHM_LABELS = {
    **{name: entry.label for name, entry in LEARNERS.items()},
    FOREIGN: "Trained elsewhere",
}
TASK_ORDER = ("HalfCheetah", "Walker2d", "Humanoid", "Hopper")


@dataclass(frozen=True)
class Look:
    """How one method is drawn.

    Attributes:
        light: Colour on a light ground.
        dark: Colour on a dark ground.
        dash: SVG dash pattern, "" for a solid line.
        marker: Matplotlib's name of the marker; the page draws the same shape.
    """

    light: str
    dark: str
    dash: str
    marker: str


# After Okabe & Ito and Tol, darkened where thin lines on white need it. A test holds the paper's
# seven methods apart under simulated protanopia and deuteranopia; marker and dash say it again.
_LOOKS = {
    "vanilla": Look("#4d4d4d", "#c8ccd2", "", "o"),
    "nominal": Look("#9a9a9a", "#858b94", "5 3", "X"),
    "probes_only": Look("#9a9a9a", "#858b94", "5 3", "8"),
    "fixed": Look("#0072b2", "#4c9fe0", "", "s"),
    "fixed_radius": Look("#0072b2", "#4c9fe0", "8 3", "H"),
    "linear": Look("#56b4e9", "#8fd3ff", "", "^"),
    "domain_randomization": Look("#cc79a7", "#e79bc6", "", "D"),
    "random_radius": Look("#cc79a7", "#e79bc6", "8 3", "."),
    "accel": Look("#009e73", "#25c496", "", "v"),
    "space": Look("#e6a000", "#f5c345", "", "P"),
    "linear_radius": Look("#332288", "#9a8cf0", "5 3", "<"),
    "yoked": Look("#882255", "#d96d9f", "5 3", ">"),
    "noise_training": Look("#117733", "#63b97c", "2 2", "h"),
    "physics_randomization": Look("#888822", "#c3c35a", "2 2", "p"),
    "wr2l": Look("#aa4499", "#d478c8", "2 2", "d"),
    "self_paced": Look("#d55e00", "#ff8a3d", "", "*"),
}
_SPARE_COLOURS = (
    ("#44aa99", "#6fd3c3"),
    ("#661100", "#d0705a"),
    ("#6699cc", "#8cb9e6"),
    ("#999933", "#c9c960"),
    ("#cc6677", "#eb93a1"),
)
_SPARE_DASHES = ("8 3", "1 2", "8 3 1 3", "")
_SPARE_MARKERS = "H8Xd"


def looks(methods: Iterable[str]) -> dict[str, Look]:
    """A look for each method; unknown ones get spare colours, the same for the same set."""
    methods = list(methods)
    known = {name: _LOOKS[name] for name in methods if name in _LOOKS}
    unknown = [name for name in methods if name not in _LOOKS]
    taken = {look.marker for look in known.values()}
    markers = [marker for marker in _SPARE_MARKERS if marker not in taken] or [*_SPARE_MARKERS]
    return known | {name: _spare(i, markers) for i, name in enumerate(unknown)}


def _spare(index: int, markers: Sequence[str]) -> Look:
    light, dark = _SPARE_COLOURS[index % len(_SPARE_COLOURS)]
    turn = index // len(_SPARE_COLOURS)
    return Look(light, dark, _SPARE_DASHES[turn % 4], markers[index % len(markers)])


def method_label(method: str) -> str:
    """The method's name in tables and figures; a variant's with what it changes."""
    if method in METHOD_LABELS:
        return METHOD_LABELS[method]
    variant = as_variant(method)
    if variant is None or variant.method not in METHOD_LABELS:
        return method
    pairs = written_changes(variant)
    return f"{METHOD_LABELS[variant.method]} {', '.join(pairs)}"


def as_variant(method: str) -> Variant | None:
    """A method that changes settings of its own; None for any other name."""
    try:
        variant = parse_variant(method)
    except InputError:
        return None
    return variant if variant.changes else None


def written_changes(variant: Variant) -> list[str]:
    """What a variant changes, each as `α=0.1`; the name of a ball speaks for itself."""
    pairs = []
    for name, value in sorted(variant.changes.items()):
        words = variant_label(Variant("m", {name: value})).removeprefix(f"m:{name}=")
        named = f"{SETTING_SYMBOLS.get(name, name)}={words}"
        pairs.append(BALL_LABELS.get(words, words) if name == "divergence" else named)
    return pairs


def method_in(method: str, uncertainty: str) -> str:
    """A method as reports name it: in worlds two have other names, see `METHODS_IN_WORLDS`."""
    if uncertainty != "worlds":
        return method
    try:
        variant = parse_variant(method)
    except InputError:
        return method
    if variant.method not in METHODS_IN_WORLDS:
        return method
    return variant_label(Variant(METHODS_IN_WORLDS[variant.method], variant.changes))


def algorithm_in(algorithm: str, uncertainty: str) -> str:
    """A learner with one form of uncertainty, where a report has both."""
    return f"{algorithm}:{uncertainty}"


def algorithm_label(algorithm: str) -> str:
    """The algorithm's name in tables and figures."""
    name, _, uncertainty = algorithm.rpartition(":")
    both = uncertainty in ("worlds", "transitions")
    name = name if both else algorithm
    shown = ALGORITHM_LABELS.get(name, name.rpartition(":")[2])
    return f"{shown} · {uncertainty}" if both else shown


def ordered_algorithms(names: Iterable[str]) -> list[str]:
    """Algorithms in the order of tables, each with its forms of uncertainty side by side."""
    known = list(ALGORITHM_LABELS)
    forms = ("", ":transitions", ":worlds")
    return in_order(names, [name + form for name in known for form in forms])


def perturbation_label(perturbation: str) -> str:
    """The perturbation's name with the symbol of its level."""
    name, symbol = PERTURBATION_LABELS.get(perturbation, (perturbation, ""))
    return f"{name}, {symbol}" if symbol else name


def in_order(names: Iterable[str], order: Iterable[str]) -> list[str]:
    """Known names in their order, then the others by alphabet."""
    position = {name: i for i, name in enumerate(order)}
    return sorted(set(names), key=lambda name: (position.get(name, len(position)), name))


def ordered_methods(names: Iterable[str]) -> list[str]:
    """Methods in the order of tables: the plain ones first, self_paced last of the known."""
    names = set(names)
    known = [name for name in in_order(names, METHOD_LABELS) if name in METHOD_LABELS]
    return known + sorted(set(names) - set(known), key=_natural)


def _natural(name: str) -> list[tuple[bool, float, str]]:
    """A key that puts 3 before 10."""
    parts = re.split(r"(\d+(?:\.\d+)?)", name)
    numeric = [i % 2 == 1 for i in range(len(parts))]
    return [(n, float(p) if n else 0.0, p) for n, p in zip(numeric, parts, strict=True)]


def slugs(names: Iterable[str]) -> dict[str, str]:
    """A safe, distinct file name for each name, whatever characters it has."""
    taken: dict[str, str] = {}
    for name in names:
        base = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower())[:40]
        slug = base.strip("-") or "unnamed"
        number = 2
        while slug in taken.values():
            slug, number = f"{base.strip('-') or 'unnamed'}-{number}", number + 1
        taken[name] = slug
    return taken


_BALL = "trained against the worst case within ε of a nominal noise model at every step"
_WORLDS = "trained in worlds (other masses, frictions, sensors, actuators) of radius ε"

# In either form of uncertainty.
_EVERYWHERE = {
    "vanilla": "the plain learner, trained in the simulator as it is",
    "noise_training": "the plain learner, trained with noise on observations and actions",
    "physics_randomization": "the plain learner, trained with random physics",
    "wr2l": "WR2L, another method for robust training: physics chosen against the policy",
}
_RADIUS = {
    "fixed": "ε is the whole budget from the first step on",
    "linear": "ε grows on a straight line",
    "domain_randomization": "ε is drawn at random in every iteration (the paper's “domain "
    "randomization”; it changes no physics)",
    "accel": "ε comes from ACCEL, which replays and edits the radii of highest regret",
    "space": "ε grows where returns have settled (SPACE)",
    "linear_radius": "control: √ε grows on a straight line",
    "yoked": "control: ε repeats another run's curve",
    "self_paced": "ε grows at the agent's own pace: fast where robustness costs it little",
}
_WHOLE = {
    "transitions": {
        "nominal": "the plain learner under the nominal noise alone: ε = 0, no worst case"
    },
    "worlds": {
        "probes_only": "control: worlds are probed but not trained in, ε = 0",
        "fixed_radius": "domain randomisation: worlds of all declared tolerances from the first "
        "step on (ε is the whole budget)",
        "random_radius": "worlds whose radius ε is drawn at random in every iteration (the "
        "paper's “domain randomization”)",
    },
}


@dataclass(frozen=True)
class MethodWords:
    """One method.

    Attributes:
        method: Its name in results.
        label: Its name in tables.
        words: What it is.
    """

    method: str
    label: str
    words: str


def method_words(runs: Sequence[Run]) -> list[MethodWords]:
    """Every method of the runs, in the order of tables, with one line for each of its forms."""
    by_method: dict[str, list[Run]] = {}
    for run in runs:
        by_method.setdefault(run.method, []).append(run)
    made = []
    for method in ordered_methods(by_method):
        lines = dict.fromkeys(map(_words, by_method[method]))
        both = len(lines) > 1 and not any(run.foreign for run in by_method[method])
        forms = dict.fromkeys(run.uncertainty for run in by_method[method])
        told = (
            [f"{form}: {line}" for form, line in zip(forms, lines, strict=False)]
            if both
            else list(lines)
        )
        made.append(MethodWords(method, method_label(method), "; ".join(told)))
    return made


def _words(run: Run) -> str:
    if run.foreign:
        origin = run.info["foreign"]
        return brief(f"trained elsewhere: {origin.get('policy')} ({origin.get('what')})")
    variant = as_variant(run.method)
    base = run.method if variant is None else variant.method
    words = _method(base, run.uncertainty)
    return words if variant is None else f"{words}; with {', '.join(written_changes(variant))}"


def _method(method: str, form: str) -> str:
    if method in _EVERYWHERE:
        return _EVERYWHERE[method]
    if method in _WHOLE.get(form, {}):
        return _WHOLE[form][method]
    if method not in _RADIUS:
        own = "a curriculum that is not of this library"
        return METHODS[method].help if method in METHODS else own
    return f"{_WORLDS if form == 'worlds' else _BALL}; {_RADIUS[method]}"
