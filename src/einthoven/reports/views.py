"""The tables of the page: what stands in each cell, how it is marked, and why it is empty."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from einthoven.studies.results import METRICS, ComparisonResult, LabelScores, Metric

from .formatting import DASH, Shown, count, number, shown
from .pairs import METRIC_NAMES, best_macro, estimates_of, find_difference, marks_against, what_it_shows
from .reading import StudyReading


@dataclass(frozen=True)
class MacroRow:
    """One task and metric; `values` are in the order of the study's encoders."""

    task: str
    metric: str
    judged: str
    basis: str
    values: tuple[Shown, ...]


@dataclass(frozen=True)
class LabelRow:
    """One label of a task; values are in the order of the study's encoders, not judged ones without an interval."""

    task: str
    label: str
    positives: int
    negatives: int
    prevalence: str
    judged: bool
    reason: str
    auroc: tuple[Shown, ...]
    average_precision: tuple[Shown, ...]


@dataclass(frozen=True)
class DifferenceRow:
    """Every encoder of a task against one reference; the reference's own cell is a dash."""

    task: str
    metric: str
    reference: str
    role: str
    values: tuple[Shown, ...]


@dataclass(frozen=True)
class CoverageRow:
    """Records and positives of one task and split: promised by the source, present in the cohort."""

    task: str
    split: str
    records: str
    records_promised: str
    positives: str
    positives_promised: str
    short: bool


def macro_rows(study: StudyReading) -> list[MacroRow]:
    """Two rows for each planned task; a task without results has dashes with the reason."""
    rows = []
    for task in study.tasks:
        comparison = study.comparisons.get(task)
        for metric in METRICS:
            if comparison is None:
                values = tuple(Shown(DASH, note=study.why_no_comparison(task)) for _ in study.encoders)
                rows.append(MacroRow(task, METRIC_NAMES[metric], DASH, "", values))
                continue
            marks = marks_against(
                best_macro(comparison, metric), study.encoders, comparison.macro.differences.get(metric, ())
            )
            found = dict(zip(comparison.encoders, estimates_of(comparison.macro, metric), strict=True))
            values = tuple(
                shown(found.get(name), reason="not in this comparison", mark=marks[name]) for name in study.encoders
            )
            judged = f"{len(comparison.macro.labels)} of {comparison.macro.of}"
            basis = f"{count(comparison.records)} records, {count(comparison.units)} {comparison.unit}s"
            rows.append(MacroRow(task, METRIC_NAMES[metric], judged, basis, values))
    return rows


def label_rows(study: StudyReading) -> list[LabelRow]:
    """One row for each label of every compared task, in the order of the tasks."""
    return [
        LabelRow(
            task=task,
            label=scores.label,
            positives=scores.positives,
            negatives=scores.negatives,
            prevalence=number(_prevalence(scores)),
            judged=scores.judged,
            reason=scores.reason or "",
            auroc=_label_values(study, study.comparisons[task], scores, "auroc"),
            average_precision=_label_values(study, study.comparisons[task], scores, "average_precision"),
        )
        for task in study.tasks
        if task in study.comparisons
        for scores in study.comparisons[task].labels
    ]


def difference_rows(study: StudyReading) -> list[DifferenceRow]:
    """Every encoder minus the best of each task and, where the study has one, minus the baseline."""
    rows = []
    for comparison in study.comparisons.values():
        for metric in METRICS:
            best = best_macro(comparison, metric)
            references = {best: "highest"} if best is not None else {}
            baseline = study.spec.baseline
            if baseline is not None and baseline in comparison.encoders:
                references[baseline] = "highest and baseline" if baseline == best else "baseline"
            for reference, role in references.items():
                rows.append(_difference_row(study, comparison, metric, reference, role))
    return rows


def coverage_rows(study: StudyReading) -> list[CoverageRow]:
    """One row for each task and split of the cohort, whether or not the study uses the task."""
    rows = []
    for task, coverage in ({} if study.cohort is None else study.cohort.cohort.tasks).items():
        for split, promised in coverage.records_promised.items():
            present = coverage.records_present.get(split, 0)
            positives_promised = sum(coverage.positives_promised.get(split, {}).values())
            positives = sum(coverage.positives_present.get(split, {}).values())
            rows.append(
                CoverageRow(
                    task=task,
                    split=split,
                    records=count(present),
                    records_promised=count(promised),
                    positives=count(positives),
                    positives_promised=count(positives_promised),
                    short=present < promised or positives < positives_promised,
                )
            )
    return rows


def chosen_settings(study: StudyReading) -> list[tuple[str, list[int]]]:
    """How often each setting of the probe grid was chosen, over the labels of all tasks, for each encoder."""
    counted = Counter(
        (encoder, label.scale, label.C, label.class_weight)
        for (_, encoder), probe in study.probes.items()
        for label in probe.labels
        if label.reason is None
    )
    rows = []
    for setting in study.spec.probe:
        name = (
            f"{'scaled' if setting.scale else 'not scaled'}, C = {setting.C:g}, "
            f"{'balanced' if setting.class_weight == 'balanced' else 'unweighted'} classes"
        )
        key = (setting.scale, setting.C, setting.class_weight)
        rows.append((name, [counted[(encoder, *key)] for encoder in study.encoders]))
    return rows


def _prevalence(scores: LabelScores) -> float | None:
    total = scores.positives + scores.negatives
    return scores.positives / total if total else None


def _label_values(
    study: StudyReading, comparison: ComparisonResult, scores: LabelScores, metric: Metric
) -> tuple[Shown, ...]:
    found = dict(zip(comparison.encoders, estimates_of(scores, metric), strict=True))
    marks = marks_against(scores.best.get(metric), study.encoders, scores.against_best.get(metric, ()))
    reason = scores.reason or "not in this comparison"
    values = []
    for name in study.encoders:
        value = shown(found.get(name), reason=reason, mark=marks[name])
        if not scores.judged and value.order:
            # An interval on a handful of positives claims a precision it does not have; the CSV still holds it.
            value = Shown(value.text, order=value.order)
        values.append(value)
    return tuple(values)


def _difference_row(
    study: StudyReading, comparison: ComparisonResult, metric: Metric, reference: str, role: str
) -> DifferenceRow:
    differences = comparison.macro.differences.get(metric, ())
    words = {"higher": "shown to be higher", "lower": "shown to be lower", "undecided": "no difference shown"}
    values = []
    for name in study.encoders:
        if name == reference:
            values.append(Shown("reference", note="the others are compared with it"))
            continue
        difference = find_difference(differences, name, reference)
        shows = what_it_shows(difference)
        value = shown(
            difference.estimate if difference else None,
            reason="this pair was not compared",
            mark="undecided" if shows == "undecided" else "",
            signed=True,
        )
        p = "" if difference is None or difference.p is None else f"; p = {difference.p:.3g}, not adjusted"
        note = value.note or f"{words.get(shows, 'undefined')}{p}"
        values.append(Shown(value.text, note=note, order=value.order, interval=value.interval, mark=value.mark))
    return DifferenceRow(comparison.task, METRIC_NAMES[metric], reference, role, tuple(values))
