"""Checks of a worst-case problem: clear errors outside jit, a flag inside."""

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer

from drspcrl.errors import InputError


def sum_tolerance(dtype: jnp.dtype) -> float:
    """How far from 1 the probabilities may sum, from rounding."""
    return 1e-8 if dtype == jnp.float64 else 1e-4


def inputs_are_valid(values: Array, probabilities: Array, radius: Array) -> Array:
    """One flag for everything that can be wrong with the numbers of a problem."""
    total = jnp.abs(jnp.sum(probabilities) - 1) <= sum_tolerance(values.dtype)
    return jnp.all(jnp.isfinite(values)) & jnp.all(probabilities >= 0) & total & (radius >= 0)


def check_inputs(name: str, values: Array, probabilities: Array, radius: Array) -> None:
    """Raise `InputError` for wrong shapes always, for wrong numbers where they are known."""
    if values.ndim != 1 or values.shape != probabilities.shape or values.shape[0] == 0:
        raise InputError(
            f"{name}: values and probabilities must be vectors of one length n ≥ 1, but have "
            f"shapes {values.shape} and {probabilities.shape}; use jax.vmap for a batch."
        )
    if radius.ndim != 0:
        raise InputError(
            f"{name}: radius must be a scalar, but has shape {radius.shape}; use jax.vmap over it."
        )
    if not any(isinstance(x, Tracer) for x in (values, probabilities, radius)):
        _check_numbers(name, np.asarray(values), np.asarray(probabilities), float(radius))


def _check_numbers(name: str, v: np.ndarray, p: np.ndarray, ε: float) -> None:
    if not ε >= 0:
        raise InputError(
            f"{name}: radius is {ε}, but must be ≥ 0 (0 is the plain mean, inf the minimum)."
        )
    if not np.all(np.isfinite(v)):
        raise InputError(
            f"{name}: value {v[~np.isfinite(v)][0]} at index {np.flatnonzero(~np.isfinite(v))[0]}; "
            "all values must be finite."
        )
    if not np.all(p >= 0):
        raise InputError(
            f"{name}: probability {p[~(p >= 0)][0]} at index {np.flatnonzero(~(p >= 0))[0]}; "
            "probabilities must be ≥ 0."
        )
    if not abs(p.sum() - 1) <= sum_tolerance(v.dtype):
        raise InputError(
            f"{name}: probabilities sum to {p.sum():.9g}, but must sum to 1; "
            "divide them by their sum."
        )
