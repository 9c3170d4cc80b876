"""The paper's own tables through the same code: the figures its README states."""

from collections import defaultdict

import numpy as np
import pytest

from drspcrl.data import paper_results, random_returns
from drspcrl.statistics import count_wins, headline_gain, pooled_ratio


@pytest.fixture(scope="module")
def groups():
    """(algorithm, task) → method → [1, 15]: one published mean per setting."""
    collected = defaultdict(lambda: defaultdict(list))
    for cell in paper_results():
        collected[cell.algorithm, cell.environment][cell.method].append(cell.mean)
    return {
        group: {method: np.array([means]) for method, means in methods.items()}
        for group, methods in collected.items()
    }


def test_tables_are_complete(groups):
    assert len(paper_results()) == 1260
    assert len(groups) == 12
    assert {m.shape for methods in groups.values() for m in methods.values()} == {(1, 15)}


@pytest.mark.parametrize(
    ("algorithm", "best", "top_two"), [("ppo", 57, 60), ("ddpg", 46, 48), ("sac", 54, 56)]
)
def test_cells_won(algorithm, best, top_two):
    cells = defaultdict(dict)
    for cell in paper_results():
        if cell.algorithm == algorithm:
            cells[cell.environment, cell.perturbation, cell.level][cell.method] = cell.mean
    wins = count_wins(cells.values())
    assert (wins.best, wins.top_two, wins.n) == (best, top_two, 60)


def test_headline_gain(groups):
    gain = headline_gain(groups)
    assert round(100 * gain.estimate.value, 1) == 30.6
    assert not gain.undefined
    assert not gain.estimate.has_interval


def test_pooled_ratio(groups):
    gain = pooled_ratio(groups)
    pooled = gain.groups["all groups"]
    assert (round(pooled.mean), round(pooled.rival_mean), gain.rival) == (1286, 944, "vanilla")
    assert round(100 * gain.estimate.value, 1) == 36.3


def test_random_returns_cover_the_papers_tasks():
    returns = random_returns()
    assert set(returns) == {cell.environment for cell in paper_results()}
    # random HalfCheetah loses to its control cost; the others earn while they stay healthy
    assert returns["HalfCheetah"] < 0 < returns["Hopper"] < returns["Humanoid"]
