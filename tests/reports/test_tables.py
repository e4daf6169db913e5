from __future__ import annotations

import polars as pl

from einthoven.reports.reading import read_study
from einthoven.reports.tables import report_tables


def test_every_planned_number_has_a_row_with_full_precision(make_study):
    third = 0.8 + 1 / 30
    tables = report_tables(read_study(make_study(skill=(third, 0.7, 0.6))))
    macro = tables["macro"]
    assert len(macro) == 2 * 3 * 2
    row = macro.filter(task="super", encoder="random-resnet18", metric="AUROC").row(0, named=True)
    assert row["point"] == third
    assert (row["judged_labels"], row["labels"], row["unit"]) == (5, 5, "patient")
    assert len(tables["labels"]) == 20 * 3 * 2
    assert len(tables["probes"]) == 20 * 3
    assert len(tables["coverage"]) == 3 * (20 + 2)


def test_a_task_that_did_not_finish_keeps_its_rows_with_the_reason(make_study):
    folder = make_study(failed={"probe age-sex on super": "DataError: bad"}, missing=("compare on super",))
    tables = report_tables(read_study(folder))
    macro = tables["macro"].filter(task="super")
    assert len(macro) == 6
    assert macro["point"].null_count() == 6
    assert all("'probe age-sex on super', which failed" in reason for reason in macro["reason"])
    lost = tables["probes"].filter(task="super", encoder="age-sex")
    assert lost["reason"].to_list() == ["the cell 'probe age-sex on super' failed: DataError: bad"]
    assert tables["macro"].filter(task="rhythm")["point"].null_count() == 0


def test_an_undefined_label_is_null_with_a_reason_and_never_zero(make_study):
    labels = report_tables(read_study(make_study()))["labels"]
    undefined = labels.filter(label="PSVT")
    assert undefined["point"].null_count() == 6
    assert undefined["reason"].to_list() == ["no positive test record"] * 6
    unjudged = labels.filter(label="BIGU")
    assert not unjudged["judged"].any()
    assert unjudged["point"].null_count() == 0
    assert set(unjudged["reason"]) == {"2 test positives; 10 are needed"}
    assert labels.filter(pl.col("point").is_null() & pl.col("reason").is_null()).is_empty()


def test_a_difference_says_what_it_shows(make_study):
    table = report_tables(read_study(make_study()))["differences"].filter(level="macro", task="super", metric="AUROC")
    shows = {(row["a"], row["b"]): row["a_is"] for row in table.iter_rows(named=True)}
    assert shows == {("rr-features", "random-resnet18"): "undecided", ("age-sex", "random-resnet18"): "lower"}


def test_without_the_cohort_the_coverage_is_empty_but_has_its_columns(make_study):
    table = report_tables(read_study(make_study(missing=("cohort phantom",))))["coverage"]
    assert table.columns == ["task", "split", "what", "label", "promised", "present"]
    assert table.is_empty()
