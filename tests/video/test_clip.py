"""What a clip shows, on a task that draws itself; no OpenGL is needed for that."""

import gymnasium
import numpy as np
import pytest
from clips import read_gif
from gymnasium.spaces import Box

from drspcrl.errors import InputError
from drspcrl.perturbations import Perturbation
from drspcrl.video import render
from drspcrl.video.clip import Picture, in_words
from drspcrl.video.episodes import Player

SIZE = (120, 80)
LINE = 16  # of text, at this size
STEP = 20


class Counter(gymnasium.Env):
    """Grey that brightens with every step; a positive action ends the episode at step 3."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 25}  # noqa: RUF012
    observation_space = Box(-1.0, 1.0, (1,))
    action_space = Box(-1.0, 1.0, (1,))

    def __init__(self, render_mode: str | None = None):
        self.render_mode, self._steps = render_mode, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self._steps += 1
        ended = bool(action[0] > 0) and self._steps == 3
        return np.zeros(1, np.float32), 1.5, ended, False, {}

    def render(self):
        return np.full((SIZE[1], SIZE[0], 3), STEP * self._steps, np.uint8)


class Blind(Counter):
    metadata = {"render_modes": []}  # noqa: RUF012


def register(name: str, made: type[gymnasium.Env]) -> None:
    if name not in gymnasium.registry:
        gymnasium.register(name, entry_point=made)  # pyright: ignore[reportArgumentType]


@pytest.fixture(autouse=True)
def tasks():
    register("DrspcrlCounter-v0", Counter)
    register("DrspcrlBlind-v0", Blind)


def ends(observations: np.ndarray) -> np.ndarray:
    return np.ones((len(observations), 1))


def continues(observations: np.ndarray) -> np.ndarray:
    return -np.ones((len(observations), 1))


def film(tmp_path, **options):
    return render(
        {"ends": ends, "continues": continues}, "DrspcrlCounter-v0", tmp_path / "clip.gif",
        size=SIZE, **options,
    )  # fmt: skip


def panels(path) -> np.ndarray:
    """The grey of each panel's middle, frame by frame."""
    middle = 2 * LINE + SIZE[1] // 2
    frames, _ = read_gif(path)
    return frames[:, middle, [SIZE[0] // 2, SIZE[0] + SIZE[0] // 2], 0].astype(int)


def test_every_frame_shows_its_step_and_a_finished_episode_stands_still(tmp_path):
    clip = film(tmp_path, steps=6)
    assert (clip.frames, clip.rate) == (7, 25.0)
    assert clip.size == (2 * SIZE[0], SIZE[1] + 3 * LINE)
    first, second = panels(clip.path).T
    np.testing.assert_allclose(second, STEP * np.arange(7), atol=3)
    # Frames 0, 1, 2 are its own; then its last picture, blended half and half with grey 110. The
    # simulation has begun another episode by then, which must not be shown.
    np.testing.assert_allclose(first[:3], STEP * np.arange(3), atol=3)
    np.testing.assert_allclose(first[3:], (2 * STEP + 110) / 2, atol=3)


def test_how_it_went(tmp_path):
    clip = film(tmp_path, seconds=0.2)  # 5 steps of 1/25 s
    shown = [(e.name, e.returns, e.steps, e.ending) for e in clip.endings]
    assert shown == [("ends", 4.5, 3, "fell"), ("continues", 7.5, 5, "")]


def test_a_clip_ends_when_all_episodes_have(tmp_path):
    clip = render({"ends": ends}, "DrspcrlCounter-v0", tmp_path / "clip.gif", size=SIZE)
    assert clip.frames == 4


def test_speed_changes_the_rate_alone(tmp_path):
    assert film(tmp_path, steps=4, speed=0.5).rate == 12.5
    shown = []
    assert film(tmp_path, steps=4, show=lambda step, most: shown.append((step, most))).frames == 5
    assert shown == [(k, 4) for k in range(5)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seconds": 0.0}, "seconds is 0.0; .* 0.001 to 3600"),
        ({"seconds": float("nan")}, "seconds is nan"),
        ({"speed": -1.0}, "speed is -1.0; .* 0.01 to 100"),
        ({"steps": 0}, "steps is 0; .* in 1 to 1000000"),
        ({"seed": -1}, "seed is -1"),
        ({"size": (10, 100)}, r"size is \(10, 100\); .* 64 to 1920"),
        ({"setting": [Perturbation("scale", 2.0, {"parameter": "mass"})]}, "MuJoCo"),
    ],
)
def test_arguments_that_do_not_fit(tmp_path, options, message):
    arguments = {"size": SIZE, **options}
    with pytest.raises(InputError, match=message):
        render({"ends": ends}, "DrspcrlCounter-v0", tmp_path / "clip.gif", **arguments)
    assert not list(tmp_path.iterdir())


def test_tasks_that_cannot_be_shown(tmp_path):
    with pytest.raises(InputError, match="neither a MuJoCo model nor the render mode"):
        render({"ends": ends}, "DrspcrlBlind-v0", tmp_path / "clip.gif")
    with pytest.raises(InputError, match="'DrspcrlNothing-v0' is unknown"):
        render({"ends": ends}, "DrspcrlNothing-v0", tmp_path / "clip.gif")
    with pytest.raises(InputError, match="--trust os:Env-v0"):
        render({"ends": ends}, "os:Env-v0", tmp_path / "clip.gif")
    with pytest.raises(InputError, match="17 policies"):
        render({str(k): ends for k in range(17)}, "Hopper", tmp_path / "clip.gif")


def test_a_function_of_ones_own_is_shown(tmp_path, monkeypatch):
    (tmp_path / "own_shown.py").write_text(
        "import gymnasium\n"
        "def make(render_mode=None):\n"
        "    return gymnasium.make('DrspcrlCounter-v0', render_mode=render_mode)\n"
        "def plain():\n    return make('rgb_array')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("own_shown:make", "own_shown:plain"):
        with pytest.raises(InputError, match="--trust own_shown"):
            render({"ends": ends}, name, tmp_path / "clip.gif")
        assert render({"ends": ends}, name, tmp_path / "clip.gif", trust=[name]).frames > 1


def test_a_setting_in_words():
    parts = [Perturbation("scale", 1.5, {"parameter": "mass:torso"}), Perturbation("action", 0.3)]
    assert in_words(parts) == "mass:torso × 1.5, action 0.3"
    assert in_words(()) == "nominal"


@pytest.mark.parametrize(
    ("count", "width", "size"), [(1, 100, (100, 128)), (5, 100, (400, 240)), (3, 101, (304, 128))]
)
def test_panels_stand_in_rows_of_four_and_lengths_are_even(count, width, size):
    assert Picture(count, (width, 80), "title").size == size


def test_time_return_and_long_names_stay_in_their_place():
    picture = Picture(2, (200, 100), "a title that does not fit " * 9)
    black = [np.zeros((100, 200, 3), np.uint8)] * 2
    line = (picture.size[1] - 100) // 3

    def drawn(name: str, returns: float, seconds: float) -> np.ndarray:
        players = [Player(name, returns), Player("other", 1.0)]
        return np.asarray(picture.frame(black, players, seconds, 0.01))

    def changed(one: np.ndarray, two: np.ndarray) -> tuple[int, int, int, int]:
        rows, columns = np.nonzero((one != two).any(axis=2))
        return rows.min(), rows.max(), columns.min(), columns.max()

    begin = drawn("name", 1.0, 0.0)
    top, bottom, left, _ = changed(begin, drawn("name", 1.0, 1.0))
    assert bottom < line  # the clock is in the first line, at its right end
    assert left > 300
    top, bottom, _, right = changed(begin, drawn("name", 99.5, 0.0))
    assert top >= 2 * line + 100
    assert right < 200
    top, bottom, _, right = changed(begin, drawn("n\x1b\nä" * 10_000, 1.0, 0.0))
    assert (top >= line, bottom < 2 * line, right < 200) == (True, True, True)
