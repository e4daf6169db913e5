"""Ranks within seeds and how far seeds agree: deepecgkit's tables, and cases by hand."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

from einthoven.statistics.repeated_runs import run_grid
from einthoven.statistics.seed_ranks import rank_distribution, seed_agreement, seed_ranks

SEEDS = range(42, 47)


def test_golden_ranks_within_seeds(golden: Path, golden_runs: pl.DataFrame):
    found = seed_ranks(run_grid(golden_runs, metric="accuracy", seeds=SEEDS), better="higher")
    expected = pl.read_csv(golden / "statistics" / "rank_within_seed_accuracy.csv")
    joined = found.join(expected, left_on=["task", "seed", "network"], right_on=["dataset", "seed", "model"])
    assert len(joined) == len(found) == len(expected) == 40
    assert (joined["rank"] == joined["rank_right"]).all()
    assert (joined["rank_average"] == joined["rank_average_right"]).all()
    assert (joined["value"] == joined["value_right"]).all()
    assert (joined["of"] == 4).all()


def test_golden_distribution(golden: Path, golden_runs: pl.DataFrame):
    found = rank_distribution(run_grid(golden_runs, metric="f1", seeds=SEEDS), better="higher")
    expected = pl.read_csv(golden / "statistics" / "rank_distribution_f1.csv").sort("dataset", "model")
    assert len(found) == len(expected) == 32
    for row, wanted in zip(found.iter_rows(named=True), expected.iter_rows(named=True), strict=True):
        assert (row["task"], row["network"]) == (wanted["dataset"], wanted["model"])
        assert (row["seeds"], row["networks"]) == (wanted["n_seeds"], wanted["n_models"])
        assert row["counts"] == [wanted[f"rank_{rank}"] for rank in range(1, row["networks"] + 1)]
        # Of equally frequent ranks deepecgkit names the one whose seed comes first; here all of them are named.
        assert wanted["mode_rank"] in row["mode_ranks"]
        assert all(row["counts"][rank - 1] == max(row["counts"]) for rank in row["mode_ranks"])
        numbers = [row[name] for name in ("mode_share", "first_share", "mean", "sd")]
        wanted_numbers = [wanted[name] for name in ("mode_fraction", "top1_fraction", "mean_value", "std_value")]
        assert numbers == pytest.approx(wanted_numbers, rel=1e-10)


def test_golden_taus(golden: Path, golden_runs: pl.DataFrame):
    expected = pl.read_csv(golden / "statistics" / "tau_summary.csv")
    for wanted in expected.iter_rows(named=True):
        agreements = seed_agreement(run_grid(golden_runs, metric=wanted["metric"], seeds=SEEDS))
        found = next(one for one in agreements if one.task == wanted["dataset"])
        assert (len(found.networks), found.seeds) == (wanted["n_models"], wanted["n_seeds"])
        ran_not_always = {("alpha", "f1"): ("m_two",), ("beta", "f1"): ("m_few", "m_two")}
        assert found.left_out == ran_not_always.get((wanted["dataset"], wanted["metric"]), ())
        numbers = (found.tau_mean, found.tau_min, found.tau_max, found.smallest_p)
        names = ("tau_mean", "tau_min", "tau_max", "min_attainable_p")
        assert numbers == pytest.approx([wanted[name] for name in names], rel=1e-10, abs=1e-12)
    assert len(expected) == 6


def runs(values: dict[str, list[float | None]]) -> pl.DataFrame:
    """One task; for each network its values by seed."""
    rows = [("t", name, seed, "ece", value) for name, row in values.items() for seed, value in enumerate(row)]
    schema = {"task": pl.String, "network": pl.String, "seed": pl.Int64, "metric": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_lower_may_be_better_and_a_missing_run_has_no_rank():
    grid = run_grid(runs({"a": [0.1, 0.1], "b": [0.3, None], "c": [0.2, 0.05]}), metric="ece")
    ranks = {(r["network"], r["seed"]): (r["rank"], r["of"]) for r in seed_ranks(grid, better="lower").to_dicts()}
    assert ranks == {("a", 0): (1, 3), ("b", 0): (3, 3), ("c", 0): (2, 3), ("a", 1): (2, 2), ("c", 1): (1, 2)}
    only = rank_distribution(grid, better="lower").filter(pl.col("network") == "b").to_dicts()[0]
    assert (only["seeds"], only["counts"], only["mode_ranks"]) == (1, [0, 0, 1], [3])
    assert math.isnan(only["sd"])


def test_no_agreement_comes_with_the_reason():
    alone = run_grid(runs({"a": [0.1, 0.2], "b": [0.3, None]}), metric="ece")
    found = seed_agreement(alone)[0]
    assert (found.networks, found.left_out) == (("a",), ("b",))
    assert found.reason == "1 networks have a value for all 2 seeds; 2 needed"
    assert math.isnan(found.tau_mean)
    equal = seed_agreement(run_grid(runs({"a": [0.1, 0.2], "b": [0.1, 0.3]}), metric="ece"))[0]
    assert equal.reason == "all networks are equal in one of the seeds of 1 of 1 pairs"
    single = seed_agreement(run_grid(runs({"a": [0.1], "b": [0.3]}), metric="ece"))[0]
    assert single.reason == "one seed has no other to agree with"
