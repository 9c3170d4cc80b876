"""Methods side by side in one population: radii move as their curricula say, also after a kill."""

import numpy as np
import pytest
from rich.console import Console

from drspcrl.runfolder.runs import read_run
from drspcrl.training import resume, train
from drspcrl.training.run import Trainer

QUIET = Console(quiet=True)
METHODS = (
    *("vanilla", "nominal", "fixed", "linear", "linear_radius", "domain_randomization"),
    *("accel", "space", "self_paced", "yoked"),
)
OWN = {"curriculum_every": 32, "draws": 4, "sensor": 0.2}


@pytest.fixture(
    scope="module",
    params=["sac", *(pytest.param(a, marks=pytest.mark.slow) for a in ("ddpg", "td3", "ppo"))],
)
def paced(request, small, tmp_path_factory):
    """A training of all methods; all but PPO learn from step 40 on."""
    algorithm = request.param

    def config(out):
        base = small(algorithm, out)
        return small(
            algorithm,
            out,
            env="probe/noise",  # its state can be restored: going on is exact
            uncertainty="transitions",
            methods=METHODS,
            seeds=(0,),
            settings={**base.settings, **OWN},
            log_every=32,
            checkpoint_every=64,
        )

    folders = train(config(tmp_path_factory.mktemp("paced")), QUIET)
    return algorithm, config, folders


def radii(folders) -> dict[str, np.ndarray]:
    return {read_run(f).method: read_run(f).metrics["epsilon"] for f in folders}


def test_every_method_paces_itself(paced):
    algorithm, _, folders = paced
    ε = radii(folders)
    assert not ε["vanilla"].any()
    assert not ε["nominal"].any()
    assert (ε["fixed"] == 1.0).all()
    # A row has the radius that was used: the line's first point is where the run starts.
    rows = 256 // (64 if algorithm == "ppo" else 32)
    np.testing.assert_allclose(ε["linear"], np.arange(rows) / rows, rtol=1e-6)
    assert ε["self_paced"][0] == 0.0
    assert 0.1 < ε["self_paced"][-1] <= 1.0
    assert (ε["accel"] <= 0.2).all()  # easy radii and edits of them
    np.testing.assert_allclose(ε["linear_radius"], np.square(np.arange(rows) / rows), rtol=1e-5)
    assert len(set(ε["domain_randomization"])) == rows
    np.testing.assert_array_equal(ε["yoked"], ε["self_paced"])  # one seed: its mean is itself


def test_robust_members_say_what_robustness_costs(paced):
    _, _, folders = paced
    last = {read_run(f).method: read_run(f).metrics for f in folders}
    for name in ("beta", "robust_value", "value_spread"):
        assert np.isfinite(last["fixed"][name][-1]), name
    assert last["vanilla"]["value_spread"][-1] == pytest.approx(0.0, abs=1e-5)
    assert last["fixed"]["value_spread"][-1] > 0.0


class Killed(BaseException):
    """Stands for a process that is gone."""


def test_a_killed_population_continues_with_the_same_radii(paced, tmp_path, monkeypatch):
    _, config, whole = paced
    own = Trainer._log

    def dying(self, scores):
        if self.loop.steps >= 160:
            monkeypatch.setattr(Trainer, "__exit__", lambda *_: None)
            raise Killed
        own(self, scores)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_log", dying)
        with pytest.raises(Killed):
            train(config(tmp_path), QUIET)
    monkeypatch.undo()
    folders = resume(tmp_path, console=QUIET)
    for left, right in zip(whole, folders, strict=True):
        assert left.name == right.name
        policy = "policy.safetensors"
        assert (left / policy).read_bytes() == (right / policy).read_bytes(), left.name
        np.testing.assert_array_equal(
            read_run(left).metrics["epsilon"], read_run(right).metrics["epsilon"]
        )
