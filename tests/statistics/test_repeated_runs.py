"""Tables of repeated runs: cells, what is missing, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from einthoven.foundation.errors import DataError, UnknownNameError, UsageError
from einthoven.statistics.repeated_runs import grid_cells, run_grid


def table(*rows: tuple) -> pl.DataFrame:
    """Rows of (task, network, seed, metric, value)."""
    schema = {"task": pl.String, "network": pl.String, "seed": pl.Int64, "metric": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


RUNS = table(
    ("af", "x", 1, "f1", 0.8),
    ("af", "x", 2, "f1", 0.9),
    ("af", "y", 1, "f1", 0.6),
    ("af", "y", 2, "f1", None),
    ("af", "y", 1, "ece", 0.1),
    ("mi", "x", 2, "f1", math.nan),
)


def test_golden_cells(golden: Path, golden_runs: pl.DataFrame):
    expected = json.loads((golden / "statistics" / "repeated_runs.json").read_text())["t_intervals"]
    for confidence in (0.95, 0.9):
        cells = grid_cells(golden_runs, seeds=range(42, 47), confidence=confidence)
        compared = 0
        for row in cells.filter(pl.col("metric") == "f1").iter_rows(named=True):
            wanted = expected.get(f"{row['task']}|{row['network']}|{confidence}")
            if wanted is None:
                assert row["n"] == 0
                continue
            assert (row["n"], row["missing"]) == (wanted["n"], 5 - wanted["n"])
            found = (row["mean"], row["sd"], row["half_width"])
            assert found == pytest.approx((wanted["mean"], wanted["std"], wanted["half_width"]), rel=1e-10)
            compared += 1
        assert compared == 32


def test_cells_by_hand():
    cells = {(r["task"], r["network"], r["metric"]): r for r in grid_cells(RUNS).iter_rows(named=True)}
    whole = cells["af", "x", "f1"]
    assert whole["mean"] == pytest.approx(0.85)
    assert whole["sd"] == pytest.approx(0.1 / math.sqrt(2))
    assert whole["half_width"] == pytest.approx(student.ppf(0.975, 1) * 0.05)
    assert (whole["n"], whole["missing"], whole["reason"]) == (2, 0, None)


def test_what_is_missing_is_counted():
    cells = {(r["task"], r["network"], r["metric"]): r for r in grid_cells(RUNS).iter_rows(named=True)}
    # Two tasks, two networks, two metrics: every cell has a row, run or not.
    assert len(cells) == 8
    part = cells["af", "y", "f1"]
    assert (part["mean"], part["n"], part["missing"], part["reason"]) == (0.6, 1, 1, "one run has no spread")
    for empty in (("mi", "x", "f1"), ("mi", "y", "f1"), ("mi", "y", "ece")):
        assert (cells[empty]["n"], cells[empty]["missing"], cells[empty]["reason"]) == (0, 2, "no runs")
        assert math.isnan(cells[empty]["mean"])
    # A seed of the study that nobody ran is missing everywhere.
    longer = grid_cells(RUNS, seeds=[1, 2, 3])
    assert (longer["n"] + longer["missing"] == 3).all()


def test_the_order_of_rows_does_not_matter():
    assert grid_cells(RUNS).equals(grid_cells(RUNS.reverse()), null_equal=True)


def test_the_grid_has_every_run_in_its_place():
    sized = RUNS.with_columns(train_records=pl.lit(80), test_records=pl.lit(20), test_units=pl.col("seed") * 10)
    grid = run_grid(sized, metric="f1")
    assert (grid.tasks, grid.networks, grid.seeds) == (("af", "mi"), ("x", "y"), (1, 2))
    np.testing.assert_array_equal(grid.values[0], [[0.8, 0.9], [0.6, np.nan]])
    np.testing.assert_array_equal(grid.values[1], np.full((2, 2), np.nan))
    assert grid.ratio[0].tolist() == [[0.25, 0.25], [0.25, 0.25]]
    assert grid.test_units[0].tolist() == [[10, 20], [10, 20]]
    chosen = run_grid(sized, metric="f1", seeds=[2, 7])
    assert chosen.seeds == (2, 7)
    assert chosen.values[0, 0, 0] == 0.9
    assert np.isnan(chosen.values[:, :, 1]).all()
    assert np.isnan(run_grid(RUNS, metric="f1").ratio).all()


def test_two_rows_of_one_run_are_refused():
    # Also where the two agree, and where one of them is null.
    for again in (0.8, 0.7, None):
        with pytest.raises(DataError, match=r"found 2 of task 'af', network 'x', seed 1, metric 'f1' \(1 such keys\)"):
            grid_cells(pl.concat([RUNS, table(("af", "x", 1, "f1", again))]))


@pytest.mark.parametrize(
    ("runs", "error", "message"),
    [
        (RUNS.drop("seed", "value"), UsageError, "found no seed, value among task, network, metric"),
        (RUNS.clear(), UsageError, "at least one row"),
        (RUNS.with_columns(pl.col("seed").cast(pl.String)), UsageError, "integers in the column seed, found String"),
        (RUNS.with_columns(value=pl.lit("0.9")), UsageError, "numbers in the column value, found String"),
        (RUNS.with_columns(value=pl.lit(math.inf)), DataError, "found infinity"),
        (RUNS.with_columns(task=pl.lit(None)), DataError, "a task in every row, found 6 of 6 rows without one"),
        (RUNS.with_columns(train_records=pl.lit(0), test_records=pl.lit(5)), DataError, "train: expected at least 1"),
    ],
)
def test_bad_tables_are_refused(runs: pl.DataFrame, error, message: str):
    with pytest.raises(error, match=message):
        grid_cells(runs)


def test_an_unknown_metric_is_named():
    with pytest.raises(UnknownNameError, match="Unknown metric 'f2' in the table of runs"):
        run_grid(RUNS, metric="f2")
