"""What a finished study, or tables of predictions, could tell apart: by their own draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from einthoven.foundation.errors import DataError, UsageError, unknown_name
from einthoven.metrics.per_label import discriminate_labels
from einthoven.statistics.bootstrap_protocols import resample_discrimination
from einthoven.statistics.macro import judge_labels, macro_average, macro_draws
from einthoven.statistics.separability import Separability, separability

from .ledger import Ledger
from .prediction_tables import read_prediction_tables
from .results import METRICS, ComparisonResult, Metric
from .running import read_plan
from .spec import BootstrapSpec, SupportSpec


@dataclass(frozen=True)
class TaskSeparability:
    """The pairs of a finished comparison, by one metric: of one label, or of the macro average (`label` is None)."""

    task: str
    metric: Metric
    label: str | None
    pairs: tuple[Separability, ...]
    reason: str | None


def study_separability(
    folder: Path,
    *,
    tasks: tuple[str, ...] = (),
    by_label: bool = False,
    alpha: float = 0.05,
    power: float = 0.8,
    comparisons: int | None = None,
) -> tuple[TaskSeparability, ...]:
    """Which pairs of encoders a study's finished comparisons could tell apart, from their own draws.

    `smallest` of each pair is from the spread of its paired draws, so nothing is assumed about encoders; it rests on
    alpha shared by the family (Bonferroni), whatever adjustment a comparison uses.

    Args:
        folder: of the study.
        tasks: of the study; empty is all.
        by_label: the judged labels too, not only the macro average.
        alpha: two-sided level of the family.
        power: with which a true difference is to be found.
        comparisons: in the family; None is all pairs of one task.

    Returns:
        For each task and metric the macro average and, if asked for, each judged label.

    Raises:
        DataError: the folder holds no study, or none of its comparisons is finished.
        UnknownNameError: no such task.
        UsageError: a setting outside its range.
    """
    plan, ledger = read_plan(folder), Ledger(folder)
    for task in tasks:
        if task not in plan.spec.tasks:
            raise unknown_name("task", task, plan.spec.tasks, where=f"the study in {folder}")
    found: list[TaskSeparability] = []
    for cell in plan.cells:
        if cell.kind != "comparison" or not ledger.has(cell.key) or (tasks and cell.spec["task"] not in tasks):
            continue
        result, draws = ledger.result(cell.key, ComparisonResult), ledger.arrays(cell.key, "draws")
        names = {label.label: index for index, label in enumerate(result.labels) if label.judged}
        judged = np.array([label.judged for label in result.labels], dtype=bool)
        settings = {"encoders": result.encoders, "alpha": alpha, "power": power, "comparisons": comparisons}
        for metric in METRICS:
            points = [_number(estimate.point) for estimate in getattr(result.macro, metric)]
            pairs = separability(points, macro_draws(draws[metric], judged=judged), **settings)
            reason = None if judged.any() else "no label is judged"
            found.append(TaskSeparability(result.task, metric, None, pairs, reason))
            for label, index in names.items() if by_label else ():
                points = [_number(estimate.point) for estimate in getattr(result.labels[index], metric)]
                pairs = separability(points, draws[metric][:, :, index], **settings)
                found.append(TaskSeparability(result.task, metric, label, pairs, None))
    if not found:
        raise DataError(f"No comparison of the study in {folder} is finished yet. Run it first, or go on with it.")
    return tuple(found)


def tables_separability(
    files: Sequence[Path],
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    comparisons: int | None = None,
    unit: Literal["patient", "record"] | None = None,
) -> tuple[TaskSeparability, ...]:
    """The smallest difference that tables of predictions could show, macro and label by label, from paired draws.

    Args:
        files: two or more, as `read_prediction_tables` takes them.
        alpha: two-sided level of the family.
        power: with which a true difference is to be found.
        comparisons: in the family; None is all pairs of tables.
        unit: what is drawn; None is patients where the tables name them, else records.

    Raises:
        DataError: as `read_prediction_tables`.
        UsageError: fewer than two tables, or a setting outside its range.
    """
    if len(files) < 2:
        raise UsageError(f"Two tables of predictions or more were expected, found {len(files)}.")
    found = read_prediction_tables(files)
    bootstrap, support = BootstrapSpec(), SupportSpec().minimum_positives
    chosen = unit or ("patient" if found.has_patients else "record")
    drawn = resample_discrimination(
        found.targets, found.scores, units=found.units(chosen), draws=bootstrap.draws, seed=0
    )
    judged = judge_labels(found.targets, minimum_positives=support, minimum_negatives=support).judged
    settings = {"encoders": found.encoders, "alpha": alpha, "power": power, "comparisons": comparisons}
    entries: list[TaskSeparability] = []
    for metric in METRICS:
        points = np.array([discriminate_labels(found.targets, scores, metric=metric).values for scores in found.scores])
        draws = getattr(drawn, metric)
        averages = [macro_average(row, judged=judged).value for row in points]
        pairs = separability(averages, macro_draws(draws, judged=judged), **settings)
        reason = None if judged.any() else "no label is judged"
        entries.append(TaskSeparability("the tables", metric, None, pairs, reason))
        for index in np.flatnonzero(judged):
            pairs = separability(points[:, index], draws[:, :, index], **settings)
            entries.append(TaskSeparability("the tables", metric, found.labels[index], pairs, None))
    return tuple(entries)


def _number(value: float | None) -> float:
    return np.nan if value is None else value
