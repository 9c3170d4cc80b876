"""Scalars for TensorBoard, without TensorBoard: its file format is small.

An event file is a sequence of records: length, checksum, payload, checksum. A payload is an `Event`
message in the wire format of protocol buffers.
"""

import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path

from drspcrl.files import open_regular

_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5  # wire types
_POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), bits reversed


class EventWriter:
    """Appends scalars to a new event file of a run folder.

    Args:
        folder: the run folder.
        after: a step whose later events in earlier files no longer count, None for none.
    """

    def __init__(self, folder: Path, after: int | None = None):
        name = f"events.out.tfevents.{time.time_ns() // 10**9}.{os.getpid()}"
        descriptor = open_regular(folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._file = os.fdopen(descriptor, "ab")  # stays open for the whole run
        self._write(_field(3, _BYTES, _sized(b"brain.Event:2")))
        if after is not None:
            # A session that starts at a step: TensorBoard drops what it knows from there on.
            start = _field(7, _BYTES, _sized(_field(1, _VARINT, _varint(1))))
            self._write(_field(2, _VARINT, _varint(after + 1)) + start)

    def add(self, step: int, scalars: Mapping[str, float]) -> None:
        """One event with several scalars."""
        values = b"".join(
            _field(1, _BYTES, _sized(_scalar(name, value))) for name, value in scalars.items()
        )
        self._write(_field(2, _VARINT, _varint(step)) + _field(5, _BYTES, _sized(values)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, content: bytes) -> None:
        event = _field(1, _DOUBLE, struct.pack("<d", time.time())) + content
        length = struct.pack("<Q", len(event))
        self._file.write(length + _checksum(length) + event + _checksum(event))
        self._file.flush()


def _scalar(name: str, value: float) -> bytes:
    tag = _field(1, _BYTES, _sized(name.encode()))
    return tag + _field(2, _FLOAT, struct.pack("<f", value))


def _field(number: int, wire: int, content: bytes) -> bytes:
    return _varint(number << 3 | wire) + content


def _sized(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(groups) + bytes([number])


def _table() -> tuple[int, ...]:
    def entry(byte: int) -> int:
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        return byte

    return tuple(entry(byte) for byte in range(256))


_TABLE = _table()


def crc32c(content: bytes) -> int:
    """The Castagnoli checksum."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _checksum(content: bytes) -> bytes:
    """The checksum as records store it: rotated and shifted, so that it is not one of itself."""
    crc = crc32c(content)
    rotated = crc >> 15 | crc << 17 & 0xFFFFFFFF
    return struct.pack("<I", (rotated + 0xA282EAD8) & 0xFFFFFFFF)
