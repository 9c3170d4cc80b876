"""What Stable-Baselines3 itself loads: everything in its files, pickles too, which run code.

Only for files that the user has named with `--trust`.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from drspcrl.display import brief
from drspcrl.errors import InputError
from drspcrl.foreign.stable_baselines import Normaliser

# An entry of `data` that only this learner has → where it is.
_LEARNERS = (
    ("top_quantiles_to_drop_per_net", "sb3_contrib", "TQC"),
    ("target_noise_clip", "stable_baselines3", "TD3"),  # DDPG is TD3 with other numbers
    ("target_entropy", "stable_baselines3", "SAC"),
    ("clip_range", "stable_baselines3", "PPO"),
    ("gae_lambda", "stable_baselines3", "A2C"),
)


def load_model(path: Path, data: Mapping[str, Any]) -> tuple[Any, str]:
    """A model with `predict`, and its learner's name; runs the code in the file.

    Args:
        path: The file.
        data: Its JSON, which tells the learner.

    Raises:
        InputError: the library is not installed, or cannot load it.
    """
    for entry, library, learner in _LEARNERS:
        if entry in data:
            return _load(path, library, learner), learner
    raise InputError(
        "nothing in it tells its learner; load it in a function of yours, my_module:function"
    )


def _load(path: Path, library: str, learner: str) -> Any:
    found = getattr(_library(library), learner)
    try:
        return found.load(path, device="cpu")
    except Exception as error:  # whatever the code in the file does
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{library} cannot load it as {learner}: {brief(reason)}") from error


def load_normaliser(path: Path) -> Normaliser | None:
    """The statistics that `VecNormalize.save` wrote, None for rewards' alone; runs its code.

    Raises:
        InputError: the library is not installed, or it is another file.
    """
    _library("stable_baselines3")
    try:
        saved = import_module("stable_baselines3.common.save_util").load_from_pkl(path)
        if not saved.norm_obs:
            return None
        statistics = saved.obs_rms
        numbers = float(saved.epsilon), float(saved.clip_obs)
        return Normaliser(np.asarray(statistics.mean), np.asarray(statistics.var), *numbers)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"it is no file of VecNormalize.save: {brief(reason)}") from error


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        package = name.replace("_", "-")
        raise InputError(
            f"--trust loads it with {package}, which is not installed here ({brief(error)}): "
            f"pip install {package}"
        ) from error
