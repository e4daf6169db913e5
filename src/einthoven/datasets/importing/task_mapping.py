"""`tasks:` of a mapping: which columns hold the labels, and how they are read."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from einthoven.datasets.dataset import Family

from .mapping_values import Number, Part, check_date_format, texts

DAYS_A_YEAR = 365.25
_DAY = 86_400_000_000  # microseconds
_UNITS = {"days": _DAY, "years": Fraction(DAYS_A_YEAR) * _DAY}
_RULE = re.compile(r"\s*(<=|>=|<|>)\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*")


def in_microseconds(time: float, unit: str) -> int:
    """Days or years as the nearest whole microseconds, exactly."""
    return round(Fraction(time) * _UNITS[unit])


class _Task(Part):
    summary: str = ""
    family: Family = "rhythm+waveform"


class BooleanTask(_Task):
    """Labels with a column each: 0/1, true/false or yes/no; a record with an empty cell is not in the task.

    Attributes:
        columns: label -> column, or the columns, whose names are the labels then.
    """

    kind: Literal["boolean"]
    columns: dict[str, str] | tuple[str, ...]

    @model_validator(mode="after")
    def _each_once(self) -> BooleanTask:
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise ValueError(f"`columns` must name each label once: {', '.join(self.columns) or 'it is empty'}")
        return self

    def column_of(self) -> dict[str, str]:
        """Label -> column."""
        return self.columns if isinstance(self.columns, dict) else {name: name for name in self.columns}


class ClassesTask(_Task):
    """One class a record, in one column; a record with an empty cell is not in the task.

    Attributes:
        classes: cell -> label, or the cells, which are the labels then; default all that occur.
    """

    kind: Literal["classes"]
    column: str
    classes: Annotated[dict[str, str] | tuple[str, ...] | None, BeforeValidator(texts)] = None

    @model_validator(mode="after")
    def _has_some(self) -> ClassesTask:
        if self.classes is not None and not self.classes:
            raise ValueError("`classes` is empty: name at least one, or leave it out for all that occur")
        return self


class CodesTask(_Task):
    """Any number of codes a record in one column, separated; a record with an empty cell is not in the task.

    Attributes:
        labels: code -> label; codes that it does not name count for nothing. Default every code that occurs is a label.
        none: the cell that says "no code at all", which is not the same as an empty cell.
    """

    kind: Literal["codes"]
    column: str
    delimiter: Annotated[str, Field(min_length=1)]
    labels: Annotated[dict[str, str] | None, BeforeValidator(texts)] = None
    none: str | None = None

    @model_validator(mode="after")
    def _has_some(self) -> CodesTask:
        if self.labels is not None and not self.labels:
            raise ValueError("`labels` is empty: name at least one, or leave it out for all codes that occur")
        return self


class HemodynamicTask(Part):
    """Pressures of a right heart catheter in mmHg: is mPCWP at least 15, is mPA at least 20?

    Attributes:
        mpcwp, mpa: columns of the mean pulmonary capillary wedge and mean pulmonary artery pressure; at least one.
    """

    kind: Literal["hemodynamic"]
    summary: str = ""
    mpcwp: str | None = None
    mpa: str | None = None
    mpcwp_at_least: Annotated[Number, Field(gt=0, le=100)] = 15
    mpa_at_least: Annotated[Number, Field(gt=0, le=100)] = 20

    @model_validator(mode="after")
    def _has_one(self) -> HemodynamicTask:
        if self.mpcwp is None and self.mpa is None:
            raise ValueError("name the column of at least one pressure: `mpcwp` or `mpa`")
        return self


class ForecastingTask(Part):
    """Does an event happen within a horizon after the ECG? `forecasting.py` says which records are in the task.

    One of three forms says when: `event` with `time_to` (a flag, and the time from the ECG to the event or else to the
    end of follow-up); `event_time` with `followed_until` (dates); `rule` (a second table of measurements, --outcomes).

    Attributes:
        label: name of the one label.
        horizon_days, horizon_years: one of the two; a year has 365.25 days.
        unit: of `time_to`.
        rule: which measurements are events: "< 40".
        outcome_patient, outcome_time, outcome_value: columns of the table of measurements.
        format: of `event_time`, `followed_until` and `outcome_time`, as in Python's strptime; default ISO 8601.
        after_days: events up to so long after the ECG count as prevalent.
        prevalent: records whose event was there already are left out, or count as "positive".
    """

    kind: Literal["forecasting"]
    summary: str = ""
    label: str
    horizon_days: Annotated[Number, Field(gt=0, allow_inf_nan=False)] | None = None
    horizon_years: Annotated[Number, Field(gt=0, allow_inf_nan=False)] | None = None
    event: str | None = None
    time_to: str | None = None
    unit: Literal["days", "years"] | None = None
    event_time: str | None = None
    followed_until: str | None = None
    rule: str | None = None
    outcome_patient: str | None = None
    outcome_time: str | None = None
    outcome_value: str | None = None
    format: str | None = None
    after_days: Annotated[Number, Field(ge=0, allow_inf_nan=False)] = 0
    prevalent: Literal["exclude", "positive"] = "exclude"

    @property
    def form(self) -> Literal["durations", "dates", "measurements"]:
        """How the table says when the event was."""
        return "durations" if self.event else "dates" if self.event_time else "measurements"

    @property
    def horizon(self) -> float:
        """Days."""
        return self.horizon_days if self.horizon_days is not None else (self.horizon_years or 0) * DAYS_A_YEAR

    @property
    def horizon_microseconds(self) -> int:
        """The horizon, exactly."""
        if self.horizon_days is not None:
            return in_microseconds(self.horizon_days, "days")
        return in_microseconds(self.horizon_years or 0, "years")

    @property
    def after_microseconds(self) -> int:
        """`after_days`, exactly."""
        return in_microseconds(self.after_days, "days")

    def threshold(self) -> tuple[str, float]:
        """Comparison and value of `rule`."""
        found = _RULE.fullmatch(self.rule or "")
        if not found or not math.isfinite(float(found[2])):
            raise ValueError(f"`rule` is {self.rule!r}; a comparison and a number were expected, such as '< 40'")
        return found[1], float(found[2])

    @model_validator(mode="after")
    def _is_one_form(self) -> ForecastingTask:
        if (self.horizon_days is None) == (self.horizon_years is None):
            raise ValueError("give `horizon_days` or `horizon_years`, one of the two")
        forms: dict[str, tuple[str, ...]] = {
            "event": ("time_to", "unit"),
            "event_time": ("followed_until",),
            "rule": ("outcome_patient", "outcome_time", "outcome_value"),
        }
        given = [name for name in forms if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("say when the event was by one of `event`, `event_time` and `rule`")
        missing = [name for name in forms[given[0]] if getattr(self, name) is None]
        if missing:
            raise ValueError(f"`{given[0]}` needs {', '.join(f'`{name}`' for name in missing)}")
        if given[0] == "rule":
            self.threshold()
        # `followed_until` also ends the follow-up of a table of measurements.
        allowed = {*forms[given[0]], given[0]} | ({"followed_until"} if given[0] == "rule" else set())
        every = {name for key, names in forms.items() for name in (key, *names)}
        extra = [name for name in sorted(every - allowed) if getattr(self, name) is not None]
        if extra:
            raise ValueError(f"`{given[0]}` does not go with {', '.join(f'`{name}`' for name in extra)}")
        if self.form == "durations" and self.format is not None:
            raise ValueError("`format` is of dates, and `event` with `time_to` has none")
        check_date_format(self.format)
        if self.after_microseconds >= self.horizon_microseconds:
            raise ValueError("`after_days` must be below the horizon")
        return self


Task = Annotated[BooleanTask | ClassesTask | CodesTask | HemodynamicTask | ForecastingTask, Field(discriminator="kind")]
