from __future__ import annotations

from einthoven.reports.reading import read_study
from einthoven.reports.views import chosen_settings, coverage_rows, difference_rows, label_rows, macro_rows


def test_the_best_and_the_undecided_of_a_row_are_marked(make_study):
    row = macro_rows(read_study(make_study()))[0]
    assert [value.mark for value in row.values] == ["best", "undecided", ""]
    assert (row.metric, row.judged) == ("AUROC", "5 of 5")


def test_a_missing_task_is_a_row_of_dashes_with_the_reason(make_study):
    rows = macro_rows(read_study(make_study(missing=("compare on super",))))
    assert [value.text for value in rows[0].values] == ["–"] * 3
    assert "'compare on super' has not run" in rows[0].values[0].note
    assert rows[2].task == "rhythm"
    assert rows[2].values[0].text == "0.830"


def test_a_label_that_is_not_judged_has_no_interval_and_no_mark(make_study):
    rows = {row.label: row for row in label_rows(read_study(make_study()))}
    few = rows["BIGU"]
    assert not few.judged
    assert few.reason == "2 test positives; 10 are needed"
    assert all(value.interval == "" and value.mark == "" and value.order for value in few.auroc)
    none = rows["PSVT"]
    assert [value.text for value in none.average_precision] == ["–"] * 3
    assert none.average_precision[0].note == "no positive test record"
    assert none.prevalence == "0.000"
    judged = rows["NORM"]
    assert sorted(value.mark for value in judged.auroc).count("best") == 1
    assert judged.prevalence == "0.425"


def test_differences_are_encoder_minus_reference(make_study):
    rows = difference_rows(read_study(make_study(baseline="age-sex")))
    by_role = {row.role: row for row in rows if row.task == "super" and row.metric == "AUROC"}
    assert [v.text for v in by_role["highest"].values] == ["reference", "−0.010", "−0.150"]
    assert [v.text for v in by_role["baseline"].values] == ["+0.150", "+0.140", "reference"]
    assert "shown to be higher" in by_role["baseline"].values[0].note
    assert by_role["highest"].values[1].mark == "undecided"


def test_a_baseline_that_is_the_best_is_one_row(make_study):
    rows = difference_rows(read_study(make_study(baseline="random-resnet18")))
    assert [row.role for row in rows] == ["highest and baseline"] * 4


def test_short_coverage_is_marked(make_study):
    assert all(row.short for row in coverage_rows(read_study(make_study(promised_factor=2))))


def test_chosen_settings_count_every_fitted_probe_once(make_study):
    rows = chosen_settings(read_study(make_study()))
    assert len(rows) == 16
    assert [sum(counts[i] for _, counts in rows) for i in range(3)] == [18, 18, 18]
    assert dict(rows)["scaled, C = 10, unweighted classes"] == [2, 2, 2]
