"""`index.html`: one page with everything in it, that works from disk.

Its data are plain lists and numbers, every name given once and pointed at by index.
"""

import base64
import hashlib
import json
import re
import time
from collections.abc import Iterable, Sequence
from importlib.resources import files
from math import isfinite
from typing import Any

import numpy as np

from drspcrl import __version__
from drspcrl.report.collected import Collected, Made
from drspcrl.report.curves import METRICS, Curve
from drspcrl.report.escape import plain
from drspcrl.report.few import FEW
from drspcrl.report.figures.settings import frontier_seeds
from drspcrl.report.names import (
    FOCUS,
    PERTURBATION_LABELS,
    algorithm_label,
    looks,
    method_label,
    method_words,
    perturbation_label,
)
from drspcrl.report.page.words import about, banner, headline_cards, lists, note, subtitle
from drspcrl.report.results import NOMINAL, Results, Setting
from drspcrl.report.summary import Aggregates, group_means
from drspcrl.report.tables import COLUMNS, stress_table
from drspcrl.statistics import Estimate


def payload(collected: Collected, made: Sequence[Made] = ()) -> dict[str, Any]:
    """Everything `main.js` reads."""
    methods, drawn = collected.methods, looks(collected.methods)
    today = time.strftime("%Y-%m-%d")
    words = {one.method: one.words for one in method_words(collected.found.runs)}
    return {
        "subtitle": f"{subtitle(collected)} · {today} · drspcrl {__version__}",
        "banner": banner(collected),
        "note": note(collected),
        "command": plain(collected.command),
        "compare": collected.paper is not None,
        "about": about(collected),
        "few": FEW,
        "files": [_file(collected, one) for one in made],
        "lists": lists(collected),
        "focus": methods.index(FOCUS) if FOCUS in methods else len(methods) - 1,
        "tasks": [plain(task) for task in collected.tasks],
        "algorithms": [plain(algorithm_label(a)) for a in collected.algorithms],
        "methods": [
            {
                "label": plain(method_label(method)),
                "words": plain(words[method]),
                "light": drawn[method].light,
                "dark": drawn[method].dark,
                "dash": drawn[method].dash,
                "marker": drawn[method].marker,
            }
            for method in methods
        ],
        "suites": [_suite(collected, name) for name in collected.results],
        "curves": _curves(collected),
        "stress": _stress(collected),
    }


def _file(collected: Collected, made: Made) -> dict[str, Any]:
    """One table or figure beside the page; a or s is −1 where it is of no one learner or suite."""
    learners, suites = collected.algorithms, list(collected.results)
    return {
        "path": f"{made.folder}/{made.name}",
        "kind": made.kind,
        "title": plain(made.title),
        "endings": made.endings,
        "a": -1 if made.algorithm is None else learners.index(made.algorithm),
        "s": -1 if made.suite is None else suites.index(made.suite),
    }


def _stress(collected: Collected) -> dict[str, Any]:
    table = stress_table(collected.distinct)
    return {"columns": list(COLUMNS), "rows": table.rows, "notes": table.notes}


def _suite(collected: Collected, name: str) -> dict[str, Any]:
    results = collected.results[name]
    kinds = list(dict.fromkeys(setting[0] for setting in results.settings))
    return {
        "name": plain(name),
        "perturbations": [_perturbation(kind) for kind in kinds],
        "settings": [[kinds.index(kind), level] for kind, level in results.settings],
        "entries": _entries(collected, results, kinds),
        "aggregates": [
            _aggregate(collected, algorithm, aggregate)
            for algorithm, aggregate in collected.aggregates[name].items()
        ],
        "headline": headline_cards(collected.headlines[name]),
    }


def _perturbation(kind: str) -> dict[str, str]:
    name, symbol = PERTURBATION_LABELS.get(kind, (kind, ""))
    return {"name": plain(name), "symbol": symbol, "label": plain(perturbation_label(kind))}


def _entries(collected: Collected, results: Results, kinds: list[str]) -> list[dict[str, Any]]:
    means = group_means(results)
    parts = [group_means(results, kind) for kind in kinds]
    keys = [
        (a, t, m)
        for t in collected.tasks
        for a in collected.algorithms
        for m in results.methods(a, t)
    ]
    return [
        {
            "a": collected.algorithms.index(key[0]),
            "t": collected.tasks.index(key[1]),
            "m": collected.methods.index(key[2]),
            "nominal": _cell(results, key, NOMINAL),
            "cells": [_cell(results, key, setting) for setting in results.settings],
            "parts": [_estimate(part.get(key)) for part in parts],
            "mean": _estimate(means.get(key)),
            "points": _points(results, key),
            "paper": _paper(collected.paper, key, results.settings),
        }
        for key in keys
    ]


def _points(results: Results, key: tuple[str, str, str]) -> list[list[float | None]]:
    """Each run's unperturbed return and its mean over all settings, of few seeds."""
    across, up = frontier_seeds(results, key[:2], key[2])
    if len(across) >= FEW:
        return []
    return [_numbers(pair) for pair in zip(across, up, strict=True)]


def _paper(
    paper: Results | None, key: tuple[str, str, str], settings: Sequence[Setting]
) -> list[Any] | None:
    cells = [_cell(paper, key, setting) for setting in settings] if paper else []
    return cells if any(cells) else None


def _cell(results: Results, key: tuple[str, str, str], setting: Setting) -> list[Any] | None:
    return _estimate(results.cell(*key, setting), results.seeds.get((*key, setting), ()))


def _estimate(estimate: Estimate | None, seeds: Sequence[float] = ()) -> list[Any] | None:
    """[value, low, high, n], of few seeds these too; None where it is missing."""
    if estimate is None or not isfinite(estimate.value):
        return None
    numbers = [*_numbers([estimate.value, estimate.low, estimate.high]), estimate.n]
    return [*numbers, _numbers(seeds)] if 0 < len(seeds) < FEW else numbers


def _aggregate(collected: Collected, algorithm: str, aggregate: Aggregates) -> dict[str, Any]:
    index = collected.methods.index
    profiles = aggregate.profiles
    left = [f"{task}: {reason}" for task, reason in aggregate.left_out.items()]
    return {
        "a": collected.algorithms.index(algorithm),
        "scale": plain(aggregate.scale),
        "leftOut": plain(f"Left out: {'; '.join(left)}.") if left and profiles else "",
        "thresholds": _numbers(next(iter(profiles.values())).thresholds) if profiles else [],
        "profiles": [
            {
                "m": index(method),
                "share": _numbers(profile.share),
                "low": _numbers(profile.low) if np.isfinite(profile.low).all() else None,
                "high": _numbers(profile.high) if np.isfinite(profile.high).all() else None,
                "n": profile.n,
            }
            for method, profile in profiles.items()
        ],
        "improvement": [
            [index(one), index(other), *(_estimate(won) or [])]
            for (one, other), won in aggregate.improvement.items()
        ],
    }


def _curves(collected: Collected) -> list[dict[str, Any]]:
    return [
        {
            "a": collected.algorithms.index(algorithm),
            "t": collected.tasks.index(task),
            "last": float(next(iter(_all(methods))).steps[-1]),
            "points": len(next(iter(_all(methods))).steps),
            "methods": [
                {"m": collected.methods.index(method)}
                | {metric: _curve(by[metric]) for metric in METRICS if metric in by}
                for method, by in methods.items()
            ],
        }
        for (algorithm, task), methods in collected.curves.items()
        if any(True for _ in _all(methods))
    ]


def _all(methods: Any) -> Iterable[Curve]:
    return (curve for by_metric in methods.values() for curve in by_metric.values())


def _curve(curve: Curve) -> list[Any]:
    """[mean, half-width, n, few seeds' own curves]; n alone where it never changes."""
    n: Any = [int(count) for count in curve.n]
    seeds = [_numbers(seed) for seed in curve.seeds] if curve.few and len(curve.seeds) > 1 else []
    half = _numbers(curve.half_width)
    return [_numbers(curve.mean), half, n[0] if len(set(n)) == 1 else n, seeds]


def _numbers(values: Iterable[float]) -> list[float | None]:
    """Five digits are more than a screen shows; nan becomes None."""
    return [float(f"{value:.5g}") if isfinite(value) else None for value in values]


SCRIPTS = ("base.js", "plot.js", "charts.js", "tables.js", "main.js")


def render_page(collected: Collected, made: Sequence[Made] = ()) -> str:
    """The page as one string of HTML.

    Args:
        collected: What it shows.
        made: The files beside it, for its links.
    """
    style = _asset("page.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(_asset, SCRIPTS)) + "\n})();\n"
    # Only this very script and style may run or load: nothing that slipped in with a name can.
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "CSP": policy,
        "VERSION": __version__,
        "STYLE": style,
        "DATA": embed_json(payload(collected, made)),
        "SCRIPT": script,
    }
    # One pass, so that a name like @SCRIPT@ inside the data stays what it is.
    return re.sub(r"@([A-Z]+)@", lambda match: parts[match[1]], _asset("page.html"))


def embed_json(value: Any) -> str:
    """JSON that can stand inside a script element: no character of it can end that element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
