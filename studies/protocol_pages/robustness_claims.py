"""Claims about the returns of trained policies."""

from collections.abc import Callable, Mapping, Sequence
from math import nan

import numpy as np

from drspcrl.data import random_returns
from drspcrl.report.results import NOMINAL, Group, Results
from drspcrl.statistics import Estimate
from protocol_pages import verdicts
from protocol_pages.evidence import FOCUS, KINDS, SEVEN, Evidence
from protocol_pages.finding import Find, Finding, covered
from protocol_pages.sums import (
    Means,
    Scores,
    bootstrap,
    by_chance,
    chance_of,
    fall,
    gain,
    growth,
    growth_per_decade,
    means_of,
    narrowing,
    part,
    share_in_top,
)
from protocol_pages.words import FIGURE, NOT_YET, kind_label, percent, points, with_chance

LOW, HIGH = (0.1, 0.2), (0.4, 0.5)


def find_gain(evidence: Evidence) -> Finding:
    """The headline gain over the best of the paper's six other methods."""
    ours, theirs = part(evidence.results, SEVEN), part(evidence.paper, SEVEN)
    found, chance = gain(ours, FOCUS), chance_of(ours, FOCUS)
    verdict = covered(evidence, verdicts.beyond(found, chance, 0.241), ours, len(theirs))
    return Finding(percent(gain(theirs, FOCUS)), with_chance(found, chance, n=True), verdict)


def find_cells(algorithms: Sequence[str], places: int, said: float) -> Find:
    """Cells in which the method is among the best `places`."""

    def find(evidence: Evidence) -> Finding:
        ours, theirs = (
            {g: found for g, found in part(side, SEVEN).items() if g[0] in algorithms}
            for side in (evidence.results, evidence.paper)
        )

        def share(means: Means) -> np.ndarray:
            return share_in_top(means, FOCUS, places)

        found, chance = bootstrap(ours, share), by_chance(ours, share)
        verdict = verdicts.beyond(found, chance, said)
        return Finding(
            _cells(float(share_in_top(means_of(theirs), FOCUS, places)[0]), theirs),
            f"{_cells(found.value, ours)}: {_plain_share(found)}; by chance {_plain_share(chance)}"
            if ours
            else NOT_YET,
            covered(evidence, verdict, ours, len(theirs)),
        )

    return find


def _cells(share: float, scores: Scores) -> str:
    cells = sum(next(iter(found.values())).shape[1] for found in scores.values())
    return f"{share * cells:.0f}/{cells}"


def _plain_share(estimate: Estimate) -> str:
    ends = f" [{estimate.low:.0%}, {estimate.high:.0%}]" if estimate.has_interval else ""
    return f"{estimate.value:.0%}{ends}"


def find_growth(evidence: Evidence) -> Finding:
    """G at high levels less G at low ones."""
    ours, theirs = (part(r, SEVEN) for r in (evidence.results, evidence.paper))

    def grown(means: Means) -> np.ndarray:
        return _growth(means, evidence.results)

    found, chance = bootstrap(ours, grown), by_chance(ours, grown)
    verdict = covered(evidence, verdicts.beyond(found, chance), ours, len(theirs))
    published = bootstrap(theirs, lambda means: _growth(means, evidence.paper))
    text = f"{points(found)}; by chance {points(chance)}" if found.n else NOT_YET
    return Finding(points(published), text, verdict)


def _growth(means: Means, results: Results) -> np.ndarray:
    low, high = (
        [i for i, (_, level) in enumerate(results.settings) if level in levels]
        for levels in (LOW, HIGH)
    )
    return growth(means, FOCUS, low, high)


def find_every_kind(evidence: Evidence) -> Finding:
    """G within each perturbation."""
    theirs = {kind: gain(part(evidence.paper, SEVEN, kinds=[kind]), FOCUS) for kind in KINDS}
    scores = {kind: part(evidence.results, SEVEN, kinds=[kind]) for kind in KINDS}
    ours = {kind: (gain(own, FOCUS), chance_of(own, FOCUS)) for kind, own in scores.items()}
    measured = part(evidence.results, SEVEN)
    verdict = verdicts.together([verdicts.beyond(*pair) for pair in ours.values()])
    return Finding(
        _by_kind({kind: percent(found) for kind, found in theirs.items()}),
        _by_kind({k: with_chance(*pair) for k, pair in ours.items()}) if measured else NOT_YET,
        covered(evidence, verdict, measured, len(evidence.paper.runs)),
    )


def _by_kind(gains: Mapping[str, str]) -> str:
    return "; ".join(f"{kind_label(kind)} {found}" for kind, found in gains.items())


def find_narrowing(
    groups: Sequence[Group] | None, kinds: Sequence[str] | None, said: float | None
) -> Find:
    """How much narrower intervals are than those of fixed."""

    def find(evidence: Evidence) -> Finding:
        ours = part(evidence.results, (FOCUS, "fixed"), groups=groups, kinds=kinds)
        ours = {g: f for g, f in ours.items() if min(map(len, f.values())) > 1}
        found = narrowing(ours, FOCUS, "fixed")
        theirs = groups or list(evidence.paper.runs)
        verdict = covered(evidence, verdicts.above(found, said), ours, len(theirs))
        published = _published_narrowing(evidence.paper, theirs, kinds)
        return Finding(_narrower(published), _narrower(found), verdict)

    return find


def _published_narrowing(
    paper: Results, groups: Sequence[Group], kinds: Sequence[str] | None
) -> Estimate:
    settings = [s for s in paper.settings if kinds is None or s[0] in kinds]
    logs = []
    for group in groups:
        widths = [
            np.mean([paper.cell(*group, method, s).half_width for s in settings])
            for method in (FOCUS, "fixed")
        ]
        logs.append(np.log(widths[0] / widths[1]))
    narrower = 1 - float(np.exp(np.mean(logs)))
    return Estimate(narrower, nan, nan, len(groups), "published widths")


def _narrower(share: Estimate) -> str:
    return f"narrower by {percent(share)}" if share.value == share.value else NOT_YET


def find_nominal(evidence: Evidence) -> Finding:
    """Gain over vanilla where nothing is perturbed."""
    ours = {}
    for group, found in evidence.results.nominal.items():
        both = {m: found[m] for m in (FOCUS, "vanilla") if m in found}
        if len(both) == 2 and all(np.isfinite(values).all() for values in both.values()):
            ours[group] = both
    found = gain(ours, FOCUS)
    verdict = covered(evidence, verdicts.above(found), ours, len(evidence.paper.runs))
    return Finding(FIGURE, percent(found, n=True), verdict)


def find_stable(setting: str) -> Find:
    """How far M falls from the best to the worst value of a setting."""

    def find(evidence: Evidence) -> Finding:
        label = f"{FOCUS}:{setting}="
        ours = {
            group: {m: x for m, x in found.items() if m.startswith(label)}
            for group, found in evidence.results.runs.items()
        }
        ours = {group: found for group, found in ours.items() if len(found) > 1}
        found = bootstrap(ours, fall)
        chance = by_chance(ours, fall, differs=lambda _: False)
        verdict = covered(evidence, verdicts.below(found, 0.25), ours, 3)
        return Finding(FIGURE, with_chance(found, chance, n=True), verdict)

    return find


def find_tradeoff(evidence: Evidence) -> Finding:
    """What a fixed ε does to the unperturbed return and to the perturbed ones."""
    group: Group = ("ppo", "Hopper")
    budgets = _fixed_budgets(evidence, group)
    if len(budgets) < 3:
        return Finding(FIGURE, NOT_YET, verdicts.UNMEASURED)
    returns, nominal = evidence.results.runs[group], evidence.results.nominal[group]
    ours: Scores = {group: {m: np.column_stack([nominal[m], returns[m]]) for m in budgets}}
    epsilons = list(budgets.values())

    def grown(columns: slice) -> Callable[[Means], np.ndarray]:
        return lambda means: growth_per_decade(
            [mean[:, columns].mean(axis=1) for mean in means[group].values()], epsilons
        )

    unperturbed = bootstrap(ours, grown(slice(0, 1)))
    perturbed = bootstrap(ours, grown(slice(1, None)))
    verdict = verdicts.together([verdicts.below(unperturbed, 0.0), verdicts.above(perturbed)])
    listed = ", ".join(f"{ε:g}" for ε in sorted(epsilons))
    return Finding(
        FIGURE,
        f"ε of {listed}: for ten times the ε {percent(unperturbed)} unperturbed, "
        f"{percent(perturbed)} over the 15 settings, {unperturbed.n} runs",
        covered(evidence, verdict, ours, 1),
    )


def _fixed_budgets(evidence: Evidence, group: Group) -> dict[str, float]:
    """Variants of `fixed` that differ in nothing but their budget, with it."""
    label, budgets = "fixed:epsilon_budget=", {}
    for method, values in evidence.results.nominal.get(group, {}).items():
        if not np.isfinite(values).all() or method not in evidence.results.runs[group]:
            continue
        if method == "fixed":
            budgets[method] = 1.0
        elif method.startswith(label) and "," not in method:
            budgets[method] = float(method.removeprefix(label))
    return budgets


def find_wr2l(evidence: Evidence) -> Finding:
    """WR2L's M as a share of vanilla's unperturbed return, both above random actions."""
    floors, ours = random_returns(), {}
    for group in (("ppo", "HalfCheetah"), ("ppo", "Walker2d")):
        found = evidence.results.runs.get(group, {})
        vanilla = evidence.results.cell(*group, "vanilla", NOMINAL).value
        if "wr2l" in found and vanilla > floors[group[1]]:
            means = found["wr2l"].mean(axis=1, keepdims=True)
            ours[group] = {"wr2l": (means - floors[group[1]]) / (vanilla - floors[group[1]])}
    found = bootstrap(
        ours, lambda means: np.mean([x["wr2l"].mean(axis=1) for x in means.values()], axis=0)
    )
    verdict = covered(evidence, verdicts.below(found, 0.1), ours, 2)
    return Finding(FIGURE, percent(found, n=True), verdict)
