"""Environments by the name of a module, and as functions and classes."""

import sys

import gymnasium
import numpy as np
import own_environments
import pytest

from drspcrl.envs import make
from drspcrl.errors import InputError

NAMES = ["own_environments:Tank-v0", "own_environments:make_tank", own_environments.make_tank]


def played(env) -> np.ndarray:
    actions = np.full((2, 1), 0.3, np.float32)
    seen = [env.reset(seeds=[4, 5]), *(env.step(actions).observation for _ in range(25))]
    env.close()
    return np.stack(seen)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: getattr(name, "__name__", name))
def test_all_ways_to_name_an_environment_make_the_same_one(name):
    np.testing.assert_array_equal(played(make(name, 2)), played(make("Tank-v0", 2)))


def test_a_class_is_called_as_it_is():
    env = make("own_environments:Tank", 2)
    first = played(env)
    np.testing.assert_array_equal(first[:20], played(make("Tank-v0", 2))[:20])
    assert not np.array_equal(first, played(make("Tank-v0", 2)))  # which has a time limit


def test_the_module_is_imported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "registers.py").write_text(
        "import gymnasium, own_environments\n"
        "gymnasium.register('Imported-v3', entry_point=own_environments.Tank)\n"
    )
    env = make("registers:Imported-v3")
    assert env.observation_space.shape == (2,)
    del gymnasium.registry["Imported-v3"], sys.modules["registers"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("own_environments:Tonk-v0", "'own_environments:Tonk-v0' is unknown.*my_module:My-v0"),
        ("own_environments:np.pi", "'own_environments:np.pi' is unknown"),
        ("Tonk-v0", r"'Tonk-v0' is unknown .*--trust my_module:My-v0"),
        ("nowhere_at_all:Tank-v0", "nowhere_at_all cannot be imported: there is none on the"),
    ],
)
def test_what_is_not_there_says_what_to_give(name, reason):
    with pytest.raises(InputError, match=reason):
        make(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["own_environments:Tank-v0", "Tank-v0"])
def test_other_processes_import_the_module_too(name):
    np.testing.assert_array_equal(played(make(name, 2, processes=True)), played(make(name, 2)))
