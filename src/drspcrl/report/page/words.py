"""The page's sentences: what it rests on, its headline figures, what was left out."""

from collections.abc import Mapping, Sequence
from typing import Any

from drspcrl.display import brief
from drspcrl.report.collected import Collected
from drspcrl.report.escape import plain
from drspcrl.report.few import FEW
from drspcrl.report.names import algorithm_label, method_label
from drspcrl.report.summary import Headline
from drspcrl.report.table import Number, decimal, value_text
from drspcrl.statistics import Estimate, Gain

LONGEST_NOTE = 1000


def subtitle(collected: Collected) -> str:
    """The counts under the title."""
    counts = (
        (len(collected.distinct), "run"),
        (len(collected.tasks), "task"),
        (len(collected.algorithms), "algorithm"),
        (len(collected.methods), "method"),
        (len({run.seed for run in collected.distinct}), "seed"),
    )
    return ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)


def banner(collected: Collected) -> str:
    """The warning that made-up runs carry; "" where there is none."""
    if not collected.synthetic:
        return ""
    total = len(collected.distinct)
    which = "All" if collected.synthetic == total else f"{collected.synthetic} of {total}"
    return f"SYNTHETIC DATA. {which} runs here are made up to try the tools; these are no results."


def note(collected: Collected) -> str:
    """What whoever made the report has to say; "" where that is nothing."""
    return plain(brief(collected.note, LONGEST_NOTE)) if collected.note else ""


def headline_cards(headlines: Mapping[str, Headline]) -> list[dict[str, str]]:
    """The cards at the top of the page."""
    ours = headlines.get("ours")
    if ours is None:
        return []
    others = {source: made for source, made in headlines.items() if source != "ours"}
    name = method_label(ours.method)
    unit = "difference to the best rival, in units of vanilla’s unperturbed return over random play"
    rivals = f"M is the mean over perturbed settings; rivals: {_listed(ours.rivals)}"
    counted = ", returns counted from those of random actions" if ours.above_random else ""
    return [
        _gain_card(
            f"{name} over its best rival (G)",
            "gain",
            f"mean over algorithms and tasks of (M − rival’s M) / rival’s M{counted}"
            f"{_chance(ours)}; {rivals}",
            ours,
            others,
        ),
        _gain_card("Pooled ratio", "pooled", _pooled_detail(ours.pooled) + counted, ours, others),
        _gain_card("Normalised difference", "normalised", unit, ours, others),
        _wins_card(name, ours, others),
    ]


def _gain_card(
    title: str, part: str, detail: str, ours: Headline, others: Mapping[str, Headline]
) -> dict[str, str]:
    gain: Gain = getattr(ours, part)
    return {
        "title": plain(title),
        "value": _percent(gain.estimate),
        "interval": _interval(gain),
        "detail": plain(detail),
        "paper": "; ".join(
            f"{source}: {_percent(getattr(made, part).estimate)}"
            for source, made in others.items()
            if getattr(made, part).groups
        ),
    }


def _chance(headline: Headline) -> str:
    """What the best of several rivals is ahead by where all are the same."""
    chance = headline.chance
    if not chance.has_interval:
        return ""
    low, high = (f"{100 * end:+.1f}%" for end in (chance.low, chance.high))
    return f"; by chance alone {low} to {high}".replace("-", "−")


def _listed(methods: Sequence[str]) -> str:
    return ", ".join(map(method_label, methods))


def _interval(gain: Gain) -> str:
    estimate = gain.estimate
    if not gain.groups:
        return "undefined: " + plain("; ".join(sorted(set(gain.undefined.values()))))
    n = f"n = {estimate.n} runs"
    if len(gain.groups) > 1:
        n += f" in {len(gain.groups)} groups"
    if gain.undefined:
        n += f", {len(gain.undefined)} left out"
    if not estimate.has_interval:
        return f"no interval: fewer than {FEW} seeds; {n}"
    low, high = (f"{100 * end:+.1f}%".replace("-", "−") for end in (estimate.low, estimate.high))
    return f"95% interval {low} to {high}, {n}"


def _pooled_detail(gain: Gain) -> str:
    if not gain.groups:
        return "mean over all groups against the best rival's"
    (pooled,) = gain.groups.values()
    means = f"{decimal(pooled.mean)} against {decimal(pooled.rival_mean)}"
    return f"mean return over everything: {means} ({method_label(pooled.rival)})"


def _wins_card(name: str, ours: Headline, others: Mapping[str, Headline]) -> dict[str, str]:
    total = sum(wins.n for wins in ours.wins.values())
    best = sum(wins.best for wins in ours.wins.values())
    top = sum(wins.top_two for wins in ours.wins.values())
    by_algorithm = ", ".join(f"{algorithm_label(a)} {w.best}/{w.n}" for a, w in ours.wins.items())
    return {
        "title": plain(f"Settings where {name} is best"),
        "value": f"{best} of {total}",
        "interval": f"in the top two: {top} of {total}",
        "detail": plain(by_algorithm),
        "paper": "; ".join(
            f"{source}: {sum(w.best for w in made.wins.values())} of "
            f"{sum(w.n for w in made.wins.values())}"
            for source, made in others.items()
        ),
    }


def _percent(estimate: Estimate) -> str:
    return value_text(Number(estimate, kind="percent"))


def about(collected: Collected) -> list[str]:
    """How the numbers were made."""
    words = [
        "Cells are means over seeds of a run's mean return over its evaluation episodes, with "
        "Student t 95% intervals. M is the mean over all perturbed settings; only runs with every "
        "setting enter it. Gains are bootstrapped over seeds (10,000 replicates), the best rival "
        "chosen again in each; by chance is what the gain over the best rival would be if the "
        "methods with a nominal model were one and the same (their runs exchanged, middle 95%). "
        "Aggregates use a stratified bootstrap (2,000 replicates) that draws "
        "a run with all its settings.",
        f"Fewer than {FEW} seeds are shown one by one: Student’s t of two or three is as wide as a "
        "plot, and a bootstrap of them too narrow, so no bootstrap interval is given. ± in tables "
        "is always Student’s t.",
    ]
    if any(run.foreign for run in collected.found.runs):
        words.append(
            "Policies trained elsewhere were tested in the same way; they stand beside the runs of "
            "every learner on their task, and are not among the rivals of the gains."
        )
    if floors := {
        t: x for results in collected.results.values() for t, x in results.floors.items()
    }:
        played = ", ".join(f"{task} {decimal(floor)}" for task, floor in floors.items())
        words.append(f"Mean return of random actions, played in the evaluation: {played}.")
    if collected.paper is not None:
        words.append(
            "The paper's figures come from its printed tables through the same code. Published "
            "means carry no seeds, hence no interval on gains; the paper does not name the physics "
            "parameters it perturbs, so physics noise is not like for like."
        )
    return words


def lists(collected: Collected) -> list[dict[str, Any]]:
    """Folders skipped, what was left out, and the runs read."""
    notes = [note for results in collected.results.values() for note in results.notes]
    runs = [
        f"{run.environment} {run.algorithm} {run.method} seed {run.seed}: {run.status}"
        for run in collected.distinct
    ]
    skipped = [f"{skip.path}: {skip.reason}" for skip in collected.found.skipped]
    left_out = [line for results in collected.results.values() for line in results.left_out]
    shown = (
        ("Folders skipped", skipped),
        ("Settings not evaluated", list(dict.fromkeys(left_out))),
        ("Left out of sums", notes),
        ("Runs read", runs),
    )
    return [
        {"title": title, "items": [plain(item) for item in items], "open": title != "Runs read"}
        for title, items in shown
        if items
    ]
