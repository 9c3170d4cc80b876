"""Packed text: the same back, small, and nothing that a damaged or hostile file could do."""

import lzma

import numpy as np
import pytest

from drspcrl.errors import InputError
from drspcrl.runfolder import tables


def test_the_same_text_comes_back():
    text = "step,ε\n1,0.5\r\n" * 100
    assert tables.unpack(tables.pack(text), "x") == text
    assert tables.pack(text) == tables.pack(text)


def test_any_xz_reader_reads_it():
    assert lzma.decompress(tables.pack("a,b\n")) == b"a,b\n"


def test_digits_cost_half_a_byte():
    digits = "".join(map(str, np.random.default_rng(0).integers(10, size=10_000)))
    assert len(tables.pack(digits)) < 4700


def test_a_bomb_is_refused(monkeypatch):
    monkeypatch.setattr(tables, "MAX_BYTES", 2**20)
    assert len(tables.unpack(tables.pack("0" * 2**20), "x")) == 2**20
    with pytest.raises(InputError, match=r"metrics.csv.xz unfolds to more than 1 MiB.*unxz"):
        tables.unpack(tables.pack("0" * (2**20 + 1)), "metrics.csv.xz")


def test_a_file_that_asks_for_much_memory_is_refused():
    greedy = lzma.compress(b"x", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 2**28}])
    with pytest.raises(InputError, match="cannot be read"):
        tables.unpack(greedy, "x")


WHOLE = tables.pack("whole")


@pytest.mark.parametrize(
    "content", [b"", b"text", WHOLE[:-4], WHOLE + b"more", lzma.compress(b"\xff")]
)
def test_damage_is_named(content):
    with pytest.raises(InputError, match=r"t.csv.xz (cannot be read|is damaged)"):
        tables.unpack(content, "t.csv.xz")
