"""`--only`."""

import pytest

from drspcrl.errors import InputError
from drspcrl.experiments.grid import load_grid
from drspcrl.experiments.population import Population
from drspcrl.experiments.selection import Selection, parse_selection


def chosen(name: str, *texts: str):
    populations = load_grid(name).populations
    selection = parse_selection(texts, populations)
    return [selection.divide(one)[0] for one in populations if selection.wants(one)]


def test_nothing_said_takes_all():
    assert sum(part.size for part in chosen("paper")) == 420


def test_each_name_narrows():
    (part,) = chosen("paper", "env=Hopper", "algorithm=sac", "seeds=0,1", "methods=fixed,linear")
    assert (part.env, part.algorithm) == ("Hopper", "sac")
    assert (part.methods, part.seeds) == (("fixed", "linear"), (0, 1))
    assert len(chosen("paper", "env=Hopper,Walker2d", "algorithm=ppo")) == 2


def test_a_method_stands_for_its_variants():
    assert len(chosen("ablation-alpha", "method=self_paced")[0].methods) == 5
    part = chosen("ablation-alpha", "methods=self_paced:pacing=0.1,self_paced:pacing=1.0")[0]
    assert part.methods == ("self_paced:pacing=0.1", "self_paced:pacing=1")


def test_methods_that_belong_together_are_not_parted():
    yoked = Population("Hopper", "sac", ("vanilla", "self_paced", "yoked"), (0, 1), 10_000)
    for method in ("self_paced", "yoked"):
        assert Selection(methods=(method,)).divide(yoked) == [yoked]
    parts = Selection(methods=("vanilla",), seeds=(1,)).divide(yoked)
    assert [part.methods for part in parts] == [
        ("vanilla",),
        ("vanilla", "self_paced", "yoked"),
        ("self_paced", "yoked"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("env=Hoper", "env=Hoper: the grid has Hopper, HalfCheetah"),
        ("seeds=9", "seeds=9: the grid has 0, 1, 2, 3, 4"),
        ("seeds=x", "seeds=x: the grid has 0"),
        ("task=Hopper", "is not name=value"),
        ("env", "is not name=value"),
        ("methods=wr2l", "the grid has vanilla"),
    ],
)
def test_what_is_not_there_is_named(text, message):
    with pytest.raises(InputError, match=message):
        chosen("paper", text)
