"""From an algorithm's name and settings to its learner, its loop and its policies."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from drspcrl.learners.ddpg import DDPG, DDPGHyper
from drspcrl.learners.ppo import PPO
from drspcrl.learners.sac import SAC, SACHyper
from drspcrl.learners.surrogate import PPOHyper
from drspcrl.learners.td3 import TD3
from drspcrl.learners.uncertainty import Plain, Uncertainty
from drspcrl.nominal import Strength
from drspcrl.policy import Policy
from drspcrl.trainer.collector import Collector
from drspcrl.trainer.loop import Device, Loop, stacked_hyper
from drspcrl.trainer.offpolicy import OffPolicyLoop
from drspcrl.trainer.onpolicy import OnPolicyLoop
from drspcrl.trainer.uncertainty import no_uncertainty, robust_backup

TD3_CHOICES = ("actor_every", "policy_noise", "noise_clip")


def make_loop(
    algorithm: str,
    settings: dict[str, Any],
    collector: Collector,
    seeds: Sequence[int],
    steps: int,
    device: Device,
    memory: Device,
    uncertainty: Strength | None = None,
    member_settings: Sequence[Mapping[str, Any]] | None = None,
    worlds: tuple[Uncertainty, Any] | None = None,
) -> Loop:
    """A population at the start of its training.

    Args:
        algorithm: its name.
        settings: resolved settings, see `drspcrl.trainer.settings`.
        collector: the environments.
        seeds: a seed for each member.
        steps: length of the run.
        device: where to learn.
        memory: where replay lives.
        uncertainty: what the members are trained against, [M] each, see
            `drspcrl.trainer.uncertainty`; without it the learners are the plain ones.
        member_settings: the settings of each member, where they differ in a number.
        worlds: learning in worlds, and the numbers in which members differ there, see
            `drspcrl.trainer.worlds`.
    """
    members, hidden = len(seeds), tuple(settings["hidden"])
    each = member_settings or [settings] * members
    against: Any = no_uncertainty(members) if uncertainty is None else uncertainty
    form: Uncertainty = Plain()
    if worlds is not None:
        form, against = worlds
    elif uncertainty is not None:
        noisy = any(own.get("rollout_noise", 1.0) for own in each)
        form = robust_backup(settings, uncertainty, device.platform, noisy)
    if algorithm == "ppo":
        learner = PPO(hidden, settings["epochs"], settings["minibatches"], form)
        hyper = stacked_hyper(PPOHyper, each)
        return OnPolicyLoop(learner, hyper, collector, seeds, settings, steps, device, against)
    learner, kind = {
        "sac": lambda: (SAC(hidden, form), SACHyper),
        "ddpg": lambda: (DDPG(hidden, settings["actor_every"], form), DDPGHyper),
        "td3": lambda: (
            TD3(hidden, uncertainty=form, **{name: settings[name] for name in TD3_CHOICES}),
            DDPGHyper,
        ),
    }[algorithm]()
    hyper = stacked_hyper(kind, each)
    return OffPolicyLoop(learner, hyper, collector, seeds, settings, steps, device, memory, against)


def policy_parts(algorithm: str, state: Any) -> Any:
    """The part of a population's state that its policies are made of, to be copied to the host."""
    return (state.parameters, state.observations) if algorithm == "ppo" else state.actor


def as_policy(
    algorithm: str, parts: Any, settings: dict[str, Any], low: np.ndarray, high: np.ndarray
) -> Policy:
    """One member's `policy_parts`, as NumPy arrays, as a policy that stands alone."""
    inputs = (parts[0].actor if algorithm == "ppo" else parts)[0].kernel.shape[0]
    identity = {
        "observation_mean": np.zeros(inputs, np.float32),
        "observation_scale": np.ones(inputs, np.float32),
        "observation_clip": float("inf"),
        "action_low": low,
        "action_high": high,
    }
    if algorithm == "sac":
        unused = np.zeros_like(low)
        return Policy("tanh_gaussian", "relu", _layers(parts), noise_log_std=unused, **identity)
    if algorithm in ("ddpg", "td3"):
        # A policy without exploration has the smallest noise that a logarithm can say.
        noise = np.full_like(low, np.log(max(settings["exploration"], 1e-30)))
        return Policy("tanh", "relu", _layers(parts), noise_log_std=noise, **identity)
    parameters, moments = parts
    return _ppo_policy(parameters, moments, identity)


def _ppo_policy(parameters: Any, moments: Any, identity: dict[str, Any]) -> Policy:
    from drspcrl.learners.normalization import CLIP, scale

    normaliser = {
        "observation_mean": np.asarray(moments.mean),
        "observation_scale": np.asarray(scale(moments)),
        "observation_clip": CLIP,
    }
    return Policy(
        "gaussian",
        "tanh",
        _layers(parameters.actor),
        noise_log_std=np.asarray(parameters.log_std),
        **(identity | normaliser),
    )


def _layers(network: Any) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    return tuple((np.asarray(layer.kernel), np.asarray(layer.bias)) for layer in network)
