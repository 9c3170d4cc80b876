"""The numbers of baselines from outside the paper: each method reads its own."""

from dataclasses import dataclass
from typing import ClassVar

from drspcrl.config.field import Component, choice, number, whole

HESSIANS = ("sensitivity", "zeroth_order")


@dataclass(frozen=True)
class BaselineSettings(Component):
    """What noise_training and physics_randomization train under."""

    title: ClassVar[str] = "baselines"

    training_action_noise: float = number(0.05, "noise_training: share of random actions", most=1)
    training_observation_noise: float = number(0.1, "noise_training: σ of the sensor noise")
    randomization_level: float = number(0.2, "physics_randomization: level of it", most=1)


@dataclass(frozen=True)
class WR2LSettings(Component):
    """WR2L's adversary."""

    title: ClassVar[str] = "baseline: wr2l (with ppo)"
    prefix: ClassVar[str] = "wr2l_"

    epsilon: float = number(
        0.05,
        "radius in E W₂², states in units of the spread of one step's changes, squares averaged",
    )
    every: int = whole(10, "learner iterations between updates", above=0, shared=True)
    pairs: int = whole(16, "antithetic pairs of episodes for the gradient", above=0, shared=True)
    horizon: int = whole(1000, "steps after which those episodes are cut", above=0, shared=True)
    states: int = whole(64, "pairs (s, a) that the Hessian is averaged over", above=0, shared=True)
    width: float = number(
        0.05, "standard deviation of directions, and step of finite differences", above=0
    )
    ridge: float = number(1.0, "added to the Hessian, in units of its mean eigenvalue", above=0)
    bound: float = number(0.7, "largest |log scale| of a parameter", above=0)
    hessian: str = choice("sensitivity", "how the Hessian is estimated", HESSIANS, shared=True)
