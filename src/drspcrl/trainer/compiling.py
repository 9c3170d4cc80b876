"""How the programs that learn are compiled."""

from functools import cache

import jax

_EIGEN = {"xla_cpu_experimental_ynn_fusion_type": ""}


@cache
def learning_options(platform: str) -> dict[str, str] | None:
    """XLA's options for updates on a JAX platform such as `cpu`; None for its defaults.

    On a CPU the products of a learner's matrices run an eighth faster in Eigen, which shares each
    of them among the cores, than in XLA's newer library, which keeps the smaller ones on one
    (`benchmarks/training_speed.py`). An XLA that does not know the option keeps its defaults.
    """
    if platform != "cpu":
        return None
    try:
        jax.jit(lambda x: x, compiler_options=_EIGEN).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:
        return None
    return _EIGEN
