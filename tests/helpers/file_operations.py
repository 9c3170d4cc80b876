"""What is on the disk before every file operation: all that a process killed there would leave."""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

State = dict[str, bytes | None]
"""Every file below a folder with its content, and every folder with None."""

_BY_PATH = ("replace", "rename", "unlink", "mkdir", "rmdir", "link", "symlink", "truncate")
_BY_DESCRIPTOR = ("fsync", "ftruncate", "pwrite")
_ASIDE = re.compile(r"\.drspcrl-aside-[0-9a-f]{16}")


def state_of(root: Path) -> State:
    """What is below a folder now."""
    state: State = {}
    for folder, _, names in os.walk(root):
        state[os.path.relpath(folder, root)] = None
        for name in names:
            path = Path(folder, name)
            state[os.path.relpath(path, root)] = path.read_bytes()
    return state


def put_back(state: State, root: Path) -> None:
    """Make a folder that holds what another one held."""
    for name, content in sorted(state.items()):
        if content is None:
            (root / name).mkdir(parents=True, exist_ok=True)
        else:
            (root / name).write_bytes(content)


@contextmanager
def recorded(root: Path) -> Iterator[list[State]]:
    """Record the state of a folder before every operation that changes something in it.

    A write is recorded in its middle too, where half of it is on the disk. States that differ in
    random names alone are recorded once.
    """
    states: list[State] = []
    seen: set[frozenset] = set()
    real = {name: getattr(os, name) for name in (*_BY_PATH, *_BY_DESCRIPTOR, "open", "write")}

    def inside(path) -> bool:
        return Path(os.fsdecode(path)).is_relative_to(root)

    def of_descriptor(descriptor: int) -> bool:
        return inside(os.readlink(f"/proc/self/fd/{descriptor}"))

    def record() -> None:
        state = state_of(root)
        named = ((_ASIDE.sub("aside", name), content) for name, content in state.items())
        key = frozenset(entry for entry in named if not entry[0].endswith(".lock"))
        if key not in seen:
            seen.add(key)
            states.append(state)

    def by_path(name):
        def operation(path, *rest, **options):
            if options.get("dir_fd") is not None or inside(path):
                record()
            return real[name](path, *rest, **options)

        return operation

    def by_descriptor(name):
        def operation(descriptor, *rest):
            if of_descriptor(descriptor):
                record()
            return real[name](descriptor, *rest)

        return operation

    def opened(path, flags, *rest, **options):
        if flags & (os.O_CREAT | os.O_TRUNC) and inside(path):
            record()
        return real["open"](path, flags, *rest, **options)

    def written(descriptor, content):
        if not of_descriptor(descriptor):
            return real["write"](descriptor, content)
        record()
        half = real["write"](descriptor, memoryview(content)[: len(content) // 2])
        record()
        return half + real["write"](descriptor, memoryview(content)[half:])

    changed = {name: by_path(name) for name in _BY_PATH}
    changed |= {name: by_descriptor(name) for name in _BY_DESCRIPTOR}
    with ExitStack() as patched:
        for name, operation in {**changed, "open": opened, "write": written}.items():
            patched.enter_context(patch.object(os, name, operation))
        yield states


def spread(states: list[State], count: int) -> list[State]:
    """So many of them, the first and the last among them, at equal distances."""
    last, count = len(states) - 1, min(count, len(states))
    return [states[round(i * last / max(1, count - 1))] for i in range(count)]
