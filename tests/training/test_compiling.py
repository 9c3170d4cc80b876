"""The options that learning and acting are compiled with."""

import jax
import jax.numpy as jnp
import pytest

from drspcrl.learners.cpu import compiling
from drspcrl.learners.cpu.compiling import acting_options, learning_options

BOTH = pytest.mark.parametrize(
    ("options", "name"), [(learning_options, "_EIGEN"), (acting_options, "_IN_ORDER")]
)


@pytest.fixture(autouse=True)
def forgotten():
    yield
    for options in (learning_options, acting_options):
        options.cache_clear()


@BOTH
def test_a_gpu_keeps_its_defaults(options, name):
    assert options("gpu") is None


@BOTH
def test_this_xla_knows_the_option(options, name):
    assert options("cpu") == getattr(compiling, name)


def test_products_on_a_cpu_are_plain_ones():
    # XLA's other library would take them into a fusion of its own.
    square = jax.jit(lambda a: a @ a, compiler_options=learning_options("cpu"))
    program = square.lower(jnp.ones((256, 256))).compile().as_text()
    assert program is not None
    assert "ynn_fusion" not in program
    assert " dot(" in program


@BOTH
def test_an_xla_without_the_option_keeps_its_defaults(options, name, monkeypatch):
    options.cache_clear()
    monkeypatch.setattr(compiling, name, {"xla_cpu_no_such_option": ""})
    assert options("cpu") is None
