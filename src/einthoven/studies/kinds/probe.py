"""Kind `probe`: linear probes of one encoder on one task, evaluated once on test."""

from __future__ import annotations

import numpy as np
import polars as pl

from einthoven.datasets.cohort import IDS_PART, Cohort, Task, labels_part, split_part
from einthoven.datasets.dataset import SPLITS
from einthoven.foundation.errors import DataError
from einthoven.probing.grid import ProbeGrid
from einthoven.probing.logistic import Probes, fit_probes
from einthoven.studies.cells import Cell
from einthoven.studies.choices import choice_of, places_of
from einthoven.studies.kind import Context, Kind, Output, open_cohort
from einthoven.studies.results import EmbeddingResult, ProbedLabel, ProbeResult
from einthoven.studies.spec import EncoderChoice

from .embedding import stored_embeddings


def plan_probe(
    choice: EncoderChoice, task: str, rule: str, grid: ProbeGrid, *, embedding: Cell, cohort: Cohort, place: str
) -> Cell:
    """The cell of one encoder on one task.

    What it depends on is what it reads: the embeddings, the task, the split rule, and whose records they are. So adding
    a task or a split rule to a cohort leaves the cells of the others as they are.
    """
    digests = cohort.manifest.digests
    return Cell(
        kind=KIND.name,
        title=f"probe {choice.id} on {task}",
        spec={
            "encoder": choice.identity(),
            "task": task,
            "split": rule,
            "probe": grid.model_dump(mode="json"),
        },
        inputs={
            "embedding": embedding.inputs["embedding"],
            **{part: digests[part] for part in (IDS_PART, labels_part(task), split_part(rule))},
        },
        needs=(embedding.key,),
        places={"cohort": place, **places_of(choice)},
        version=KIND.version,
    )


def run(cell: Cell, context: Context) -> Output:
    """Fit on train, choose on validation, keep the logits of validation and test and the weights."""
    cohort = open_cohort(cell, {part: digest for part, digest in cell.inputs.items() if part != "embedding"})
    choice = choice_of(cell)
    expected = context.ledger.result(cell.needs[0], EmbeddingResult)
    # The store is a cache that may have been cleared since; what it gives must still be what was recorded.
    stored = stored_embeddings(choice, cell.inputs["embedding"], cell.places["cohort"], context)
    if stored.sha256 != expected.sha256:
        raise DataError(
            f"The embeddings of {choice.id} are not those this study recorded: sha256 {expected.sha256[:12]} was "
            f"recorded, {stored.sha256[:12]} is stored. They were made by other software; run in a new folder (--out)."
        )
    embeddings = stored.array
    task = cohort.task(cell.spec["task"])
    split = cohort.split(cell.spec["split"])[task.rows]
    part = {name: split == name for name in SPLITS}

    def of(name: str) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(embeddings[task.rows[part[name]]]), task.targets[part[name]]

    probes = fit_probes(
        of("train"), of("val"), grid=ProbeGrid.model_validate(cell.spec["probe"]), progress=context.progress
    )
    result = ProbeResult(
        encoder=choice.id,
        task=task.name,
        labels=tuple(_label(index, task, part, probes) for index in range(len(task.labels))),
        train_records=int(part["train"].sum()),
        val_records=int(part["val"].sum()),
        test_records=int(part["test"].sum()),
    )
    tables = [_predictions(cohort, task, part[name], name, probes, embeddings) for name in ("val", "test")]
    weights = {
        "weights": probes.weights,
        "intercepts": probes.intercepts,
        "validation_loss": probes.validation_loss,
        "chosen": probes.chosen,
    }
    return Output(result, arrays={"probe": weights}, tables={"predictions": pl.concat(tables)})


def _label(index: int, task: Task, part: dict[str, np.ndarray], probes: Probes) -> ProbedLabel:
    chosen = int(probes.chosen[index])
    setting = probes.settings[chosen] if chosen >= 0 else None
    strengths = sorted({s.C for s in probes.settings})
    return ProbedLabel(
        label=task.labels[index],
        reason=probes.reasons[index],
        scale=setting.scale if setting else None,
        C=setting.C if setting else None,
        class_weight=setting.class_weight if setting else None,
        validation_loss=float(probes.validation_loss[index, chosen]) if setting else None,
        at_grid_edge=bool(setting and len(strengths) > 1 and setting.C in (strengths[0], strengths[-1])),
        unconverged_settings=int((~probes.converged[index]).sum()) if setting else 0,
        train_positives=int(task.targets[part["train"], index].sum()),
        val_positives=int(task.targets[part["val"], index].sum()),
        test_positives=int(task.targets[part["test"], index].sum()),
    )


def _predictions(
    cohort: Cohort, task: Task, where: np.ndarray, split: str, probes: Probes, embeddings: np.ndarray
) -> pl.DataFrame:
    rows = task.rows[where]
    logits = probes.logits(np.asarray(embeddings[rows]))
    labels = len(task.labels)
    return pl.DataFrame(
        {
            "record_id": np.repeat(cohort.record_ids[rows], labels),
            "patient_id": np.repeat(cohort.patient_ids[rows], labels),
            "split": [split] * (len(rows) * labels),
            "label": list(task.labels) * len(rows),
            "target": task.targets[where].reshape(-1),
            "logit": logits.reshape(-1),
        },
        schema={
            "record_id": pl.String,
            "patient_id": pl.String,
            "split": pl.String,
            "label": pl.String,
            "target": pl.UInt8,
            "logit": pl.Float32,
        },
    )


KIND = Kind(name="probe", version=2, result=ProbeResult, run=run)
