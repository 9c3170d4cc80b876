"""NumPy: the arrays and a JSON text, to be loaded without pickle and evaluated in ten lines."""

import io
import json
from typing import Any

import numpy as np

from drspcrl.export.source import Source, mean_layers


def encode(source: Source) -> tuple[bytes, str]:
    """The file's bytes, and what it needs in words."""
    policy = source.policy
    layers = mean_layers(policy)
    arrays: dict[str, Any] = {
        "observation_mean": policy.observation_mean,
        "observation_scale": policy.observation_scale,
        "observation_clip": np.array(policy.observation_clip, np.float32),
        "action_low": policy.action_low,
        "action_high": policy.action_high,
        "metadata": np.array(json.dumps(source.metadata, allow_nan=False, ensure_ascii=False)),
    }
    for i, (kernel, bias) in enumerate(layers):
        arrays |= {f"kernel_{i}": kernel, f"bias_{i}": bias}
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue(), (
        f"{len(layers)} layers, {policy.observation_size} observations → {policy.action_size} "
        f"actions, {len(content.getvalue()):,} bytes"
    )
