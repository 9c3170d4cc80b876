"""The settling time of the return rate, worked by hand."""

import numpy as np
import pytest

from drspcrl.evaluation import Suite, evaluate
from drspcrl.evaluation.recovery import WINDOW, recovery
from drspcrl.perturbations import Perturbation, parse

W = WINDOW
ONSET = 2 * W


def rewards(after: list[tuple[int, float]], before: float = 1.0) -> np.ndarray:
    return np.concatenate([np.full(ONSET, before), *(np.full(n, value) for n, value in after)])


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([(4 * W, 1.0)], 0),
        ([(4 * W, 0.85)], 0),  # less than a fifth is lost
        ([(4 * W, 0.7)], np.inf),
        # 40 steps at 0: a window with at most 20 of them is not below 0.8, from step 20 on
        ([(40, 0.0), (4 * W, 1.0)], 20),
        ([(30, 1.0), (40, 0.0), (4 * W, 1.0)], 50),  # lost later, and back for good
        ([(W, 0.0), (W, 1.0), (W, 0.0), (2 * W, 1.0)], 3 * W - 20),
        ([(4 * W, 1.0), (40, 0.0)], np.inf),  # lost at the end
        ([(W - 1, 0.0)], np.nan),  # less than a window behind the onset
        ([], np.nan),  # over at the onset
    ],
)
def test_recovery_by_hand(after, expected):
    assert recovery(rewards(after), ONSET, ended=False) == pytest.approx(expected, nan_ok=True)


def test_who_falls_does_not_recover_and_who_fell_before_was_not_reached():
    assert recovery(rewards([(3 * W, 1.0)]), ONSET, ended=True) == np.inf
    assert np.isnan(recovery(np.ones(ONSET - 1), ONSET, ended=True))
    assert np.isnan(recovery(np.ones(4 * W), W - 1, ended=False))  # no rate to compare with


def test_losses_count_as_losses():
    """A rate of −1 that becomes −1.3 has lost more than a fifth, and −1.1 has not."""
    assert recovery(rewards([(3 * W, -1.1)], -1.0), ONSET, ended=False) == 0
    assert recovery(rewards([(3 * W, -1.3)], -1.0), ONSET, ended=False) == np.inf


def test_a_table_with_faults_has_the_column_and_one_without_has_not(tmp_path, make_network):
    fault = Perturbation("authority_loss", 1.0, {"onset": 150, "until": 250})
    suite = Suite("mine", [None, fault, Perturbation("authority_loss", 0.0, {"onset": 300})])
    assert [row.onset for row in suite.rows] == [150, 150, 300]  # the first one as a control
    table = evaluate(make_network("HalfCheetah"), "HalfCheetah", suite, episodes=2, show=None)
    assert table["recovery"].shape == (6,)
    table.to_csv(tmp_path / "evaluation-mine.csv")
    again = type(table).from_csv(tmp_path / "evaluation-mine.csv")
    np.testing.assert_array_equal(again["recovery"], table["recovery"])
    assert str(again) == str(table)
    assert str(table).splitlines()[0].split()[-2:] == ["recovered", "recovery"]
    plain = evaluate(make_network("Hopper"), "Hopper", Suite("plain", [None]), 1, show=None)
    assert plain.recovery is None
    assert "recovery" not in str(plain)
    with pytest.raises(KeyError, match="no column"):
        plain["recovery"]


def test_the_summary_counts_whom_the_fault_reached():
    from drspcrl.evaluation import EvaluationTable

    steps = np.array([np.nan, 0.0, 40.0, np.inf, np.inf, np.nan])
    table = EvaluationTable(
        np.array(["x"] * 6), np.ones(6), np.arange(6), np.ones(6), np.ones(6, int), recovery=steps
    )
    (summary,) = table.summary()
    assert (summary.faulty, summary.recovered, summary.recovery) == (4, 2, np.inf)


def test_an_onset_after_the_end_is_refused_before_anything_is_played(make_network):
    suite = Suite("late", [parse("authority_loss[onset=1000]=0.5")])
    with pytest.raises(Exception, match=r"setting authority_loss\[onset=1000\]=0.5: onset of a fa"):
        evaluate(make_network("Hopper"), "Hopper", suite, episodes=1, show=None)
