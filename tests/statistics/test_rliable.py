"""The aggregates against rliable, which runs in an environment of its own."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from drspcrl.statistics import (
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
)

pytestmark = pytest.mark.peers

ROOT = Path(__file__).resolve().parents[2]
# rliable does not import with pandas 3.
REQUIREMENTS = ["rliable==1.2.0", "pandas<3", "setuptools<81"]
REPLICATES = 50_000
THRESHOLDS = np.linspace(-1, 3, 9)

ORACLE = """
import json, sys
import numpy as np
from rliable import library, metrics
given = json.load(sys.stdin)
x, y = np.array(given["x"]), np.array(given["y"])
taus, replicates = np.array(given["thresholds"]), given["replicates"]
iqm = lambda scores: np.array([metrics.aggregate_iqm(scores)])
better = lambda a, b: np.array([metrics.probability_of_improvement(a, b)])
out = {}
value, interval = library.get_interval_estimates({"x": x}, iqm, reps=replicates)
out["iqm"] = [float(value["x"][0]), *map(float, interval["x"][:, 0])]
value, interval = library.get_interval_estimates(
    {"x,y": (x, y)}, better, reps=replicates // 25)
out["improvement"] = [float(value["x,y"][0]), *map(float, interval["x,y"][:, 0])]
value, interval = library.create_performance_profile({"x": x}, taus, reps=replicates // 5)
out["profile"] = [value["x"].tolist(), *interval["x"].tolist()]
json.dump(out, sys.stdout)
"""


@pytest.fixture(scope="module")
def scores():
    random = np.random.default_rng(5)
    tasks = random.normal(1.0, 0.5, size=6)
    x = tasks + random.gumbel(0.2, 0.4, size=(5, 6))
    y = tasks + random.gumbel(0.0, 0.4, size=(7, 6))
    return x, y


@pytest.fixture(scope="module")
def oracle(scores):
    made = subprocess.run(
        [sys.executable, ROOT / "scripts" / "peer_env.py", "rliable", *REQUIREMENTS],
        check=True,
        capture_output=True,
        text=True,
    )
    python = made.stdout.splitlines()[-1]
    given = {
        "x": scores[0].tolist(),
        "y": scores[1].tolist(),
        "thresholds": THRESHOLDS.tolist(),
        "replicates": REPLICATES,
    }
    answer = subprocess.run(
        [python, "-W", "ignore", "-c", ORACLE],
        check=True,
        capture_output=True,
        text=True,
        input=json.dumps(given),
    )
    return json.loads(answer.stdout)


def test_interquartile_mean(scores, oracle):
    estimate = interquartile_mean(list(scores[0].T), replicates=REPLICATES)
    value, low, high = oracle["iqm"]
    assert estimate.value == pytest.approx(value, abs=1e-12)
    # both ends are Monte Carlo: at 50,000 replicates about 0.5% of the interval's length
    assert [estimate.low, estimate.high] == pytest.approx([low, high], abs=0.02 * (high - low))


def test_probability_of_improvement(scores, oracle):
    estimate = probability_of_improvement(
        list(scores[0].T), list(scores[1].T), replicates=REPLICATES
    )
    value, low, high = oracle["improvement"]
    assert estimate.value == pytest.approx(value, abs=1e-12)
    # the oracle's 2,000 replicates: about 2% of the interval's length
    assert [estimate.low, estimate.high] == pytest.approx([low, high], abs=0.06 * (high - low))


def test_performance_profile(scores, oracle):
    profile = performance_profile(list(scores[0].T), THRESHOLDS, replicates=REPLICATES // 5)
    share, low, high = oracle["profile"]
    np.testing.assert_allclose(profile.share, share, atol=1e-12)
    # a share of 30 scores moves in steps of 1/30; the quantile may fall on a neighbouring step
    np.testing.assert_allclose(profile.low, low, atol=1 / 30 + 1e-12)
    np.testing.assert_allclose(profile.high, high, atol=1 / 30 + 1e-12)
