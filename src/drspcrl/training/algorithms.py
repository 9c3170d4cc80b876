"""From settings to a population at the start of its training."""

from collections.abc import Sequence
from typing import Any

from drspcrl.learners.registry import learner_class
from drspcrl.learners.uncertainty import Plain, Uncertainty
from drspcrl.nominal import Strength
from drspcrl.training.collector import Collector
from drspcrl.training.loop import Device, Loop, stacked_hyper
from drspcrl.training.offpolicy import OffPolicyLoop
from drspcrl.training.onpolicy import OnPolicyLoop
from drspcrl.training.settings import Settings
from drspcrl.training.uncertainty import no_uncertainty, transitions_of

LOOPS: dict[str, Any] = {"off_policy": OffPolicyLoop, "on_policy": OnPolicyLoop}


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
            `drspcrl.training.uncertainty`; without it the learners are the plain ones.
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
        form = transitions_of(each, uncertainty, device.platform)
    kind = learner_class(algorithm)
    learner = kind.of(settings.learner, form)
    hyper = stacked_hyper(kind.Hyper, each)
    return LOOPS[kind.loop](
        *(learner, hyper, collector, seeds, settings.learner, steps, device, memory, against)
    )
