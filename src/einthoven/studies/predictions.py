"""Test predictions of several encoders on the same records, from the ledger or from tables of other programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from einthoven.foundation.errors import DataError

from .ledger import Ledger
from .results import ProbeResult


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions on the same records, row by row.

    Attributes:
        encoders: whose they are, in the order of `scores`.
        labels: in column order.
        targets: uint8 (records, labels).
        scores: (encoders, records, labels), logits or any scores that rise with the label.
        record_ids, patient_ids: (records,).
        reasons: for each label, why an encoder has no prediction for it, or None.
        scales: what the scores of each encoder are, such as "logit"; empty where they are of one kind.
        has_patients: False where no patients are known; `patient_ids` are then record ids.
    """

    encoders: tuple[str, ...]
    labels: tuple[str, ...]
    targets: np.ndarray
    scores: np.ndarray
    record_ids: np.ndarray
    patient_ids: np.ndarray
    reasons: tuple[str | None, ...]
    has_patients: bool = True
    scales: tuple[str, ...] = ()

    def units(self, unit: str) -> np.ndarray:
        """What is drawn and swapped: patient ids for "patient", record ids for "record"."""
        return self.patient_ids if unit == "patient" else self.record_ids


def read_predictions(ledger: Ledger, probes: Sequence[str], *, split: str = "test") -> Predictions:
    """The predictions of probe cells of one task.

    Raises:
        DataError: no record is in the split, or two cells do not predict the same records.
    """
    results = [ledger.result(key, ProbeResult) for key in probes]
    labels = tuple(probed.label for probed in results[0].labels)
    tables = []
    for key in probes:
        table = ledger.table(key, "predictions")
        tables.append(table.filter(table["split"] == split))
    first = tables[0]
    if not len(first):
        raise DataError(f"Task {results[0].task} has no {split} record, so nothing can be compared.")
    for result, table in zip(results, tables, strict=True):
        # Pairing is by position, so the same records and labels must stand in the same rows for every encoder.
        if not first.select("record_id", "label", "target").equals(table.select("record_id", "label", "target")):
            raise DataError(
                f"The predictions of {result.encoder} on {result.task} are of other records than the first."
            )
    shape = (-1, len(labels))
    return Predictions(
        encoders=tuple(result.encoder for result in results),
        labels=labels,
        targets=first["target"].to_numpy().reshape(shape),
        scores=np.stack([table["logit"].to_numpy().reshape(shape) for table in tables]),
        record_ids=first["record_id"].to_numpy().reshape(shape)[:, 0],
        patient_ids=first["patient_id"].to_numpy().reshape(shape)[:, 0],
        reasons=tuple(
            next((r.labels[i].reason for r in results if r.labels[i].reason is not None), None)
            for i in range(len(labels))
        ),
    )
