"""Hyper-parameters: an algorithm's preset, what the user changes in it, and what is allowed."""

import difflib
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from drspcrl.curricula.settings import DEFAULTS, RULES, WORLD_RULES, CurriculumSettings
from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.presets import preset
from drspcrl.worlds.settings import WORLD_DEFAULTS, resolved_worlds

# name → (least, most); every other number must be positive.
_RANGES = {
    "discount": (0.0, 1.0),
    "trace": (0.0, 1.0),
    "tau": (0.0, 1.0),
    "exploration": (0.0, math.inf),
    "policy_noise": (0.0, math.inf),
    "noise_clip": (0.0, math.inf),
    "entropy_per_action": (-math.inf, math.inf),
    "entropy_weight": (0.0, math.inf),
    "value_weight": (0.0, math.inf),
    "learning_starts": (0, math.inf),
    "sensor": (0.0, math.inf),
    "actuator": (0.0, math.inf),
    "process": (0.0, math.inf),
    "rollout_noise": (0.0, math.inf),
    "rollout_gusts": (0.0, math.inf),
    "level_spread": (0.0, 1.0),
    "wr2l_epsilon": (0.0, math.inf),
    "randomization_level": (0.0, 1.0),
    "training_action_noise": (0.0, 1.0),
    "training_observation_noise": (0.0, math.inf),
}
# name → what it may say
_CHOICES = {
    "nominal": ("noise", "single"),
    "relative": ("none", "process", "all", "step"),
    "divergence": ("kl", "chi2", "tv", "cvar", "wasserstein"),
    "dual": ("exact", "network", "gaussian"),
    "actor_draws": ("one", "all"),
    "draw_precision": ("auto", "float32", "float16", "bfloat16"),
    "wr2l_hessian": ("sensitivity", "zeroth_order"),
}

# What the nominal models of transitions and their duals are made of.
TRANSITION_SETTINGS = (
    *("nominal", "sensor", "actuator", "process", "relative", "rollout_noise", "level_spread"),
    *("rollout_gusts", "draws", "dual", "actor_draws", "draw_precision"),
)
# What curricula read in worlds alone, and the rule that is the default there.
WORLD_CURRICULUM = ("pace_limit", "premium_bound", "calibration_bound", "calibration_radius")
WORLD_RULE = {"rule": "price"}

# What shapes the one program that all members run; every other setting may differ among them.
POPULATION_SETTINGS = (
    *("envs_per_member", "hidden", "batch_size", "buffer_size", "learning_starts"),
    *("updates_per_step", "actor_every", "policy_noise", "noise_clip"),
    *("rollout_size", "epochs", "minibatches"),
    *("curriculum_every", "nominal", "relative", "draws", "divergence", "dual", "actor_draws"),
    *(
        "price_states",
        "bounded_targets",
        "tilt_form",
        "draw_precision",
        "wr2l_every",
        "wr2l_pairs",
        "wr2l_horizon",
        "wr2l_states",
        "wr2l_hessian",
    ),
)


def resolve(
    algorithm: str, changes: Mapping[str, Any], steps: int, uncertainty: str = "transitions"
) -> dict[str, Any]:
    """The preset of an algorithm and the curricula's defaults with the user's changes, checked.

    Settings that belong to the other form of uncertainty are not there.

    Raises:
        InputError: an unknown name, a value of another kind or out of range, sizes that do not fit.
    """
    in_worlds = uncertainty == "worlds"
    settings = preset(algorithm)
    own = WORLD_DEFAULTS if in_worlds else {}
    paced_by = {n: v for n, v in DEFAULTS.items() if in_worlds or n not in WORLD_CURRICULUM}
    if in_worlds:
        settings = {n: v for n, v in settings.items() if n not in TRANSITION_SETTINGS}
    for name, value in changes.items():
        if name not in settings and name not in paced_by and name not in own:
            raise InputError(
                _unknown(algorithm, name, sorted({*settings, *paced_by, *own}), uncertainty)
            )
        if name in settings:
            settings[name] = _like(name, value, settings[name])
    _check_sizes(settings, steps)
    if in_worlds:
        _check_tilt(settings["divergence"])
        settings |= resolved_worlds(changes)
        paced_by = {**paced_by, **WORLD_RULE}
    else:
        _check_uncertainty(settings)
    given = {n: v for n, v in changes.items() if n in paced_by}
    paced = CurriculumSettings.of((WORLD_RULE if in_worlds else {}) | given)
    _check_rule(paced.rule, in_worlds)
    return settings | {n: v for n, v in asdict(paced).items() if n in paced_by}


def _check_rule(rule: str, in_worlds: bool) -> None:
    if (rule in WORLD_RULES) != in_worlds:
        allowed = [r for r in RULES if (r in WORLD_RULES) == in_worlds]
        form = "worlds" if in_worlds else "transitions"
        raise InputError(
            f"rule is {shown(rule)}, which is not for uncertainty={form}; "
            f"choose one of {', '.join(allowed)}"
        )


def _check_tilt(divergence: str) -> None:
    if divergence == "wasserstein":
        allowed = [name for name in _CHOICES["divergence"] if name != divergence]
        raise InputError(
            "divergence is 'wasserstein', and in worlds it is the ball of a tilt, which weighs "
            f"worlds and moves none; choose one of {', '.join(allowed)}, or give "
            "--uncertainty transitions"
        )


def _unknown(algorithm: str, name: str, known: list[str], uncertainty: str) -> str:
    if name in TRANSITION_SETTINGS and uncertainty == "worlds":
        return (
            f"setting {shown(name)} is about noise in every transition; tolerances of worlds are "
            "declared in a file (--worlds), or give --uncertainty transitions"
        )
    if uncertainty != "worlds" and name in {*WORLD_DEFAULTS, *WORLD_CURRICULUM}:
        return f"setting {shown(name)} is about worlds; leave out --uncertainty transitions"
    near = difflib.get_close_matches(str(name), known, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}? It has" if near else "it has"
    return f"{algorithm} has no setting {shown(name)}; {hint} {', '.join(known)}"


def _like(name: str, value: Any, default: Any) -> Any:
    if isinstance(default, list):
        return _layers(name, value)
    if isinstance(default, str):
        return _choice(name, value)
    kind = int if isinstance(default, int) else float
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or kind(value) != value:
        wanted = "a whole number" if kind is int else "a number"
        raise InputError(f"{name} is {shown(value)}; give {wanted} such as {default}")
    low, high = _RANGES.get(name, (0, math.inf))
    if not low <= value <= high or (name not in _RANGES and value == 0):
        allowed = f"between {low:g} and {high:g}" if name in _RANGES else "above 0"
        raise InputError(f"{name} is {shown(value)}; it must be {allowed}")
    return kind(value)


def _choice(name: str, value: Any) -> str:
    if value not in _CHOICES[name]:
        raise InputError(f"{name} is {shown(value)}; choose one of {', '.join(_CHOICES[name])}")
    return value


def _layers(name: str, value: Any) -> list[int]:
    sizes = list(value) if isinstance(value, list | tuple) else [value]
    if not sizes or any(isinstance(s, bool) or not isinstance(s, int) or s < 1 for s in sizes):
        raise InputError(
            f"{name} is {shown(value)}; give sizes of hidden layers such as [256, 256]"
        )
    return sizes


def _check_sizes(settings: Mapping[str, Any], steps: int) -> None:
    envs = settings["envs_per_member"]
    if "buffer_size" in settings:
        _check_replay(settings, envs)
    elif settings["rollout_size"] % (envs * settings["minibatches"]):
        # A rollout is envs × steps, cut into minibatches of equal size.
        raise InputError(
            f"rollout_size is {settings['rollout_size']}; it must be a multiple of envs_per_member "
            f"× minibatches = {envs * settings['minibatches']}"
        )
    if steps < envs:
        raise InputError(f"steps is {steps}, fewer than the {envs} environments of each run")


def _check_uncertainty(settings: Mapping[str, Any]) -> None:
    draws, divergence, dual = (settings[name] for name in ("draws", "divergence", "dual"))
    if settings["nominal"] == "noise" and draws < 2:
        raise InputError(
            f"draws is {draws}; the worst case of one draw is that draw: give at least 2, "
            "or nominal=single for the paper read literally"
        )
    if dual != "exact" and divergence != "kl":
        raise InputError(
            f"dual is {shown(dual)}, which is about the KL ball, and divergence "
            f"{shown(divergence)}; use dual=exact for any other divergence"
        )


def _check_replay(settings: Mapping[str, Any], envs: int) -> None:
    if settings["batch_size"] > settings["buffer_size"]:
        raise InputError(
            f"batch_size {settings['batch_size']} is larger than buffer_size "
            f"{settings['buffer_size']}; make the buffer larger or the batch smaller"
        )
    if settings["buffer_size"] < envs:
        raise InputError(f"buffer_size {settings['buffer_size']} is below envs_per_member {envs}")
    updates = envs * settings["updates_per_step"]
    if updates != round(updates) or updates < 1:
        raise InputError(
            f"envs_per_member × updates_per_step is {updates:g}, the updates of one iteration; "
            "it must be a whole number of at least 1"
        )
