"""YAML and JSON are read within bounds, and say the same as ever within them."""

from itertools import pairwise
from pathlib import Path

import pytest
import yaml

import drspcrl
from drspcrl.errors import InputError
from drspcrl.reading import MOST_JSON, MOST_YAML, parse_json, parse_yaml

LETTERS = tuple(pairwise("abcdefghijklmnopqrstuvwxyz"))
MERGES = "a: &a {x: 1}\n" + "".join(f"{c}: &{c} {{<<: [*{p}, *{p}]}}\n" for p, c in LETTERS)
SHIPPED = sorted(Path(drspcrl.__file__).parent.rglob("*.yaml"))

YAML_BOMBS = {
    "lists": ("a: &a [x]\n" + "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in LETTERS), "unfolds"),
    "merge keys": (MERGES, "unfolds"),
    "a list in itself": ("&a [*a]", "stands for nothing, or for itself"),
    "an alias of nothing": ("[*a]", "stands for nothing"),
    "depth by aliases": (
        "- &a0 [x]\n" + "".join(f"- &a{i + 1} [*a{i}]\n" for i in range(60)),
        "nested deeper than 40",
    ),
    "depth": ("[" * 500_000, "nested deeper than 40"),
    "depth of mappings": ("{a: " * 100_000, "nested deeper than 40"),
    "depth of keys": ("? " * 100_000, "nested deeper than 40"),
    "depth of dashes": ("- " * 100_000, "nested deeper than 40"),
    "length": ("#" * (MOST_YAML + 1), r"1,048,577 characters; at most 1,048,576"),
    "entries": ("- a\n" * 60_000, "unfolds to more than 50,000"),
    "a long text": ("a: " + "b" * 20_000, "20,000 characters"),
    "a long number": ("9" * 3000, "a whole number in it is too large"),
    "a number beyond Python's limit": ("9" * 5000, "limit"),
    "a long number in another base": ("0x" + "f" * 5000, "a whole number in it is too large"),
    "a long number by sixties": ("1:" * 2000 + "1", "a whole number in it is too large"),
    "a long number as a key": (f"{{0x{'f' * 100}: 1}}", "a whole number in it is too large"),
}
YAML_WRONG = {
    "code": ("!!python/object/apply:os.system [ls]", "has the tag .*python/object"),
    "a tag of a kind": ("a: !!int ''", "has the tag"),
    "a tag of one's own": ("!mine x", "has the tag !mine"),
    "no digits": ("0b_", "invalid literal"),
    "a list as a key": ("{[1]: 2}", "unhashable"),
    "a name twice": ("a: {b: 1, c: 2, b: 3}", "'b' is given twice; give it once"),
    "two documents": ("--- 1\n--- 2", "single document"),
    "an escape": ("a: \x1b[31m", "control characters are not allowed"),
    "an open list": ("a: [", "did not find|expected"),
}


@pytest.mark.parametrize(("text", "message"), [*YAML_BOMBS.values(), *YAML_WRONG.values()],
                         ids=[*YAML_BOMBS, *YAML_WRONG])  # fmt: skip
def test_yaml_that_is_refused(text, message):
    with pytest.raises(InputError, match=message) as refused:
        parse_yaml(text)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: 1, b: [0x1f, 2.5, .inf, yes, null, ~, text, '1']}",
         {"a": 1, "b": [31, 2.5, float("inf"), True, None, None, "text", "1"]}),
        ("", None),
        ("a: &s [0, 1]\nb: *s", {"a": [0, 1], "b": [0, 1]}),
        ("[&a 1, *a, &b [*a], *b]", [1, 1, [1], [1]]),
        # Dates and merge keys are text: no setting is one, and a date may be impossible.
        ("{a: 2026-13-45, b: 2026-01-02}", {"a": "2026-13-45", "b": "2026-01-02"}),
        ("{<<: {a: 1}}", {"<<": {"a": 1}}),
        ("[" * 40 + "]" * 40, yaml.safe_load("[" * 40 + "]" * 40)),
    ],
)  # fmt: skip
def test_yaml_that_is_read(text, value):
    assert parse_yaml(text) == value


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_what_the_package_ships_reads_as_before(path):
    text = path.read_text("utf-8")
    assert parse_yaml(text) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "recursion"),
        ("[" * 50 + "]" * 50, "nested deeper than 40"),
        ('{"a":' * 50 + "1" + "}" * 50, "nested deeper than 40"),
        ("9" * 3000, "a whole number in it is too large"),
        ("9" * 5000, "a whole number in it is too large"),
        (" " * (MOST_JSON + 1), "characters; at most"),
        ("{", "Expecting property name"),
        ("", "Expecting value"),
        (b"\xff\xfe", "Expecting value"),
        (b"\xff\xff", "decode"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_json_that_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        parse_json(text)


def test_json_that_is_read():
    assert parse_json('{"a": [1, -2, 1e999, null, true, "x"]}') == {
        "a": [1, -2, float("inf"), None, True, "x"]
    }
    assert parse_json(b'{"a": "\xc3\xa9"}') == {"a": "é"}
