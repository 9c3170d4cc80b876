"""NumPy arrays, evaluated by the very lines that the documentation shows."""

import json
import re
from pathlib import Path

import numpy as np

from drspcrl.export import export

from .conftest import observations_of

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "export.md"


def test_the_lines_in_the_documentation_evaluate_it(source, tmp_path, monkeypatch):
    (program,) = re.findall(r"```python\n(import json.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(program.strip().splitlines()) <= 20
    export(source, tmp_path / "policy.npz")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(program, names)
    observations = observations_of(source.policy)
    with names["z"]:
        actions = names["act"](observations)
    np.testing.assert_allclose(actions, source.policy(observations), rtol=0, atol=1e-6)


def test_loads_without_pickle_and_tells_what_it_is(source, tmp_path):
    path = export(source, tmp_path / "policy.npz").path
    with np.load(path, allow_pickle=False) as arrays:
        assert json.loads(str(arrays["metadata"])) == source.metadata
        assert all(arrays[name].dtype.kind in "fU" for name in arrays.files)
