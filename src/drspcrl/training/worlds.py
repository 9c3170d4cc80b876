"""From a configuration to a population whose episodes are in worlds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from drspcrl.config.worlds import WorldSettings
from drspcrl.divergences.registry import divergence_class
from drspcrl.envs.registry import make, task_names
from drspcrl.errors import InputError
from drspcrl.training.collector import Collector
from drspcrl.training.settings import Settings
from drspcrl.worlds.declare import Declared
from drspcrl.worlds.episodes import EpisodeWorlds, Roles
from drspcrl.worlds.learning import Worlds
from drspcrl.worlds.model import WorldModel, sensor_spread, world_model
from drspcrl.worlds.own import check_set_world, random_observations, with_own_parameters
from drspcrl.worlds.signal import WorldStrength
from drspcrl.worlds.tilt import CANDIDATES

if TYPE_CHECKING:
    from drspcrl.training.config import TrainConfig


def measured(config: "TrainConfig") -> "TrainConfig":
    """The configuration with what its environment says of worlds.

    These are the parameters that it declares, and the unit of each reading's noise, measured where
    it is relative.

    Raises:
        InputError: a reading that never changes, or a parameter that the environment does not have.
    """
    if config.declared is None or not in_worlds(config):
        return config
    worlds = _with_units(_with_parameters(config.declared, config), config)
    if worlds == config.declared:
        return config
    return replace(config, worlds=worlds).as_begun(config.began).read_from(config.worlds_file)


def _with_parameters(worlds: Declared, config: "TrainConfig") -> Declared:
    if _is_of_the_paper(config):
        return worlds
    alone = make(str(config.env), 1)
    try:
        return with_own_parameters(worlds, alone)
    finally:
        alone.close()


def _with_units(worlds: Declared, config: "TrainConfig") -> Declared:
    if not isinstance(worlds.sensor_unit, str):
        return worlds
    absolute = worlds.sensor_unit == "absolute" or not (worlds.sensor or worlds.bias)
    if absolute or (worlds.sensor_unit == "auto" and _is_of_the_paper(config)):
        return worlds
    spread = sensor_spread(random_observations(str(config.env)))
    return replace(worlds, sensor_unit=tuple(float(f"{size:.6g}") for size in spread))


def _is_of_the_paper(config: "TrainConfig") -> bool:
    return str(config.env).removesuffix("-v5") in task_names()


def in_worlds(config: "TrainConfig") -> bool:
    """Whether any member is trained in worlds."""
    return config.declared is not None and not all(member.plain for member in config.members)


def task_worlds(config: "TrainConfig", collector: Collector) -> WorldModel:
    """The worlds that a configuration declares, on its task.

    Raises:
        InputError: the task has nothing of what is declared.
    """
    declared = config.declared
    assert declared is not None
    physics = collector.env.simulation.physics
    unit = None
    if not isinstance(declared.sensor_unit, str):
        unit = np.array(declared.sensor_unit)
        if unit.shape != (collector.observation_size,):
            raise InputError(
                f"worlds: sensor_unit has {unit.size} numbers, and {config.env} has "
                f"{collector.observation_size} readings; give one for each"
            )
    return world_model(
        declared,
        None if physics is None else physics.components,
        collector.observation_size,
        collector.action_size,
        unit,
    )


def enter_worlds(
    config: "TrainConfig", collector: Collector, epsilon: np.ndarray, warn: Callable[[str], None]
) -> WorldModel:
    """Let every coming episode of a population be in a world.

    Args:
        config: the training.
        collector: its environments.
        epsilon: the radius that each member begins with.
        warn: says what does not stop the training.
    """
    model = task_worlds(config, collector)
    each = [config.settings_of(member) for member in config.members]
    numbers = [_of_worlds(own) for own in each]
    budgets = _budgets(config, each)
    assert config.declared is not None
    config.declared.check_reach(max(budgets))
    model.check_reach(max(budgets))
    for name in _try_parameters(config, model, max(budgets)):
        warn(
            f"world parameter {name} changed nothing in the first steps of an episode; see that "
            "set_world and step use it"
        )
    worlds = EpisodeWorlds(
        model,
        collector.env,
        [member.seed for member in config.members],
        budgets,
        [Roles(own.probe_every, own.anchor_every) for own in numbers],
        [own.learner.discount for own in each],
        candidates=CANDIDATES if _sampled(config) else 0,
    )
    worlds.set_radius(epsilon)
    collector.enter(worlds)
    return model


def _try_parameters(config: "TrainConfig", model: WorldModel, budget: float) -> tuple[str, ...]:
    """Those of an environment's own parameters that change nothing; see `check_set_world`."""
    if not model.parameters:
        return ()
    alone = make(str(config.env), 1)
    try:
        return check_set_world(alone, model.parameters, budget)
    finally:
        alone.close()


def world_uncertainty(
    config: "TrainConfig", model: WorldModel, epsilon: np.ndarray
) -> tuple[Worlds, WorldStrength]:
    """What the members' learners are made with, and the numbers in which members differ."""
    each = [config.settings_of(member) for member in config.members]
    budgets = np.array(_budgets(config, each), np.float32)
    tilts = _tilts(config)
    shared = _of_worlds(config.resolved)
    ball = divergence_class(shared.divergence).for_learners()
    form = Worlds(
        model,
        divergence=ball,
        tilted=bool(tilts.any()),
        weighted=shared.tilt_form == "weighted",
        at_starts=shared.price_states == "starts",
        bounded=shared.bounded_targets,
        sees_world=shared.critic_sees_world,
    )
    radius = np.where(budgets > 0, epsilon, 0.0).astype(np.float32)
    return form, WorldStrength(radius, budgets, tilts)


def _tilts(config: "TrainConfig") -> np.ndarray:
    """τ of each member, 0 for one that is trained without worlds."""
    pairs = [(member, config.settings_of(member)) for member in config.members]
    return np.array(
        [0.0 if member.plain else _of_worlds(own).tilt for member, own in pairs], np.float32
    )


def _sampled(config: "TrainConfig") -> bool:
    """Whether the worlds of some member are drawn by a tilt."""
    form = _of_worlds(config.resolved).tilt_form
    return form == "sampled" and bool(_tilts(config).any())


def _of_worlds(settings: Settings) -> WorldSettings:
    assert settings.worlds is not None
    return settings.worlds


def _budgets(config: "TrainConfig", each: Sequence[Settings]) -> list[float]:
    pairs = zip(config.members, each, strict=True)
    return [0.0 if member.plain else own.curriculum.epsilon_budget for member, own in pairs]


def show_worlds(model: WorldModel, budget: float, console: Console) -> None:
    """What is trained against, in the user's units."""
    law = "radii uniform up to ε" if model.ball else "all at radius ε"
    table = Table(
        *("what differs", "unit", f"at ε = {budget:g}"),
        title=f"worlds of the training, drawn once an episode ({law})",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for row in model.describe(budget):
        table.add_row(*row)
    console.print(table)
