"""Kind `cohort`: what the study runs on, and one record a reader can look at."""

from __future__ import annotations

import numpy as np

from einthoven.datasets.dataset import SPLITS
from einthoven.studies.cells import Cell
from einthoven.studies.results import CohortResult

from .output import Context, Output, open_cohort

VERSION = 1


def run(cell: Cell, context: Context) -> Output:
    """Summarise the cohort and keep the first unflagged test record as the example."""
    cohort = open_cohort(cell)
    rule = cell.spec["split"]
    split = cohort.split(rule)
    flagged = (cohort.records["flat_leads"] != "").to_numpy() | (cohort.records["clipped_leads"] != "").to_numpy()
    candidates = np.flatnonzero((split == "test") & ~flagged)
    row = int(candidates[0]) if len(candidates) else 0
    record_id = str(cohort.record_ids[row])
    labels = []
    for name in cohort.manifest.tasks:
        task = cohort.task(name)
        hit = np.flatnonzero(task.rows == row)
        if len(hit):
            labels += [label for label, value in zip(task.labels, task.targets[hit[0]], strict=True) if value]
    result = CohortResult(
        manifest=cohort.manifest,
        split_rule=rule,
        records_by_split={s: int((split == s).sum()) for s in SPLITS},
        patients_by_split={s: len(set(cohort.patient_ids[split == s])) for s in SPLITS},
        example_record=record_id,
        example_note=", ".join(dict.fromkeys(labels)),
    )
    return Output(result, arrays={"example": {"signal": cohort.signals(np.array([row]))[0]}})
