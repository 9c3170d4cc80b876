"""How the programs that learn and act are compiled, and one member without an axis of members."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax

from drspcrl.learners.population import member, stack

Options = dict[str, str]

_EIGEN = {"xla_cpu_experimental_ynn_fusion_type": ""}
_IN_ORDER = {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}


@cache
def learning_options(platform: str) -> Options | None:
    """XLA's options for updates on a JAX platform such as `cpu`; None for its defaults.

    On a CPU a learner's matrix products go to Eigen, which shares each of them among the cores;
    XLA's newer library keeps the smaller ones on one. In turns within one process on two cores, an
    update of SAC took 7% less time, a robust one 4%.
    """
    return _known(_EIGEN, platform)


@cache
def acting_options(platform: str) -> Options | None:
    """XLA's options for programs that act, as `learning_options`.

    A small network is done before another core has heard of it: on a CPU its kernels are put in an
    order that needs little memory, not in XLA's own, for cores to share them. On two cores PPO's
    actions took 17% less time, and its whole training ran at 1.14 times the rate.
    """
    return _known(_IN_ORDER, platform)


def _known(options: Options, platform: str) -> Options | None:
    """Options for a CPU; an XLA that does not know them keeps its defaults."""
    if platform != "cpu":
        return None
    try:
        jax.jit(lambda x: x, compiler_options=options).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:
        return None
    return options


def over_members(
    function: Callable[..., Any], members: int, in_axes: Sequence[int | None]
) -> Callable[..., Any]:
    """A function of one member for a population: `jax.vmap`, but of one member the function itself.

    On a CPU XLA does not see through an axis of length 1: with it, kernels that add and clip take
    up to three times as long.

    Args:
        function: of one member.
        members: how many there are.
        in_axes: for each argument 0 if members differ in it, None if not.
    """
    if members > 1:
        return jax.vmap(function, tuple(in_axes))

    def alone(*population: Any) -> Any:
        given = zip(population, in_axes, strict=True)
        return stack([function(*(a if axis is None else member(a, 0) for a, axis in given))])

    return alone
