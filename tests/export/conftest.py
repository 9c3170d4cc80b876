"""Policies as the learners make them, with weights of the size that training leaves."""

import json
from itertools import pairwise

import numpy as np
import pytest

from drspcrl.export import read_source
from drspcrl.policy import Policy, save_policy

LEARNERS = {"sac": "tanh_gaussian", "ddpg": "tanh", "ppo": "gaussian"}  # td3's is ddpg's
OBSERVATIONS, ACTIONS = 17, 6  # HalfCheetah's


def made(learner: str, width: int = 64, seed: int = 0) -> Policy:
    """A policy with a normaliser and a clip where the learner has them, and an uneven range."""
    rng = np.random.default_rng(seed)
    outputs = 2 * ACTIONS if learner == "sac" else ACTIONS
    sizes = [OBSERVATIONS, width, width, outputs]
    pairs = pairwise(sizes)
    normal = learner == "ppo"

    def numbers(*shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * rng.normal(size=shape)).astype(np.float32)

    return Policy(
        kind=LEARNERS[learner],  # pyright: ignore[reportArgumentType]
        activation="tanh" if normal else "relu",
        layers=tuple((numbers(i, o, scale=i**-0.5), numbers(o, scale=0.1)) for i, o in pairs),
        action_low=np.linspace(-1.0, -0.4, ACTIONS).astype(np.float32),
        action_high=np.linspace(0.4, 0.9, ACTIONS).astype(np.float32),
        observation_mean=numbers(OBSERVATIONS) * normal,
        observation_scale=np.exp(numbers(OBSERVATIONS) * normal),
        observation_clip=2.0 if normal else np.inf,
        noise_log_std=np.zeros(ACTIONS, np.float32),
    )


def observations_of(policy: Policy, count: int = 10_000) -> np.ndarray:
    """Observations spread as the normaliser expects them, some of them far out."""
    rng = np.random.default_rng(1)
    spread = rng.standard_normal((count, policy.observation_size), np.float32)
    return policy.observation_mean + policy.observation_scale * spread


def extreme_observations(policy: Policy) -> np.ndarray:
    """Observations with one number in each that no sensor should give."""
    values = [-1e30, 1e30, -np.inf, np.inf, np.nan]
    observations = np.repeat(observations_of(policy, 100), len(values), axis=0)
    wrong = np.random.default_rng(2).integers(0, policy.observation_size, len(observations))
    observations[np.arange(len(observations)), wrong] = np.tile(values, 100)
    return observations


def exact(policy: Policy, observations: np.ndarray) -> np.ndarray:
    """The deterministic action in double precision, written down once more."""
    x = (observations - policy.observation_mean.astype(float)) / policy.observation_scale
    x = np.clip(x, -policy.observation_clip, policy.observation_clip)
    *hidden, (kernel, bias) = [(k.astype(float), b.astype(float)) for k, b in policy.layers]
    for k, b in hidden:
        x = np.maximum(x @ k + b, 0.0) if policy.activation == "relu" else np.tanh(x @ k + b)
    x = (x @ kernel + bias)[:, : policy.action_size]
    unit = np.clip(x, -1.0, 1.0) if policy.kind == "gaussian" else np.tanh(x)
    low, high = policy.action_low.astype(float), policy.action_high.astype(float)
    return np.clip((high + low) / 2 + (high - low) / 2 * unit, low, high)


@pytest.fixture(params=LEARNERS)
def learner(request) -> str:
    return request.param


@pytest.fixture
def policy(learner) -> Policy:
    return made(learner)


@pytest.fixture
def write_run(tmp_path):
    """Makes a run folder of a policy; what is given replaces what run.json and config.yaml say."""

    def write(policy: Policy, name: str = "HalfCheetah-sac-self_paced-s0", **changes):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        identity = {"env": "HalfCheetah", "algorithm": "sac", "method": "self_paced", "seed": 0}
        settings = {"nominal": "noise", "sensor": 0.2, "divergence": "kl"}
        told = {"format_version": 1, **identity, "steps": 1000, "settings": settings} | changes
        (folder / "run.json").write_text(json.dumps(told))
        (folder / "config.yaml").write_text(json.dumps(told))
        (folder / "metrics.csv").write_text("step,epsilon\n500,0.1\n1000,0.25\n")
        save_policy(folder / "policy.safetensors", policy)
        return folder

    return write


@pytest.fixture
def source(policy, write_run):
    return read_source(write_run(policy))
