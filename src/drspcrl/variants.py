"""Methods with settings of their own, written `self_paced:pacing=0.1,rate=1`.

A population may hold several variants of one method; a variant's label is how it is called on the
command line, in tables and, made safe, in folder names.
"""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.reading import parse_yaml

_NAME = re.compile(r"[A-Za-z_]\w*")
_UNSAFE = re.compile(r"[^\w.-]")
_LONGEST_NAME = 200  # a folder's name has 255 bytes at most, with task and learner before it


@dataclass(frozen=True)
class Variant:
    """A method, and what it changes in the settings of the population."""

    method: str
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)


def parse_variant(text: str) -> Variant:
    """The variant that a text such as `fixed` or `self_paced:pacing=0.1,rate=1` names.

    A user's own curriculum has a colon in its name: `module:Class`, `module:Class:rate=1`.

    Raises:
        InputError: a part that is no `name=value`, or a name given twice.
    """
    before, equals, _ = text.partition("=")
    method, colon, _ = before.rpartition(":") if equals else (text, "", "")
    if not method.strip() or (equals and not colon) or method.endswith(":"):
        raise InputError(
            f"method {shown(text)} is not written as method or method:name=value,name=value, "
            "e.g. self_paced:pacing=0.1"
        )
    changes: dict[str, Any] = {}
    for pair in _split(text[len(method) + 1 :]) if equals else []:
        name, value = _pair(pair, text)
        if name in changes:
            raise InputError(f"method {shown(text)} gives {name} twice")
        changes[name] = value
    return Variant(method, changes)


def variant_label(variant: Variant) -> str:
    """The one way to write a variant: names in order, numbers without ornament."""
    if not variant.changes:
        return variant.method
    pairs = (f"{name}={written(value)}" for name, value in sorted(variant.changes.items()))
    return f"{variant.method}:{','.join(pairs)}"


def folder_name(variant: Variant) -> str:
    """The label with only letters, digits and `_ . -`; distinct for distinct variants."""
    text = variant_label(variant)
    safe = _UNSAFE.sub("_", text).lstrip(".-")
    if safe == text and len(safe) <= _LONGEST_NAME:
        return safe
    plain = all(not _UNSAFE.search(written(value)) for value in variant.changes.values())
    if plain and not _UNSAFE.search(variant.method) and len(safe) <= _LONGEST_NAME:
        return safe
    return f"{safe[:80]}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def read_value(text: str) -> Any:
    """A value as people write it: YAML, and 3e-4, which YAML would take for text.

    Raises:
        ValueError: not readable as YAML, or larger than any setting.
    """
    try:
        value = parse_yaml(text)
    except InputError as error:
        raise ValueError(str(error)) from None
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _split(text: str) -> list[str]:
    """The parts between commas, but not between those of a list such as hidden=[64,64]."""
    return re.split(r",(?![^\[]*\])", text)


def _pair(pair: str, text: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not (equals and value and _NAME.fullmatch(name)):
        raise InputError(f"method {shown(text)}: {shown(pair)} is not name=value, e.g. pacing=0.1")
    try:
        return name, read_value(value)
    except ValueError:
        raise InputError(f"method {shown(text)}: {shown(pair)} has no readable value") from None


def written(value: Any) -> str:
    """A value as `read_value` reads it."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float) and math.isfinite(value) and value == int(value) < 1e15:
        return str(int(value))
    if isinstance(value, list | tuple):
        return f"[{','.join(map(written, value))}]"
    return str(value)
