"""A disk that is full: what is on it can be overwritten, and that is all."""

import errno
import os

import pytest


def fill_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no file grow and none be made."""
    made, written = os.open, os.write

    def refuse_new(path, flags, *mode, **named):
        if flags & os.O_CREAT and not os.path.lexists(path):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return made(path, flags, *mode, **named)

    def refuse_growth(descriptor, content):
        end = os.lseek(descriptor, 0, os.SEEK_CUR) + len(content)
        if end > os.fstat(descriptor).st_size:
            raise OSError(errno.ENOSPC, "No space left on device")
        return written(descriptor, content)

    monkeypatch.setattr(os, "open", refuse_new)
    monkeypatch.setattr(os, "write", refuse_growth)
