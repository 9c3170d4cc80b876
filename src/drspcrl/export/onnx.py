"""ONNX: normaliser, network, squashing and action range as one graph.

    observation [batch, O] → normalised → layers → tanh or clip → range → action [batch, A]

All in single precision and in the order of `Policy.__call__`. The operators are old and few, so
that every runtime knows them.
"""

import json
from importlib import import_module
from typing import Any

import numpy as np

from drspcrl.errors import InputError
from drspcrl.export.source import Source, mean_layers, middle_and_half
from drspcrl.policy import Policy

OPSET = 13
IR_VERSION = 8


def encode(source: Source) -> tuple[bytes, str]:
    """The model's bytes, and what it needs in words.

    Raises:
        InputError: The package `onnx` is not installed.
    """
    onnx = _onnx()
    model = _model(onnx, source)
    onnx.checker.check_model(model, full_check=True)
    content = model.SerializeToString()
    policy = source.policy
    return content, (
        f"observation [batch, {policy.observation_size}] → action [batch, {policy.action_size}], "
        f"float32, opset {OPSET}, {len(content):,} bytes"
    )


def _onnx() -> Any:
    try:
        import_module("onnx.checker")
        return import_module("onnx")
    except ImportError:
        raise InputError(
            "the package onnx is not installed, which writes .onnx files; "
            "pip install 'drspcrl[export]'"
        ) from None


def _model(onnx: Any, source: Source) -> Any:
    policy, helper = source.policy, onnx.helper
    graph = _Graph(onnx)
    graph.add("Identity", _act(graph, policy), name="action")
    single = onnx.TensorProto.FLOAT
    made = helper.make_graph(
        graph.nodes,
        "policy",
        [helper.make_tensor_value_info("observation", single, ["batch", policy.observation_size])],
        [helper.make_tensor_value_info("action", single, ["batch", policy.action_size])],
        graph.constants,
    )
    model = helper.make_model(
        made,
        producer_name="drspcrl",
        producer_version=str(source.metadata["made_by"]).removeprefix("drspcrl "),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    helper.set_model_props(model, {key: _text(value) for key, value in source.metadata.items()})
    return model


def _text(value: Any) -> str:
    """Metadata are strings: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, allow_nan=False)


def _act(graph: "_Graph", policy: Policy) -> str:
    """The nodes from observation to action, in the order of `Policy.__call__`."""
    x = graph.add("Sub", "observation", graph.constant("observation_mean", policy.observation_mean))
    x = graph.add("Div", x, graph.constant("observation_scale", policy.observation_scale))
    clip = np.float32(policy.observation_clip)
    if np.isfinite(clip):
        low, high = graph.constant("clip_low", -clip), graph.constant("clip_high", clip)
        x = graph.add("Clip", x, low, high)
    *hidden, last = mean_layers(policy)
    for i, layer in enumerate(hidden):
        x = graph.dense(x, i, *layer)
        x = graph.add("Relu" if policy.activation == "relu" else "Tanh", x)
    x = graph.dense(x, len(hidden), *last)
    if policy.kind == "gaussian":
        low, high = graph.constant("unit_low", -1.0), graph.constant("unit_high", 1.0)
        x = graph.add("Clip", x, low, high)
    else:
        x = graph.add("Tanh", x)
    middle, half = middle_and_half(policy)
    x = graph.add("Mul", x, graph.constant("action_half_range", half))
    x = graph.add("Add", x, graph.constant("action_middle", middle))
    x = graph.add("Max", x, graph.constant("action_low", policy.action_low))
    return graph.add("Min", x, graph.constant("action_high", policy.action_high))


class _Graph:
    """Nodes and constants as they are added; each node's output is named after it."""

    def __init__(self, onnx: Any):
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        """A tensor that belongs to the model."""
        array = np.ascontiguousarray(value, np.float32).reshape(np.shape(value))
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, *inputs: str, name: str = "") -> str:
        """A node; returns the name of its output."""
        name = name or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operator, inputs, [name], name=name))
        return name

    def dense(self, x: str, index: int, kernel: np.ndarray, bias: np.ndarray) -> str:
        """One affine layer."""
        weights = self.constant(f"layers.{index}.kernel", kernel)
        return self.add("Gemm", x, weights, self.constant(f"layers.{index}.bias", bias))
