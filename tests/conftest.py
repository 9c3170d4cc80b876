"""Strict settings for every test, and the switch that turns a skip into a failure."""

import os

import jax
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fail-on-skip",
        action="store_true",
        help="count a skipped test as a failure (for machines that have everything)",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    report = yield
    expected_failure = hasattr(report, "wasxfail")
    if report.skipped and item.config.getoption("--fail-on-skip") and not expected_failure:
        report.outcome = "failed"
        report.longrepr = f"skipped under --fail-on-skip: {report.longrepr}"
    return report


@pytest.fixture(scope="session", autouse=True)
def compile_once(tmp_path_factory):
    """Keep compiled programs on disk, for all workers: many tests make the same ones."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own
    jax.config.update("jax_compilation_cache_dir", str(shared / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    yield
    jax.config.update("jax_compilation_cache_dir", None)


@pytest.fixture
def float64():
    """Sixty-four-bit types inside one test, never globally."""
    with jax.enable_x64(True):
        yield
