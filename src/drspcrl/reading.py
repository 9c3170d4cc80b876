"""YAML and JSON from elsewhere, read within bounds: nothing unfolds, nothing is executed.

A text of 350 bytes can stand for gigabytes: in YAML by aliases and merge keys, in JSON by depth.
So size, depth and the number of entries, aliases unfolded, are bounded before anything is built;
merge keys and tags are not followed, and a value is text, a number, true, false, null, a list or a
mapping.
"""

import json
from collections import Counter
from typing import Any, ClassVar

import yaml

from drspcrl.display import brief, shown
from drspcrl.errors import InputError

MOST_YAML = 2**20
"""The most characters of a YAML text; what people write by hand has a thousandth."""
MOST_JSON = 2**23
"""The most characters of a JSON text; the manifest of ten thousand runs has a quarter."""

_MOST_ENTRIES = 50_000  # of a YAML text
_DEEPEST = 40
_LONGEST_SCALAR = 10_000
_MOST_BITS = 128  # of a whole number; every one can still become a float

# Parsed in C where libyaml is there: eight times faster, which a grid of hundreds of runs feels.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN_TYPES = tuple(
    f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map")
)


class _PlainLoader(_Loader):
    """The safe loader without dates and other types that no setting has."""

    yaml_constructors: ClassVar = {
        tag: make
        for tag, make in _Loader.yaml_constructors.items()
        if tag is None or tag in _PLAIN_TYPES
    }
    # "<<" is a merge key and "2026-13-01" a date that does not exist; here both are text.
    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag in _PLAIN_TYPES]
        for first, resolvers in _Loader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """A mapping in which every name stands once; YAML itself would let the last one win."""
        made = super().construct_mapping(node, deep=deep)
        if len(made) < len(node.value):
            names = [self.construct_object(name, deep=True) for name, _ in node.value]
            ((twice, _),) = Counter(names).most_common(1)
            raise InputError(f"{shown(twice)} is given twice; give it once")
        return made


def parse_yaml(text: str) -> Any:
    """The value that a YAML text describes.

    Raises:
        InputError: it is not valid, has a tag, a name twice, or is larger than any that is needed.
    """
    if len(text) > MOST_YAML:
        raise InputError(f"it has {len(text):,} characters; at most {MOST_YAML:,} are read")
    try:
        size = _Size()
        for event in yaml.parse(text, Loader=_PlainLoader):
            size.add(event)
        found = yaml.load(text, Loader=_PlainLoader)
    except InputError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(brief(error)) from None
    _check_numbers(found)
    return found


def parse_json(text: str | bytes) -> Any:
    """The value that a JSON text describes.

    Raises:
        InputError: it is not valid, or larger than any that is needed.
    """
    if len(text) > MOST_JSON:
        raise InputError(f"it has {len(text):,} characters; at most {MOST_JSON:,} are read")
    try:
        found = json.loads(text, parse_int=_whole_number)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(brief(error)) from None
    _check_depth(found)
    return found


class _Size:
    """Counts what a YAML text would unfold to, event by event, before anything is built.

    An alias counts as much as what it stands for.
    """

    def __init__(self) -> None:
        self._entries = 0
        # What is open: its anchor, the entries before it, and the levels inside it so far.
        self._open: list[list[Any]] = []
        self._anchors: dict[str, tuple[int, int]] = {}  # name → entries, levels

    def add(self, event: Any) -> None:
        """One event more."""
        if isinstance(event, yaml.AliasEvent):
            self._count(*self._known(event.anchor))
        elif isinstance(event, yaml.CollectionStartEvent):
            _check_node(event)
            self._open.append([event.anchor, self._entries, 0])
            self._count(1, 0)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before, levels = self._open.pop()
            self._count(0, levels + 1)
            self._anchors[anchor] = self._entries - before, levels + 1
        elif isinstance(event, yaml.ScalarEvent):
            _check_node(event)
            self._count(1, 0)
            self._anchors[event.anchor] = 1, 0

    def _known(self, anchor: str) -> tuple[int, int]:
        if anchor not in self._anchors or any(anchor == one[0] for one in self._open):
            raise InputError(f"the alias *{brief(anchor, 40)} stands for nothing, or for itself")
        return self._anchors[anchor]

    def _count(self, entries: int, levels: int) -> None:
        """Something of so many entries and levels stands in what is open."""
        self._entries += entries
        if self._open:
            self._open[-1][2] = max(self._open[-1][2], levels)
        if self._entries > _MOST_ENTRIES:
            raise InputError(f"it unfolds to more than {_MOST_ENTRIES:,} entries")
        if len(self._open) + levels > _DEEPEST:
            raise InputError(f"it is nested deeper than {_DEEPEST} levels")


def _check_node(event: Any) -> None:
    if event.tag is not None:
        raise InputError(f"it has the tag {brief(event.tag, 80)}; write plain values")
    if isinstance(event, yaml.ScalarEvent) and len(event.value) > _LONGEST_SCALAR:
        raise InputError(
            f"a value in it has {len(event.value):,} characters; at most {_LONGEST_SCALAR:,} are "
            "read"
        )


def _check_numbers(found: Any) -> None:
    """Bound whole numbers, which YAML may also write in other bases."""
    waiting = [found]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise InputError("a whole number in it is too large; at most 38 digits are read")


def _whole_number(digits: str) -> int:
    if len(digits) > 40 or int(digits).bit_length() > _MOST_BITS:
        raise InputError("a whole number in it is too large; at most 38 digits are read")
    return int(digits)


def _check_depth(found: Any) -> None:
    level = [found]
    for _ in range(_DEEPEST + 1):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return
    raise InputError(f"it is nested deeper than {_DEEPEST} levels")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
