"""The control that replays self_paced."""

import json

import numpy as np
import pytest
import yaml
from curriculum_signals import QUIET

from drspcrl.curricula import Yoked, curriculum
from drspcrl.divergences import KL
from drspcrl.errors import InputError


def write_run(folder, method, seed, steps, radii):
    folder.mkdir(parents=True)
    info = {"format_version": 1, "env": "Hopper", "algorithm": "sac", "method": method}
    (folder / "run.json").write_text(json.dumps({**info, "seed": seed}))
    (folder / "config.yaml").write_text(yaml.safe_dump({}))
    rows = "".join(f"{step},{ε}\n" for step, ε in zip(steps, radii, strict=True))
    (folder / "metrics.csv").write_text("step,epsilon\n" + rows)


def test_it_follows_its_peers_into_the_same_iteration():
    rule = Yoked(start=0.01, iterations=10)
    state = rule.init(0)
    assert rule.epsilon(state) == 0.01
    state = rule.update(state, QUIET._replace(peers_epsilon=0.2))
    assert rule.epsilon(state) == 0.2
    state = rule.update(state, QUIET)  # nothing said
    assert rule.epsilon(state) == 0.2


def test_it_replays_the_mean_of_earlier_runs_at_any_length(tmp_path):
    write_run(tmp_path / "a", "self_paced", 0, [0, 100, 200], [0.0, 0.4, 0.4])
    write_run(tmp_path / "b", "self_paced", 1, [0, 100, 200], [0.0, 0.0, 0.8])
    write_run(tmp_path / "c", "fixed", 0, [0, 100, 200], [1.0, 1.0, 1.0])
    settings = {"yoked_to": str(tmp_path)}
    for iterations in (4, 40):
        rule = curriculum("yoked", settings, iterations, 0.9, KL())
        state, found = rule.init(0), []
        for _ in range(iterations + 1):
            found.append(rule.epsilon(state))
            state = rule.update(state, QUIET._replace(peers_epsilon=0.9))
        np.testing.assert_allclose(found[:: iterations // 4], [0.0, 0.1, 0.2, 0.4, 0.6], atol=1e-12)


def test_a_folder_without_such_runs_is_an_error(tmp_path):
    write_run(tmp_path / "c", "fixed", 0, [0, 100], [1.0, 1.0])
    with pytest.raises(InputError, match="holds no self_paced run"):
        curriculum("yoked", {"yoked_to": str(tmp_path)}, 10, 0.9, KL())


def test_only_runs_of_the_same_form_of_uncertainty_are_replayed(tmp_path):
    write_run(tmp_path / "a", "self_paced", 0, [0, 100], [0.2, 0.2])
    write_run(tmp_path / "b", "self_paced", 1, [0, 100], [0.6, 0.6])
    (tmp_path / "b" / "config.yaml").write_text(yaml.safe_dump({"uncertainty": "worlds"}))
    for worlds, radius in ((False, 0.2), (True, 0.6)):
        rule = curriculum("yoked", {"yoked_to": str(tmp_path)}, 10, 0.9, KL(), worlds)
        assert rule.epsilon(rule.init(0)) == pytest.approx(radius)
    with pytest.raises(InputError, match=r"ε in metrics\.csv and uncertainty worlds; name"):
        curriculum("yoked", {"yoked_to": str(tmp_path / "a")}, 10, 0.9, KL(), worlds=True)
