"""From settings to what each member is trained against, with a word where that is unwise."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from drspcrl.divergences import KL, ChiSquared, CVaR, Divergence, TotalVariation, Wasserstein
from drspcrl.errors import InputError
from drspcrl.learners.backup import Transitions
from drspcrl.learners.dual import (
    NEWTON_STEPS,
    Exact,
    FirstOrderWasserstein,
    Gaussian,
    NetworkDual,
)
from drspcrl.nominal import Noise, NominalModel, Scales, Single, Strength
from drspcrl.nominal.noise import KINDS

DIVERGENCES: dict[str, Divergence] = {
    "kl": KL(NEWTON_STEPS),
    "chi2": ChiSquared(),
    "tv": TotalVariation(),
    "cvar": CVaR(),
}
# What a curriculum asks of a Wasserstein ball is its coordinate, and that it leaves the support of
# its draws; draws of different states have no distances in common.
_WASSERSTEIN = Wasserstein([[0.0, 1.0], [1.0, 0.0]], order=2.0)


def ball(settings: Mapping[str, Any], worlds: bool = False) -> Divergence:
    """The divergence whose ball ε is the radius of, as curricula know it.

    In worlds that is a Wasserstein ball around the simulator, see docs/worlds.md.
    """
    name = "wasserstein" if worlds else settings["divergence"]
    return {**DIVERGENCES, "wasserstein": _WASSERSTEIN}[name]


def member_uncertainty(
    settings: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    epsilon: Sequence[float] | np.ndarray,
    plain: Sequence[bool] | None = None,
) -> Strength:
    """What the members of a population are trained against, [M] each.

    Args:
        settings: resolved settings, which hold the nominal scales: of all members, or of each.
        epsilon: the radius of each member.
        plain: which members take the simulator at its word, with scales and radius 0; none unless
            given.

    Raises:
        InputError: a radius that is negative or not finite, lengths that differ.
    """
    radius = np.asarray(epsilon, np.float32)
    off = np.zeros(radius.shape, bool) if plain is None else np.asarray(plain, bool)
    if radius.ndim != 1 or off.shape != radius.shape:
        raise InputError(f"epsilon is {epsilon!r}, plain {plain!r}; give one of each per member")
    if not (np.isfinite(radius) & (radius >= 0)).all():
        raise InputError(f"epsilon is {list(epsilon)}; it must be finite and at least 0")
    of_each = [settings] * len(radius) if isinstance(settings, Mapping) else settings

    def number(values: list[float]) -> np.ndarray:
        return np.where(off, 0.0, values).astype(np.float32)

    sensor, actuator, process = (number([own[kind] for own in of_each]) for kind in KINDS)
    spread = number([own.get("level_spread", 0.0) for own in of_each])  # PPO has none
    scales = Scales(sensor, actuator, process, spread if spread.any() else None)
    return Strength(np.where(off, np.float32(0.0), radius), scales)


def nominal_model(settings: dict[str, Any], uncertainty: Strength) -> NominalModel:
    """The nominal model that settings name, which draws only what some member uses."""
    if settings["nominal"] == "single":
        return Single()
    used = tuple(kind for kind in KINDS if np.any(uncertainty.scales._asdict()[kind]))
    return Noise(settings["relative"], used)


def robust_backup(
    settings: dict[str, Any], uncertainty: Strength, platform: str, noisy: bool = True
) -> Transitions:
    """The robust backup that settings describe.

    Args:
        settings: resolved settings.
        uncertainty: of all members.
        platform: JAX's name of where they learn, which decides what `draw_precision=auto` is.
        noisy: whether experience is gathered under the nominal noise.
    """
    duals = {
        "exact": lambda: Exact(DIVERGENCES[settings["divergence"]]),
        "network": lambda: NetworkDual(tuple(settings["hidden"])),
        "gaussian": Gaussian,
    }
    nominal = nominal_model(settings, uncertainty)
    moved = settings["divergence"] == "wasserstein"
    dual = FirstOrderWasserstein() if moved else duals[settings["dual"]]()
    if "actor_draws" not in settings:  # PPO's actor learns from advantages, not from draws
        return Transitions(nominal, dual, settings["draws"])
    precision = draw_precision(settings["draw_precision"], platform)
    actor_draws = settings["actor_draws"]
    return Transitions(nominal, dual, settings["draws"], actor_draws, precision, noisy)


def draw_precision(setting: str, platform: str) -> str:
    """The number format in which draws are valued; `auto` is the fastest that costs no exactness.

    A GPU multiplies float32 in TF32, with no more bits than float16 has; a CPU gains nothing.
    """
    if setting != "auto":
        return setting
    return "float16" if platform in ("gpu", "cuda", "rocm") else "float32"


def no_uncertainty(members: int) -> Strength:
    """The simulator at its word, for every member."""
    zeros = np.zeros(members, np.float32)
    return Strength(zeros, Scales(zeros, zeros, zeros))


def warn_if_unwise(settings: dict[str, Any], largest_epsilon: float) -> None:
    """Warn where a radius or a nominal model cannot do what it seems to promise.

    Args:
        settings: resolved settings.
        largest_epsilon: the largest radius that the training may come to.
    """
    if settings["divergence"] == "wasserstein":
        return
    if settings["nominal"] == "single":
        warnings.warn(
            "nominal=single: a ball around the one stored next state holds nothing else, so no "
            "policy becomes robust; use nominal=noise (docs/nominal_models.md says why)",
            stacklevel=2,
        )
    elif settings["divergence"] == "kl" and largest_epsilon > math.log(settings["draws"]):
        warnings.warn(
            f"epsilon reaches {largest_epsilon:g}, and {settings['draws']} draws saturate at their "
            f"minimum from log {settings['draws']} = {math.log(settings['draws']):.2f} on, where a "
            "larger ball changes nothing; use more draws or a smaller epsilon",
            stacklevel=2,
        )
