"""Template "hemodynamic": is a pressure that a right heart catheter measured at or above a threshold?

A task for each pressure, with one label: mPCWP >= 15 mmHg ("mpcwp_gte_15") and mPA >= 20 mmHg ("mpa_gte_20"). A record
whose pressure is not known is not in its task. Pressures below 0 or above 100 mmHg are refused.

In val and test there is at most one record a patient: a patient with many catheters would count many times. It is the
first by time among those that have all the pressures, or else among those that have one; records without a time come
last, and where times do not decide the lowest record id does. The others of that patient are in no split; in train all
of them stay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from einthoven.datasets.dataset import TaskTable
from einthoven.foundation.errors import DataError

from .labels import ReadTask
from .table import Table
from .task_mapping import HemodynamicTask

HIGHEST = 100.0
# Mean wedge pressures are 6 to 12 mmHg in health, and mean pulmonary artery pressures 10 to 20.
_LOWEST_MEDIAN = 4.0
_DIGITS = 18
_SPELLED = {"mpcwp": "mPCWP", "mpa": "mPA"}


def hemodynamic_tasks(name: str, task: HemodynamicTask, table: Table, ids: Sequence[str]) -> dict[str, ReadTask]:
    """The tasks `<name>-mpcwp` and `<name>-mpa`, those of them whose columns are given."""
    tasks: dict[str, ReadTask] = {}
    pressures = (("mpcwp", task.mpcwp, task.mpcwp_at_least), ("mpa", task.mpa, task.mpa_at_least))
    for pressure, column, threshold in pressures:
        if column is None:
            continue
        values = table.numbers(column)
        bad = (row for row, value in enumerate(values) if value is not None and not 0 <= value <= HIGHEST)
        table.refuse(column, bad, f"a pressure from 0 to {HIGHEST:g} mmHg")
        known = [value for value in values if value is not None]
        if known and median(known) < _LOWEST_MEDIAN:
            raise DataError(
                f"Column {column} of {table.name}: the median pressure is {median(known):.3g}; mmHg were expected, in "
                f"which half of the patients have more than {_LOWEST_MEDIAN:g}. Are they kPa (times 7.5006), or are "
                "missing values written as 0?"
            )
        zeros = known.count(0.0)
        label = f"{pressure}_gte_{threshold:g}"
        positives = {
            record: frozenset([label] if value >= threshold else [])
            for record, value in zip(ids, values, strict=True)
            if value is not None
        }
        missing = len(ids) - len(positives)
        tasks[f"{name}-{pressure}"] = ReadTask(
            TaskTable((label,), positives),
            summary=task.summary or f"{_SPELLED[pressure]} at least {threshold:g} mmHg",
            family="hemodynamic",
            left_out={"no catheter value": missing} if missing else {},
            notes=(f"{zeros} of {len(known)} values of {column} are 0 mmHg, and count as that.",) if zeros else (),
            rule=f"1: {column} >= {threshold:g} mmHg; first ECG of a patient in val and test",
        )
    return tasks


def later_records(
    tasks: Sequence[TaskTable], ids: Sequence[str], patients: Sequence[str], days: np.ndarray | None
) -> set[str]:
    """Records of the tasks that are not the one that stands for their patient in val and test.

    Args:
        tasks: of one template.
        days: time of each record, float64 (records,) with NaN, or None.
    """
    first: dict[str, tuple[tuple[object, ...], str]] = {}
    inside: list[tuple[str, str]] = []
    # Longer ones are no numbers that anyone counts with, and Python refuses to read the longest.
    as_numbers = all(record.isascii() and record.isdecimal() and len(record) <= _DIGITS for record in ids)
    for row, (record, patient) in enumerate(zip(ids, patients, strict=True)):
        known = sum(record in task.positives for task in tasks)
        if not known:
            continue
        inside.append((record, patient))
        time = math.inf if days is None or math.isnan(days[row]) else float(days[row])
        place = (-known, time, int(record) if as_numbers else 0, record)
        if patient not in first or place < first[patient][0]:
            first[patient] = (place, record)
    return {record for record, patient in inside if first[patient][1] != record}


def one_a_patient(split: Mapping[str, str], later: set[str]) -> dict[str, str]:
    """A split without the later records of the patients in val and test."""
    return {record: part for record, part in split.items() if part == "train" or record not in later}
