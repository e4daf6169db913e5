"""How much of a task's data is there, of what the metadata promise."""

from __future__ import annotations

from collections import Counter

from .dataset import SPLITS, Scan
from .manifest import TaskCoverage


def task_coverage(scan: Scan, task: str, kept_ids: set[str]) -> TaskCoverage:
    """Records and positives of a task for each split: what the metadata promise, and what `kept_ids` leave."""
    table = scan.tasks[task]
    split = scan.splits[next(iter(scan.splits))]

    def count(ids: list[str]) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
        records = Counter(split.get(i, "") for i in ids)
        positives = Counter((split.get(i, ""), label) for i in ids for label in table.positives[i])
        return (
            {s: records[s] for s in SPLITS},
            {s: {label: positives[s, label] for label in table.labels} for s in SPLITS},
        )

    promised = count(list(table.positives))
    present = count([i for i in table.positives if i in kept_ids])
    return TaskCoverage(
        labels=table.labels,
        records_promised=promised[0],
        records_present=present[0],
        positives_promised=promised[1],
        positives_present=present[1],
    )
