"""Text files packed as .xz: small, the same text back, and no way to fill the memory.

`unxz` reads them too. The settings suit digits and commas, where they save a tenth.
"""

import lzma
from pathlib import Path

from drspcrl import files
from drspcrl.errors import InputError

SUFFIX = ".xz"
MAX_BYTES = 64 * 2**20
"""The most that a packed file may unfold to; a table of a million episodes has 40 MB."""
MOST_PLAIN = 2**30
"""The most bytes of a table that is not packed."""

_FILTERS = [
    {
        "id": lzma.FILTER_LZMA2,
        "preset": 9 | lzma.PRESET_EXTREME,
        "dict_size": 2**20,
        "lc": 4,
        "pb": 0,
    }
]
_MEMORY = 16 * 2**20  # for unpacking; a file that asks for more was not made here


def pack(text: str) -> bytes:
    """The text as the bytes of an .xz file; they hold no time and no name."""
    return lzma.compress(text.encode(), check=lzma.CHECK_CRC32, filters=_FILTERS)


def unpack(content: bytes, name: str) -> str:
    """The text in an .xz file.

    Args:
        content: The bytes of the file.
        name: What the file is called, for the message.

    Raises:
        InputError: It is damaged, breaks off, or is larger than any table of a run.
    """
    reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
    try:
        unfolded = reader.decompress(content, max_length=MAX_BYTES + 1)
        text = unfolded.decode()
    except (lzma.LZMAError, ValueError, EOFError) as error:
        raise InputError(f"{name} cannot be read: {error}") from None
    if len(unfolded) > MAX_BYTES:
        raise InputError(
            f"{name} unfolds to more than {MAX_BYTES // 2**20} MiB, which no run writes; if you "
            "trust it, unpack it with unxz"
        )
    if not reader.eof or reader.unused_data:
        raise InputError(f"{name} is damaged: it breaks off, or something follows its end")
    return text


def read_text(path: Path) -> str:
    """The text of a file, packed or not.

    Raises:
        InputError: It cannot be read, or is a link or no regular file.
    """
    try:
        if path.suffix != SUFFIX:
            return files.read_text(path, most=MOST_PLAIN)
        content = files.read_bytes(path, most=MAX_BYTES)
    except (OSError, ValueError) as error:
        raise InputError(f"{path.name} cannot be read: {' '.join(str(error).split())}") from None
    return unpack(content, path.name)
