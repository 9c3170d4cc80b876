"""The code in the guides runs."""

import re
from pathlib import Path

import gymnasium
import numpy as np

DOCS = Path(__file__).parents[2] / "docs"


def run_blocks(page: str) -> dict:
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL):
        exec(compile(block, page, "exec"), names)
    return names


def test_a_kind_of_your_own():
    weak = run_blocks("reference/perturbations.md")["WeakMotors"]
    env = weak(gymnasium.make("Hopper-v5"), 0.25)
    plain = gymnasium.make("Hopper-v5")
    env.reset(seed=1)
    plain.reset(seed=1)
    action = np.array([0.4, -0.8, 1.0], np.float32)
    np.testing.assert_array_equal(
        env.step(action)[0], plain.step((0.75 * action).astype(np.float32))[0]
    )


def test_the_suite_of_the_guide_is_the_papers():
    suite = run_blocks("reference/perturbations.md")["suite"]
    assert len(suite) == 16
    assert suite[0] is None
