"""PPO, SAC, DDPG and TD3 in JAX: one member each, vmapped to a population."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "DDPG": "drspcrl.learners.ddpg",
    "DDPGHyper": "drspcrl.learners.ddpg",
    "PPO": "drspcrl.learners.ppo",
    "PPOHyper": "drspcrl.learners.surrogate",
    "SAC": "drspcrl.learners.sac",
    "SACHyper": "drspcrl.learners.sac",
    "TD3": "drspcrl.learners.td3",
}

__all__ = ["DDPG", "PPO", "SAC", "TD3", "DDPGHyper", "PPOHyper", "SACHyper"]

if TYPE_CHECKING:
    from drspcrl.learners.ddpg import DDPG, DDPGHyper
    from drspcrl.learners.ppo import PPO
    from drspcrl.learners.sac import SAC, SACHyper
    from drspcrl.learners.surrogate import PPOHyper
    from drspcrl.learners.td3 import TD3


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.learners' has no attribute {name!r}")
