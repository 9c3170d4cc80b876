"""Every shipped ablation is read, and every variant in it can be made."""

import pytest

from drspcrl.config.presets import ABLATIONS, ablation
from drspcrl.curricula import METHODS, CurriculumSettings, SelfPaced, curriculum
from drspcrl.curricula.base import to_coordinate
from drspcrl.divergences import KL
from drspcrl.errors import InputError
from drspcrl.training.loop import ball
from drspcrl.training.settings import resolve
from drspcrl.variants import folder_name, parse_variant, variant_label

DEFAULTS = CurriculumSettings.defaults()


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_variant_can_be_made(name):
    found = ablation(name)
    assert found.title
    names = [folder_name(variant) for variant in found.variants]
    assert len(set(names)) == len(names) > 1
    known = resolve("sac", {}, 10_000).flat()
    for variant in found.variants:
        assert variant.method in METHODS
        assert parse_variant(variant_label(variant)) == variant
        own = {k: v for k, v in variant.changes.items() if k in DEFAULTS}
        assert variant.changes.keys() <= known.keys()
        curriculum(variant.method, own, 100, 0.99, KL())


def test_the_ranges_asked_for():
    def values(name, setting):
        return {v.changes[setting] for v in ablation(name).variants if v.method == "self_paced"}

    for name in ("pacing", "rate"):
        default = DEFAULTS[name]
        assert {default / 10, default, default * 10} <= values(name, name)
    assert values("budget", "epsilon_budget") == {0.1, 0.3, 1.0, 3.0}


def test_every_ball_is_paced_alike_in_units_of_its_budget():
    for variant in ablation("divergence").variants:
        own = {k: v for k, v in variant.changes.items() if k in DEFAULTS}
        rule = curriculum(
            variant.method, own, 100, 0.99, ball(resolve("sac", variant.changes, 10_000))
        )
        assert isinstance(rule, SelfPaced)
        unit = to_coordinate(rule.scale, rule.budget)
        assert rule.pacing * unit**2 == pytest.approx(DEFAULTS["pacing"])
        assert rule.rate / unit**2 == pytest.approx(DEFAULTS["rate"] / 100)


def test_an_unknown_ablation_is_named():
    with pytest.raises(InputError, match="ablation is 'alpha'; choose one of pacing, rate"):
        ablation("alpha")
