"""Every kind of world parameter acts, as the perturbation with the same numbers, for an episode."""

from typing import Any

import numpy as np
import pytest

from drspcrl.envs import BatchEnv
from drspcrl.envs.registry import make
from drspcrl.perturbations import Perturbation
from drspcrl.worlds import EpisodeWorlds, declared, world_model
from drspcrl.worlds.declare import KINDS
from drspcrl.worlds.episodes import _STREAM, PROBE, Roles

NAMES = make("Hopper").physics.components.names
FAMILIES = ("mass", "friction", "damping", "armature", "gravity", "gear")
ACTING = [*FAMILIES, *(n for n in NAMES if ":" in n and not n.startswith("friction"))]
"""Of two geoms in contact only the rougher one counts: frictions act as a family."""


class Placed(EpisodeWorlds):
    """Worlds of given coordinates instead of drawn ones."""

    wanted: np.ndarray = np.zeros(0)

    def begin(self, ids: np.ndarray) -> None:
        self.features[ids] = self.wanted[ids]
        self._apply(ids)


def hopper(physics, envs: int, kind: Any = Placed, **changes) -> tuple[BatchEnv, Any]:
    env = make("Hopper", envs, threads=1)
    model = world_model(
        declared({"physics": physics, "sensor": 0.0, "actuator": 0.0} | changes),
        *(env.physics.components, 11, 3),
    )
    worlds = env.hook = kind(model, env, [0], [1.0], [Roles(0, 0)], [0.99])
    return env, worlds


def played(env: BatchEnv, steps: int = 40, seeds=None) -> np.ndarray:
    """Observations and rewards under actions that are the same in every environment."""
    first = env.reset(seeds=seeds or [(3,)] * env.num_envs)
    random = np.random.default_rng(0)
    seen = [np.column_stack([first, np.zeros(env.num_envs)])]
    for _ in range(steps):
        action = np.repeat(random.uniform(-1, 1, (1, 3)), env.num_envs, axis=0)
        step = env.step(action)
        seen.append(np.column_stack([step.final_observation, step.reward]))
    return np.array(seen)


def test_every_physics_parameter_changes_the_next_states():
    env, worlds = hopper(dict.fromkeys(FAMILIES, 0.2), len(ACTING) + 1)
    wanted = np.zeros((env.num_envs, worlds.model.size))
    for row, name in enumerate(ACTING):
        wanted[row, env.physics.components.select([name])] = 1.0
    assert worlds.model.names == NAMES
    worlds.wanted = wanted
    seen = played(env)
    np.testing.assert_array_equal(seen[:, -1], played(make("Hopper", 1))[:, 0])
    same = [name for row, name in enumerate(ACTING) if np.array_equal(seen[:, row], seen[:, -1])]
    assert not same


@pytest.mark.parametrize("name", [*FAMILIES, "mass:torso", "gear:0", "damping:leg_joint"])
def test_physics_are_the_perturbation_with_the_same_numbers(name):
    env, worlds = hopper({name: 0.2}, 2)
    worlds.wanted = np.array([[1.5], [-0.7]]) * np.ones((1, worlds.model.size))
    levels = np.exp(0.2 * np.array([1.5, -0.7]))
    perturbed = [Perturbation("scale", float(x), {"parameter": name}) for x in levels]
    np.testing.assert_array_equal(played(env), played(make("Hopper", 2, perturbations=perturbed)))


def test_nothing_is_left_after_an_episode():
    """An anchor after probes is the simulator as it is, bit for bit."""
    env, worlds = hopper(0.2, 3)
    random = np.random.default_rng(0)
    for world in (
        random.normal(size=(3, worlds.model.size)),
        2.0 * np.ones((3, worlds.model.size)),
    ):
        worlds.wanted = world
        played(env)
    worlds.wanted = np.zeros_like(worlds.wanted)
    np.testing.assert_array_equal(played(env, 60), played(make("Hopper", 3), 60))


def by_episode(env: BatchEnv, steps: int) -> list[np.ndarray]:
    """The episodes of one environment, under actions that follow from episode and step alone."""
    seen, episodes, random = [env.reset(seeds=[(0,)])[0]], [], np.random.default_rng(0)
    for _ in range(steps):
        step = env.step(random.uniform(-1, 1, (1, 3)))
        seen.append(step.final_observation[0])
        if step.ended[0]:
            episodes.append(np.array(seen))
            seen, random = [step.observation[0]], np.random.default_rng(len(episodes))
    return episodes


def test_an_environment_goes_from_probe_to_anchor_and_back():
    """With fewer environments than roles each takes turns, through resets within steps."""
    env, worlds = hopper(dict.fromkeys(FAMILIES, 0.3), 1, EpisodeWorlds)
    roles = Roles(2, 3)
    worlds._roles = [roles]
    ours, theirs = by_episode(env, 500), by_episode(make("Hopper", 1), 500)
    count = min(len(ours), len(theirs))
    assert count >= 6
    random = (np.random.default_rng((_STREAM, 0, 0, k)) for k in range(count))
    for k, draw in enumerate(map(worlds.model.draw, random)):
        there = roles.of(0, 1, k) == PROBE and draw.any()
        assert np.array_equal(ours[k], theirs[k]) != there, k


def test_own_parameters_act_and_are_left_again():
    env = make("probe/world", 3)
    model = world_model(
        declared({"parameters": [{"name": "theta", "nominal": 0.0, "tolerance": 0.2}]}), None, 1, 1
    )
    worlds = env.hook = Placed(model, env, [0], [1.0], [Roles(0, 0)], [0.99])
    worlds.wanted = np.zeros((3, model.size))
    worlds.wanted[:, model.columns("parameters")[0]] = [0.0, 1.0, -2.0]
    env.reset()
    np.testing.assert_allclose(env.step(np.zeros((3, 1))).reward, [1.0, 0.8, 1.4])
    worlds.wanted[:] = 0.0
    env.reset()
    np.testing.assert_array_equal(env.step(np.zeros((3, 1))).reward, [1.0] * 3)


def test_sensors_and_actuators_leave_the_simulator_alone():
    """They act on what the policy sees and on what arrives, tests/learners/test_worlds.py."""
    env, worlds = hopper({}, 2, sensor=0.1, actuator=0.1, bias=0.1)
    worlds.wanted = np.ones((2, worlds.model.size))
    np.testing.assert_array_equal(played(env), played(make("Hopper", 2)))
    assert {KINDS[k] for k in worlds.model.kind} == {"sensor", "actuator", "bias"}
