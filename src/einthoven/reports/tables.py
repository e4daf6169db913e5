"""The tables of a report as data: one row a number, full precision, undefined as null with its reason beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from einthoven.studies.results import METRICS, ComparisonResult, Difference, Estimate

from .pairs import METRIC_NAMES, estimates_of, what_it_shows
from .reading import StudyReading

_ESTIMATE = {
    "point": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "confidence": pl.Float64,
    "draws": pl.Int64,
    "undefined_draws": pl.Int64,
}
_MACRO = {
    "task": pl.String, "encoder": pl.String, "floor": pl.Boolean, "metric": pl.String, **_ESTIMATE,
    "judged_labels": pl.Int64, "labels": pl.Int64, "test_records": pl.Int64, "units": pl.Int64, "unit": pl.String,
    "minimum_positives": pl.Int64, "reason": pl.String,
}  # fmt: skip
_LABELS = {
    "task": pl.String, "label": pl.String, "encoder": pl.String, "metric": pl.String, "test_positives": pl.Int64,
    "test_negatives": pl.Int64, "judged": pl.Boolean, **_ESTIMATE, "reason": pl.String,
}  # fmt: skip
_DIFFERENCES = {
    "task": pl.String, "level": pl.String, "label": pl.String, "metric": pl.String, "a": pl.String, "b": pl.String,
    **_ESTIMATE, "p_bootstrap": pl.Float64, "a_is": pl.String, "reason": pl.String,
}  # fmt: skip
_PROBES = {
    "task": pl.String, "encoder": pl.String, "label": pl.String, "scale": pl.Boolean, "C": pl.Float64,
    "class_weight": pl.String, "validation_loss": pl.Float64, "at_grid_edge": pl.Boolean,
    "unconverged_settings": pl.Int64, "train_positives": pl.Int64, "val_positives": pl.Int64,
    "test_positives": pl.Int64, "train_records": pl.Int64, "val_records": pl.Int64, "test_records": pl.Int64,
    "reason": pl.String,
}  # fmt: skip
_COVERAGE = {
    "task": pl.String, "split": pl.String, "what": pl.String, "label": pl.String, "promised": pl.Int64,
    "present": pl.Int64,
}  # fmt: skip


def report_tables(study: StudyReading) -> dict[str, pl.DataFrame]:
    """File stem -> table: `macro`, `labels`, `differences`, `probes`, `coverage`.

    What the plan holds and no cell has given yet is there too, as a row without numbers and with the reason.
    """
    return {
        "macro": macro_table(study),
        "labels": labels_table(study),
        "differences": differences_table(study),
        "probes": probes_table(study),
        "coverage": coverage_table(study),
    }


def macro_table(study: StudyReading) -> pl.DataFrame:
    """One row for each planned task, encoder and metric."""
    rows: list[dict[str, Any]] = []
    for task in study.tasks:
        comparison = study.comparisons.get(task)
        for encoder in study.encoders:
            for metric in METRICS:
                row: dict[str, Any] = {
                    "task": task,
                    "encoder": encoder,
                    "floor": encoder in study.floors if encoder in study.embeddings else None,
                    "metric": METRIC_NAMES[metric],
                }
                if comparison is None:
                    row["reason"] = study.why_no_comparison(task)
                else:
                    estimate = estimates_of(comparison.macro, metric)[comparison.encoders.index(encoder)]
                    row |= {
                        **_estimate(estimate, comparison),
                        "judged_labels": len(comparison.macro.labels),
                        "labels": comparison.macro.of,
                        "test_records": comparison.records,
                        "units": comparison.units,
                        "unit": comparison.unit,
                        "minimum_positives": comparison.minimum_positives,
                    }
                rows.append(row)
    return _frame(rows, _MACRO)


def labels_table(study: StudyReading) -> pl.DataFrame:
    """One row for each label, encoder and metric of every compared task; a task without results is one row."""
    rows: list[dict[str, Any]] = []
    for task in study.tasks:
        comparison = study.comparisons.get(task)
        if comparison is None:
            rows.append({"task": task, "reason": study.why_no_comparison(task)})
            continue
        for scores in comparison.labels:
            for index, encoder in enumerate(comparison.encoders):
                for metric in METRICS:
                    values = _estimate(estimates_of(scores, metric)[index], comparison)
                    values["reason"] = values["reason"] or scores.reason
                    rows.append(
                        {
                            "task": task,
                            "label": scores.label,
                            "encoder": encoder,
                            "metric": METRIC_NAMES[metric],
                            "test_positives": scores.positives,
                            "test_negatives": scores.negatives,
                            "judged": scores.judged,
                            **values,
                        }
                    )
    return _frame(rows, _LABELS)


def differences_table(study: StudyReading) -> pl.DataFrame:
    """Every paired difference, a minus b; `a_is` says what its interval shows, `p_bootstrap` is from the same draws."""
    rows: list[dict[str, Any]] = []
    for task in study.tasks:
        comparison = study.comparisons.get(task)
        if comparison is None:
            rows.append({"task": task, "reason": study.why_no_comparison(task)})
            continue
        for metric in METRICS:
            for difference in comparison.macro.differences.get(metric, ()):
                place = {"task": task, "level": "macro", "label": None, "metric": METRIC_NAMES[metric]}
                rows.append(place | _difference(difference, comparison))
            for scores in comparison.labels:
                for difference in scores.against_best.get(metric, ()):
                    place = {"task": task, "level": "label", "label": scores.label, "metric": METRIC_NAMES[metric]}
                    rows.append(place | _difference(difference, comparison))
    return _frame(rows, _DIFFERENCES)


def probes_table(study: StudyReading) -> pl.DataFrame:
    """One row for each label of each probe: what was chosen, and its support; a missing probe cell is one row."""
    rows: list[dict[str, Any]] = []
    for task in study.tasks:
        for encoder in study.encoders:
            probe = study.probes.get((task, encoder))
            if probe is None:
                reading = study.cell("probe", task=task, encoder=encoder)
                reason = reading.why_missing if reading else "not in the plan"
                rows.append({"task": task, "encoder": encoder, "reason": reason})
                continue
            records = {name: getattr(probe, name) for name in ("train_records", "val_records", "test_records")}
            rows += [{"task": task, "encoder": encoder, **label.model_dump(), **records} for label in probe.labels]
    return _frame(rows, _PROBES)


def coverage_table(study: StudyReading) -> pl.DataFrame:
    """How many records and positives of each task and split the source promises, and how many are there."""
    rows: list[dict[str, Any]] = []
    tasks = {} if study.cohort is None else study.cohort.cohort.tasks
    for task, coverage in tasks.items():
        for split, promised in coverage.records_promised.items():
            place: dict[str, Any] = {"task": task, "split": split}
            present = coverage.records_present.get(split, 0)
            rows.append(place | {"what": "records", "label": None, "promised": promised, "present": present})
            for label, positives in coverage.positives_promised.get(split, {}).items():
                there = coverage.positives_present.get(split, {}).get(label, 0)
                rows.append(place | {"what": "positives", "label": label, "promised": positives, "present": there})
    return _frame(rows, _COVERAGE)


def _estimate(estimate: Estimate, comparison: ComparisonResult) -> dict[str, Any]:
    return {**estimate.model_dump(), "confidence": comparison.confidence}


def _difference(difference: Difference, comparison: ComparisonResult) -> dict[str, Any]:
    values = _estimate(difference.estimate, comparison)
    return {
        "a": difference.a,
        "b": difference.b,
        **values,
        "p_bootstrap": difference.p,
        "a_is": what_it_shows(difference),
    }


def _frame(rows: Sequence[dict[str, Any]], schema: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema, orient="row")
