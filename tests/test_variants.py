"""How a method with settings of its own is written."""

import re

import pytest

from drspcrl.errors import InputError
from drspcrl.variants import Variant, folder_name, parse_variant, variant_label


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("fixed", Variant("fixed")),
        ("self_paced:pacing=0.1", Variant("self_paced", {"pacing": 0.1})),
        ("self_paced:rate=1,pacing=3e-1", Variant("self_paced", {"rate": 1, "pacing": 0.3})),
        ("self_paced:rule=radius", Variant("self_paced", {"rule": "radius"})),
        ("self_paced:performance_bound=null", Variant("self_paced", {"performance_bound": None})),
        ("vanilla:hidden=[64,64],tau=0.1", Variant("vanilla", {"hidden": [64, 64], "tau": 0.1})),
        ("mine.file:Rule", Variant("mine.file:Rule")),
        ("mine.file:Rule:rate=1", Variant("mine.file:Rule", {"rate": 1})),
    ],
)
def test_what_is_written_is_read(text, variant):
    assert parse_variant(text) == variant
    assert parse_variant(variant_label(variant)) == variant
    assert hash(parse_variant(text)) == hash(variant)


def test_one_variant_has_one_label():
    assert (
        variant_label(parse_variant("self_paced:rate=1.0,pacing=.1"))
        == "self_paced:pacing=0.1,rate=1"
    )
    assert (
        variant_label(parse_variant("self_paced: rate=1e0, pacing=1e-1"))
        == "self_paced:pacing=0.1,rate=1"
    )


def test_folder_names_are_safe_and_distinct():
    texts = [
        "fixed",
        "self_paced:pacing=0.1",
        "self_paced:pacing=0.1,rate=1",
        "self_paced:pacing=-1",
        "self_paced:performance_bound=-1",
        "yoked:yoked_to=a/b",
        "yoked:yoked_to=a_b",
        "yoked:yoked_to=../../b",
        "vanilla:hidden=[64,64]",
        "vanilla:hidden=[6464]",
        "mine:Rule",
        "mine_Rule",
        "..:Rule",
    ]
    names = [folder_name(parse_variant(text)) for text in texts]
    assert len(set(names)) == len(texts)
    for name in names:
        assert re.fullmatch(r"[\w][\w.-]*", name)
    assert names[2] == "self_paced_pacing_0.1_rate_1"


@pytest.mark.parametrize(
    "text",
    ["", ":pacing=1", "pacing=1", "self_paced:", "self_paced:pacing=", "self_paced:pacing=1,",
     "self_paced:=1", "self_paced:a b=1", "self_paced:pacing=1,rate", "self_paced:pacing=[1"],
)  # fmt: skip
def test_what_is_not_a_variant_is_named(text):
    with pytest.raises(InputError, match=re.escape(repr(text))):
        parse_variant(text)


def test_a_name_given_twice_is_named():
    with pytest.raises(InputError, match="gives rate twice"):
        parse_variant("self_paced:rate=1,rate=2")


def test_a_folder_name_is_never_too_long_for_a_file_system():
    long = [f"self_paced:yoked_to={'x' * n}" for n in (300, 301)]
    names = [folder_name(parse_variant(text)) for text in long]
    assert max(map(len, names)) <= 200
    assert len(set(names)) == 2
