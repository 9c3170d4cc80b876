"""Frames in, files out: sizes, counts and real time."""

import sys

import numpy as np
import pytest
from clips import read_gif, read_mp4
from PIL import Image

from drspcrl.errors import InputError
from drspcrl.video.writer import check_out, write

SIZE = (64, 48)


def frames(count: int):
    """Pictures that differ from each other."""
    for k in range(count):
        yield Image.new("RGB", SIZE, (10 * k, 255 - 10 * k, 128))


def test_a_gif_keeps_real_time_where_its_hundredths_do_not_fit(tmp_path):
    # 1/0.016 s: frames of 1.6 hundredths. Moments 0, 1.6, 3.2, 4.8, 6.4 round to 0, 2, 3, 5, 6.
    write(tmp_path / "clip.gif", frames(4), SIZE, 1 / 0.016, most=9)
    read, lengths = read_gif(tmp_path / "clip.gif")
    assert read.shape == (4, SIZE[1], SIZE[0], 3)
    assert lengths == [20, 10, 20, 10]
    expected = [(10 * k, 255 - 10 * k, 128) for k in range(4)]
    np.testing.assert_allclose(read[:, 5, 5], expected, atol=4)
    assert [file.name for file in tmp_path.iterdir()] == ["clip.gif"]


def test_an_mp4_has_every_frame_and_the_rate(tmp_path):
    write(tmp_path / "clip.mp4", frames(10), SIZE, 31.25, most=20)
    read, rate = read_mp4(tmp_path / "clip.mp4")
    assert read.shape == (10, SIZE[1], SIZE[0], 3)
    assert rate == 31.25
    # Red and blue are averaged over two by two pixels; the pictures have one colour each.
    np.testing.assert_allclose(read[:, 5, 5, 0], 10 * np.arange(10), atol=8)
    assert [file.name for file in tmp_path.iterdir()] == ["clip.mp4"]


@pytest.mark.parametrize("name", ["clip.gif", "clip.mp4"])
def test_what_stops_halfway_leaves_the_earlier_file(tmp_path, name):
    def stopping():
        yield from frames(2)
        raise InputError("no further")

    (tmp_path / name).write_text("earlier")
    with pytest.raises(InputError, match="no further"):
        write(tmp_path / name, stopping(), SIZE, 20.0, most=5)
    assert (tmp_path / name).read_text() == "earlier"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_ffmpeg_says_is_told(tmp_path):
    odd = (Image.new("RGB", (63, 48)) for _ in range(2))
    with pytest.raises(InputError, match=r"cannot be written: ffmpeg says .*not divisible by 2"):
        write(tmp_path / "clip.mp4", odd, (63, 48), 20.0, most=2)
    assert not list(tmp_path.iterdir())


def test_where_a_clip_can_be_written(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"must end in \.mp4 or \.gif"):
        check_out(tmp_path / "clip.avi")
    (tmp_path / "folder.gif").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        check_out(tmp_path / "folder.gif")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path / "file" / "clip.gif", frames(2), SIZE, 20.0, most=2)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    check_out(tmp_path / "clip.gif")
    with pytest.raises(InputError, match=r"pip install 'drspcrl\[video\]', or write a \.gif"):
        check_out(tmp_path / "clip.mp4")
