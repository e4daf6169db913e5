"""Split rules: what every one of them must keep to."""

from __future__ import annotations

import numpy as np
import polars as pl

from einthoven.foundation.errors import DataError

from .columns import NO_SPLIT, RecordTable, SplitColumn


def check_patients(records: RecordTable, split: SplitColumn, *, rule: str, where: str) -> None:
    """Refuse a split rule that puts recordings of one patient into two splits.

    Raises:
        DataError: with the number of such patients and the first one.
    """
    if not _may_leak(records.patient_id, split.codes):
        return
    table = pl.DataFrame({"patient": records.patient_id, "split": split.codes})
    found = table.filter(pl.col("split") != NO_SPLIT).group_by("patient", maintain_order=True)
    leaks = found.agg(pl.col("split").n_unique()).filter(pl.col("split") > 1)["patient"]
    if len(leaks):
        patient = leaks[0]
        rows = pl.DataFrame(
            {"record": records.record_id, "patient": records.patient_id, "split": split.names()}
        ).filter((pl.col("patient") == patient) & (pl.col("split") != ""))
        first = rows.unique("split", keep="first", maintain_order=True)
        shown = ", ".join(f"record {record} in {name}" for record, name in first.select("record", "split").iter_rows())
        raise DataError(
            f"Split rule {rule!r} of {where} puts {len(leaks)} patient(s) into more than one split, so a test score "
            f"would be flattered. First: patient {patient} ({shown}). Split by patient instead."
        )


def _may_leak(patients: pl.Series, codes: np.ndarray) -> bool:
    """Whether equal hashes of patients are in two splits; grouping by name takes ten times the memory."""
    named = codes != NO_SPLIT
    hashes, found = patients.hash().to_numpy()[named], codes[named]
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    return bool((same & (found[order][1:] != found[order][:-1])).any())
