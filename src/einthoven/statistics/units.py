"""What is drawn, swapped and left out together: patients or records, by number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from einthoven.foundation.errors import DataError, UsageError


def number_units(units: Sequence[str] | Sequence[int] | np.ndarray) -> tuple[np.ndarray, int]:
    """Units as numbers by first appearance.

    Args:
        units: (records,) patient or record ids; strings or integers.

    Returns:
        `unit_of_record`: int64 (records,), from 0; and how many units there are.

    Raises:
        UsageError: not a list of strings or integers.
        DataError: a record without a unit, or fewer than two units.

    Example:
        >>> unit_of_record, unit_count = number_units(["p9", "p1", "p9"])
        >>> unit_of_record.tolist(), unit_count
        ([0, 1, 0], 2)
    """
    names = np.asarray(units)
    if names.ndim != 1 or names.dtype.kind not in "UOiu":
        raise UsageError(
            f"units: expected one string or integer for each record, found shape {names.shape} of dtype {names.dtype}."
        )
    numbers: dict[str | int, int] = {}
    unit_of_record = np.empty(len(names), dtype=np.int64)
    for row, name in enumerate(names.tolist()):
        # One missing id shared by many records would make one patient of them, and intervals far too wide or narrow.
        if not isinstance(name, str | int) or name == "":
            raise DataError(
                f"units: record {row} has no unit (found {name!r}). "
                "Give it a patient id of its own, or leave the record out."
            )
        unit_of_record[row] = numbers.setdefault(name, len(numbers))
    if len(numbers) < 2:
        raise DataError(
            f"units: expected at least 2 different ones, found {len(numbers)} over {len(names)} records; "
            "drawing from so few says nothing about uncertainty."
        )
    return unit_of_record, len(numbers)
