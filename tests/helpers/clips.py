"""Read clips back, frame by frame."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


def read_mp4(path: Path) -> tuple[np.ndarray, float]:
    """Frames [n, height, width, 3] of a clip, and how many there are per second."""
    program = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    command = [program, "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    told = re.search(r"Video: h264.*, yuv420p.*, (\d+)x(\d+).*, ([\d.]+) fps", done.stderr.decode())
    assert told is not None
    width, height = int(told[1]), int(told[2])
    frames = np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 3)
    return frames, float(told[3])


def read_gif(path: Path) -> tuple[np.ndarray, list[int]]:
    """Frames [n, height, width, 3] of a clip, and how many milliseconds each is shown."""
    frames, lengths = [], []
    with Image.open(path) as clip:
        for k in range(getattr(clip, "n_frames", 1)):
            clip.seek(k)
            frames.append(np.asarray(clip.convert("RGB")))
            lengths.append(int(clip.info["duration"]))
    return np.array(frames), lengths
