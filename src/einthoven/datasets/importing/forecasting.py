"""Template "forecasting": does an event happen within a horizon after the ECG?

Times after the ECG are whole microseconds, so that an event at the horizon is at the horizon; a column of dates without
times of day is compared with the day of the ECG, by whole days. `after` is 0 unless the mapping says otherwise. A
record is

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

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from einthoven.datasets.dataset import TaskTable
from einthoven.foundation.errors import DataError

from .labels import ReadTask
from .table import Table, Times, says_nothing
from .task_mapping import ForecastingTask, in_microseconds

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# Between an ECG and what is known of its patient: more is a wrong unit, or a date that stands for "never".
LIFETIME = 130  # years
_LIFETIME = in_microseconds(LIFETIME, "years")
_DAY = in_microseconds(1, "days")
PREVALENT = "event at or before the ECG"
CENSORED = "censored before the horizon"
UNKNOWN = "no follow-up known"
UNTIMED = "no time of the ECG"


@dataclass(frozen=True)
class Course:
    """What is known of a record after its ECG; microseconds, None where there is none.

    Attributes:
        event: of the first event.
        followed: until when it is known that there was no other event; for a record without one.
        timed: whether the ECG itself has a time.
    """

    event: int | None
    followed: int | None
    timed: bool = True


def outcome(course: Course, *, horizon: int, after: int, prevalent_is_positive: bool) -> bool | str:
    """Whether a record is positive, or why it is not in the task."""
    if not course.timed:
        return UNTIMED
    if course.event is not None:
        if course.event <= after:
            return True if prevalent_is_positive else PREVALENT
        return course.event <= horizon
    if course.followed is None:
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
    notes: list[str] = []
    if task.form == "durations":
        courses = _durations(task, table)
    elif task.form == "dates":
        courses = _dates(task, table, ecg, notes)
    else:
        courses = _measurements(task, table, patients, ecg, outcomes, notes)
    by_days = "; by whole days" if notes else ""
    early = sum(course.followed is not None and course.followed < -_DAY for course in courses)
    if early:
        notes.append(
            f"Task {task.label}: the follow-up of {early} of {len(courses)} ECGs ends before the ECG, so it says "
            "nothing. If they are many, the columns may be exchanged or of another ECG."
        )
    positives: dict[str, frozenset[str]] = {}
    left_out: Counter[str] = Counter()
    horizon, after = task.horizon_microseconds, task.after_microseconds
    for record, course in zip(ids, courses, strict=True):
        found = outcome(
            course,
            horizon=horizon,
            after=after,
            prevalent_is_positive=task.prevalent == "positive",
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
        rule=f"2: {task.form}; event in ({task.after_days:g}, {task.horizon:g}] days; prevalent: {task.prevalent}; "
        f"censored left out{by_days}",
        notes=tuple(notes),
    )


def _durations(task: ForecastingTask, table: Table) -> list[Course]:
    events, times = table.booleans(task.event or ""), table.numbers(task.time_to or "")
    timeless = (row for row, event in enumerate(events) if event and times[row] is None)
    table.refuse(task.time_to or "", timeless, f"the time of the event, since {task.event} is true,")
    unit = task.unit or "days"
    far = (
        row for row, value in enumerate(times) if value is not None and abs(in_microseconds(value, unit)) > _LIFETIME
    )
    table.refuse(task.time_to or "", far, f"at most {LIFETIME} years from the ECG (`unit: {unit}`)")
    courses = []
    for event, time in zip(events, times, strict=True):
        at = None if time is None or event is None else in_microseconds(time, unit)
        courses.append(Course(event=at if event else None, followed=None if event else at))
    return courses


def _dates(task: ForecastingTask, table: Table, ecg: Times | None, notes: list[str]) -> list[Course]:
    event = _after(table, task.event_time or "", ecg, task, notes)
    followed = _after(table, task.followed_until or "", ecg, task, notes)
    timed = [False] * len(table) if ecg is None else [moment is not None for moment in ecg.moments]
    return [Course(*course) for course in zip(event, followed, timed, strict=True)]


def _measurements(
    task: ForecastingTask,
    table: Table,
    patients: Sequence[str],
    ecg: Times | None,
    outcomes: Table | None,
    notes: list[str],
) -> list[Course]:
    if outcomes is None or ecg is None:
        raise DataError(f"Task {task.label} reads a table of measurements: name it with --outcomes.")
    when = outcomes.times(task.outcome_time or "", task.format)
    starts, measured = _compared(ecg, when, f"column {task.outcome_time} of {outcomes.name}", notes)
    values = outcomes.numbers(task.outcome_value or "")
    comparison, threshold = task.threshold()
    whose = outcomes.cells(task.outcome_patient or "")
    nobody = (row for row, who in enumerate(whose) if who is None or says_nothing(who))
    outcomes.refuse(task.outcome_patient or "", nobody, "a patient id")
    of_patient: dict[str | None, list[tuple[int, bool]]] = {}
    for who, at, value in zip(whose, measured, values, strict=True):
        if value is not None and at is not None:
            of_patient.setdefault(who, []).append((at, _COMPARE[comparison](value, threshold)))
    if not any(patient in of_patient for patient in patients):
        raise DataError(
            f"No patient of {outcomes.name} (column {task.outcome_patient}) is one of {table.name}. Are the ids "
            "written alike in both?"
        )
    until = task.followed_until
    followed = _after(table, until, ecg, task, notes) if until else [None] * len(table)
    horizon, after = task.horizon_microseconds, task.after_microseconds
    courses = []
    for patient, start, end in zip(patients, starts, followed, strict=True):
        if start is None:
            courses.append(Course(None, None, timed=False))
            continue
        later = [(at - start, event) for at, event in of_patient.get(patient, [])]
        # An event after the horizon was seen too late to say when it began: what was seen within decides.
        event = min((at for at, is_event in later if is_event and at <= horizon), default=None)
        seen = min((at for at, _ in later if at > after), default=None)
        reach = None if seen is None else horizon if seen <= horizon else after
        courses.append(Course(event, max((at for at in (end, reach) if at is not None), default=None)))
    return courses


def _after(table: Table, column: str, ecg: Times | None, task: ForecastingTask, notes: list[str]) -> list[int | None]:
    """Microseconds from the ECG to a date of the table, None where either is empty."""
    times = table.times(column, task.format)
    if ecg is None:
        raise DataError(f"Task {task.label} compares dates with that of the ECG: name its column with `time`.")
    starts, ends = _compared(ecg, times, f"column {column} of {table.name}", notes)
    after = [None if start is None or end is None else end - start for start, end in zip(starts, ends, strict=True)]
    far = (row for row, time in enumerate(after) if time is not None and abs(time) > _LIFETIME)
    table.refuse(column, far, f"a date within {LIFETIME} years of the ECG's")
    return after


def _compared(ecg: Times, times: Times, where: str, notes: list[str]) -> tuple[list[int | None], list[int | None]]:
    """Both in microseconds, to the day if either has no times of day.

    Raises:
        DataError: one has a time zone and the other has none.
    """
    if None not in (ecg.zoned, times.zoned) and ecg.zoned != times.zoned:
        which = "a" if times.zoned else "no"
        raise DataError(f"The {where} has {which} time zone, unlike the times of the ECGs. Write both alike.")
    whole = ecg.dates_only or times.dates_only
    if whole and None not in (ecg.zoned, times.zoned) and ecg.dates_only != times.dates_only:
        which = "the ECGs have" if ecg.dates_only else f"{where} has"
        notes.append(f"{which} dates without times of day, so whole days from the ECG to {where} are counted.")
    return ecg.microseconds(whole_days=whole), times.microseconds(whole_days=whole)
