"""The options that learning is compiled with."""

import jax
import jax.numpy as jnp
import pytest

from drspcrl.trainer import compiling
from drspcrl.trainer.compiling import learning_options


@pytest.fixture(autouse=True)
def forgotten():
    learning_options.cache_clear()
    yield
    learning_options.cache_clear()


def test_a_gpu_keeps_its_defaults():
    assert learning_options("gpu") is None


def test_products_on_a_cpu_are_plain_ones():
    # XLA's other library would take them into a fusion of its own.
    square = jax.jit(lambda a: a @ a, compiler_options=learning_options("cpu"))
    program = square.lower(jnp.ones((256, 256))).compile().as_text()
    assert program is not None
    assert "ynn_fusion" not in program
    assert " dot(" in program


def test_an_xla_without_the_option_keeps_its_defaults(monkeypatch):
    monkeypatch.setattr(compiling, "_EIGEN", {"xla_cpu_no_such_option": ""})
    assert learning_options("cpu") is None
