"""What each method of a report is, in words: a reader need not know the paper."""

from collections.abc import Sequence
from dataclasses import dataclass

from drspcrl.display import brief
from drspcrl.report.names import as_variant, method_label, ordered_methods, written_changes
from drspcrl.runfolder.runs import Run

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
        return "a curriculum that is not of this library"
    return f"{_WORLDS if form == 'worlds' else _BALL}; {_RADIUS[method]}"
