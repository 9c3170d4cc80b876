"""The learners by name."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from drspcrl import named
from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.registry import Entry, Registry


@dataclass(frozen=True)
class LearnerEntry(Entry):
    """A learner, and where its numbers are, which are read without loading JAX."""

    settings: str = ""


_CONFIG = "drspcrl.config.learners"
LEARNERS = Registry(
    "algorithm",
    {
        "ppo": LearnerEntry(
            *("drspcrl.learners.ppo:PPO", "PPO", "proximal policy optimisation, on-policy"),
            settings=f"{_CONFIG}:PPOSettings",
        ),
        "sac": LearnerEntry(
            *("drspcrl.learners.sac:SAC", "SAC", "soft actor-critic, with a replay"),
            settings=f"{_CONFIG}:SACSettings",
        ),
        "ddpg": LearnerEntry(
            *("drspcrl.learners.ddpg:DDPG", "DDPG", "deep deterministic policy gradient"),
            settings=f"{_CONFIG}:DDPGSettings",
        ),
        "td3": LearnerEntry(
            *("drspcrl.learners.td3:TD3", "TD3", "DDPG with two critics and smoothed targets"),
            settings=f"{_CONFIG}:TD3Settings",
        ),
    },
)
_PARTS = (
    *("Settings", "Hyper", "loop", "of", "init", "act", "act_deterministic", "update"),
    *("policy", "policy_parts"),
)


def learner_class(name: str) -> Any:
    """The class of a learner, see `drspcrl.learners.base`.

    Raises:
        InputError: no such learner, or a class that lacks what every learner has.
    """
    found = LEARNERS.load(name)
    if missing := [part for part in _PARTS if not hasattr(found, part)]:
        raise InputError(
            f"algorithm {shown(name)} has no {', '.join(missing)}, which every learner has; see "
            "drspcrl.learners.base"
        )
    return found


def settings_class(name: str) -> Any:
    """The dataclass of a learner's numbers, a `drspcrl.config.learners.LearnerSettings`."""
    LEARNERS.check(name)
    if name not in LEARNERS:
        return learner_class(name).Settings
    entry = LEARNERS[name]
    assert isinstance(entry, LearnerEntry)
    module, attribute = named.split(entry.settings)
    return getattr(import_module(module), attribute)
