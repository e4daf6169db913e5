"""What a task's test split can show before anything is run, and what a finished study could tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from einthoven.datasets.cohort import Cohort
from einthoven.foundation.errors import DataError, unknown_name
from einthoven.statistics.macro import macro_draws
from einthoven.statistics.power import (
    Assumptions,
    EffectiveSupport,
    SmallestDifference,
    check_difference,
    effective_support,
    needed_positives,
    smallest_difference,
)
from einthoven.statistics.separability import Separability, separability

from .ledger import Ledger
from .results import METRICS, ComparisonResult, Metric
from .running import read_plan


@dataclass(frozen=True)
class LabelPower:
    """One label of a task, before anything is run.

    Attributes:
        needed: effective positives it takes to show `difference`; None if none was asked about, NaN without positives
            or negatives, whose share is then unknown.
    """

    task: str
    label: str
    support: EffectiveSupport
    smallest: SmallestDifference
    needed: float | None


@dataclass(frozen=True)
class TaskSeparability:
    """The pairs of a finished comparison, by one metric: of one label, or of the macro average (`label` is None)."""

    task: str
    metric: Metric
    label: str | None
    pairs: tuple[Separability, ...]
    reason: str | None


def task_power(
    cohort: Cohort,
    task: str,
    *,
    rule: str | None = None,
    assumed: Assumptions | None = None,
    alike: float = 1.0,
    difference: float | None = None,
) -> tuple[LabelPower, ...]:
    """The smallest difference of AUROC that each label of a task can show on the test split of a rule.

    Args:
        rule: a split rule of the cohort; None is its default.
        alike: how much records of one patient repeat each other, from 0 to 1 (`effective_support`).
        difference: also say how many positives it takes to show this difference.

    Raises:
        UnknownNameError: no such task or rule.
        UsageError: a difference that is not above 0 or reaches beyond an AUROC of 1.
        DataError: no record of the task is in the test split.
    """
    assumed = assumed or Assumptions()
    if difference is not None:
        check_difference(difference, assumed)
    table = cohort.task(task)
    test = cohort.split(rule)[table.rows] == "test"
    if not test.any():
        raise DataError(f"Task {task} of cohort {cohort.name} has no record in the test split, so it can show nothing.")
    patients = cohort.records["patient_id"].to_numpy()[table.rows[test]]

    def label_power(column: int) -> LabelPower:
        support = effective_support(table.targets[test, column], patients, alike=alike)
        positives, negatives = support.effective_positives, support.effective_negatives
        needed = None
        if difference is not None:
            known = positives > 0 and negatives > 0
            share = positives / (positives + negatives) if known else np.nan
            needed = needed_positives(difference, prevalence=share, assumed=assumed) if known else np.nan
        smallest = smallest_difference(positives, negatives, assumed)
        return LabelPower(task, table.labels[column], support, smallest, needed)

    return tuple(label_power(column) for column in range(len(table.labels)))


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

    Args:
        folder: of the study.
        tasks: of the study; empty is all.
        by_label: the judged labels too, not only the macro average.
        comparisons: in the family; None is all pairs of one task.

    Raises:
        DataError: the folder holds no study, or none of its comparisons is finished.
        UnknownNameError: no such task.
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


def _number(value: float | None) -> float:
    return np.nan if value is None else value
