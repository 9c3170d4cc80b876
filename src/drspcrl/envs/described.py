"""What a task tells about itself: control period, and names of observations and actions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from drspcrl.display import brief, shown
from drspcrl.envs.own import factory_of
from drspcrl.envs.probe import PROBES
from drspcrl.envs.simulator import TASKS, _Quiet
from drspcrl.errors import InputError


@dataclass(frozen=True)
class Description:
    """A task in a control engineer's words; what is unknown is None.

    Attributes:
        control_period: Seconds between two actions.
        observation_names: One name per observed number, such as `position of thigh_joint`.
        action_names: The joint or actuator that each action drives.
    """

    control_period: float | None = None
    observation_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None


def describe(name: str) -> Description:
    """Describe any task that `make` knows by name; the module of a `module:Id` is imported.

    Raises:
        InputError: There is no such environment.
    """
    if name in PROBES:
        return Description()
    task = name.removesuffix("-v5")
    with _Quiet():
        try:
            env = factory_of(f"{task}-v5" if task in TASKS else name)()
        except InputError:
            raise
        except (Exception, SystemExit) as error:  # a user's own code may raise anything
            reason = f"{type(error).__name__}: {brief(error)}"
            raise InputError(f"environment {shown(name)} cannot be made: {reason}") from error
    try:
        return _described(env.unwrapped)
    finally:
        env.close()


def _described(base: Any) -> Description:
    model: Any = getattr(base, "model", None)
    if type(model).__name__ != "MjModel":
        return Description(_period(getattr(base, "dt", None)))
    seconds = _period(getattr(base, "dt", None)) or float(model.opt.timestep)
    return Description(seconds, _observation_names(base, model), _action_names(model))


def _period(value: Any) -> float | None:
    number = isinstance(value, int | float | np.number)
    return float(value) if number and np.isfinite(value) and value > 0 else None


def _observation_names(base: Any, model: Any) -> tuple[str, ...] | None:
    """Names after Gymnasium's own list of the sections of an observation, where it has one."""
    structure = getattr(base, "observation_structure", None)
    if not isinstance(structure, dict):
        return None
    skipped = structure.get("skipped_qpos", 0)
    known = {
        "qpos": _coordinates(model, "position")[skipped:],
        "qvel": _coordinates(model, "speed"),
    }
    names: list[str] = []
    for section, size in structure.items():
        if section != "skipped_qpos":
            own = known.get(section, ())
            names += own if len(own) == size else [f"{section} {i}" for i in range(size)]
    return tuple(names) if (len(names),) == base.observation_space.shape else None


def _coordinates(model: Any, what: str) -> list[str]:
    """One name per coordinate: `position of rootz`, and `position 3 of root` in a free joint."""
    addresses = model.jnt_qposadr if what == "position" else model.jnt_dofadr
    total = model.nq if what == "position" else model.nv
    ends = [*addresses[1:].tolist(), total]
    names = []
    for k, (begin, end) in enumerate(zip(addresses.tolist(), ends, strict=True)):
        joint = model.joint(k).name or f"joint {k}"
        single = end - begin == 1
        names += [f"{what} of {joint}" if single else f"{what} {i} of {joint}"
                  for i in range(end - begin)]  # fmt: skip
    return names


def _action_names(model: Any) -> tuple[str, ...]:
    names = []
    for k in range(model.nu):
        joint, tendon = int(model.actuator_trnid[k, 0]), int(model.actuator_trntype[k]) > 1
        driven = "" if tendon else model.joint(joint).name
        names.append(model.actuator(k).name or driven or f"actuator {k}")
    return tuple(names)
