"""Write frames as .mp4 or .gif, aside first and then renamed."""

import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from itertools import pairwise
from pathlib import Path

from PIL import Image

from drspcrl.errors import InputError
from drspcrl.files import file_aside

_COLOURS = 128

Frames = Iterator[Image.Image]


def check_out(out: Path) -> None:
    """Raise an `InputError` unless a clip of this name can be written here."""
    if out.suffix not in WRITERS:
        raise InputError(f"--out is {out}; its name must end in {' or '.join(WRITERS)}")
    if out.is_dir():
        raise InputError(f"{out} is a folder; give the name of a file in it")
    if out.suffix == ".mp4":
        _ffmpeg()


def write(out: Path, frames: Frames, size: tuple[int, int], rate: float, most: int) -> None:
    """Write a clip.

    Args:
        out: `clip.mp4` or `clip.gif`; a file of that name is replaced.
        frames: Pictures of this size, at least one.
        size: Width and height, even numbers.
        rate: Frames per second.
        most: How many frames there may be.

    Raises:
        InputError: The file cannot be written.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with file_aside(out) as aside:
            WRITERS[out.suffix](aside, frames, size, rate, most)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror or error}") from None


def _ffmpeg() -> str:
    """The path of the program."""
    try:
        return import_module("imageio_ffmpeg").get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise InputError(
            "imageio-ffmpeg is not installed, which writes .mp4 files; "
            "pip install 'drspcrl[video]', or write a .gif, which needs nothing more"
        ) from None


def _write_mp4(path: Path, frames: Frames, size: tuple[int, int], rate: float, most: int) -> None:
    # A pipe of our own: imageio-ffmpeg's writer rounds the rate and leaves pipes open.
    exact = Fraction(rate).limit_denominator(100_000)
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", str(exact)]
    # What every player knows; `faststart` plays in a page before all of it is there.
    wanted = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "23", "-movflags", "+faststart"]
    command = [_ffmpeg(), "-y", "-loglevel", "error", *given, "-i", "-", *wanted, "-f", "mp4"]
    with subprocess.Popen(
        [*command, str(path)], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as coder:
        assert coder.stdin is not None
        try:
            for frame in frames:
                coder.stdin.write(frame.tobytes())
        except BrokenPipeError:
            pass  # it has ended, and says below why
        except BaseException:
            coder.kill()
            raise
        _, said = coder.communicate()
    if coder.returncode:
        raise OSError(f"ffmpeg says {said.decode(errors='replace').strip()}")


def _write_gif(path: Path, frames: Frames, size: tuple[int, int], rate: float, most: int) -> None:
    # A GIF counts hundredths of a second. Rounding the moments, not the lengths, keeps real time.
    moments = [round(100.0 * k / rate) * 10 for k in range(most + 1)]
    lengths = [after - before for before, after in pairwise(moments)]
    # Without dithering, areas stay even, which packs several times better.
    palettes = (frame.quantize(_COLOURS, dither=Image.Dither.NONE) for frame in frames)
    next(palettes).save(
        path, "GIF", save_all=True, append_images=palettes, duration=lengths, loop=0, disposal=1
    )


WRITERS: dict[str, Callable[[Path, Frames, tuple[int, int], float, int], None]] = {
    ".mp4": _write_mp4,
    ".gif": _write_gif,
}
