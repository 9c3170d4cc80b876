"""What runs were made with: settings that were changed, commits, versions, devices, episodes."""

from collections.abc import Iterable, Sequence
from typing import Any

from drspcrl.runs import DEFAULT_SUITE, Run

EPISODES = 100


def made_with(runs: Sequence[Run]) -> str:
    """One line about runs that should be alike; where they are not, all that there is."""
    parts = [
        _listed("settings", (_changed(run) for run in runs)),
        _listed("commit", (str(run.info.get("commit", ""))[:7] for run in runs)),
        _listed("MuJoCo", (_inside(run, "versions", "mujoco") for run in runs)),
        _listed("JAX", (_inside(run, "versions", "jax") for run in runs)),
        _listed("on", (_inside(run, "machine", "device") for run in runs)),
        _episodes(runs),
    ]
    return "; ".join(part for part in parts if part) or "–"


def _changed(run: Run) -> str:
    """The settings that the population was given beyond the defaults."""
    population = run.config.get("population")
    given = population.get("settings") if isinstance(population, dict) else None
    if not isinstance(given, dict):
        return ""
    return ", ".join(f"`{name}={value}`" for name, value in sorted(given.items())) or "defaults"


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
