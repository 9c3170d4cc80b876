"""Populations as plain data, and their parts."""

import pytest

from drspcrl.errors import InputError
from drspcrl.experiments.population import Population


@pytest.fixture
def seven() -> Population:
    return Population("Hopper", "sac", ("vanilla", "fixed", "self_paced"), (0, 1, 2, 3, 4), 10_000)


def runs(populations) -> list[str]:
    return sorted(run for population in populations for run in population.folders())


def test_plain_data_comes_back(seven):
    again = Population.of(seven.plain())
    assert again == seven
    assert again.name == seven.name
    with pytest.raises(InputError, match="a population lacks algorithm, methods, seeds"):
        Population.of({"env": "Hopper"})


def test_folders_are_below_the_group(seven):
    assert seven.folders()[0] == "Hopper-sac/Hopper-sac-vanilla-s0"
    other = Population("Hopper", "sac", ("vanilla",), (0,), 10_000, {"divergence": "tv"})
    assert other.group == "Hopper-sac-divergence_tv"


@pytest.mark.parametrize(
    ("most", "sizes"), [(99, [15]), (15, [15]), (14, [9, 6]), (6, [6, 6, 3]), (3, [3] * 5)]
)
def test_pieces_are_split_by_seeds(seven, most, sizes):
    pieces = seven.pieces(most)
    assert [piece.size for piece in pieces] == sizes
    assert runs(pieces) == runs([seven])


@pytest.mark.parametrize(("most", "sizes"), [(2, [2] * 5 + [1] * 5), (1, [1] * 15)])
def test_pieces_are_split_by_methods_where_they_must_be(seven, most, sizes):
    pieces = seven.pieces(most)
    assert [piece.size for piece in pieces] == sizes
    assert runs(pieces) == runs([seven])


def test_what_is_left_is_a_few_populations(seven):
    part = seven.part(["fixed"], [1, 2])
    assert part is not None
    left = seven.without([part])
    assert sorted(runs(left) + runs([part])) == runs([seven])
    assert [(p.methods, p.seeds) for p in left] == [
        (("vanilla", "fixed", "self_paced"), (0, 3, 4)),
        (("vanilla", "self_paced"), (1, 2)),
    ]
    assert seven.part([], [1]) is None
    assert seven.without([seven]) == []
    longer = Population("Hopper", "sac", seven.methods, seven.seeds, 20_000)
    assert seven.without([longer]) == [seven]
