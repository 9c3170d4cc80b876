"""Tensors are read without running anything: what a file of torch says, and nothing else."""

import io
import pickle
import zipfile

import numpy as np
import pytest
import sb3_files

from drspcrl.errors import InputError
from drspcrl.evaluation.foreign.tensors import read_tensors


class Hostile:
    """What runs code when a pickle is loaded."""

    def __reduce__(self):
        return exec, ("import pathlib; pathlib.Path('ran').touch()",)


def archive(program: bytes, *storages: bytes) -> bytes:
    return sb3_files.torch_archive(program, list(storages))


def test_tensors_are_what_was_saved():
    saved = {
        "weight": np.arange(12, dtype="f4").reshape(3, 4),
        "scalar": np.array(2.5, "f4"),
        "empty": np.zeros((0, 3), "f4"),
    }
    found = read_tensors(sb3_files.torch_file(saved))
    assert list(found) == ["weight", "scalar", "empty"]
    for name, array in found.items():
        np.testing.assert_array_equal(array, saved[name])
        assert array.dtype == np.float32
        assert array.flags.writeable


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_code_in_a_pickle_is_refused_and_not_run(protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = pickle.dumps({"weight": Hostile()}, protocol=protocol)
    with pytest.raises(InputError, match="not run"):
        read_tensors(archive(program))
    assert not (tmp_path / "ran").exists()
    pickle.loads(program)
    assert (tmp_path / "ran").exists(), "the attack must be one"


def _instructions(text: str) -> bytes:
    """A program that makes one tensor of four numbers, with one part replaced."""
    return (
        b"\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storage"
        b"ctorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
        + text.encode("latin1")
        + b"\x89}tRs."
    )


def test_a_view_of_a_storage():
    numbers = np.arange(4, dtype="<f4").tobytes()
    found = read_tensors(archive(_instructions("K\x01K\x02K\x01\x86K\x01K\x02\x86"), numbers))
    np.testing.assert_array_equal(found["w"], [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("K\x00K\x02K\x03\x86K\x03K\x01\x86", "beyond its storage"),  # 6 of 4 numbers
        ("K\x03K\x02\x85K\x01\x85", "beyond its storage"),  # begins at the last one
        ("K\x00K\x02\x85K\x04\x85", "beyond its storage"),  # steps over the end
        ("K\x00K\xff\x85K\x00\x85", "beyond its storage"),  # 255 times the same one
        ("J\xff\xff\xff\xffK\x02\x85K\x01\x85", "no storage or shape"),  # begins at -1
        ("K\x00K\x02\x85J\xff\xff\xff\xff\x85", "no storage or shape"),  # steps back
        ("K\x00K\x02\x85)", "of shape"),  # a shape without strides
        ("X\x01\x00\x00\x00aK\x02\x85K\x01\x85", "no storage or shape"),
    ],
)
def test_a_tensor_never_leaves_its_storage(text, why):
    with pytest.raises(InputError, match=why):
        read_tensors(archive(_instructions(text), np.arange(4, dtype="<f4").tobytes()))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no archive", "no zip archive"),
        (archive(b""), "damaged: pickle exhausted"),
        (archive(b"\x80\x02}"), "damaged"),
        (archive(b"\x80\x02K\x01."), "no mapping of names to tensors"),
        (archive(b"\x80\x02}X\x01\x00\x00\x00wK\x01s."), "no mapping of names to tensors"),
        (archive(b"\x80\x02Rs."), "damaged"),
        (archive(b"\x80\x02K\x01K\x02K\x03s."), "no mapping"),
        (archive(_instructions("K\x00)") ), "it has no archive/data/0"),
        (archive(_instructions("K\x00))"), b"\0" * 8), "has 2 of 4 numbers"),
    ],
)  # fmt: skip
def test_damage_is_one_line(content, why):
    with pytest.raises(InputError, match=why):
        read_tensors(content)


def test_an_archive_that_unfolds_is_refused(monkeypatch):
    monkeypatch.setattr("drspcrl.evaluation.foreign.tensors.MOST_BYTES", 10_000)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("archive/data.pkl", b"\0" * 20_000)
    with pytest.raises(InputError, match=r"20,000 bytes; at most 10,000"):
        read_tensors(content.getvalue())
