"""Split rules: what every one of them must keep to."""

from __future__ import annotations

from collections.abc import Mapping

from einthoven.foundation.errors import DataError, UsageError

from .dataset import SPLITS


def check_patients(patient_ids: Mapping[str, str], split: Mapping[str, str], *, rule: str, where: str) -> None:
    """Refuse a split rule that puts recordings of one patient into two splits.

    Args:
        patient_ids: record id -> patient id.
        split: record id -> split.

    Raises:
        DataError: with the number of such patients and the first ones.
        UsageError: a split name that is none of train, val and test.
    """
    seen: dict[str, dict[str, str]] = {}
    for record_id, name in split.items():
        if name not in SPLITS:
            raise UsageError(
                f"Split rule {rule!r} of {where} puts record {record_id} into {name!r}; expected {SPLITS}."
            )
        seen.setdefault(patient_ids[record_id], {}).setdefault(name, record_id)
    leaks = {patient: splits for patient, splits in seen.items() if len(splits) > 1}
    if leaks:
        patient, splits = next(iter(leaks.items()))
        shown = ", ".join(f"record {record} in {name}" for name, record in splits.items())
        raise DataError(
            f"Split rule {rule!r} of {where} puts {len(leaks)} patient(s) into more than one split, so a test score "
            f"would be flattered. First: patient {patient} ({shown}). Split by patient instead."
        )
