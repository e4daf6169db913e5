"""How many records each label has, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .output import show_table

if TYPE_CHECKING:
    from einthoven.datasets.manifest import TaskCoverage


def show_support(
    coverage: Mapping[str, TaskCoverage], families: Mapping[str, str], *, promised: bool, title: str
) -> None:
    """Records and positives of every task by split: those that the metadata promise, or those that are there."""
    from einthoven.datasets.dataset import SPLITS

    rows = []
    for task, found in coverage.items():
        records = found.records_promised if promised else found.records_present
        positives = found.positives_promised if promised else found.positives_present
        rows.append((task, families.get(task, ""), "(records)", *(records[split] for split in SPLITS)))
        rows += [
            (task, families.get(task, ""), label, *(positives[split].get(label, 0) for split in SPLITS))
            for label in found.labels
        ]
    show_table(("task", "family", "label", *SPLITS), rows, title=title)
