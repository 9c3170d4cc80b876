"""The example of a user's own curriculum works, by name, as a class and as an object."""

from pathlib import Path

import pytest
from curriculum_signals import QUIET

from drspcrl.curricula import curriculum
from drspcrl.divergences import KL
from drspcrl.errors import InputError

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import own_curriculum  # type: ignore[import-not-found]

    return own_curriculum


def test_it_is_found_by_name_and_follows_its_rule(example):
    by_name = curriculum("own_curriculum:KeepUp", {"epsilon_budget": 0.5}, 10, 0.9, KL())
    as_class = curriculum(example.KeepUp, {"epsilon_budget": 0.5}, 10, 0.9, KL())
    assert by_name == as_class
    assert curriculum(by_name, {}, 10, 0.9, KL()) is by_name
    state = by_name.init(0)
    # 10 is the best so far, 9.6 keeps up with it, 9.4 does not.
    for achieved, expected in [(10.0, 0.01), (9.6, 0.02), (9.4, 0.01), (float("nan"), 0.01)]:
        state = by_name.update(state, QUIET._replace(episode_return=achieved))
        assert by_name.epsilon(state) == pytest.approx(expected)


def test_it_trains(example, capsys):
    found = example.main(iterations=12)
    assert set(found) == {"fixed", "self_paced", "KeepUp"}
    assert "KeepUp" in capsys.readouterr().out


def test_the_documentation_shows_the_same_code():
    shown = (EXAMPLES.parent / "docs" / "concepts" / "curricula.md").read_text(encoding="utf-8")
    written = (EXAMPLES / "own_curriculum.py").read_text(encoding="utf-8")
    start = written.index("@dataclass")
    assert written[start : written.index("\n\n\ndef main")] in shown


def test_one_that_cannot_be_made_is_told_as_the_users(tmp_path, monkeypatch):
    (tmp_path / "no_curriculum.py").write_text(
        "class Mine: pass\ndef leave(setup): raise InputError\nInputError = KeyError\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name, why in (("Mine", "TypeError: Mine"), ("leave", "KeyError")):
        with pytest.raises(InputError, match=rf"'no_curriculum:{name}' cannot be made .*{why}"):
            curriculum(f"no_curriculum:{name}", {}, 10, 0.9, KL())
