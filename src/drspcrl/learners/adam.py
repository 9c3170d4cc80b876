"""Adam whose step size is data, so that the members of a population may differ in it."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array

State = optax.OptState


def init(params: Any) -> State:
    """The optimiser's state for these parameters."""
    return optax.scale_by_adam().init(params)


def step(
    params: Any, grads: Any, state: State, learning_rate: Array | float, eps: float = 1e-8
) -> tuple[Any, State]:
    """One step of Adam (Kingma & Ba 2015) down the gradient."""
    # Optax raises its decay, a float, to an integer count, which strict promotion would refuse.
    with jax.numpy_dtype_promotion("standard"):
        direction, state = optax.scale_by_adam(eps=eps).update(grads, state)
    return jax.tree.map(lambda p, d: p - learning_rate * d, params, direction), state


def clip_by_norm(grads: Any, bound: Array | float) -> Any:
    """Scale a gradient down to norm `bound` if it is longer."""
    shrink = jnp.minimum(1.0, bound / (optax.tree.norm(grads) + 1e-6))
    return jax.tree.map(lambda g: g * shrink, grads)
