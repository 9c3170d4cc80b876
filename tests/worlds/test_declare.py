"""What a user may declare, and the one line that every mistake gets."""

import math

import numpy as np
import pytest

from drspcrl.config.worlds import WorldSettings
from drspcrl.envs.registry import make
from drspcrl.errors import InputError
from drspcrl.learners.registry import settings_class
from drspcrl.worlds import Declared, Parameter, declared, read_declared, world_model
from drspcrl.worlds.declare import LEAST_SCALE, REACH
from drspcrl.worlds.model import sensor_spread

TANK = {"name": "inflow", "nominal": 2.0, "tolerance": "10%"}


def test_the_default_is_what_the_docs_say():
    worlds = declared({})
    assert set(worlds.physics) == {"mass", "friction", "damping", "armature", "gravity", "gear"}
    assert set(worlds.physics.values()) == {0.2}
    assert (worlds.sensor, worlds.actuator, worlds.bias, worlds.law) == (0.2, 0.3, 0.0, "auto")
    laws = {learner: settings_class(learner).worlds_law for learner in ("ppo", "sac", "ddpg")}
    assert laws == {"ppo": "ball", "sac": "sphere", "ddpg": "sphere"}
    assert worlds.with_law("ball").law == "ball"
    assert declared({"law": "sphere"}).with_law("ball").law == "sphere"


def test_a_record_is_declared_the_same_again():
    worlds = declared(
        {
            "physics": {"mass": 0.1, "mass:torso": 0.3, "mass:foot": {"low": 1, "high": 2.5}},
            "sensor_unit": [1.0, 2.0],
            "presence": {"physics": 1},
            "law": "ball",
            "bias": 0.05,
            "parameters": [TANK, {"name": "leak", "nominal": 0, "tolerance": 0.1, "low": -1}],
        }
    )
    assert declared(worlds.record()) == worlds


def test_percent_is_of_the_nominal_value():
    assert Parameter("inflow", -2.0, "10%").size == pytest.approx(0.2)
    assert Parameter("inflow", -2.0, 0.3).size == 0.3


WRONG = {
    "unknown entry": ({"sensors": 0.1}, r"unknown entry 'sensors'; it may have law, physics, sens"),
    "no entries": ([0.1], r"worlds holds list; give entries"),
    "physics": ({"physics": {"weight": 0.1}}, r"unknown physics parameter 'weight'; there are ma"),
    "text as physics": ({"physics": "mass"}, r"physics is 'mass'; give a number, or families"),
    "negative": ({"sensor": -0.1}, r"sensor: the tolerance is -0\.1; give a finite number"),
    "infinite": ({"actuator": math.inf}, r"actuator: the tolerance is inf; give a finite"),
    "nan": ({"bias": math.nan}, r"bias: the tolerance is nan; give a finite"),
    "truth": ({"sensor": True}, r"sensor: the tolerance is True; give a finite"),
    "negative family": ({"physics": {"mass": -1}}, r"physics mass: the tolerance is -1; give"),
    "range": (
        {"physics": {"mass": {"low": 2, "high": 1}}},
        r"from 2 to 1; give low and high, posi",
    ),
    "range below 0": ({"physics": {"mass": {"low": 0, "high": 1}}}, r"from 0 to 1; give low and"),
    "half a range": (
        {"physics": {"mass": {"low": 1}}},
        r"mass is \{'low': 1\}; give a tolerance, or",
    ),
    "range of a vector": (
        {"physics": {"gravity": {"low": 1, "high": 2}}},
        r"gravity is a vector and",
    ),
    "law": ({"law": "cube"}, r"law is 'cube'; choose one of auto, sphere, ball"),
    "kind": ({"presence": {"wind": 0.5}}, r"presence of 'wind'; the kinds are physics, sensor"),
    "unlikely": ({"presence": {"sensor": 1.5}}, r"presence of sensor is 1\.5; a probability is f"),
    "less likely": ({"presence": {"sensor": -0.5}}, r"presence of sensor is -0\.5; a probability"),
    "no presence": ({"presence": 0.5}, r"presence is 0\.5; give kinds with probabilities"),
    "vacuous": (
        {"physics": {}, "sensor": 0, "actuator": 0},
        r"every tolerance, or .* is 0, so that no world differs from the simulator; give at least",
    ),
    "never present": (
        {"physics": {}, "actuator": 0, "presence": {"sensor": 0}},
        r"every tolerance, or the presence of its kind, is 0, so that no world differs",
    ),
    "unit": ({"sensor_unit": "metres"}, r"sensor_unit is 'metres'; choose one of auto, absol.*or"),
    "zero unit": ({"sensor_unit": [1.0, 0.0]}, r"sensor_unit is \[1\.0, 0\.0\]; .*positive number"),
    "parameters": ({"parameters": TANK}, r"parameters is \{.*give a list of them"),
    "no name": ({"parameters": [{"nominal": 1}]}, r"give name, nominal and tolerance of each"),
    "entry": (
        {"parameters": [TANK | {"mean": 1}]},
        r"'inflow' has the unknown entry 'mean'; it may have name, nominal, tolerance, law",
    ),
    "twice": ({"parameters": [TANK, TANK]}, r"'inflow' is declared twice; declare it once"),
    "empty name": ({"parameters": [TANK | {"name": " "}]}, r"name is ' '; give a text"),
    "negative size": (
        {"parameters": [TANK | {"tolerance": -1.0}]},
        r"inflow: the tolerance is -1\.0; give a finite number of at least 0",
    ),
    "infinite size": (
        {"parameters": [TANK | {"tolerance": math.inf}]},
        r"inflow: the tolerance is inf; give a finite number",
    ),
    "percent of 0": (
        {"parameters": [TANK | {"nominal": 0}]},
        r"10% of a nominal value of 0, which is nothing; give it in the parameter's own unit",
    ),
    "text": (
        {"parameters": [TANK | {"tolerance": "a lot"}]},
        r"tolerance is 'a lot'; give a number or a text such as 10%",
    ),
    "nominal": ({"parameters": [TANK | {"nominal": math.nan}]}, r"nominal is nan; give a number"),
    "parameter's law": (
        {"parameters": [TANK | {"law": "gamma"}]},
        r"law is 'gamma'; choose one of normal, uniform, above, below",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused_in_one_line(case):
    content, told = WRONG[case]
    with pytest.raises(InputError, match=told) as error:
        declared(content)
    assert "\n" not in str(error.value)


def test_nothing_may_vanish():
    most = -math.log(LEAST_SCALE) / REACH
    declared({"physics": {"gear": most - 1e-9}}).check_reach(1.0)
    with pytest.raises(InputError, match=r"tolerance 1\.3 of gear lets it fall to 0\.039 .*1\.2 "):
        declared({"physics": {"gear": 1.3}}).check_reach(1.0)
    with pytest.raises(InputError, match=r"of mass:torso .*at epsilon_budget 4, where it vanish"):
        declared({"physics": {"mass:torso": 0.4}}).check_reach(4.0)


@pytest.mark.parametrize(
    ("law", "tolerance", "low", "high", "reached"),
    [
        ("normal", 0.4, 1.0, 3.0, "1 to 3"),
        ("uniform", 1.0, 1.0, 3.0, "1 to 3"),
        ("above", 0.4, 2.0, 3.0, "2 to 3"),
        ("below", 0.4, 1.0, 2.0, "1 to 2"),
    ],
)
def test_parameters_stay_within_their_bounds(law, tolerance, low, high, reached):
    within = Parameter("inflow", 2.0, tolerance, law, low, high)
    within.check_reach(1.0)
    bounds = (low + 0.1, high) if law != "above" else (low, high - 0.1)
    beyond = Parameter("inflow", 2.0, tolerance, law, *bounds)
    with pytest.raises(InputError, match=rf"inflow reaches from {reached} at .*declare a smaller"):
        beyond.check_reach(1.0)
    with pytest.raises(InputError, match="at epsilon_budget 2, beyond its bounds"):
        within.check_reach(2.0)


def test_a_file_says_the_same(tmp_path):
    path = tmp_path / "tank.yaml"
    path.write_text(
        "sensor: 0.1\nphysics: 0.3\nparameters:\n- {name: a, nominal: 1, tolerance: 5%}"
    )
    found, sha = read_declared(path)
    assert (found.sensor, found.physics["mass"], found.parameters[0].size) == (0.1, 0.3, 0.05)
    path.write_text("sensor: 1e-3\nphysics: {mass: 2E-1}")  # texts, says YAML 1.1
    found, _ = read_declared(path)
    assert (found.sensor, found.physics) == (0.001, {"mass": 0.2})
    path.write_text("sensor: 0.1 ")
    assert read_declared(path)[1] != sha


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sensors: 0.1", r"tank\.yaml has the unknown entry 'sensors'; it may have law"),
        ("sensor: 0.1\nsensor: 0.2", r"tank\.yaml cannot be read: 'sensor' is given twice"),
        ("- 1", r"tank\.yaml holds list; give entries such as sensor"),
        ("a: [", r"tank\.yaml cannot be read: "),
        ("!!python/object/apply:os.getcwd []", r"tank\.yaml cannot be read: "),
        ("sensor: -1", r"sensor: the tolerance is -1"),
        ("\udcff", r"tank\.yaml cannot be read: "),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path, text, told):
    path = tmp_path / "tank.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(InputError, match=told):
        read_declared(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"tank\.yaml is no file; give a YAML"):
        read_declared(tmp_path / "tank.yaml")


def test_physics_of_a_task_is_known_by_name():
    components = make("Hopper").physics.components
    with pytest.raises(InputError, match=r"'mass:wheel' is not in this task.*mass:torso, mass:th"):
        world_model(declared({"physics": {"mass:wheel": 0.1}}), components, 11, 3)
    model = world_model(declared({"physics": {"mass": 0.1, "mass:torso": 0.3}}), components, 11, 3)
    sizes = dict(zip(model.names, model.tolerance, strict=True))
    assert (sizes["mass:torso"], sizes["mass:thigh"]) == (0.3, 0.1)


@pytest.mark.parametrize("physics", [0.3, {"mass": 0.2}])
def test_physics_wants_a_mujoco_model(physics):
    with pytest.raises(InputError, match=r"has no MuJoCo model; declare its own parameters inst"):
        world_model(declared({"physics": physics}), None, 1, 1)
    # What is declared without a word holds as far as a task has it.
    assert world_model(declared({}), None, 1, 1).names == ("sensor", "actuator")
    with pytest.raises(InputError, match="nothing of what is declared exists in this task"):
        world_model(Declared(sensor=0.0, actuator=0.0), None, 1, 1)
    absent = Declared(presence={"sensor": 0, "actuator": 0})
    with pytest.raises(InputError, match="nothing of what is declared exists in this task"):
        world_model(absent, None, 1, 1)


def test_a_parameter_has_a_name_of_its_own():
    with pytest.raises(InputError, match=r"'sensor' has the name of another coordinate.*; give it"):
        world_model(declared({"parameters": [TANK | {"name": "sensor"}]}), None, 1, 1)


def test_a_parameter_without_a_tolerance_keeps_its_nominal_value():
    """`set_world` is given it all the same: it may be written for all of them."""
    leak = {"name": "leak", "nominal": 0.5, "tolerance": 0}
    model = world_model(declared({"sensor": 0, "parameters": [leak, TANK]}), None, 1, 1)
    assert model.names == ("actuator", "inflow")
    np.testing.assert_allclose(model.values(np.array([[9.0, 2.0]])), [[0.5, 2.4]])
    assert [row[0] for row in model.describe()] == ["actuator noise", "inflow"]


def test_a_reading_that_never_changes_has_no_unit():
    readings = np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_allclose(sensor_spread(readings), readings.std(axis=0))
    readings[:, 1] = 4.0
    with pytest.raises(InputError, match=r"1 of 3 readings did not change.*\(number 1\); declare"):
        sensor_spread(readings)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"probe_every": 1}, "probe_every is 1; give a whole number of at least 2, or 0 for none"),
        ({"anchor_every": 2.5}, r"anchor_every is 2\.5; give a whole number"),
        ({"probe_every": 2, "anchor_every": 2}, "leaves no episode to train on; make one of them"),
        ({"tilt": -1.0}, r"tilt is -1\.0; it must be at least 0"),
        ({"tilt": math.nan}, "tilt is nan; give a number"),
        ({"tilt_form": "both"}, "tilt_form is 'both'; choose one of weighted, sampled"),
        ({"price_states": "ends"}, "price_states is 'ends'; choose one of visited, starts"),
        ({"bounded_targets": 1}, "bounded_targets is 1; give true or false"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, told):
    with pytest.raises(InputError, match=told):
        WorldSettings.of(changes)
