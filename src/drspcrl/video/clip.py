"""`render`: one clip of several policies in the same episode of the same world.

A frame has panels side by side, with what they show written around them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from drspcrl.errors import InputError
from drspcrl.evaluation.actor import Policy
from drspcrl.evaluation.evaluator import MOST
from drspcrl.perturbations import Perturbation
from drspcrl.perturbations.setting import number
from drspcrl.video.episodes import Episode, Player
from drspcrl.video.scene import Scene, scene_of
from drspcrl.video.writer import check_out, write

MOST_COLUMNS = 4
_LONGEST = 300
_PAPER, _INK, _FADED = "white", "black", (110, 110, 110)


class Picture:
    """Lays out frames of one size.

    Args:
        panels: How many.
        size: Width and height of one panel.
        title: What is the same in all panels: task, world, perturbation.
    """

    def __init__(self, panels: int, size: tuple[int, int], title: str):
        self._panel, self._title = size, title
        # As readable in a large picture as in a small one.
        self._line = max(16, size[1] // 18)
        self._font = _font(int(self._line * 0.72))
        self._columns = min(panels, MOST_COLUMNS)
        rows = ceil(panels / self._columns)
        self._block = size[1] + 2 * self._line
        width, height = self._columns * size[0], self._line + rows * self._block
        # Video formats halve colours in both directions, so both lengths must be even.
        self.size = width + width % 2, height + height % 2

    def frame(
        self, images: Sequence[np.ndarray], players: Sequence[Player], seconds: float, period: float
    ) -> Image.Image:
        """The panels at one moment.

        Args:
            images: One picture for each player.
            players: Names, returns and endings.
            seconds: Simulated time.
            period: Seconds of one step, for when an episode ended.
        """
        page = Image.new("RGB", self.size, _PAPER)
        pen = ImageDraw.Draw(page)
        clock = f"{seconds:6.2f} s"
        right = self.size[0] - self._width(clock) - 6
        self._write(pen, self._title, 0, 0, right - 6)
        self._write(pen, clock, right - 6, 0, self.size[0])
        for k, (image, player) in enumerate(zip(images, players, strict=True)):
            left = k % self._columns * self._panel[0]
            top = self._line + k // self._columns * self._block
            self._write(pen, player.name, left, top, left + self._panel[0])
            shown = Image.fromarray(image)
            if player.ending:
                shown = Image.blend(shown, Image.new("RGB", shown.size, _FADED), 0.5)
            page.paste(shown, (left, top + self._line))
            words = f"return {player.returns:,.1f}"
            if player.ending:
                words += f", {player.ending} at {player.steps * period:.2f} s"
            self._write(pen, words, left, top + self._line + self._panel[1], left + self._panel[0])
        return page

    def _write(self, pen: ImageDraw.ImageDraw, text: str, left: int, top: int, right: int) -> None:
        """One line, shortened in the middle where it does not fit."""
        text = "".join(c if c.isprintable() else " " for c in text[:_LONGEST])
        room, shown, kept = right - left - 12, text, len(text)
        while kept > 2 and self._width(shown) > room:
            kept -= 1
            shown = f"{text[: ceil(kept / 2)]}…{text[len(text) - kept // 2 :]}"
        middle = top + self._line / 2
        pen.text((left + 6, middle), shown, fill=_INK, font=self._font, anchor="lm")

    def _width(self, text: str) -> int:
        return ceil(self._font.getlength(text))


def _font(size: int) -> ImageFont.FreeTypeFont:
    """A font that every installation has, with the letters that names may hold."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(str(folder / "DejaVuSans.ttf"), size)


MOST_PANELS, MOST_STEPS = 16, 1_000_000
_SMOOTH = 30.0
"""Frames per second that a clip is to have, as nearly as steps allow."""
_SIZES, _SECONDS, _SPEEDS = (64, 1920), (1e-3, 3600.0), (1e-2, 1e2)


@dataclass(frozen=True)
class Ending:
    """How the episode went for one policy.

    Attributes:
        name: The policy's.
        returns: Sum of rewards in the clip; nan if the simulation diverged.
        steps: Steps in the clip.
        ending: `fell`, `time limit` or `diverged`; empty where the clip ends before the episode.
    """

    name: str
    returns: float
    steps: int
    ending: str


@dataclass(frozen=True)
class Clip:
    """A clip that was written.

    Attributes:
        path: The file.
        size: Width and height.
        frames: How many.
        rate: Frames per second.
        endings: How it went, in the order of the policies.
    """

    path: Path
    size: tuple[int, int]
    frames: int
    rate: float
    endings: tuple[Ending, ...]


def render(
    policies: Mapping[str, Policy],
    env: str,
    out: str | Path,
    setting: Sequence[Perturbation] = (),
    *,
    seed: int = 0,
    episode: int = 0,
    seconds: float = 10.0,
    steps: int | None = None,
    speed: float = 1.0,
    size: tuple[int, int] = (480, 360),
    trust: Collection[str] = (),
    show: Callable[[int, int], None] | None = None,
) -> Clip:
    """Write a clip of one episode, all policies side by side.

    It is the episode of this number that `evaluate` plays in the setting with this seed. Call
    `prepare_graphics` before anything imports MuJoCo.

    Args:
        policies: Policies by name, as `evaluate` takes them.
        env: A task, or a Gymnasium id.
        out: `clip.mp4` or `clip.gif`.
        setting: Perturbations, the innermost first.
        seed: The evaluation's seed.
        episode: The episode's number.
        seconds: The most to show, in simulated time.
        steps: The most to show in steps, in place of `seconds`.
        speed: Simulated seconds per second; 1 is real time.
        size: Width and height of each panel.
        trust: Environments of the form `module:Id` whose module may be imported.
        show: Told of every frame: the step that it shows, and the most there may be.

    Raises:
        InputError: Arguments that do not fit, or a package or OpenGL that is missing.
    """
    out = Path(out)
    check_out(out)
    _check(policies, {"seed": seed, "episode": episode, "steps": 1 if steps is None else steps})
    _check_sizes(seconds, speed, size)
    scene = scene_of(env, len(policies), size, trust)
    try:
        played = Episode(scene.env, policies, setting, seed, episode)
        most = steps or min(MOST_STEPS, max(1, round(seconds / scene.period)))
        film = _Film(scene, played, f"{env}: {in_words(setting)}", size, most, show)
        rate = speed / (film.stride * scene.period)
        write(out, film.frames(), film.picture.size, rate, most=2 + most // film.stride)
    finally:
        scene.close()
    endings = tuple(Ending(p.name, p.returns, p.steps, p.ending) for p in played.players)
    return Clip(out, film.picture.size, film.count, rate, endings)


def in_words(setting: Sequence[Perturbation]) -> str:
    """A setting as a caption: `mass:torso × 1.5, action 0.3`."""
    words = []
    for part in setting:
        level = number(part.level)
        scaled = part.settings.get("parameter") if part.name == "scale" else None
        words.append(f"{scaled} × {level}" if scaled else f"{part.kind} {level}")
    return ", ".join(words) or "nominal"


def _check(policies: Mapping[str, Policy], numbers: Mapping[str, int]) -> None:
    if not 1 <= len(policies) <= MOST_PANELS:
        raise InputError(f"there are {len(policies)} policies; give 1 to {MOST_PANELS} to show")
    for name, value in numbers.items():
        least, most = (1, MOST_STEPS) if name == "steps" else (0, MOST)
        if not least <= value <= most:
            raise InputError(f"{name} is {value}; give a whole number in {least} to {most}")


def _check_sizes(seconds: float, speed: float, size: tuple[int, int]) -> None:
    for name, value, (least, most) in (("seconds", seconds, _SECONDS), ("speed", speed, _SPEEDS)):
        if not least <= value <= most:
            raise InputError(f"{name} is {value}; give a number in {least:g} to {most:g}")
    if not all(_SIZES[0] <= length <= _SIZES[1] for length in size):
        raise InputError(f"size is {size}; give width and height in {_SIZES[0]} to {_SIZES[1]}")


class _Film:
    """The frames of an episode."""

    def __init__(
        self,
        scene: Scene,
        episode: Episode,
        title: str,
        size: tuple[int, int],
        steps: int,
        show: Callable[[int, int], None] | None,
    ):
        self.steps, self._show = steps, show
        self.stride = max(1, round(1.0 / (_SMOOTH * scene.period)))
        self.picture = Picture(len(episode.players), size, title)
        self.count = 0
        self._scene, self._episode = scene, episode
        self._images: list[np.ndarray] = []

    def frames(self) -> Iterator[Image.Image]:
        """A frame before the first step, then one per stride, and one of the last step."""
        players = range(len(self._episode.players))
        poses = [self._scene.pose(k) for k in players]
        self._images = [self._scene.draw(k, pose) for k, pose in enumerate(poses)]
        yield self._frame(0)
        for step, ended in enumerate(self._episode.play(), start=1):
            playing = [k for k in players if not self._episode.players[k].ending]
            # A simulation whose episode is over has begun another one: draw what was before.
            for k in ended:
                self._images[k] = self._last(k, poses[k])
            for k in playing:
                poses[k] = self._scene.pose(k)
            last = step == self.steps or not playing
            if step % self.stride == 0 or last:
                for k in playing:
                    self._images[k] = self._scene.draw(k, poses[k])
                yield self._frame(step)
            if last:
                return

    def _last(self, k: int, pose: object) -> np.ndarray:
        return self._images[k] if pose is None else self._scene.draw(k, pose)

    def _frame(self, step: int) -> Image.Image:
        self.count += 1
        if self._show is not None:
            self._show(step, self.steps)
        period = self._scene.period
        return self.picture.frame(self._images, self._episode.players, step * period, period)
