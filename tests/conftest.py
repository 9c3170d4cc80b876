"""Strict settings for every test, and the switch that turns a skip into a failure."""

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


@pytest.fixture
def float64():
    """Sixty-four-bit types inside one test, never globally."""
    with jax.enable_x64(True):
        yield
