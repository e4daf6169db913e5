"""The golden table of repeated runs, in the words of this package."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest


@pytest.fixture(scope="session")
def golden_runs(golden: Path) -> pl.DataFrame:
    """The table of runs that deepecgkit's golden values were computed from."""
    return pl.read_csv(golden / "statistics" / "flip_results_table.csv").rename(
        {
            "dataset": "task",
            "model": "network",
            "n_train": "train_records",
            "n_test": "test_records",
            "n_test_groups": "test_units",
        }
    )
