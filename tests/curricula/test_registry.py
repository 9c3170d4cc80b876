"""Names, settings and errors: all before any training."""

from pathlib import Path
from typing import Any

import pytest

from drspcrl.curricula import METHODS, CurriculumSettings, WorldCurriculumSettings, curriculum
from drspcrl.divergences import KL, TotalVariation
from drspcrl.errors import InputError


def made(method, iterations=10, divergence=None, **settings) -> Any:
    return curriculum(method, settings, iterations, 0.9, divergence or KL())


def test_every_method_starts_where_it_should():
    first = {}
    for method in METHODS:
        rule = made(method, epsilon_budget=0.5)
        first[method] = rule.epsilon(rule.init(0))
    assert (first["vanilla"], first["nominal"], first["fixed"]) == (0.0, 0.0, 0.5)
    assert (first["linear"], first["linear_radius"], first["self_paced"]) == (0.0, 0.0, 0.0)


def test_fixed_and_linear_may_end_at_a_share_of_the_budget():
    for method in ("fixed", "linear"):
        rule = made(method, iterations=2, epsilon_budget=0.5, end_share=0.5)
        state = rule.init(0)
        for _ in range(3):
            state = rule.update(state, None)
        assert rule.epsilon(state) == 0.25


def test_one_rate_serves_every_run_length():
    assert made("self_paced", iterations=50).rate == pytest.approx(2 / 50)
    assert made("self_paced", iterations=1000).rate == pytest.approx(2 / 1000)
    assert made("self_paced", rate=0.05, rate_per="update").rate == 0.05


def test_the_divergence_decides_the_coordinate():
    assert made("self_paced").scale == "sqrt"
    assert made("self_paced", divergence=TotalVariation()).scale == "linear"
    assert made("linear_radius").scale == "sqrt"
    assert made("linear").scale == "linear"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon_start": 2.0}, "epsilon_start is 2, above epsilon_budget 1; start at the budget"),
        ({"epsilon_budget": 0.0}, "epsilon_budget is 0.0; it must be above 0"),
        ({"pacing": -1.0}, "pacing is -1.0; it must be above 0"),
        ({"accel_buffer": 0}, "accel_buffer is 0; it must be at least 1"),
        ({"accel_buffer": 1.5}, "accel_buffer is 1.5; give a whole number"),
        ({"rate": float("nan")}, "rate is nan; give a number"),
        ({"rate": True}, "rate is True; give a number"),
        ({"space_smoothing": 1.0}, "space_smoothing is 1.0; it must be"),
        (
            {"rule": "sqrt"},
            "rule is 'sqrt'; choose one of coordinate, radius, lagrangian, closed_form",
        ),
        ({"alpha": 1.0}, "no setting 'alpha'; they have accel_buffer"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        made("self_paced", **settings)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("selfpaced", "method is 'selfpaced'; choose one of vanilla, nominal"),
        (
            "no_such_module:Mine",
            "no_such_module cannot be imported: there is none on the Python path",
        ),
        ("math:Mine", "module math has no Mine"),
        ("math:pi", "pi is no class or function"),
    ],
)
def test_wrong_methods_are_named(method, message):
    with pytest.raises(InputError, match=message):
        made(method)


def test_what_is_no_curriculum_is_named():
    with pytest.raises(InputError, match="makes a Setup without init, epsilon, update"):
        made(lambda setup: setup)
    with pytest.raises(InputError, match="iterations=0"):
        made("fixed", iterations=0)


def test_the_table_of_settings():
    assert CurriculumSettings.of({}) == CurriculumSettings()
    whole = CurriculumSettings.of({"epsilon_budget": 2, "performance_bound": None})
    assert (whole.epsilon_budget, type(whole.epsilon_budget)) == (2.0, float)


def test_every_method_and_setting_is_documented():
    docs = Path(__file__).parents[2] / "docs"
    methods = (docs / "concepts" / "curricula.md").read_text(encoding="utf-8")
    settings = (docs / "reference" / "settings.md").read_text(encoding="utf-8")
    for method in METHODS:
        assert f"| `{method}` |" in methods
    for name in CurriculumSettings.defaults() | WorldCurriculumSettings.defaults():
        assert f"| `{name}` |" in settings
