"""One registry per kind of part: name → where it is, what it is called, what it does.

Training, `solve`, help texts and reports read the same entries. A part of one's own is named
`module:Class`; its module is imported because the user typed that name, see `drspcrl.named`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from drspcrl import named
from drspcrl.display import brief, shown
from drspcrl.errors import InputError


@dataclass(frozen=True)
class Entry:
    """One part.

    Attributes:
        target: `module:name`; the module is imported when the part is first used, so that help
            texts and reports need no JAX.
        label: its name in tables and figures.
        help: one line on what it is.
    """

    target: str
    label: str
    help: str

    def load(self) -> Any:
        """The class or function itself."""
        module, name = named.split(self.target)
        return getattr(import_module(module), name)


class Registry(Mapping[str, Entry]):
    """The parts of one kind that the library has, and the door for one's own.

    Args:
        kind: what a part is called in messages and on the command line, e.g. `divergence`.
        entries: the parts by name, in the order of help texts.
        own: what to give for a part of one's own, e.g. `module:Class`; none where there is no way.
    """

    def __init__(self, kind: str, entries: Mapping[str, Entry], own: str = "module:Class"):
        self.kind, self.own = kind, own
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def check(self, name: Any) -> None:
        """Raise an `InputError` for a name that leads nowhere; nothing is imported."""
        if isinstance(name, str) and name in self._entries:
            return
        if isinstance(name, str) and self.own and ":" in name:
            named.split(name)
            return
        own = f", or give your own {self.kind} as {self.own}" if self.own else ""
        raise InputError(
            f"{self.kind} is {shown(name)}; choose one of {', '.join(self._entries)}{own}"
        )

    def load(self, name: str) -> Any:
        """The part of a name: one of the library's, or the user's own.

        Raises:
            InputError: no such part, or a module that cannot be imported.
        """
        self.check(name)
        if name in self._entries:
            return self._entries[name].load()
        module, rest = named.split(name)
        found = named.attribute_of(named.module_of(name), rest)
        if found is None:
            raise InputError(f"{self.kind} {shown(name)}: module {module} has no {brief(rest, 99)}")
        return found

    def label(self, name: str) -> str:
        """What a part is called in tables; one's own by the name of its class."""
        if name in self._entries:
            return self._entries[name].label
        return name.rpartition(":")[2]
