"""Kind `cohort`: what the study runs on, and one record a reader can look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from einthoven.datasets.cohort import Cohort
from einthoven.datasets.dataset import SPLITS
from einthoven.foundation.identity import content_key
from einthoven.studies.cells import Cell
from einthoven.studies.kind import Context, Kind, Output, changed_since
from einthoven.studies.results import CohortResult


def plan_cohort(cohort: Cohort, *, place: str, rule: str, show_record: bool | None = None) -> Cell:
    """The cell of a cohort under one split rule.

    Args:
        place: what the cohort is opened with.
        show_record: see `RepresentationsSpec`.
    """
    return Cell(
        kind=KIND.name,
        title=f"cohort {cohort.name}",
        spec={"split": rule, "show_record": cohort.manifest.may_be_shown if show_record is None else show_record},
        inputs={"cohort": _summary_key(cohort)},
        places={"cohort": place},
        version=KIND.version,
    )


def run(cell: Cell, context: Context) -> Output:
    """Check the cohort's files, summarise it, and keep the first unflagged test record as the example, if it may be."""
    cohort = Cohort.open(cell.places["cohort"])
    if _summary_key(cohort) != cell.inputs["cohort"]:
        raise changed_since(cohort.name, ["content"])
    cohort.verify()
    rule = cell.spec["split"]
    split = cohort.split(rule)
    shown = _example(cohort, split) if cell.spec["show_record"] else None
    result = CohortResult(
        cohort=cohort.manifest.summary(),
        split_rule=rule,
        records_by_split={s: int((split == s).sum()) for s in SPLITS},
        patients_by_split={s: len(set(cohort.patient_ids[split == s])) for s in SPLITS},
        example_record=shown.record_id if shown else None,
        example_note=shown.labels if shown else "",
    )
    notes = {
        "cohort": {
            "name": cohort.name,
            "created": cohort.manifest.created,
            "einthoven": cohort.manifest.einthoven,
            "request": cohort.manifest.request,
        }
    }
    return Output(result, arrays={"example": {"signal": shown.signal}} if shown else {}, notes=notes)


@dataclass(frozen=True)
class _Example:
    record_id: str
    labels: str
    signal: np.ndarray


def _example(cohort: Cohort, split: np.ndarray) -> _Example:
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
    return _Example(record_id, ", ".join(dict.fromkeys(labels)), cohort.signals(np.array([row]))[0])


def _summary_key(cohort: Cohort) -> str:
    """Over the card's texts as well, which the fingerprint leaves out and the result holds."""
    return content_key(cohort.manifest.summary().model_dump(mode="json"))


KIND = Kind(name="cohort", version=2, result=CohortResult, run=run)
