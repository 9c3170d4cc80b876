"""Robustness by other means than a ball around P0: WR2L, random physics, noise in training.

To a curriculum each of these methods is `vanilla`: radius 0, no nominal model. What they change is
the simulator that a member trains in; evaluations never see it.
"""

from typing import TYPE_CHECKING

from drspcrl.config.baselines import BaselineSettings
from drspcrl.curricula.registry import BASELINES

if TYPE_CHECKING:
    from drspcrl.perturbations import Perturbation


def training_perturbations(
    method: str, settings: BaselineSettings, gusts: float = 0.0
) -> "tuple[Perturbation, ...]":
    """What perturbs the simulator that a member of this method trains in, the innermost first.

    Args:
        method: any method.
        settings: the member's numbers of baselines.
        gusts: level of the random forces that belong to a nominal model; methods without one have
            none.

    Raises:
        InputError: a level that the perturbation does not have.
    """
    levels: dict[str, float] = {}
    if method == "noise_training":
        levels["action"] = settings.training_action_noise
        levels["observation"] = settings.training_observation_noise
    elif method == "physics_randomization":
        levels["environment"] = settings.randomization_level
    elif method not in ("vanilla", *BASELINES):
        levels["gusts"] = gusts
    if not any(levels.values()):
        return ()
    from drspcrl.perturbations import Perturbation  # loads Gymnasium, which a help text need not

    return tuple(Perturbation(name, level) for name, level in levels.items() if level > 0)
