"""Run folders with small policies of Hopper, to be evaluated."""

import json
from pathlib import Path

import numpy as np

from drspcrl.policy import Policy, save_policy


def hopper_policy(seed: int) -> Policy:
    random = np.random.default_rng(seed)
    sizes = [(11, 32), (32, 3)]
    return Policy(
        kind="tanh",
        activation="relu",
        layers=tuple(
            (random.normal(size=s).astype(np.float32), np.zeros(s[1], np.float32)) for s in sizes
        ),
        action_low=-np.ones(3, np.float32),
        action_high=np.ones(3, np.float32),
        observation_mean=np.zeros(11, np.float32),
        observation_scale=np.ones(11, np.float32),
        observation_clip=10.0,
        noise_log_std=np.full(3, -1.0, np.float32),
    )


def make_run(root: Path, seed: int, env: str = "Hopper", policy: Policy | None = None) -> Path:
    folder = root / f"{env}-sac-vanilla-s{seed}"
    folder.mkdir(parents=True)
    identity = {"env": env, "algorithm": "sac", "method": "vanilla", "seed": seed}
    (folder / "run.json").write_text(json.dumps({"format_version": 1, **identity}))
    (folder / "config.yaml").write_text(json.dumps(identity))
    save_policy(folder / "policy.safetensors", policy or hopper_policy(seed))
    return folder


def statuses(results):
    return {result.path.name: result.status for result in results}
