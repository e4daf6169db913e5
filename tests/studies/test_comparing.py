"""What is said of a study after the fact is what its own cells say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from einthoven.datasets.cohort import Cohort
from einthoven.datasets.manifest import Excluded
from einthoven.foundation.errors import DataError, UnknownNameError, UsageError
from einthoven.statistics.pair_comparison import compare_pair
from einthoven.statistics.power import Assumptions
from einthoven.studies.comparing import StudyPredictions, compare_study, only_study, partial_cohort
from einthoven.studies.ledger import Ledger
from einthoven.studies.plan import plan_representations
from einthoven.studies.results import CohortResult, ComparisonResult
from einthoven.studies.running import run_plan
from einthoven.studies.study_separability import study_separability
from einthoven.studies.task_power import task_power


@pytest.fixture
def folder(spec, inline, tmp_path) -> Path:
    """A study that has run."""
    run_plan(plan_representations(spec), tmp_path / "runs" / "small", inline())
    return tmp_path / "runs" / "small"


def test_intervals_after_the_fact_are_those_of_the_report(folder: Path) -> None:
    study = StudyPredictions(folder)
    found = study.read("super", ("age-sex", "rr-features"))
    compared = compare_pair(
        found.targets,
        found.scores,
        labels=found.labels,
        units=found.units(study.bootstrap.unit),
        draws=study.bootstrap.draws,
        seed=study.seed,
        minimum_positives=study.support.minimum_positives,
        undefined=found.reasons,
    )
    cell = next(cell for cell in study_cells(folder) if cell.kind == "comparison" and cell.spec["task"] == "super")
    stored = Ledger(folder).result(cell.key, ComparisonResult)
    assert [label.label for label in stored.labels] == [entry.label for entry in compared.labels]
    for label, entry in zip(stored.labels, compared.labels, strict=True):
        points = [estimate.point for estimate in label.auroc]
        ours = [entry.compared.a, entry.compared.b]
        assert ours == pytest.approx([np.nan if point is None else point for point in points], nan_ok=True)
        assert (label.judged, label.positives) == (entry.judged, entry.positives)
    difference = stored.macro.differences["auroc"][0].estimate
    assert (compared.macro.difference.low, compared.macro.difference.high) == pytest.approx(
        tuple(np.nan if limit is None else limit for limit in (difference.low, difference.high)), nan_ok=True
    )


def study_cells(folder: Path):
    from einthoven.studies.running import read_plan

    return read_plan(folder).cells


def test_what_the_study_does_not_have_is_named(folder: Path) -> None:
    study = StudyPredictions(folder)
    with pytest.raises(UnknownNameError, match=r"Unknown task 'supr'.*Did you mean 'super'"):
        study.read("supr", ("age-sex", "rr-features"))
    with pytest.raises(UnknownNameError, match=r"Unknown encoder 'agesex'.*Did you mean 'age-sex'"):
        study.read("super", ("agesex", "rr-features"))
    with pytest.raises(UsageError, match=r"found age-sex twice"):
        study.read("super", ("age-sex", "age-sex"))
    with pytest.raises(DataError, match=r"holds no study"):
        StudyPredictions(folder.parent)


def test_a_probe_that_is_not_finished_is_named(spec, inline, tmp_path) -> None:
    executor = inline(refuse="probe rr-features", by=OSError("gone"))
    run_plan(plan_representations(spec), tmp_path / "half", executor)
    with pytest.raises(DataError, match=r"The probe of rr-features on super in .* is not finished"):
        StudyPredictions(tmp_path / "half").read("super", ("age-sex", "rr-features"))
    with pytest.raises(DataError, match=r"No comparison of the study in .* is finished"):
        study_separability(tmp_path / "half")


def test_the_only_study_is_found(folder: Path, tmp_path: Path) -> None:
    assert only_study(tmp_path / "runs") == folder
    with pytest.raises(UsageError, match=r"found none"):
        only_study(tmp_path / "nowhere")
    (tmp_path / "runs" / "other").mkdir()
    (tmp_path / "runs" / "other" / "plan.json").write_text("{}")
    with pytest.raises(UsageError, match=r"found .*other, .*small"):
        only_study(tmp_path / "runs")


def test_pairs_of_a_study_have_the_differences_of_its_report(folder: Path) -> None:
    found = study_separability(folder, tasks=("super",), by_label=True)
    cell = next(cell for cell in study_cells(folder) if cell.kind == "comparison" and cell.spec["task"] == "super")
    stored, draws = Ledger(folder).result(cell.key, ComparisonResult), Ledger(folder).arrays(cell.key, "draws")
    judged = [index for index, label in enumerate(stored.labels) if label.judged]
    assert judged
    assert len(found) == 2 * (1 + len(judged))
    for entry in found:
        (pair,) = entry.pairs
        assert (pair.a, pair.b) == ("age-sex", "rr-features")
        if entry.label is None:
            difference = stored.macro.differences[entry.metric][0].estimate.point
            drawn = draws[entry.metric][:, :, judged].mean(axis=2)
        else:
            index = [label.label for label in stored.labels].index(entry.label)
            one, other = (estimate.point for estimate in getattr(stored.labels[index], entry.metric))
            difference = one - other
            drawn = draws[entry.metric][:, :, index]
        assert pair.difference == pytest.approx(difference)
        drawn = drawn[~np.isnan(drawn).any(axis=1)]
        if pair.reason is not None:
            assert len(drawn) < 0.95 * len(draws[entry.metric])
            continue
        error = np.std(drawn[:, 0] - drawn[:, 1], ddof=1)
        assert pair.error == pytest.approx(error)
        assert pair.smallest == pytest.approx((1.959964 + 0.841621) * error, rel=1e-5)
    with pytest.raises(UnknownNameError):
        study_separability(folder, tasks=("nope",))


def test_a_study_is_compared_by_its_own_settings(spec, inline, tmp_path) -> None:
    bootstrap = spec.bootstrap.model_copy(update={"confidence": 0.9})
    plan = plan_representations(spec.model_copy(update={"bootstrap": bootstrap}))
    run_plan(plan, tmp_path / "ninety", inline())
    found = compare_study(tmp_path / "ninety", "age-sex", "rr-features", task="super")
    assert (found.compared.alpha, found.compared.macro.difference.confidence) == (0.1, pytest.approx(0.9))
    assert (found.unit, found.compared.draws) == (bootstrap.unit, bootstrap.draws)
    assert found.compared.exchange == "scores"
    assert compare_study(tmp_path / "ninety", "age-sex", "rr-features", task="super", alpha=0.05).compared.alpha == 0.05


def test_a_partial_cohort_is_said(folder: Path) -> None:
    (cell,) = [cell for cell in study_cells(folder) if cell.kind == "cohort"]
    summary = Ledger(folder).result(cell.key, CohortResult).cohort
    whole = summary.model_copy(update={"records": summary.promised_records, "excluded": Excluded(counts={}, first={})})
    assert partial_cohort(whole) is None
    part = whole.model_copy(update={"records": 30, "promised_records": 120})
    assert partial_cohort(part) == (
        f"30 of 120 records of {part.title} are in the cohort (25 %): do not compare these numbers with numbers on the "
        "whole dataset."
    )
    assert StudyPredictions(folder).partial() == partial_cohort(summary)


def test_a_task_is_planned_on_its_test_records(spec) -> None:
    cohort = Cohort.open("ptbxl-100hz")
    found = {label.label: label for label in task_power(cohort, "super", difference=0.1)}
    table = cohort.task("super")
    test = cohort.split()[table.rows] == "test"
    for index, name in enumerate(table.labels):
        support = found[name].support
        assert support.positives == table.targets[test, index].sum()
        assert support.positives + support.negatives == test.sum()
        # Two records a patient, taken as one.
        assert support.effective_positives <= support.positives
        assert found[name].needed is not None
    sure = task_power(cohort, "super", assumed=Assumptions(auroc=0.6), alike=0.0)
    assert [label.support.effective_positives for label in sure] == [label.support.positives for label in sure]
    with pytest.raises(UnknownNameError):
        task_power(cohort, "none")
