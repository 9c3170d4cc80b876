"""What runs were made with: settings that were changed, commits, versions, devices, episodes."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from drspcrl import variants
from drspcrl.runfolder.runs import Run
from drspcrl.runfolder.tables import DEFAULT_SUITE
from drspcrl.training.settings import resolve

EPISODES = 100
ALWAYS = {"end_share": 1.0}
"""Settings whose default is what was done before they existed."""


def made_with(runs: Sequence[Run]) -> str:
    """One line about runs that should be alike; where they are not, all that there is."""
    parts = [
        _settings(runs),
        _listed("commit", (str(run.info.get("commit", ""))[:7] for run in runs)),
        _listed("MuJoCo", (_inside(run, "versions", "mujoco") for run in runs)),
        _listed("JAX", (_inside(run, "versions", "jax") for run in runs)),
        _listed("on", (_inside(run, "machine", "device") for run in runs)),
        _episodes(runs),
    ]
    return "; ".join(part for part in parts if part) or "–"


def _settings(runs: Sequence[Run]) -> str:
    """Where their populations had other settings than the present defaults, or than each other."""
    told: dict[str, set[str]] = defaultdict(set)
    other: set[str] = set()
    known = [run for run in runs if isinstance(run.config.get("settings"), dict)]
    for run in known:
        had, now = run.config["settings"], resolve(run.algorithm, {}, 1_000_000).flat()
        for name in now.keys() - variants.parse_variant(run.method).changes.keys():
            if name not in had and (not now[name] or ALWAYS.get(name) == now[name]):
                continue  # what is off by default, or was always so, need not have been there
            told[name].add(f"`{name}={_written(had[name])}`" if name in had else f"no `{name}`")
            if name not in had or had[name] != now[name]:
                other.add(name)
    listed = ", ".join(" and ".join(sorted(told[name])) for name in sorted(other))
    return f"settings {listed}" if listed else "settings by default" if known else ""


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _inside(run: Run, part: str, name: str) -> str:
    found: Any = run.info.get(part)
    return str(found.get(name, "")) if isinstance(found, dict) else ""


def _listed(what: str, values: Iterable[str]) -> str:
    distinct = sorted({value for value in values if value})
    return f"{what} {' and '.join(distinct)}" if distinct else ""


def _episodes(runs: Sequence[Run]) -> str:
    """How many episodes a setting had, where that is not what the protocol says."""
    counts = set()
    for run in runs:
        if (found := run.evaluations.get(DEFAULT_SUITE)) is not None and len(found.episode):
            counts.add(int(found.episode.max()) + 1)
    if counts <= {EPISODES}:
        return ""
    return f"**{' and '.join(map(str, sorted(counts)))} episodes** for each setting"
