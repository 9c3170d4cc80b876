"""Files as Stable-Baselines3's `model.save` writes them, made without it and without torch."""

import io
import json
import pickle
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

BOX = "<class 'gymnasium.spaces.box.Box'>"


class _Storage:
    def __init__(self, key: str, count: int):
        self.key, self.count = key, count


class _Tensor:
    def __init__(self, key: str, array: np.ndarray):
        self.key, self.array = key, array


def _rebuild_tensor_v2(*_: Any) -> None: ...


class FloatStorage: ...


_rebuild_tensor_v2.__module__ = "torch._utils"
FloatStorage.__module__ = "torch"


class _Pickler(pickle.Pickler):
    """Writes tensors as torch does: a function's name, a storage by its key, shape, strides."""

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, _Storage):
            return "storage", FloatStorage, obj.key, "cpu", obj.count
        return None

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, _Tensor):
            return NotImplemented
        array = obj.array
        strides = tuple(step // array.itemsize for step in array.strides)
        storage = _Storage(obj.key, array.size)
        return _rebuild_tensor_v2, (storage, 0, array.shape, strides, False, OrderedDict())


@contextmanager
def _named_like_torch():
    modules = {"torch": ModuleType("torch"), "torch._utils": ModuleType("torch._utils")}
    modules["torch"].FloatStorage = FloatStorage  # pyright: ignore
    modules["torch._utils"]._rebuild_tensor_v2 = _rebuild_tensor_v2  # pyright: ignore
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def torch_file(tensors: Mapping[str, np.ndarray]) -> bytes:
    """What `torch.save(state_dict)` writes."""
    arrays = {name: np.asarray(array, "<f4") for name, array in tensors.items()}
    state = OrderedDict((n, _Tensor(str(i), a)) for i, (n, a) in enumerate(arrays.items()))
    program = io.BytesIO()
    with _named_like_torch():
        _Pickler(program, protocol=2).dump(state)
    return torch_archive(program.getvalue(), [array.tobytes() for array in arrays.values()])


def torch_archive(program: bytes, storages: list[bytes]) -> bytes:
    """The archive around a program that describes tensors."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("archive/data.pkl", program)
        archive.writestr("archive/byteorder", "little")
        for key, storage in enumerate(storages):
            archive.writestr(f"archive/data/{key}", storage)
    return content.getvalue()


def save_model(
    path: Path, tensors: Mapping[str, np.ndarray], data: Mapping[str, Any] | None = None
) -> Path:
    """What `model.save` writes, of what is read here."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "data", json.dumps({"use_sde": False, "policy_kwargs": {}, **(data or {})})
        )
        archive.writestr("policy.pth", torch_file(tensors))
    return path


def linear(
    generator: np.random.Generator, name: str, inputs: int, outputs: int
) -> dict[str, np.ndarray]:
    """A linear layer's tensors."""
    weight = generator.standard_normal((outputs, inputs)) / np.sqrt(inputs)
    bias = 0.1 * generator.standard_normal(outputs)
    return {f"{name}.weight": weight.astype("f4"), f"{name}.bias": bias.astype("f4")}


def ppo(observations: int, actions: int, hidden: tuple[int, ...] = (8, 6), seed: int = 0) -> dict:
    """The tensors of PPO's MlpPolicy."""
    draw = np.random.default_rng(seed)
    tensors = {"log_std": np.full(actions, -0.5, "f4")}
    for net in ("policy_net", "value_net"):
        sizes = (observations, *hidden)
        for i, (inputs, outputs) in enumerate(pairwise(sizes)):
            tensors |= linear(draw, f"mlp_extractor.{net}.{2 * i}", inputs, outputs)
    last = hidden[-1] if hidden else observations
    return tensors | linear(draw, "action_net", last, actions) | linear(draw, "value_net", last, 1)


def sac(observations: int, actions: int, hidden: int = 8) -> dict:
    """The tensors of SAC's MlpPolicy with one hidden layer."""
    draw = np.random.default_rng(1)
    tensors = linear(draw, "actor.latent_pi.0", observations, hidden)
    for head in ("mu", "log_std"):
        tensors |= linear(draw, f"actor.{head}", hidden, actions)
    return tensors | linear(draw, "critic.qf0.0", observations + actions, 1)


def td3(observations: int, actions: int, hidden: int = 8) -> dict:
    """The tensors of TD3's and DDPG's MlpPolicy with one hidden layer."""
    draw = np.random.default_rng(2)
    tensors: dict = {}
    for actor in ("actor", "actor_target"):
        tensors |= linear(draw, f"{actor}.mu.0", observations, hidden)
        tensors |= linear(draw, f"{actor}.mu.2", hidden, actions)
    return tensors


def box(low: float, high: float, size: int) -> dict[str, Any]:
    """What stands beside the pickle of a Box in the JSON."""
    numbers = {"low": str(np.full(size, low, "f4")), "high": str(np.full(size, high, "f4"))}
    return {":type:": BOX, ":serialized:": "", "_shape": [size], **numbers}
