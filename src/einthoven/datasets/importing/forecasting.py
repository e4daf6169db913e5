"""Template "forecasting": does an event happen within a horizon after the ECG?

Times are days after the ECG; `after` is 0 unless the mapping says otherwise. A record is

- prevalent, and left out, if its event was at or before `after` (with `prevalent: positive` it counts as positive);
- positive if its event is later than `after` and not later than the horizon;
- negative if its event is later than the horizon, or if it has none and was followed up to the horizon at least;
- censored, and left out, if it has no event and was followed up for less than the horizon;
- left out if nothing is known: no follow-up, or no time of the ECG.

With a table of measurements (--outcomes) the event is the first measurement that fulfils the rule, such as LVEF < 40. A
record without such an event within the horizon is negative if there is a measurement later than `after` within the
horizon, or if `followed_until` reaches the horizon; else it is censored. A measurement after the horizon alone does not
make it negative: nobody looked in time.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from einthoven.datasets.dataset import TaskTable
from einthoven.foundation.errors import DataError

from .labels import ReadTask
from .mapping import DAYS_A_YEAR, ForecastingTask
from .table import Table, Times

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
PREVALENT = "event at or before the ECG"
CENSORED = "censored before the horizon"
UNKNOWN = "no follow-up known"
UNTIMED = "no time of the ECG"


@dataclass(frozen=True)
class Course:
    """What is known of a record after its ECG; days, NaN where there is none.

    Attributes:
        event: of the first event.
        followed: until when it is known that there was no other event; for a record without one.
        timed: whether the ECG itself has a time.
    """

    event: float
    followed: float
    timed: bool = True


def outcome(course: Course, *, horizon: float, after: float, prevalent_is_positive: bool) -> bool | str:
    """Whether a record is positive, or why it is not in the task."""
    if not course.timed:
        return UNTIMED
    if course.event <= after:
        return True if prevalent_is_positive else PREVALENT
    if not math.isnan(course.event):
        return course.event <= horizon
    if math.isnan(course.followed):
        return UNKNOWN
    return False if course.followed >= horizon else CENSORED


def forecasting_task(
    task: ForecastingTask,
    table: Table,
    ids: Sequence[str],
    *,
    patients: Sequence[str],
    ecg: Times | None,
    outcomes: Table | None,
) -> ReadTask:
    """One label: the event within the horizon.

    Args:
        ecg: time of each record.
        outcomes: measurements, for a task with a rule.

    Raises:
        DataError: cells that are no flags, numbers or dates, or dates of which some have a time zone.
    """
    if task.form == "durations":
        courses = _durations(task, table)
    elif task.form == "dates":
        courses = _dates(task, table, ecg)
    else:
        courses = _measurements(task, table, patients, ecg, outcomes)
    positives: dict[str, frozenset[str]] = {}
    left_out: Counter[str] = Counter()
    for record, course in zip(ids, courses, strict=True):
        found = outcome(
            course, horizon=task.horizon, after=task.after_days, prevalent_is_positive=task.prevalent == "positive"
        )
        if isinstance(found, str):
            left_out[found] += 1
        else:
            positives[record] = frozenset([task.label] if found else [])
    return ReadTask(
        TaskTable((task.label,), positives),
        summary=task.summary or f"{task.label} within {task.horizon:g} days of the ECG",
        family="forecasting",
        left_out=dict(left_out),
        rule=f"1: {task.form}; event in ({task.after_days:g}, {task.horizon:g}] days; prevalent: {task.prevalent}; "
        "censored left out",
    )


def _durations(task: ForecastingTask, table: Table) -> list[Course]:
    events, times = table.booleans(task.event or ""), table.numbers(task.time_to or "")
    scale = DAYS_A_YEAR if task.unit == "years" else 1.0
    timeless = (row for row, event in enumerate(events) if event and times[row] is None)
    table.refuse(task.time_to or "", timeless, f"the time of the event, since {task.event} is true,")
    courses = []
    for event, time in zip(events, times, strict=True):
        days = math.nan if time is None or event is None else time * scale
        courses.append(Course(event=days if event else math.nan, followed=math.nan if event else days))
    return courses


def _dates(task: ForecastingTask, table: Table, ecg: Times | None) -> list[Course]:
    event = _after(table, task.event_time or "", ecg, task)
    followed = _after(table, task.followed_until or "", ecg, task)
    timed = _timed(ecg, len(table))
    return [Course(e, f, bool(t)) for e, f, t in zip(event.tolist(), followed.tolist(), timed, strict=True)]


def _measurements(
    task: ForecastingTask, table: Table, patients: Sequence[str], ecg: Times | None, outcomes: Table | None
) -> list[Course]:
    if outcomes is None or ecg is None:
        raise DataError(f"Task {task.label} reads a table of measurements: name it with --outcomes.")
    when = outcomes.times(task.outcome_time or "")
    _same_clock(ecg, when, f"column {task.outcome_time} of {outcomes.name}")
    values = outcomes.numbers(task.outcome_value or "")
    comparison, threshold = task.threshold()
    whose = outcomes.cells(task.outcome_patient or "")
    outcomes.refuse(task.outcome_patient or "", (row for row, who in enumerate(whose) if who is None), "a patient id")
    of_patient: dict[str | None, list[tuple[float, bool]]] = {}
    for who, day, value in zip(whose, when.days.tolist(), values, strict=True):
        if value is not None and not math.isnan(day):
            of_patient.setdefault(who, []).append((day, _COMPARE[comparison](value, threshold)))
    if not any(patient in of_patient for patient in patients):
        raise DataError(
            f"No patient of {outcomes.name} (column {task.outcome_patient}) is one of {table.name}. Are the ids "
            "written alike in both?"
        )
    followed = _after(table, task.followed_until, ecg, task) if task.followed_until else np.full(len(table), np.nan)
    courses = []
    for patient, start, until in zip(patients, ecg.days.tolist(), followed.tolist(), strict=True):
        later = [(day - start, event) for day, event in of_patient.get(patient, [])]
        event = min((day for day, is_event in later if is_event), default=math.nan)
        seen = min((day for day, _ in later if day > task.after_days), default=math.nan)
        if event > task.horizon:
            # Seen too late to say when it began: what was seen within the horizon decides.
            event = math.nan
        reach = task.horizon if seen <= task.horizon else min(seen, task.after_days)
        courses.append(Course(event, _latest(until, reach), timed=not math.isnan(start)))
    return courses


def _latest(one: float, other: float) -> float:
    known = [value for value in (one, other) if not math.isnan(value)]
    return max(known, default=math.nan)


def _after(table: Table, column: str, ecg: Times | None, task: ForecastingTask) -> np.ndarray:
    """Days from the ECG to a date of the table, NaN where either is empty."""
    times = table.times(column)
    if ecg is None:
        raise DataError(f"Task {task.label} compares dates with that of the ECG: name its column with `time`.")
    _same_clock(ecg, times, f"column {column} of {table.name}")
    return times.days - ecg.days


def _same_clock(ecg: Times, times: Times, where: str) -> None:
    if None not in (ecg.zoned, times.zoned) and ecg.zoned != times.zoned:
        which = "a" if times.zoned else "no"
        raise DataError(f"The {where} has {which} time zone, unlike the times of the ECGs. Write both alike.")


def _timed(ecg: Times | None, rows: int) -> np.ndarray:
    return np.zeros(rows, dtype=bool) if ecg is None else ~np.isnan(ecg.days)
