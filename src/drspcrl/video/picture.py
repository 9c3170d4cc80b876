"""One frame: panels side by side, with what they show written around them."""

from collections.abc import Sequence
from math import ceil
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from drspcrl.video.episodes import Player

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
                words += f"   {player.ending} at {player.steps * period:.2f} s"
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
