"""Perturbations as data: names, levels, labels, grids."""

import json
from inspect import getsource

import pytest

from drspcrl.errors import InputError
from drspcrl.evaluation import Suite, actor, attacking
from drspcrl.perturbations import PERTURBATIONS, Perturbation, as_parts, grid, label, parse, sweep

SETTINGS = [
    (None, "none"),
    (Perturbation("action", 0.3), "action=0.3"),
    ((Perturbation("environment", 0.2), Perturbation("action", 0.1)), "environment=0.2,action=0.1"),
    (Perturbation("scale", 0.5, {"parameter": "mass:torso"}), "scale[mass:torso]=0.5"),
    (
        (
            Perturbation("push", 0.1, {"frequency": 2.0, "direction": [0, 1, 0]}),
            Perturbation("environment", 0.3, {"parameters": ["mass", "gravity"]}),
            Perturbation("observation", 1),
        ),
        "push[direction=[0, 1, 0];frequency=2.0]=0.1,"
        'environment[parameters=["mass", "gravity"]]=0.3,observation=1',
    ),
]


@pytest.mark.parametrize(("setting", "text"), SETTINGS)
def test_labels_are_read_back(setting, text):
    assert label(setting) == text
    assert parse(text) == as_parts(setting)


def test_labels_have_every_digit():
    """Two settings that differ in the eighth digit are two, here and in the tables of a suite."""
    close = [Perturbation("action", 0.1), Perturbation("action", 0.1000000012)]
    assert [label(one) for one in close] == ["action=0.1", "action=0.1000000012"]
    assert [parse(label(one)) for one in close] == [(one,) for one in close]
    assert list(Suite("close", close).labels) == [label(one) for one in close]
    tiny = Perturbation("observation", 1e-7)
    assert parse(label(tiny)) == (tiny,)


def test_every_kind_that_draws_has_a_stream_of_its_own():
    """Two kinds with one stream would draw the same numbers."""
    kernels = {name: PERTURBATIONS.load(name).Kernel for name in PERTURBATIONS}
    draws = {name for name, kernel in kernels.items() if "self.draws" in getsource(kernel)}
    assert draws == {name for name, kernel in kernels.items() if kernel.stream != 0}
    streams = [kernels[name].stream for name in draws]
    # Actions of a stochastic policy are drawn from the same seeds.
    assert len({*streams, actor._STREAM, attacking._STREAM}) == len(streams) + 2
    assert min(streams) > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("action", "'action' is not understood"),
        ("action=much", "'action=much' is not understood"),
        ("gravity=2", "perturbation is 'gravity'; choose one of action, observation, environment"),
        ("action=2", "between 0 and 1"),
        ("push[speed=1]=2", r"settings \['speed'\]; it takes \['body', 'direction', 'frequency'\]"),
        ("scale=2", r"of which \['parameter'\] are needed"),
        ("push[frequency=fast]=1", "not understood"),
    ],
)
def test_what_is_not_understood(text, message):
    with pytest.raises(InputError, match=message):
        parse(text)


def test_a_grid_has_every_combination_once_and_in_order():
    points = grid({"mass:torso": [0.5, 1, 2], "friction": [0.5, 2]})
    assert [tuple(part.level for part in point) for point in points] == [
        (0.5, 0.5),
        (0.5, 2),
        (1, 0.5),
        (1, 2),
        (2, 0.5),
        (2, 2),
    ]
    assert label(points[1]) == "scale[mass:torso]=0.5,scale[friction]=2"
    assert len(grid({"mass": [1, 2], "friction": [1, 2], "gravity": [1, 2, 3]})) == 12


def test_a_sweep_is_a_grid_of_one():
    assert [p.level for p in sweep("mass", [0.5, 1.0, 2.0])] == [0.5, 1.0, 2.0]
    with pytest.raises(InputError, match="at least one factor"):
        sweep("mass", [])


def test_names_are_those_of_the_papers_table():
    assert {"action", "observation", "environment"} <= set(PERTURBATIONS)


def test_the_parameters_of_physics_noise_are_recorded():
    families = ["mass", "friction", "damping", "armature", "gravity", "gear"]
    record = Perturbation("environment", 0.3).record()
    assert record == {"name": "environment", "level": 0.3, "settings": {"parameters": families}}
    assert json.loads(json.dumps(record)) == record
    push = Perturbation("push", 0.1, {"frequency": 2.0}).record()["settings"]
    assert push == {"body": None, "direction": [1.0, 0.0, 0.0], "frequency": 2.0}
