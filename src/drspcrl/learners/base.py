"""What every learner has: one member's mathematics, and what the rest of the library asks of it.

A learner is a frozen dataclass of fixed choices. `drspcrl.learners.sac` is an example with a
replay, `drspcrl.learners.ppo` one that learns on-policy; what the
replay loop asks besides, `OffPolicyLearner` in `drspcrl.learners.actor_critic` says.
"""

from typing import Any, ClassVar, Protocol

import numpy as np
from jax import Array

from drspcrl.config.learners import LearnerSettings
from drspcrl.learners.networks import Network
from drspcrl.learners.uncertainty import Uncertainty
from drspcrl.policy import Activation, Kind, Policy


class Learner(Protocol):
    """What training asks of a learner, whatever its loop."""

    Settings: ClassVar[type[LearnerSettings]]
    """Its numbers, a component of the configuration."""
    Hyper: ClassVar[type]
    """Those in which members may differ, as a NamedTuple with the same names."""
    loop: ClassVar[str]
    """Its training loop: `off_policy` or `on_policy`."""
    uncertainty: Uncertainty
    """What it is trained against."""

    @classmethod
    def of(cls, settings: Any, uncertainty: Uncertainty) -> "Learner":
        """The learner that settings describe."""
        ...

    def act_deterministic(self, state: Any, observations: Array) -> Array:
        """The actions that it is evaluated by, for observations [E, O]."""
        ...

    def policy_parts(self, state: Any) -> Any:
        """The part of a member's state that its policy is made of, to be copied to the host."""
        ...

    def policy(self, parts: Any, settings: Any, low: np.ndarray, high: np.ndarray) -> Policy:
        """`policy_parts`, as NumPy arrays, as a policy that stands alone.

        Args:
            parts: of one member.
            settings: that member's.
            low: the least action of the task, [A].
            high: the greatest.
        """
        ...


def network_policy(
    kind: Kind,
    activation: Activation,
    network: Network,
    low: np.ndarray,
    high: np.ndarray,
    **given: Any,
) -> Policy:
    """A policy of one network, whose inputs are not normalised unless `given` says how."""
    layers = tuple((np.asarray(layer.kernel), np.asarray(layer.bias)) for layer in network)
    inputs = layers[0][0].shape[0]
    normaliser = {
        "observation_mean": np.zeros(inputs, np.float32),
        "observation_scale": np.ones(inputs, np.float32),
        "observation_clip": float("inf"),
    }
    bounds = {"action_low": low, "action_high": high}
    return Policy(kind, activation, layers, **bounds, **(normaliser | given))
