"""Tensors are read without running anything: what a file of torch says, and nothing else."""

import io
import pickle
import zipfile

import numpy as np
import pytest
import sb3_files
from hanging import no_hang

from drspcrl.errors import InputError
from drspcrl.evaluation.foreign import tensors
from drspcrl.evaluation.foreign.tensors import read_npz, read_tensors


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
        (archive(b"\x80\x02K\x01X\x01\x00\x00\x00aK\x03s."), "no mapping"),
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


def _pair(program: bytes) -> bytes:
    """One more level: a tuple of twice what is on the stack."""
    return program + b"q\x01h\x01\x86"


def _nested(levels: int) -> bytes:
    program = b"K\x01"
    for _ in range(levels):
        program = _pair(program)
    return program


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (b"\x80\x02}" + _nested(60) + b"K\x01s.", "a name that is no text"),
        (
            b"\x80\x02}X\x01\x00\x00\x00w(X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
            + _nested(60)
            + b"X\x03\x00\x00\x00cpuK\x04tQs.",
            "no name or size",
        ),
        (b"\x80\x02" + b"K\x01" * 90_000 + b"(t" * 50_000 + b".", "no mapping"),
        (b"\x80\x02}K\x01" + b"\x85" * 100_000 + b"K\x01s.", "a name that is no text"),
        (b"\x80\x02t.", "a mark is missing"),
        (
            b"\x80\x02(X\x07\x00\x00\x00storageK\x01K\x02\x86X\x01\x00\x00\x000K\x01K\x01tQ.",
            "damag",
        ),
    ],
)
def test_a_program_that_would_take_for_ever_is_refused(program, why):
    with no_hang(20), pytest.raises(InputError, match=why):
        read_tensors(archive(program, bytes(16)))


def test_a_storage_is_not_unfolded_again_and_again(monkeypatch):
    monkeypatch.setattr("drspcrl.evaluation.foreign.tensors.MOST_BYTES", 10_000)
    one = _instructions("K\x00M\xc4\x09\x85K\x01\x85").replace(b"K\x04tQ", b"M\xc4\x09tQ")
    assert read_tensors(archive(one, bytes(10_000)))["w"].shape == (2500,)
    several = one[:-1] + one[3:-1] + b"."
    with pytest.raises(InputError, match="unfold to more than 20,000 bytes"):
        read_tensors(archive(several, bytes(10_000)))


def _zipped(name: str, content: bytes, how: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as made:
        made.writestr(name, content)
    return file.getvalue()


def test_packing_that_takes_memory_is_refused():
    with pytest.raises(InputError, match="packed in a way"):
        read_tensors(_zipped("archive/data.pkl", b"\x80\x02}.", zipfile.ZIP_LZMA))


def test_a_damaged_archive_is_one_line():
    whole = _zipped("archive/data.pkl", bytes(range(256)) * 40)
    for place in range(0, len(whole), 3):
        with pytest.raises(InputError):
            read_tensors(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_arrays_of_savez_are_what_was_saved():
    file = io.BytesIO()
    saved = {"mean": np.arange(6.0).reshape(2, 3), "turned": np.arange(6).reshape(2, 3).T}
    np.savez_compressed(file, **saved)  # pyright: ignore
    found = read_npz(file.getvalue(), ["mean", "var", "turned"])
    assert list(found) == list(saved)
    for name, array in saved.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(
    "content",
    [
        b"no array",
        _npy(np.zeros(4)).replace(b"(4,)", b"(4000000000000,)"),
        _npy(np.zeros(4)).replace(b"(4,)", b"(-4,)"),
        _npy(np.zeros(4)).replace(b"(4,)", b"[[[4"),
        _npy(np.zeros(4))[:-1],
        _npy(np.array(["a"])),
        _npy(np.zeros(4)).replace(b"<f8", b"|O8"),
    ],
)
def test_an_array_that_is_none_is_refused(content):
    with pytest.raises(InputError, match="mean"):
        read_npz(_zipped("mean.npy", content), ["mean"])


def test_only_what_is_named_is_unpacked_and_that_within_one_bound(monkeypatch):
    file = io.BytesIO()
    ones = {name: np.ones(4096) for name in ("mean", "var", "other")}
    np.savez_compressed(file, **ones)  # pyright: ignore
    read = []

    def reading(archive, name, most):
        read.append(name)
        return original(archive, name, most)

    original = tensors.read_member
    monkeypatch.setattr(tensors, "read_member", reading)
    monkeypatch.setattr(tensors, "_MOST_OF_ARRAYS", 2 * 8 * 4096 + 300)
    assert list(read_npz(file.getvalue(), ["mean", "var"])) == ["mean", "var"]
    assert read == ["mean.npy", "var.npy"]
    with pytest.raises(InputError, match=r"other.npy has 32,896 bytes; at most 44 are read"):
        read_npz(file.getvalue(), ["mean", "var", "other"])
