"""The comparison cell: the draws it says, paired, of the unit it says."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from einthoven.foundation.seeds import seed_for
from einthoven.statistics.resampling import draw_counts
from einthoven.studies.results import ComparisonResult


def scatter(ran, vouch):
    """Give the stored predictions logits without pattern, so that every draw counts."""
    for cell in ran.plan.of_kind("probe"):
        file = ran.ledger.path(cell.key) / "predictions.parquet"
        table = pl.read_parquet(file)
        rng = np.random.default_rng(seed_for("test", cell.title))
        table.with_columns(logit=pl.Series(rng.normal(size=len(table)), dtype=pl.Float32)).write_parquet(file)
        vouch(file.parent)
    return ran


def test_stored_draws_are_those_of_whole_patients_with_the_seed_of_the_study(ran, vouch) -> None:
    """Draw by draw, with scikit-learn on the repeated records."""
    scatter(ran.run("cohort", "embedding", "probe"), vouch).run("comparison")
    cell = ran.cell("comparison", "super")
    result = ran.ledger.result(cell.key, ComparisonResult)
    tables = [ran.ledger.table(key, "predictions").filter(pl.col("split") == "test") for key in cell.needs]
    labels = len(result.labels)
    targets = tables[0]["target"].to_numpy().reshape(-1, labels)
    patients = tables[0]["patient_id"].to_numpy().reshape(-1, labels)[:, 0]
    counts = draw_counts(patients, draws=result.draws, seed=seed_for("bootstrap", cell.spec["seed"]))
    draws = ran.ledger.arrays(cell.key, "draws")["auroc"]
    assert draws.shape == (result.draws, 2, labels)
    checked = 0
    for index, table in enumerate(tables):
        logits = table["logit"].to_numpy().reshape(-1, labels)
        for draw in range(0, result.draws, 7):
            rows = np.repeat(np.arange(len(targets)), counts[draw])
            for label in range(labels):
                drawn = targets[rows, label]
                if 0 < drawn.sum() < len(drawn):
                    expected = roc_auc_score(drawn, logits[rows, label])
                    assert draws[draw, index, label] == pytest.approx(expected, abs=1e-12)
                    checked += 1
                else:
                    assert np.isnan(draws[draw, index, label])
    assert checked > 10
    assert (result.unit, result.units) == ("patient", len(set(patients)))


def test_seed_and_unit_change_the_draws_and_nothing_else(ran, another, vouch) -> None:
    base = scatter(ran.run("cohort", "embedding", "probe"), vouch).run("comparison")
    probes = {cell.key for cell in base.plan.of_kind("probe")}
    draws = base.ledger.arrays(base.cell("comparison", "super").key, "draws")["auroc"]
    for change in ({"seed": 1}, {"bootstrap": {"draws": 100, "unit": "record"}}):
        other = scatter(another(**change).run("cohort", "embedding", "probe"), vouch).run("comparison")
        assert {cell.key for cell in other.plan.of_kind("probe")} == probes
        cell = other.cell("comparison", "super")
        changed = other.ledger.arrays(cell.key, "draws")["auroc"]
        assert changed.shape == draws.shape
        assert not np.array_equal(changed, draws, equal_nan=True)
    assert other.ledger.result(cell.key, ComparisonResult).units == 4


def test_predictions_of_other_records_or_in_another_order_are_not_paired(ran, vouch) -> None:
    ran.run("cohort", "embedding", "probe")
    cell = ran.cell("comparison", "super")
    file = ran.ledger.path(cell.needs[1]) / "predictions.parquet"
    table = pl.read_parquet(file)
    table.reverse().write_parquet(file)
    vouch(file.parent)
    assert "rr-features on super are of other records than the first" in ran.message(cell)


def test_a_label_without_a_probe_is_undefined_for_all_with_the_reason(ran, vouch) -> None:
    ran.run("cohort", "embedding", "probe")
    cell = ran.cell("comparison", "super")
    file = ran.ledger.path(cell.needs[1]) / "result.json"
    values = json.loads(file.read_text())
    values["labels"][0]["reason"] = "no positive among 9 training records"
    file.write_text(json.dumps(values))
    vouch(file.parent)
    ran.run("comparison")
    label = ran.ledger.result(cell.key, ComparisonResult).labels[0]
    assert not label.judged
    assert label.reason == "no positive among 9 training records"
    assert [estimate.point for estimate in label.auroc] == [None, None]
