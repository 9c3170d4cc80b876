"""A search that was stopped continues, and a search that was changed does not."""

import json

import numpy as np
import pytest
import spiral

from drspcrl.errors import InputError
from drspcrl.evaluation.stress import stress
from drspcrl.evaluation.stress.ledger import Ledger

STATE = "stress-state.json"


def search(out, policy=spiral.act, **options):
    settings = {"budget": 400, "episodes": 1, "limit": 0.0, "show": None} | options
    return stress(
        policy, spiral.Spiral, spiral.WORLDS, parameters=["gain", "twist"], out=out, **settings
    )


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    out = tmp_path_factory.mktemp("straight")
    return out, search(out)


def test_resumed_equals_straight(straight, tmp_path, monkeypatch):
    folder, _ = straight
    play, left = Ledger.play, [9]

    def stop_after_a_few(self, points, seeds):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return play(self, points, seeds)

    monkeypatch.setattr(Ledger, "play", stop_after_a_few)
    with pytest.raises(KeyboardInterrupt):
        search(tmp_path)
    monkeypatch.undo()
    assert not (tmp_path / "stress.json").exists()
    assert len(json.loads((tmp_path / STATE).read_text())["plays"]) == 8
    search(tmp_path)
    for name in ("stress.json", STATE):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_a_finished_search_is_told_again_without_playing_it(straight, monkeypatch):
    folder, result = straight
    played, step = [], spiral.Spiral.step
    monkeypatch.setattr(spiral.Spiral, "step", lambda self, a: played.append(1) or step(self, a))
    assert search(folder).record() == result.record()
    most = 2 * 10 + 6 * 10 + 32 * spiral.STEPS  # trying set_world, and the nominal episodes again
    assert len(played) <= most


def test_a_changed_search_is_refused(straight):
    folder, _ = straight
    with pytest.raises(InputError, match=r"another search \(budget 400 → 410, limit 0.0 → 0.5\)"):
        search(folder, budget=410, limit=0.5)


def test_a_changed_policy_is_noticed(straight):
    def act(observations):
        return 0.9 * spiral.act(observations)

    act.__qualname__ = spiral.act.__qualname__
    with pytest.raises(InputError, match="the policy or the environment has changed"):
        search(straight[0], policy=act)


@pytest.mark.parametrize("content", ["{", "[]", '{"kind": "drspcrl stress state"}', '{"kind": 1}'])
def test_a_damaged_state_is_refused_and_overwritten_when_told(tmp_path, content, straight):
    (tmp_path / STATE).write_text(content)
    with pytest.raises(InputError, match="--overwrite to begin again"):
        search(tmp_path)
    if content == "{":
        assert search(tmp_path, overwrite=True).record() == straight[1].record()


@pytest.mark.parametrize(
    "change",
    [
        {"returns": [["x"]]},
        {"returns": [[[1.0]]]},
        {"returns": {"a": 1}},
        {"returns": [[1.0, 2.0]]},
        {"diverged": "no"},
        {"worlds": [["x", "y"]]},
        {"worlds": [[10**400, 1]]},
        {"seeds": [1]},
    ],
)
def test_a_forged_state_is_refused(straight, tmp_path, change):
    content = json.loads((straight[0] / STATE).read_text())
    content["plays"][1].update(change)
    (tmp_path / STATE).write_text(json.dumps(content))
    with pytest.raises(InputError, match="--overwrite to begin again"):
        search(tmp_path)


def test_another_search_is_named_safely(straight, tmp_path):
    content = json.loads((straight[0] / STATE).read_text())
    content["request"]["env"] = ["\x1b[31m" * 50] * 1000
    (tmp_path / STATE).write_text(json.dumps(content))
    with pytest.raises(InputError, match="another search") as caught:
        search(tmp_path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


def test_the_result_file(straight):
    folder, result = straight
    content = json.loads((folder / "stress.json").read_text())
    assert content == json.loads(json.dumps(result.record()))
    assert content["kind"] == "drspcrl stress"
    assert content["format_version"] == 1
    assert content["question"]["parameters"] == ["gain", "twist"]
    nearest = {v["name"]: v for v in content["nearest"]["values"]}
    assert nearest["gain"]["value"] == pytest.approx(
        spiral.GAIN + spiral.TOLERANCE * nearest["gain"]["tolerances"]
    )
    assert {"mean", "low", "high", "episodes"} <= content["worst"]["return"].keys()
    down, up = (content["alone"][1][k] for k in ("down", "up"))
    assert (down["fails"], up["fails"]) == (False, True)
    assert up["value"] == pytest.approx(np.sqrt(1 - spiral.GAIN**2), rel=0.02)
    assert sorted(path.name for path in folder.iterdir()) == ["stress-state.json", "stress.json"]


def test_the_figure(straight, tmp_path):
    from drspcrl.evaluation.stress.figure import draw

    draw(straight[1], tmp_path)
    assert (tmp_path / "stress.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "stress.svg").read_text()
    assert "</svg>" in svg
    draw(straight[1], tmp_path)
    assert (tmp_path / "stress.svg").read_text() == svg
    assert sorted(p.name for p in tmp_path.iterdir()) == ["stress.png", "stress.svg"]
