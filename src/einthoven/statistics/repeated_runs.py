"""Tables of repeated runs: one row for every task, network, seed and metric, and what their cells say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from einthoven.foundation.errors import DataError, UsageError, unknown_name

from .resampled_t import resampled_t, split_ratio

_KEY = ("task", "network", "seed", "metric")


@dataclass(frozen=True, eq=False)
class RunGrid:
    """The runs of one metric as arrays; NaN where a run, or what is asked of it, is missing.

    Attributes:
        metric: its name.
        tasks: sorted names.
        networks: sorted names.
        seeds: sorted.
        values: float64 (tasks, networks, seeds).
        ratio: float64 (tasks, networks, seeds), test records over training records.
        test_units: float64 (tasks, networks, seeds), independent units (patients, recordings) in the test set.
    """

    metric: str
    tasks: tuple[str, ...]
    networks: tuple[str, ...]
    seeds: tuple[int, ...]
    values: np.ndarray
    ratio: np.ndarray
    test_units: np.ndarray


def run_grid(runs: pl.DataFrame, *, metric: str, seeds: Sequence[int] | None = None) -> RunGrid:
    """The runs of one metric, laid out by task, network and seed.

    Args:
        runs: columns task, network, metric (strings), seed (integers), value (numbers; null or NaN where a run gave
            none); where known train_records, test_records and test_units, which differ with the seed if it splits.
        metric: which one.
        seeds: the seeds of the study, the only ones that are read; None for all that are in the table.

    Raises:
        UsageError: a column is missing or of another type, or no run has this metric.
        DataError: two rows of one task, network, seed and metric, a key that is null, an infinite value, or a training
            or test set without records.
    """
    checked = check_runs(runs)
    known = checked["metric"].unique().to_list()
    if metric not in known:
        raise unknown_name("metric", metric, known, where="the table of runs")
    rows = checked.filter(pl.col("metric") == metric)
    if seeds is not None:
        rows = rows.filter(pl.col("seed").is_in(list(seeds)))
    tasks, networks = (tuple(sorted(rows[name].unique().to_list())) for name in ("task", "network"))
    chosen = tuple(sorted(set(seeds) if seeds is not None else rows["seed"].unique().to_list()))
    place = tuple(
        np.array([order.index(key) for key in rows[name]], dtype=np.int64)
        for name, order in (("task", tasks), ("network", networks), ("seed", chosen))
    )

    def spread(numbers: np.ndarray) -> np.ndarray:
        laid_out = np.full((len(tasks), len(networks), len(chosen)), np.nan)
        laid_out[place] = numbers
        return laid_out

    train, test, units = (_numbers(rows, name) for name in ("train_records", "test_records", "test_units"))
    return RunGrid(
        metric=metric,
        tasks=tasks,
        networks=networks,
        seeds=chosen,
        values=spread(_numbers(rows, "value")),
        ratio=spread(split_ratio(train, test)),
        test_units=spread(units),
    )


def grid_cells(runs: pl.DataFrame, *, seeds: Sequence[int] | None = None, confidence: float = 0.95) -> pl.DataFrame:
    """Mean, standard deviation and half-width of the t interval of every task, network and metric.

    The interval is the ordinary one over seeds: it says how far another seed would land, given these records. For
    differences between networks whose seeds split the records anew, see `flip_tests` and `resampled_t`.

    Args:
        runs: as `run_grid` takes them.
        seeds: the seeds of the study; None for all that are in the table.
        confidence: of the interval.

    Returns:
        task, network, metric, mean, sd, half_width, n (runs with a value), missing (runs of the study without one) and
        reason (why the half-width is NaN, or null), in the order of their names. Every combination of the tasks,
        networks and metrics in the table has a row, also those that nobody ran: then n is 0. The mean is over the n
        runs there are; where `missing` is above 0 it is not the mean of the study.

    Raises:
        UsageError, DataError: as `run_grid`.
    """
    checked = check_runs(runs)
    tasks, networks = (sorted(checked[name].unique().to_list()) for name in ("task", "network"))
    chosen = sorted(set(seeds) if seeds is not None else checked["seed"].unique().to_list())
    cells = []
    for metric in sorted(checked["metric"].unique().to_list()):
        grid = run_grid(runs, metric=metric, seeds=chosen)
        values = np.full((len(tasks), len(networks), len(chosen)), np.nan)
        values[np.ix_([tasks.index(t) for t in grid.tasks], [networks.index(n) for n in grid.networks])] = grid.values
        found = resampled_t(values, test_train_ratio=0.0, confidence=confidence)
        names = np.array(list(product(tasks, networks)), dtype=object).reshape(-1, 2)
        cells.append(
            pl.DataFrame(
                {
                    "task": names[:, 0].tolist(),
                    "network": names[:, 1].tolist(),
                    "metric": [metric] * len(names),
                    "mean": found.mean.ravel(),
                    "sd": found.sd.ravel(),
                    "half_width": found.half_width.ravel(),
                    "n": found.runs.ravel(),
                    "missing": len(chosen) - found.runs.ravel(),
                    "reason": found.reason.ravel().tolist(),
                },
                schema_overrides={"task": pl.String, "network": pl.String, "reason": pl.String},
            )
        )
    return pl.concat(cells).sort("task", "network", "metric")


def check_runs(runs: pl.DataFrame) -> pl.DataFrame:
    """The table of runs, if it can be read as one.

    Args:
        runs: as `run_grid` takes them.

    Raises:
        UsageError: a column is missing or of another type, or there is no row.
        DataError: two rows of one task, network, seed and metric, a key that is null, or an infinite value.
    """
    needed = (*_KEY, "value")
    if missing := [name for name in needed if name not in runs.columns]:
        raise UsageError(
            f"runs: expected the columns {', '.join(needed)}, found no {', '.join(missing)} among "
            f"{', '.join(runs.columns) or '(none)'}."
        )
    if runs.is_empty():
        raise UsageError("runs: expected at least one row, found none.")
    if not runs.schema["seed"].is_integer():
        raise UsageError(f"runs: expected integers in the column seed, found {runs.schema['seed']}.")
    for name in _KEY:
        if unnamed := runs[name].null_count():
            raise DataError(f"runs: expected a {name} in every row, found {unnamed} of {len(runs)} rows without one.")
    doubles = runs.group_by(_KEY, maintain_order=True).len().filter(pl.col("len") > 1)
    if not doubles.is_empty():
        task, network, seed, metric, count = doubles.row(0)
        raise DataError(
            f"runs: expected one row for each task, network, seed and metric, found {count} of task {task!r}, network "
            f"{network!r}, seed {seed}, metric {metric!r} ({len(doubles)} such keys). Decide which run counts, and "
            "remove the others; the newest is not better for being new."
        )
    if np.isinf(_numbers(runs, "value")).any():
        raise DataError("runs: expected finite values, or null where a run gave none, found infinity.")
    return runs


def _numbers(runs: pl.DataFrame, name: str) -> np.ndarray:
    """A column as float64, NaN where it is null or absent."""
    if name not in runs.columns:
        return np.full(len(runs), np.nan)
    column = runs[name]
    if not (column.dtype.is_numeric() or column.dtype == pl.Null):
        raise UsageError(f"runs: expected numbers in the column {name}, found {column.dtype}.")
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
