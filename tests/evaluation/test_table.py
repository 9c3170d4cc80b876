import os
import sys

import numpy as np
import pytest

from drspcrl.errors import InputError
from drspcrl.evaluation import EvaluationTable
from drspcrl.runfolder.tables import read_evaluation


@pytest.fixture
def table():
    return EvaluationTable(
        perturbation=np.array(["none", "none", "action", "action", "action"]),
        level=np.array([0, 0, 0.1, 0.1, 0.1]),
        episode=np.array([0, 1, 0, 1, 2]),
        returns=np.array([1 / 3, 1e-300, -2.0, np.nan, 4.0]),
        length=np.array([1000, 12, 7, 3, 5]),
        info={"suite": "own", "seed": 3},
    )


def test_a_table_reads_back_bit_for_bit(table, tmp_path):
    table.to_csv(tmp_path / "evaluation.csv")
    back = EvaluationTable.from_csv(tmp_path / "evaluation.csv")
    for column in ("perturbation", "level", "episode", "return", "length"):
        np.testing.assert_array_equal(back[column], table[column])
        assert back[column].dtype.kind == table[column].dtype.kind
    assert back.info == table.info
    assert back.diverged.tolist() == [False, False, False, True, False]
    assert sorted(os.listdir(tmp_path)) == ["evaluation.csv", "evaluation.json"]


def test_the_file_is_what_reports_read(table, tmp_path):
    table.to_csv(tmp_path / "evaluation.csv")
    first, second = (tmp_path / "evaluation.csv").read_text().splitlines()[:2]
    assert first == "perturbation,level,episode,return,length"
    assert second == "none,0,0,0.3333333333333333,1000"
    found = read_evaluation(tmp_path / "evaluation.csv")
    np.testing.assert_array_equal(found.returns, table.returns)


def test_the_summary_leaves_out_what_diverged(table):
    nominal, action = table.summary()
    assert nominal[:4] == ("none", 0.0, pytest.approx(1 / 6), pytest.approx(1 / 3 / np.sqrt(2)))
    # returns −2 and 4: mean 1, standard deviation 6/√2; the length counts all three
    assert action[:7] == ("action", 0.1, 1.0, pytest.approx(6 / np.sqrt(2)), 5.0, 3, 1)
    lines = str(table).splitlines()
    assert lines[0].split()[:4] == ["perturbation", "level", "mean", "return"]
    assert lines[2].split() == ["action", "0.1", "1.0", "4.2", "5", "3", "1"]


def grid_of(means, info):
    n = len(means)
    return EvaluationTable(
        perturbation=np.array(["none", *["value[mass]"] * n]),
        level=np.array([0.0, *range(n)]),
        episode=np.zeros(n + 1, int),
        returns=np.array([100.0, *means]),
        length=np.ones(n + 1, int),
        info=info,
    )


def test_the_worst_of_the_means_sums_up_a_grid():
    means = [9.0, 5.0, np.nan, *range(20, 40)]
    table = grid_of(means, {"statistic": "worst"})
    assert table.worst is not None
    assert (table.worst.perturbation, table.worst.level, table.worst.mean) == ("value[mass]", 1, 5)
    lines = str(table).splitlines()
    assert len(lines) == 1 + 1 + 5 + 1  # heading, nominal, the five worst, the sum
    assert [line.split()[1] for line in lines[2:7]] == ["1", "0", "3", "4", "5"]
    mean = np.nanmean(means)
    assert lines[-1] == (
        f"worst of 23 means 5.0 at value[mass]=1, mean of them {mean:.1f} "
        "(1 settings diverged in every episode and are in neither)"
    )
    assert len(str(grid_of(means, {})).splitlines()) == 25  # any other suite shows everything
    assert grid_of([], {"statistic": "worst"}).worst is None


def test_a_write_that_fails_leaves_the_old_table(table, tmp_path, monkeypatch):
    path = tmp_path / "evaluation.csv"
    table.to_csv(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        table.to_csv(path)
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["evaluation.csv", "evaluation.json"]


def test_pandas(table, monkeypatch):
    pandas = pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["perturbation", "level", "episode", "return", "length"]
    assert frame.groupby("perturbation")["return"].mean()["action"] == 1.0
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        table.to_pandas()


def test_damaged_files_are_refused(table, tmp_path):
    path = tmp_path / "evaluation.csv"
    with pytest.raises(InputError, match=r"must end in \.csv"):
        table.to_csv(tmp_path / "evaluation.txt")
    with pytest.raises(InputError, match="cannot be read"):
        EvaluationTable.from_csv(path)
    table.to_csv(path)
    path.write_text(path.read_text().replace("none,0,1,", "none,0,1.5,"))
    with pytest.raises(InputError, match="whole numbers"):
        EvaluationTable.from_csv(path)
    table.to_csv(path)
    path.with_suffix(".json").write_text("{")
    with pytest.raises(InputError, match=r"evaluation\.json cannot be read"):
        EvaluationTable.from_csv(path)
    path.with_suffix(".json").write_text("[]")
    with pytest.raises(InputError, match="no mapping"):
        EvaluationTable.from_csv(path)


def test_an_unknown_column_names_the_known_ones(table):
    with pytest.raises(KeyError, match="choose from perturbation"):
        table["reward"]
