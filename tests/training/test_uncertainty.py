"""What members are trained against: numbers per member, changed without compiling anything."""

import numpy as np
import pytest

from drspcrl.errors import InputError
from drspcrl.training.loop import ball, no_uncertainty
from drspcrl.training.settings import resolve
from drspcrl.training.transitions import member_uncertainty, transitions_of, warn_if_unwise


def settings(**changes):
    return resolve("sac", changes, 1000)


def transitions(**changes):
    found = settings(**changes).transitions
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("divergence", "scale"),
    [
        ("kl", "sqrt"),
        ("chi2", "sqrt"),
        ("tv", "linear"),
        ("cvar", "linear"),
        ("wasserstein", "linear"),
    ],
)
def test_a_curriculum_learns_the_coordinate_of_every_ball(divergence, scale):
    found = ball(settings(divergence=divergence))
    assert found.scale == scale
    assert found.on_support == (divergence != "wasserstein")


@pytest.mark.parametrize(
    ("setting", "platform", "precision"),
    [
        ("auto", "cpu", "float32"),
        ("auto", "gpu", "float16"),
        ("auto", "tpu", "float32"),
        ("float32", "gpu", "float32"),
        ("bfloat16", "cpu", "bfloat16"),
    ],
)
def test_draws_are_valued_in_half_precision_on_a_gpu_unless_told_otherwise(
    setting, platform, precision
):
    against = member_uncertainty(settings(), [0.1])
    chosen = settings(draw_precision=setting)
    assert transitions_of([chosen], against, platform).precision == precision


def test_levels_are_drawn_where_some_member_asks_for_them():
    each = [settings(level_spread=m) for m in (0.0, 0.5, 1.0)]
    found = member_uncertainty(each, [0.1] * 3, plain=[False, False, True])
    assert found.scales.level_spread is not None
    np.testing.assert_allclose(found.scales.level_spread, [0.0, 0.5, 0.0])
    assert member_uncertainty(settings(level_spread=0.0), [0.1]).scales.level_spread is None
    assert member_uncertainty(resolve("ppo", {}, 4096), [0.1]).scales.level_spread is None


def test_plain_members_have_no_noise():
    each = settings(sensor=0.1, process=0.03)
    found = member_uncertainty(each, [0.5, 1.0], plain=[True, False])
    np.testing.assert_allclose(found.epsilon, [0.0, 1.0])
    np.testing.assert_allclose(found.scales.sensor, [0.0, 0.1])
    np.testing.assert_allclose(found.scales.process, [0.0, 0.03])
    assert not any(np.any(leaf) for leaf in (no_uncertainty(3).epsilon, *no_uncertainty(3).scales))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"draws": 1}, "draws is 1.*at least 2"),
        ({"sensor": -0.1}, "sensor is -0.1"),
        ({"nominal": "nonsense"}, "nominal is 'nonsense'; choose one of noise, single, minibatch"),
        ({"divergence": "hellinger"}, "choose one of kl, chi2, tv"),
        ({"dual": "network", "divergence": "tv"}, "use dual=exact"),
        (
            {"draw_precision": "half"},
            "draw_precision is 'half'; choose one of auto, float32, float16",
        ),
    ],
)
def test_wrong_settings(changes, message):
    with pytest.raises(InputError, match=message):
        settings(**changes)


@pytest.mark.parametrize("epsilon", [[-0.1], [np.nan], [np.inf]])
def test_wrong_radius(epsilon):
    with pytest.raises(InputError, match="finite and at least 0"):
        member_uncertainty(settings(), epsilon)


def test_warnings():
    with pytest.warns(UserWarning, match="8 draws saturate"):
        warn_if_unwise(transitions(), 2.5)
    with pytest.warns(UserWarning, match="no policy becomes robust"):
        warn_if_unwise(transitions(nominal="single", draws=1), 0.5)
    warn_if_unwise(transitions(), 1.0)
    warn_if_unwise(transitions(nominal="single", divergence="wasserstein"), 1.0)


def test_another_epsilon(small_loop):
    loop, _ = small_loop("sac")
    loop.set_epsilon(np.array([0.25, 0.5]))
    np.testing.assert_array_equal(loop.uncertainty.epsilon, np.array([0.25, 0.5], np.float32))
    for wrong in ([0.1], [0.1, -1.0], [0.1, np.nan]):
        with pytest.raises(InputError, match="each of the 2 members"):
            loop.set_epsilon(np.array(wrong))
