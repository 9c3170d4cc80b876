"""From settings to a population at the start of its training."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from drspcrl.divergences import Divergence
from drspcrl.divergences.registry import divergence_class
from drspcrl.learners.registry import learner_class
from drspcrl.learners.uncertainty import Plain, Uncertainty
from drspcrl.nominal import Scales, Strength
from drspcrl.training.collector import Collector
from drspcrl.training.loop import Device, Loop, stacked_hyper
from drspcrl.training.settings import Settings


def make_loop(
    algorithm: str,
    settings: Settings,
    collector: Collector,
    seeds: Sequence[int],
    steps: int,
    device: Device,
    memory: Device,
    uncertainty: Strength | None = None,
    member_settings: Sequence[Settings] | None = None,
    worlds: tuple[Uncertainty, Any] | None = None,
) -> Loop:
    """A population at the start of its training.

    Args:
        algorithm: its name.
        settings: what all members have in common.
        collector: the environments.
        seeds: a seed for each member.
        steps: length of the run.
        device: where to learn.
        memory: where replay lives.
        uncertainty: what the members are trained against, [M] each, see
            `drspcrl.training.transitions`; without it the learners are the plain ones.
        member_settings: the settings of each member, where they differ in a number.
        worlds: learning in worlds, and the numbers in which members differ there, see
            `drspcrl.training.worlds`.
    """
    members = len(seeds)
    each = list(member_settings or [settings] * members)
    against: Any = no_uncertainty(members) if uncertainty is None else uncertainty
    form: Uncertainty = Plain()
    if worlds is not None:
        form, against = worlds
    elif uncertainty is not None:
        from drspcrl.training.transitions import transitions_of  # which few trainings need

        form = transitions_of(each, uncertainty, device.platform)
    kind = learner_class(algorithm)
    learner = kind.of(settings.learner, form)
    hyper = stacked_hyper(kind.Hyper, each)
    return loop_class(kind.loop)(
        *(learner, hyper, collector, seeds, settings.learner, steps, device, memory, against)
    )


def loop_class(kind: str) -> Any:
    """The training loop of a learner, by the name that it says."""
    if kind == "on_policy":
        from drspcrl.training.onpolicy import OnPolicyLoop

        return OnPolicyLoop
    from drspcrl.training.offpolicy import OffPolicyLoop

    return OffPolicyLoop


def ball(settings: Settings) -> Divergence:
    """The divergence whose ball ε is the radius of, as curricula know it.

    In worlds that is a Wasserstein ball around the simulator, see docs/concepts/worlds.md.
    """
    if settings.transitions is None:
        return divergence_class("wasserstein").for_learners()
    return divergence_class(settings.transitions.divergence).for_learners()


def no_uncertainty(members: int) -> Strength:
    """The simulator at its word, for every member."""
    zeros = np.zeros(members, np.float32)
    return Strength(zeros, Scales(zeros, zeros, zeros))
