"""What a task's test split can show before anything is run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from einthoven.datasets.cohort import Cohort
from einthoven.foundation.errors import DataError
from einthoven.statistics.effective_support import EffectiveSupport, effective_support
from einthoven.statistics.power import (
    Assumptions,
    SmallestDifference,
    check_difference,
    needed_positives,
    smallest_difference,
)


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
