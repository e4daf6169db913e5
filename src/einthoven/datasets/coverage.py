"""How much of a task's data is there, of what the metadata promise, and what splits it leaves empty."""

from __future__ import annotations

import numpy as np

from .cohort import Cohort
from .columns import label_columns, split_column
from .dataset import SPLITS, Scan
from .manifest import TaskCoverage


def task_coverage(scan: Scan, task: str, kept: np.ndarray) -> TaskCoverage:
    """Records and positives of a task for each split of the default rule: what the metadata promise, and what is kept.

    Args:
        scan: as columns.
        kept: bool (records,).
    """
    table = label_columns(scan.tasks[task])
    split = split_column(scan.splits[next(iter(scan.splits))]).codes[table.rows]

    def count(chosen: np.ndarray) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
        of_split = {name: chosen & (split == code) for code, name in enumerate(SPLITS)}
        positives = {name: table.targets[mask].sum(axis=0, dtype=np.int64).tolist() for name, mask in of_split.items()}
        return (
            {name: int(mask.sum()) for name, mask in of_split.items()},
            {name: dict(zip(table.labels, counts, strict=True)) for name, counts in positives.items()},
        )

    promised, present = count(np.ones(len(table.rows), dtype=bool)), count(kept[table.rows])
    return TaskCoverage(
        labels=table.labels,
        records_promised=promised[0],
        records_present=present[0],
        positives_promised=promised[1],
        positives_present=present[1],
    )


def empty_splits(cohort: Cohort) -> dict[str, tuple[str, ...]]:
    """Rule -> those of train, val and test in which it has no record of a cohort, for rules that have such."""
    found = {rule: set(cohort.split(rule)) for rule in cohort.manifest.split_rules}
    lacking = {rule: tuple(split for split in SPLITS if split not in there) for rule, there in found.items()}
    return {rule: splits for rule, splits in lacking.items() if splits}
