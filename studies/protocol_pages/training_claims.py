"""Claims about what happens during training."""

from collections.abc import Sequence

import numpy as np

from drspcrl.report.results import Group
from protocol_pages import verdicts
from protocol_pages.evidence import FOCUS, RIVALS, Evidence
from protocol_pages.finding import Find, Finding, covered
from protocol_pages.sums import chance_of, gain
from protocol_pages.words import FIGURE, NOT_YET, with_chance


def find_training(start: float, end: float) -> Find:
    """Gain in the mean training return of a stretch of the run, over the robust methods."""
    methods = (FOCUS, *(name for name in RIVALS if name != "vanilla"))

    def find(evidence: Evidence) -> Finding:
        ours = _training_scores(evidence, methods, start, end)
        found, chance = gain(ours, FOCUS), chance_of(ours, FOCUS)
        verdict = verdicts.beyond(found, chance)
        rests_on = covered(evidence, verdict, ours, len(evidence.paper.runs))
        return Finding(FIGURE, with_chance(found, chance, n=True), rests_on)

    return find


def _training_scores(
    evidence: Evidence, methods: Sequence[str], start: float, end: float
) -> dict[Group, dict[str, np.ndarray]]:
    """Each run's mean training return between two shares of its length; groups with all methods."""
    total = evidence.plan[0].steps
    scores: dict[Group, dict[str, list[float]]] = {}
    for run in evidence.runs:
        if run.method not in methods or "episode_return" not in run.metrics:
            continue
        step, returns = run.metrics["step"] / total, run.metrics["episode_return"]
        inside = returns[(step > start) & (step <= end) & np.isfinite(returns)]
        if len(inside):
            group = scores.setdefault((run.algorithm, run.environment), {})
            group.setdefault(run.method, []).append(float(inside.mean()))
    return {
        group: {m: np.array(values) for m, values in found.items()}
        for group, found in scores.items()
        if set(methods) <= set(found)
    }


def find_smooth(evidence: Evidence) -> Finding:
    """How many runs' ε grew to half the budget and never fell back by more than a twentieth."""
    curves, groups = [], set()
    for run in evidence.runs:
        epsilon = run.metrics.get("epsilon", np.empty(0))
        epsilon = epsilon[np.isfinite(epsilon)]
        if run.method == FOCUS and len(epsilon):
            curves.append(epsilon)
            groups.add((run.algorithm, run.environment))
    if not curves:
        return Finding(FIGURE, NOT_YET, verdicts.UNMEASURED)
    falls = [float((np.maximum.accumulate(curve) - curve).max()) for curve in curves]
    last = [float(curve[-1]) for curve in curves]
    good = sum(f <= 0.05 and end >= 0.5 for f, end in zip(falls, last, strict=True))
    verdict = verdicts.share_of_runs(good, len(curves))
    rests_on = {group: {FOCUS: np.empty(0)} for group in groups}
    return Finding(
        FIGURE,
        f"{good} of {len(curves)} runs; largest fall {max(falls):.3f}, last ε {min(last):.2f} to "
        f"{max(last):.2f}",
        covered(evidence, verdict, rests_on, len(evidence.paper.runs)),
    )
