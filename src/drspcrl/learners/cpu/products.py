"""Matrix products in the order and form that a CPU is quickest with; the numbers are XLA's own."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

_FEW = 8  # inputs of a layer whose product is added up on the way


def times(x: Array, kernel: Array, kind: Any = None) -> Array:
    """x [..., inputs] times the kernel as one product of two matrices.

    XLA sees through further axes on its own, but not on a CPU through those of `vmap` as well.
    """
    rows = x.reshape(-1, x.shape[-1])
    if kernel.dtype.itemsize < 4:
        product = jnp.matmul(rows, kernel, preferred_element_type=kind)
    else:
        product = _product(rows, kernel)
    return product.reshape(*x.shape[:-1], kernel.shape[-1])


@jax.custom_vjp
def _product(rows: Array, kernel: Array) -> Array:
    """rows [B, inputs] times the kernel, with gradients in the order in which they are needed.

    Autodiff's own gradient of a kernel comes out [outputs, inputs]. A CPU then reads it across its
    rows at both of its uses in Adam, which takes as long as the product itself; and Eigen is
    slower by a third with a transposed kernel than with a copy that lies the right way. Forward
    mode does not know such a function.
    """
    if kernel.shape[0] > _FEW:
        return rows @ kernel
    return lax.platform_dependent(rows, kernel, cpu=_in_terms, default=jnp.matmul)


def _in_terms(rows: Array, kernel: Array) -> Array:
    """The product as a sum over inputs, which a CPU fuses with the bias and clipping after it.

    With few inputs writing a matrix of its own and reading it again takes longer than the product.
    """
    return functools.reduce(
        jnp.add, [rows[:, k, None] * kernel[None, k] for k in range(kernel.shape[0])]
    )


def _product_forward(rows: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return _product(rows, kernel), (rows, kernel)


def _product_backward(known: tuple[Array, Array], grad: Array) -> tuple[Array, Array]:
    rows, kernel = known
    turned = lax.platform_dependent(
        kernel, cpu=lambda k: lax.optimization_barrier(k.T), default=lambda k: k.T
    )
    return grad @ turned, lax.dot_general(rows, grad, (((0,), (0,)), ((), ())))


_product.defvjp(_product_forward, _product_backward)
