"""C: one C99 header that needs nothing but math.h, for whatever runs the controller."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from drspcrl.export.source import Source, mean_layers, middle_and_half
from drspcrl.policy import Policy

_PER_LINE = 6
_SHOWN, _LISTED = 200, 30


def encode(source: Source) -> tuple[bytes, str]:
    """The header's bytes, and its size and operations in words."""
    policy = source.policy
    layers = mean_layers(policy)
    sections = [
        _comment(source),
        "#ifndef DRSPCRL_POLICY_H\n#define DRSPCRL_POLICY_H\n\n#include <math.h>",
        _sizes(source),
        _arrays(policy, layers),
        _DENSE,
        _step(policy, layers),
        "#endif",
    ]
    content = ("\n\n".join(sections) + "\n").encode("ascii")
    constants = sum(kernel.size + bias.size for kernel, bias in layers)
    constants += 2 * policy.observation_size + 4 * policy.action_size
    multiply_adds = sum(kernel.size for kernel, _ in layers)
    work = 4 * sum(_buffers(policy, layers))
    return content, (
        f"{4 * constants:,} bytes of constants, {multiply_adds:,} multiply-adds per step, "
        f"{work:,} bytes of stack ({len(content):,} bytes of source)"
    )


def _comment(source: Source) -> str:
    """What the policy is, in a comment that nothing from a run folder can end."""
    known = source.metadata
    shown = ("task", "algorithm", "method", "seed", "steps", "made_by")
    lines = [f"{name}: {harmless(known[name])}" for name in shown if name in known]
    lines += _training(known)
    for what in ("observation", "action"):
        names = known.get(f"{what}_names")
        if isinstance(names, list):
            lines += [f"{what}[{i}]: {harmless(name)}" for i, name in enumerate(names)]
    body = "".join(f" * {line}\n" for line in lines)
    return f"/* A policy for policy_step(observation, action).\n *\n{body} */"


def _training(known: Mapping[str, Any]) -> list[str]:
    """What the policy was trained against, and how far."""
    training = known.get("training")
    if not isinstance(training, Mapping):
        return []
    names = ("uncertainty", "radius", "radius_budget")
    lines = [f"training {name}: {harmless(training[name])}" for name in names if name in training]
    worlds = training.get("worlds")
    declared = worlds.items() if isinstance(worlds, Mapping) else ()
    lines += [f"worlds at radius 1, {harmless(k)}: {_listed(v)}" for k, v in declared if v]
    return lines[:_LISTED]


def _listed(value: Any) -> str:
    """A table of tolerances as `mass 0.2, friction 0.2`, anything else as it is."""
    pairs = value.items() if isinstance(value, Mapping) else ()
    return harmless(", ".join(f"{k} {v}" for k, v in pairs) or value)


def harmless(value: Any) -> str:
    """Text that a comment may hold: no `*`, so that it cannot end there, and no trigraphs."""
    return re.sub(r"[^A-Za-z0-9 _.,:;=+()\[\]/<>@#-]", "_", str(value))[:_SHOWN]


def _sizes(source: Source) -> str:
    policy, period = source.policy, source.metadata.get("control_period")
    lines = [
        f"#define POLICY_OBSERVATION_SIZE {policy.observation_size}",
        f"#define POLICY_ACTION_SIZE {policy.action_size}",
    ]
    if isinstance(period, float):
        lines.append(f"#define POLICY_CONTROL_PERIOD {period!r} /* seconds */")
    return "\n".join(lines)


def _arrays(policy: Policy, layers: Iterable[tuple[np.ndarray, np.ndarray]]) -> str:
    middle, half = middle_and_half(policy)
    arrays = {
        "observation_mean": policy.observation_mean,
        "observation_scale": policy.observation_scale,
        "action_low": policy.action_low,
        "action_high": policy.action_high,
        "action_middle": middle,
        "action_half_range": half,
    }
    for i, (kernel, bias) in enumerate(layers):
        # One row per output, so that the inner loop reads memory in order.
        arrays |= {f"kernel_{i}": kernel.T.ravel(), f"bias_{i}": bias}
    return "\n".join(_array(name, values) for name, values in arrays.items())


def _array(name: str, values: np.ndarray) -> str:
    numbers = [literal(value) for value in values]
    rows = [", ".join(numbers[i : i + _PER_LINE]) for i in range(0, len(numbers), _PER_LINE)]
    return f"static const float policy_{name}[{len(numbers)}] = {{\n    " + (
        ",\n    ".join(rows) + "\n};"
    )


def literal(value: np.floating) -> str:
    """The shortest decimal that reads back as the same single-precision number."""
    return f"{np.float32(value)!s}f"


_DENSE = """\
/* out = kernel * in + bias; four partial sums, which rounds less and waits less than one. */
static inline void policy_dense(const float *kernel, const float *bias, int inputs, int outputs,
                                const float *in, float *out)
{
    for (int j = 0; j < outputs; ++j, kernel += inputs) {
        float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
        int i = 0;
        for (; i + 3 < inputs; i += 4) {
            a += kernel[i] * in[i];
            b += kernel[i + 1] * in[i + 1];
            c += kernel[i + 2] * in[i + 2];
            d += kernel[i + 3] * in[i + 3];
        }
        for (; i < inputs; ++i) {
            a += kernel[i] * in[i];
        }
        out[j] = ((a + b) + (c + d)) + bias[j];
    }
}

/* Comparisons are written so that a NaN stays one instead of becoming a bound. */
static inline float policy_clip(float x, float low, float high)
{
    return x < low ? low : (x > high ? high : x);
}"""


def _buffers(policy: Policy, layers: list[tuple[np.ndarray, np.ndarray]]) -> tuple[int, int]:
    """Lengths of the two arrays that layers read from and write to in turns."""
    widths = [policy.observation_size, *(bias.size for _, bias in layers)]
    return max(widths[0::2]), max(widths[1::2])


def _step(policy: Policy, layers: list[tuple[np.ndarray, np.ndarray]]) -> str:
    even, odd = _buffers(policy, layers)
    lines = [
        "/* The action for one observation; keeps nothing from one call to the next. */",
        "static inline void policy_step(const float *observation, float *action)",
        "{",
        f"    float even[{even}], odd[{odd}];",
        *_normalise(policy),
    ]
    here, there = "even", "odd"
    for i, (kernel, _) in enumerate(layers):
        inputs, outputs = kernel.shape
        sizes = f"policy_kernel_{i}, policy_bias_{i}, {inputs}, {outputs}"
        lines.append(f"    policy_dense({sizes}, {here}, {there});")
        here, there = there, here
        if i < len(layers) - 1:
            relu = f"{here}[i] < 0.0f ? 0.0f : {here}[i]"
            active = relu if policy.activation == "relu" else f"tanhf({here}[i])"
            lines += _loop(outputs, f"{here}[i] = {active};")
    return "\n".join([*lines, *_squash(policy, here), "}"])


def _normalise(policy: Policy) -> list[str]:
    difference = "(observation[i] - policy_observation_mean[i])"
    body = [f"even[i] = {difference} / policy_observation_scale[i];"]
    clip = np.float32(policy.observation_clip)
    if np.isfinite(clip):
        body.append(f"even[i] = policy_clip(even[i], {literal(-clip)}, {literal(clip)});")
    return _loop(policy.observation_size, *body)


def _squash(policy: Policy, output: str) -> list[str]:
    clipped = f"policy_clip({output}[i], -1.0f, 1.0f)"
    unit = clipped if policy.kind == "gaussian" else f"tanhf({output}[i])"
    return _loop(
        policy.action_size,
        f"const float unit = {unit};",
        "action[i] = policy_clip(policy_action_middle[i] + policy_action_half_range[i] * unit,",
        "                        policy_action_low[i], policy_action_high[i]);",
    )


def _loop(count: int, *body: str) -> list[str]:
    inner = [f"        {line}" for line in body]
    return [f"    for (int i = 0; i < {count}; ++i) {{", *inner, "    }"]
