"""Values in messages: short whatever they are, and harmless on a terminal."""

import pytest

from drspcrl.display import Pace, brief, clock, counted, printable, shown


@pytest.mark.parametrize(
    "value", [1, 0.5, "kl", None, True, [1, "a"], {"a": [1]}, (1, 2), -(2**63)]
)
def test_ordinary_values_are_as_repr_writes_them(value):
    assert shown(value) == repr(value)


def deep(levels: int, width: int) -> list:
    value: list = [0] * width
    for _ in range(levels):
        value = [value] * width
    return value


@pytest.mark.parametrize(
    "value",
    [
        deep(30, 8),  # unfolded it would have 8³⁰ entries
        "x" * 10**6,
        list(range(10**5)),
        dict.fromkeys(range(10**5), "x" * 1000),
        b"x" * 10**6,
        10**5000,  # which Python itself does not write
        [10**5000, {"a": -(10**5000)}],
        {"k" * 10**5: deep(30, 2)},
    ],
    ids=lambda value: type(value).__name__,
)
def test_nothing_unfolds(value):
    assert len(shown(value)) < 250


def test_a_huge_number_is_told_by_its_digits():
    assert shown(10**5000) == "a whole number of 5001 digits"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("o[/b] ε – é/Ω.txt", "o[/b] ε – é/Ω.txt"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\nb\rc\td", r"a\nb\rc\td"),
        ("txt\u202egnp", r"txt\u202egnp"),
        ("\x9b31m", r"\x9b31m"),
        ("not UTF-8 \udcff", r"not UTF-8 \udcff"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text, told):
    assert printable(text) == told
    assert told.encode()


def test_brief_is_one_line():
    assert brief("two\n lines\x1b") == r"two lines\x1b"
    assert len(brief("x" * 10**6)) < 410
    assert brief("begins" + "x" * 10**6 + "ends").startswith("begins")
    assert brief("begins" + "x" * 10**6 + "ends").endswith("ends")


def test_one_is_not_many():
    counts = [counted(n, "run") for n in (0, 1, 2, 1200)]
    assert counts == ["0 runs", "1 run", "2 runs", "1,200 runs"]


def test_time_left_forgets_the_beginning():
    times = iter([60.0, 61.0, 62.0, 120.0, 124.0])
    pace = Pace(total=100, now=lambda: next(times))
    assert pace.left(10) is None  # after a minute of compiling, for all that is known
    assert pace.left(11) == 89  # one a second since
    assert pace.left(12) == 88
    # The newer half of the minute since then begins at the report at 62 s: 56 more in 58 s.
    assert pace.left(68) == pytest.approx(58 * 32 / 56)
    assert pace.left(100) == 0


def test_time_left_is_unknown_where_nothing_moves():
    times = iter([1.0, 2.0])
    pace = Pace(total=10, now=lambda: next(times))
    assert pace.left(5) is None
    assert pace.left(5) is None


def test_a_duration_as_on_a_clock():
    assert [clock(s) for s in (7.4, 750, 3723)] == ["0:07", "12:30", "1:02:03"]
