"""From what a user names to a policy: `my_module:function`, or a file of Stable-Baselines3.

Weights are read without running code. Files that the user has named with `--trust` are given to
Stable-Baselines3 itself, which loads everything in them, pickles too.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from drspcrl import named
from drspcrl.display import brief
from drspcrl.envs import make
from drspcrl.errors import InputError
from drspcrl.evaluation.actor import Policy as AnyPolicy
from drspcrl.evaluation.folders import load_function
from drspcrl.evaluation.foreign.stable_baselines import Normaliser, policy_of, read_saved
from drspcrl.evaluation.foreign.tensors import read_npz
from drspcrl.files import read_bytes
from drspcrl.policy import Policy

SUFFIX = ".zip"
_LARGEST = 2**29


@dataclass(frozen=True)
class Foreign:
    """A policy from elsewhere, and where it came from.

    Attributes:
        policy: What acts.
        source: `my_module:function`, or a file's name.
        what: What it is, in words for a report.
        sha256: Of the file, or of the function's module; None where there is neither.
        weights: The policy as this library saves it, where it is a plain network.
    """

    policy: AnyPolicy
    source: str
    what: str
    sha256: str | None
    weights: Policy | None = None


def is_file(name: str) -> bool:
    """Whether a name given as a policy is a file's, and no `module:function`."""
    return name.lower().endswith(SUFFIX) or Path(name).is_file()


def load_foreign(
    policy: "str | Path | AnyPolicy",
    env: str | Callable[[], gymnasium.Env],
    *,
    normaliser: Path | None = None,
    trust: Sequence[str] | None = None,
) -> Foreign:
    """The policy that a user names, or gives, for a task.

    Args:
        policy: `my_module:function`, a file of `model.save`, or the policy itself.
        env: The task that it is for.
        normaliser: A file with the statistics of its observations: of `VecNormalize.save` (a
            pickle, so it has to be trusted), or an .npz with `mean` and `var`.
        trust: Files whose code may run; () for all that are named here.

    Raises:
        InputError: nothing of that name, or what it holds is no policy for this task.
    """
    if not isinstance(policy, str | Path):
        return Foreign(policy, named.name_of(policy) or _kind(policy), "a Python function", None)
    if not is_file(str(policy)):
        if normaliser is not None:
            raise InputError(
                "--normalizer is for files of Stable-Baselines3; a function normalises by itself"
            )
        function = load_function(str(policy))
        return Foreign(function, str(policy), "a Python function", _module_digest(function))
    path = Path(policy)
    try:
        return _from_file(path, env, normaliser, trust)
    except InputError as error:
        raise InputError(f"--policy {brief(path, 200)}: {error}") from None


def _kind(policy: Any) -> str:
    return type(policy).__name__


def _module_digest(function: Any) -> str | None:
    """Of the file that a function is written in; what else it reads is its own affair."""
    try:
        return _sha256(read_bytes(Path(inspect.getfile(inspect.unwrap(function))), follow=True))
    except (TypeError, OSError, InputError):
        return None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _from_file(
    path: Path,
    env: str | Callable[[], gymnasium.Env],
    normaliser: Path | None,
    trust: Sequence[str] | None,
) -> Foreign:
    content = _content(path)
    seen = content if normaliser is None else content + _content(normaliser, "VecNormalize")
    statistics = None if normaliser is None else _statistics(normaliser, trust)
    observations, low, high = _sizes(env)
    if _trusts(path, trust):
        return replace(_trusted(path, content, statistics), sha256=_sha256(seen))
    saved = read_saved(content)
    weights = policy_of(saved, low, high, statistics)
    if observations != (weights.observation_size,):
        raise InputError(
            f"it takes {weights.observation_size} observations, and {brief(env, 80)} gives them in "
            f"the shape {observations}; give the --env that it was trained for"
        )
    family = "TD3 or DDPG" if saved.learner == "TD3" else saved.learner
    what = f"{family} of Stable-Baselines3, weights only"
    if statistics is not None:
        what += ", observations normalised"
    return Foreign(weights, path.name, what, _sha256(seen), weights)


def _content(path: Path, saved_by: str = "model") -> bytes:
    try:
        return read_bytes(path, follow=True, most=_LARGEST)
    except FileNotFoundError:
        raise InputError(
            f"there is no file {path}; give one that {saved_by}.save of Stable-Baselines3 wrote"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _trusts(path: Path, trust: Sequence[str] | None) -> bool:
    """Whether code in this file may run: the user said so, for it or for all that is named."""
    return trust is not None and (not trust or str(path) in trust)


def _trusted(path: Path, content: bytes, statistics: Normaliser | None) -> Foreign:
    from drspcrl.evaluation.foreign.tensors import open_archive, read_member
    from drspcrl.reading import parse_json

    data = parse_json(read_member(open_archive(content), "data"))
    model, learner = load_model(path, data if isinstance(data, dict) else {})
    policy = model if statistics is None else _Normalised(model, statistics)
    what = f"{learner} of Stable-Baselines3"
    return Foreign(policy, path.name, what, None)


class _Normalised:
    """A model that sees normalised observations."""

    def __init__(self, model: Any, normaliser: Normaliser):
        self._model, self._normaliser = model, normaliser

    def predict(self, observation: np.ndarray, *, deterministic: bool, **memory: Any) -> Any:
        """Actions, and the state of a policy with memory."""
        seen = self._normaliser(observation)
        return self._model.predict(seen, deterministic=deterministic, **memory)


def _statistics(path: Path, trust: Sequence[str] | None) -> Normaliser | None:
    if path.suffix == ".npz":
        return _from_npz(path)
    if not _trusts(path, trust):
        raise InputError(
            f"--normalizer {path} is a pickle, which runs code when it is loaded: if you trust it, "
            f"say --trust {path}; or give the numbers alone, numpy.savez('normalizer.npz', "
            "mean=venv.obs_rms.mean, var=venv.obs_rms.var)"
        )
    try:
        return load_normaliser(path)
    except InputError as error:
        raise InputError(f"--normalizer {path}: {error}") from None


def _from_npz(path: Path) -> Normaliser:
    try:
        found = read_npz(_content(path, "VecNormalize"), ("mean", "var", "epsilon", "clip"))
    except InputError as error:
        raise InputError(f"--normalizer {path} cannot be read: {error}") from None
    numbers = {name: array.astype(np.float64) for name, array in found.items()}
    if not {"mean", "var"} <= numbers.keys():
        raise InputError(
            f"--normalizer {path} holds {', '.join(numbers) or 'none'} of mean, var, epsilon and "
            "clip, where mean and var are needed"
        )
    extra = {name: numbers[name] for name in ("epsilon", "clip") if name in numbers}
    sound = all(array.shape == () and array > 0 for array in extra.values())
    finite = all(np.isfinite(numbers[name]).all() for name in ("mean", "var"))
    if not sound or not finite or np.any(numbers["var"] < 0):
        raise InputError(
            f"--normalizer {path} has numbers that normalise nothing; mean and var must be finite, "
            "var at least 0, and epsilon and clip single numbers above 0"
        )
    return Normaliser(
        numbers["mean"], numbers["var"], **{name: float(one) for name, one in extra.items()}
    )


def _sizes(
    env: str | Callable[[], gymnasium.Env],
) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
    """The shape of a task's observations, and the bounds of its actions."""
    batch = make(env, threads=1)
    try:
        space = batch.action_space
        return tuple(batch.observation_space.shape), np.asarray(space.low), np.asarray(space.high)
    finally:
        batch.close()


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
