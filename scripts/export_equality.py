"""How far exported policies are from the NumPy policy: the table in docs/guides/export.md.

    python scripts/export_equality.py

Takes the policies of the zoo, 10,000 observations that each of them meets itself (100 episodes,
100 steps), and writes the largest difference of an action component, in units where actions lie in
[−1, 1].
"""

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime

from drspcrl import zoo
from drspcrl.envs import make
from drspcrl.export import Source, export, read_source
from drspcrl.policy import Policy

PAGE = Path(__file__).resolve().parent.parent / "docs/guides/export.md"
MARKER, END = "<!-- made by scripts/export_equality.py -->", "<!-- end -->"
EPISODES = STEPS = 100
PROGRAM = """
#include "policy.h"
#include <stdio.h>
int main(void) {
    float o[POLICY_OBSERVATION_SIZE], a[POLICY_ACTION_SIZE];
    while (fread(o, sizeof o, 1, stdin) == 1) { policy_step(o, a); fwrite(a, sizeof a, 1, stdout); }
    return 0;
}
"""


def met(policy: Policy, task: str) -> np.ndarray:
    """Observations that the policy meets, [10,000, O]."""
    env = make(task, EPISODES)
    seen = [env.reset()]
    for _ in range(STEPS - 1):
        seen.append(env.step(policy(seen[-1])).observation)
    return np.concatenate(seen).astype(np.float32)


def exact(policy: Policy, observations: np.ndarray) -> np.ndarray:
    """The deterministic action in double precision."""
    x = (observations - policy.observation_mean.astype(float)) / policy.observation_scale
    x = np.clip(x, -policy.observation_clip, policy.observation_clip)
    *hidden, (kernel, bias) = [(k.astype(float), b.astype(float)) for k, b in policy.layers]
    for k, b in hidden:
        x = np.maximum(x @ k + b, 0.0) if policy.activation == "relu" else np.tanh(x @ k + b)
    x = (x @ kernel + bias)[:, : policy.action_size]
    unit = np.clip(x, -1.0, 1.0) if policy.kind == "gaussian" else np.tanh(x)
    low, high = policy.action_low.astype(float), policy.action_high.astype(float)
    return np.clip((high + low) / 2 + (high - low) / 2 * unit, low, high)


def in_onnx(source: Source, observations: np.ndarray, folder: Path) -> np.ndarray:
    """The actions of policy.onnx."""
    session = onnxruntime.InferenceSession(export(source, folder / "policy.onnx").path)
    return np.asarray(session.run(None, {"observation": observations})[0])


def in_c(source: Source, observations: np.ndarray, folder: Path) -> np.ndarray:
    """The actions of policy.h."""
    export(source, folder / "policy.h")
    (folder / "main.c").write_text(PROGRAM)
    subprocess.run(["cc", "-std=c99", "-O2", "main.c", "-o", "main", "-lm"], cwd=folder, check=True)
    done = subprocess.run(
        [folder / "main"], input=observations.tobytes(), capture_output=True, check=True
    )
    return np.frombuffer(done.stdout, np.float32).reshape(len(observations), -1)


def row(name: str) -> str:
    """One line of the table."""
    source = read_source(f"zoo:{name}")
    policy = source.policy
    observations = met(policy, str(source.metadata["task"]))
    numpy = policy(observations)
    one_by_one = np.concatenate([policy(observation[None]) for observation in observations])
    forms: list[Callable[..., np.ndarray]] = [in_onnx, in_c]
    with tempfile.TemporaryDirectory() as folder:
        others = [form(source, observations, Path(folder)) for form in forms]
    others += [one_by_one, exact(policy, observations)]
    half_range = (policy.action_high - policy.action_low) / 2
    cells = [f"{(np.abs(other - numpy) / half_range).max():.1e}" for other in others]
    return f"| `{name}` | {' | '.join(cells)} |"


def main() -> None:
    """Write the table."""
    head = "| policy | ONNX | C | NumPy, one by one | exact (float64) |\n|---|---:|---:|---:|---:|"
    lines = [MARKER, head, *map(row, zoo.names()), END]
    print("\n".join(lines))
    before, _, rest = PAGE.read_text().partition(MARKER)
    PAGE.write_text(before + "\n".join(lines) + rest.partition(END)[2])


if __name__ == "__main__":
    main()
