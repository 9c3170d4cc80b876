"""What is written down with a result, so that it can be understood and made again."""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium

from drspcrl.envs import BatchEnv
from drspcrl.evaluation.suite import Suite
from drspcrl.physics.components import DEFAULT_PARAMETERS
from drspcrl.versions import versions_of

FORMAT_VERSION = 1
# MuJoCo's version changes trajectories; the others may.
_PACKAGES = ("drspcrl", "gymnasium", "mujoco", "numpy")


def record(
    env: BatchEnv,
    name: str | Callable[[], gymnasium.Env],
    suite: Suite,
    left_out: Mapping[str, str],
    **request: Any,
) -> dict[str, Any]:
    """Everything that decides a table except the policy, as plain data."""
    return {
        "format_version": FORMAT_VERSION,
        "env": name if isinstance(name, str) else _name_of(name),
        "suite": suite.name,
        **({"statistic": suite.statistic} if suite.statistic != "mean" else {}),
        "settings": list(suite.labels),
        **({"left_out": dict(left_out)} if left_out else {}),
        **request,
        "versions": versions_of(_PACKAGES),
        "physics": _physics(env),
    }


def _name_of(factory: Callable[[], gymnasium.Env]) -> str:
    return getattr(factory, "__qualname__", type(factory).__qualname__)


def _physics(env: BatchEnv) -> dict[str, Any] | None:
    """The components of the model, and which of them the perturbation `environment` scales."""
    physics = env.simulation.physics
    if physics is None:
        return None
    families = {name.split(":")[0] for name in physics.names}
    return {
        "environment_parameters": [name for name in DEFAULT_PARAMETERS if name in families],
        "nominal": dict(zip(physics.names, physics.nominal.tolist(), strict=True)),
    }
