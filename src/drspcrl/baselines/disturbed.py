"""What disturbs the simulators of training: what a practitioner would try first, and gusts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from drspcrl.baselines import BASELINES

if TYPE_CHECKING:
    from drspcrl.perturbations import Perturbation

# What acts in the simulator itself belongs to the nominal model, and to every method that has one.
GUSTS = (("gusts", "rollout_gusts"),)
# method → perturbations of its training, each with the setting that holds its level
DISTURBANCES = {
    "noise_training": (
        ("action", "training_action_noise"),
        ("observation", "training_observation_noise"),
    ),
    "physics_randomization": (("environment", "randomization_level"),),
}


def training_perturbations(method: str, settings: Mapping[str, Any]) -> "tuple[Perturbation, ...]":
    """What perturbs the simulator that a member of this method trains in, the innermost first.

    Args:
        method: any method; those with a nominal model have gusts where `rollout_gusts` is above 0,
            the others never.
        settings: the member's settings.

    Raises:
        InputError: a level that the perturbation does not have.
    """
    plain = method in ("vanilla", *BASELINES)
    disturbances = DISTURBANCES.get(method, () if plain else GUSTS)
    levels = {name: settings.get(level, 0.0) for name, level in disturbances}
    if not any(levels.values()):
        return ()
    from drspcrl.perturbations import Perturbation  # loads Gymnasium, which a help text need not

    return tuple(Perturbation(name, level) for name, level in levels.items() if level > 0)
