"""The C header: compiled with every warning an error, and compared with the NumPy policy."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from drspcrl.export import export, read_source
from drspcrl.export.c_header import harmless, literal

from .conftest import (
    ACTIONS,
    OBSERVATIONS,
    exact,
    extreme_observations,
    made,
    observations_of,
)

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2")
PROGRAM = """
#include "policy.h"
#include <stdio.h>

int main(void)
{
    float observation[POLICY_OBSERVATION_SIZE], action[POLICY_ACTION_SIZE];
    while (fread(observation, sizeof observation, 1, stdin) == 1) {
        policy_step(observation, action);
        fwrite(action, sizeof action, 1, stdout);
    }
    return 0;
}
"""


@pytest.fixture
def compiled(tmp_path):
    """Compiles the program around a source's header; what it makes of observations."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")

    def run(source, observations, *options):
        export(source, tmp_path / "policy.h")
        (tmp_path / "main.c").write_text(PROGRAM)
        command = [compiler, *STRICT, *options, "main.c", "-o", "main", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
        done = subprocess.run(
            [tmp_path / "main"], input=observations.tobytes(), capture_output=True, check=True
        )
        return np.frombuffer(done.stdout, observations.dtype).reshape(len(observations), -1)

    return run


def test_equal_to_the_numpy_policy(source, compiled):
    observations = observations_of(source.policy)
    actions = compiled(source, observations)
    np.testing.assert_allclose(actions, source.policy(observations), rtol=0, atol=1e-6)


def test_equal_for_extreme_observations(source, compiled):
    observations = extreme_observations(source.policy)
    with np.errstate(invalid="ignore"):
        expected = source.policy(observations)
    actions = compiled(source, observations)
    np.testing.assert_allclose(actions, expected, rtol=0, atol=1e-6)


def test_in_double_precision_it_is_the_exact_action(source, compiled):
    """Nothing but rounding separates them: with another type it is gone, up to the constants."""
    observations = observations_of(source.policy, 1000).astype(np.float64)
    actions = compiled(source, observations, "-Dfloat=double", "-Dtanhf=tanh")
    # Middle and half width of the range are constants, rounded to single precision.
    np.testing.assert_allclose(actions, exact(source.policy, observations), rtol=0, atol=1e-7)


def test_a_broken_sensor_is_not_turned_into_an_action(source, compiled):
    observations = observations_of(source.policy, 4)
    observations[2, 5] = np.nan
    finite = np.isfinite(compiled(source, observations)).all(axis=1)
    assert finite.tolist() == [True, True, False, True]


def test_size_and_operations(write_run, tmp_path):
    summary = export(read_source(write_run(made("sac", width=64))), tmp_path / "policy.h").summary
    weights = OBSERVATIONS * 64 + 64 * 64 + 64 * ACTIONS
    constants = weights + 64 + 64 + ACTIONS + 2 * OBSERVATIONS + 4 * ACTIONS
    assert f"{4 * constants:,} bytes of constants" in summary
    assert f"{weights:,} multiply-adds per step" in summary
    assert f"({(tmp_path / 'policy.h').stat().st_size:,} bytes of source)" in summary


def test_the_comment_tells_the_training_worlds_and_their_radius(write_run, tmp_path):
    worlds = {"law": "ball", "physics": {"mass": 0.2, "gear": 0.1}, "presence": {}}
    folder = write_run(made("sac", width=8), uncertainty="worlds", worlds=worlds)
    export(read_source(folder), tmp_path / "policy.h")
    header = (tmp_path / "policy.h").read_text()
    assert " * training radius: 0.25\n" in header
    assert " * worlds at radius 1, physics: mass 0.2, gear 0.1\n" in header
    assert "presence" not in header


def test_nothing_from_a_run_folder_becomes_code(write_run, compiled, tmp_path):
    evil = "*/ #error broken out /* ??/\n#error also\\\n\x1b[31m é"
    folder = write_run(made("sac", width=8), env=evil, method=evil, algorithm=evil, steps=evil)
    source = read_source(folder)
    compiled(source, observations_of(source.policy, 1))
    header = (tmp_path / "policy.h").read_text()
    assert header.isascii()
    assert "??/" not in header
    assert header.count("/*") == header.count("*/")
    assert not re.search(r"^\s*#\s*error", header, re.MULTILINE)


def test_harmless_text():
    assert harmless("a*/b\\c\nd?") == "a_/b_c_d_"
    assert len(harmless("x" * 1000)) == 200


@pytest.mark.parametrize("value", [0.1, -1e-45, 3.4028235e38, 1 / 3, 16777216.0, 0.0])
def test_literals_read_back_exactly(value):
    text = literal(np.float32(value))
    assert re.fullmatch(r"-?\d+(\.\d+)?(e[+-]\d+)?f", text)
    assert "." in text or "e" in text
    assert np.float32(text[:-1]) == np.float32(value)
