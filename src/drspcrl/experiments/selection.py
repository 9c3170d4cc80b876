"""A part of a grid: `--only env=Hopper algorithm=sac seeds=0,1 methods=self_paced`."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from drspcrl import variants
from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.experiments.population import Population

_NAMES = {"env": "env", "algorithm": "algorithm", "methods": "methods", "seeds": "seeds"}
_NAMES |= {"method": "methods", "seed": "seeds"}
# A comma within a variant is followed by name=; one between values is not.
_BETWEEN = re.compile(r",(?!\s*\w+=)")


@dataclass(frozen=True)
class Selection:
    """Which runs; None takes all.

    Attributes:
        env: tasks.
        algorithm: learners.
        methods: labels, or names of methods with all their variants.
        seeds: seeds.
    """

    env: tuple[str, ...] | None = None
    algorithm: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    seeds: tuple[int, ...] | None = None

    def divide(self, population: Population) -> list[Population]:
        """What it takes of a population and what it leaves.

        Methods that only train together, as `yoked` and its leader, are not parted.
        """
        methods = [label for label in population.methods if self._takes(label)]
        seeds = population.seeds if self.seeds is None else self.seeds
        if not self.wants(population):
            return [population]
        try:
            chosen = population.part(methods, seeds)
            return [chosen, *population.without([chosen])] if chosen else [population]
        except InputError:
            return [population]

    def wants(self, population: Population) -> bool:
        """Whether it takes any run of a population."""
        for name in ("env", "algorithm"):
            wanted = getattr(self, name)
            if wanted is not None and getattr(population, name) not in wanted:
                return False
        seeds = self.seeds is None or not set(self.seeds).isdisjoint(population.seeds)
        return seeds and any(map(self._takes, population.methods))

    def _takes(self, label: str) -> bool:
        names = self.methods
        return names is None or label in names or variants.parse_variant(label).method in names


def parse_selection(texts: Sequence[str], populations: Iterable[Population]) -> Selection:
    """The selection that texts such as `env=Hopper` and `seeds=0,1` make.

    Raises:
        InputError: an unknown name or value; the message lists what there is.
    """
    populations = list(populations)
    chosen: dict[str, tuple[Any, ...]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if name not in _NAMES or not equals or not values:
            raise InputError(
                f"--only {shown(text)} is not name=value,value with a name among "
                "env, algorithm, methods, seeds"
            )
        field = _NAMES[name]
        known = _known(field, populations)
        picked = tuple(_pick(field, value, known) for value in _BETWEEN.split(values))
        chosen[field] = chosen.get(field, ()) + picked
    selection = Selection(**chosen)  # type: ignore[arg-type]
    if not any(map(selection.wants, populations)):
        raise InputError(f"--only {' '.join(texts)} leaves no run of the grid")
    return selection


def _known(field: str, populations: Sequence[Population]) -> list[Any]:
    if field in ("env", "algorithm"):
        return list(dict.fromkeys(getattr(population, field) for population in populations))
    values = list(dict.fromkeys(v for one in populations for v in getattr(one, field)))
    if field == "methods":
        values += [name for name in dict.fromkeys(map(_method, values)) if name not in values]
    return values


def _method(label: str) -> str:
    return variants.parse_variant(label).method


def _pick(field: str, text: str, known: Sequence[Any]) -> Any:
    text = text.strip()
    value: Any = int(text) if field == "seeds" and text.isdecimal() else text
    if field == "methods" and value not in known:
        value = variants.variant_label(variants.parse_variant(text))
    if value not in known:
        raise InputError(f"--only {field}={text}: the grid has {', '.join(map(str, known))}")
    return value
