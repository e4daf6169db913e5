"""What a table's columns and a folder's files mean (`einthoven datasets import --mapping FILE`)."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from einthoven.datasets.dataset import Access, Family
from einthoven.foundation.errors import UsageError
from einthoven.foundation.identity import content_key
from einthoven.signals.leads import STANDARD_LEADS

from .mapping_errors import all_said, as_text

Format = Literal["wfdb", "edf", "mat", "npy", "h5"]
DAYS_A_YEAR = 365.25
LONGEST = 7 * 86400  # seconds: a week, as no recorder runs longer
FASTEST = 1_000_000  # Hz
_DAY = 86_400_000_000  # microseconds
_UNITS = {"days": _DAY, "years": Fraction(DAYS_A_YEAR) * _DAY}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_RULE = re.compile(r"\s*(<=|>=|<|>)\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*")
# Formats whose files say rate, unit and leads themselves.
SELF_DESCRIBING: tuple[Format, ...] = ("wfdb", "edf")


def _lead_names(value: Any) -> Any:
    if isinstance(value, str):
        return STANDARD_LEADS if value == "standard" else tuple(part.strip() for part in value.split(","))
    return value


def _texts(value: Any) -> Any:
    # YAML reads 0, 1, true and no as numbers and booleans; the cells of a table are text.
    if isinstance(value, Mapping):
        return {as_text(key): item for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_text(item) if isinstance(item, bool | int | float) else item for item in value]
    return value


def in_microseconds(time: float, unit: str) -> int:
    """Days or years as the nearest whole microseconds, exactly."""
    return round(Fraction(time) * _UNITS[unit])


LeadNames = Annotated[tuple[str, ...], BeforeValidator(_lead_names)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Signals(_Part):
    """Where the signal of a record lies, and what its numbers are.

    Attributes:
        file: path below the folder of signals, with columns of the table in braces: "{record}.hea", "{filename}".
            `{record}` and `{patient}` are the ids, whatever their columns are called.
        format: default by the file's suffix.
        key: array in a .mat or HDF5 file ("ECG.data"), braces as in `file`; default its only one.
        row: column that holds the record's row (from 0) in an array of many records (records, a, b).
        row_ids: array of record ids beside it in an HDF5 file, looked up instead of `row`.
        row_id: column that is looked up in `row_ids`; default the record id.
        axes: order of a record's axes; default the axis as long as there are leads, refused if both or neither is.
        units: of .mat, .npy and HDF5 numbers: "mV", "uV", "V" or "nV".
        gain, baseline: instead of `units`, for ADC values: units per mV, and the value of 0 mV.
        rate: Hz, or a column that holds it; default what WFDB and EDF files say.
        leads: names in file order, or "standard" for the twelve in standard order; default what WFDB and EDF files say.
        keep: the leads that the cohort stores; default the standard twelve where `leads` has or yields them, else
            `leads`.
        seconds: length of every record; default records may differ.
        longer: what to do with longer ones: "refuse" them, or take their "start" or "centre".
    """

    file: str
    format: Format | None = None
    key: str | None = None
    row: str | None = None
    row_ids: str | None = None
    row_id: str | None = None
    axes: Literal["leads-first", "leads-last"] | None = None
    units: str | None = None
    gain: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    baseline: Annotated[float, Field(allow_inf_nan=False)] | None = None
    rate: Annotated[float, Field(gt=0, le=FASTEST, allow_inf_nan=False)] | str | None = None
    leads: LeadNames | None = None
    keep: LeadNames | None = None
    seconds: Annotated[float, Field(gt=0, le=LONGEST, allow_inf_nan=False)] | None = None
    longer: Literal["refuse", "start", "centre"] = "refuse"

    @property
    def in_one_array(self) -> bool:
        """Whether a file holds one array of many records."""
        return self.row is not None or self.row_ids is not None

    @model_validator(mode="after")
    def _fits(self) -> Signals:
        if self.units is not None and self.gain is not None:
            raise ValueError("give `units` for voltages or `gain` for ADC values, not both")
        if self.baseline is not None and self.gain is None:
            raise ValueError("`baseline` needs `gain`")
        if self.row is not None and self.row_ids is not None:
            raise ValueError("give `row` or `row_ids`, not both")
        if self.row_id is not None and self.row_ids is None:
            raise ValueError("`row_id` needs `row_ids`, the array it is looked up in")
        if self.longer != "refuse" and self.seconds is None:
            raise ValueError("`longer` needs `seconds`")
        for name in ("leads", "keep"):
            leads = getattr(self, name)
            if leads is not None and (not leads or len(set(leads)) < len(leads)):
                raise ValueError(f"`{name}` must name each lead once: {', '.join(leads) or 'it is empty'}")
        return self


class Sex(_Part):
    """The column of sex, and its codes; without codes F, female, M and male in any case.

    Attributes:
        codes: cell -> "F", "M", or null for unknown.
    """

    column: str
    codes: Annotated[dict[str, Literal["F", "M"] | None], BeforeValidator(_texts)] | None = None


class Time(_Part):
    """The column of the ECG's date, or date and time.

    Attributes:
        format: as in Python's strptime ("%d/%m/%Y"); default ISO 8601, such as 2024-05-31 or 2024-05-31T12:30:00.
    """

    column: str
    format: str | None = None

    @model_validator(mode="after")
    def _says_the_day(self) -> Time:
        if self.format is not None and not _reads_dates(self.format):
            raise ValueError(
                f"`format` is {self.format!r}; year, month and day were expected, each once, as in Python's strptime, "
                "such as '%d/%m/%Y' or '%Y-%m-%d %H:%M'"
            )
        return self


def _reads_dates(fmt: str) -> bool:
    """Whether a date that is written by a format is read back by it."""
    for day in (datetime(2024, 5, 31, 12, 34, 56, tzinfo=UTC), datetime(1987, 11, 6, tzinfo=UTC)):
        try:
            with warnings.catch_warnings():
                # Python warns of formats without a year, which are refused below.
                warnings.simplefilter("ignore")
                found = datetime.strptime(day.strftime(fmt), fmt)  # noqa: DTZ007 - only its date counts
        except (ValueError, KeyError, IndexError, OverflowError, re.error):
            return False
        if found.date() != day.date():
            return False
    return True


class _Task(_Part):
    summary: str = ""
    family: Family = "rhythm+waveform"


class BooleanTask(_Task):
    """Labels with a column each: 0/1, true/false or yes/no; a record with an empty cell is not in the task.

    Attributes:
        columns: label -> column, or the columns, whose names are the labels then.
    """

    kind: Literal["boolean"]
    columns: dict[str, str] | tuple[str, ...]

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
    classes: Annotated[dict[str, str] | tuple[str, ...] | None, BeforeValidator(_texts)] = None


class CodesTask(_Task):
    """Any number of codes a record in one column, separated; a record with an empty cell is not in the task.

    Attributes:
        labels: code -> label; codes that it does not name count for nothing. Default every code that occurs is a label.
        none: the cell that says "no code at all", which is not the same as an empty cell.
    """

    kind: Literal["codes"]
    column: str
    delimiter: Annotated[str, Field(min_length=1)]
    labels: Annotated[dict[str, str] | None, BeforeValidator(_texts)] = None
    none: str | None = None


class HemodynamicTask(_Part):
    """Pressures of a right heart catheter in mmHg: is mPCWP at least 15, is mPA at least 20?

    Attributes:
        mpcwp, mpa: columns of the mean pulmonary capillary wedge and mean pulmonary artery pressure; at least one.
    """

    kind: Literal["hemodynamic"]
    summary: str = ""
    mpcwp: str | None = None
    mpa: str | None = None
    mpcwp_at_least: Annotated[float, Field(gt=0, le=100)] = 15
    mpa_at_least: Annotated[float, Field(gt=0, le=100)] = 20

    @model_validator(mode="after")
    def _has_one(self) -> HemodynamicTask:
        if self.mpcwp is None and self.mpa is None:
            raise ValueError("name the column of at least one pressure: `mpcwp` or `mpa`")
        return self


class ForecastingTask(_Part):
    """Does an event happen within a horizon after the ECG? `forecasting.py` says which records are in the task.

    One of three forms says when: `event` with `time_to` (a flag, and the time from the ECG to the event or else to the
    end of follow-up); `event_time` with `followed_until` (dates); `rule` (a second table of measurements, --outcomes).

    Attributes:
        label: name of the one label.
        horizon_days, horizon_years: one of the two; a year has 365.25 days.
        unit: of `time_to`.
        rule: which measurements are events: "< 40".
        outcome_patient, outcome_time, outcome_value: columns of the table of measurements.
        after_days: events up to so long after the ECG count as prevalent.
        prevalent: records whose event was there already are left out, or count as "positive".
    """

    kind: Literal["forecasting"]
    summary: str = ""
    label: str
    horizon_days: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    horizon_years: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    event: str | None = None
    time_to: str | None = None
    unit: Literal["days", "years"] | None = None
    event_time: str | None = None
    followed_until: str | None = None
    rule: str | None = None
    outcome_patient: str | None = None
    outcome_time: str | None = None
    outcome_value: str | None = None
    after_days: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0
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
        if self.after_microseconds >= self.horizon_microseconds:
            raise ValueError("`after_days` must be below the horizon")
        return self


Task = Annotated[BooleanTask | ClassesTask | CodesTask | HemodynamicTask | ForecastingTask, Field(discriminator="kind")]


class HashSplit(_Part):
    """By a hash of the patient id, so that a patient's split depends on no other patient."""

    kind: Literal["hash"]
    train: Annotated[float, Field(gt=0, lt=1)] = 0.7
    val: Annotated[float, Field(gt=0, lt=1)] = 0.1
    salt: str = "einthoven"

    @model_validator(mode="after")
    def _leaves_test(self) -> HashSplit:
        if self.train + self.val >= 1:
            raise ValueError("`train` and `val` must add up to less than 1; the rest is test")
        return self


class ColumnSplit(_Part):
    """As a column says; a record with an empty cell is in no split.

    Attributes:
        codes: cell -> "train", "val" or "test"; default these three, in any case, and "valid" and "validation".
    """

    kind: Literal["column"]
    column: str
    codes: Annotated[dict[str, Literal["train", "val", "test"]], BeforeValidator(_texts)] | None = None


class FoldSplit(_Part):
    """Folds by patient: rules NAME-1 to NAME-K, in which fold i is test, the next one val and the others train."""

    kind: Literal["folds"]
    folds: Annotated[int, Field(ge=3, le=100)] = 5
    seed: int = 0


Split = Annotated[HashSplit | ColumnSplit | FoldSplit, Field(discriminator="kind")]


class ImportPlan(_Part):
    """Everything that turns a table and a folder of signals into a dataset.

    Attributes:
        name: of the dataset; letters, digits, ".", "_" and "-".
        record, patient: columns of the ids. The same column for both says that every record is a patient of its own.
        separator: of the cells of a CSV file; default "," (tab for .tsv).
        age: column, years.
        metadata: further columns to keep in the cohort.
        tasks: name -> task.
        splits: name -> rule; the first is the default. Default 70 / 10 / 20 by a hash of the patient.
    """

    name: str
    title: str = ""
    version: str = "1"
    summary: str = ""
    licence: str = "none: not to be passed on"
    citation: str = ""
    url: str = ""
    access: Access = "private"
    sharing: str = "Nothing: neither the records nor what was computed from single ones."
    record: str
    patient: str
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    signals: Signals
    age: str | None = None
    sex: Sex | None = None
    time: Time | None = None
    metadata: tuple[str, ...] = ()
    tasks: Annotated[dict[str, Task], Field(min_length=1)]
    splits: Annotated[dict[str, Split], Field(min_length=1)] = {"patients": HashSplit(kind="hash")}

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, values: Any) -> Any:
        """`sex: column` and `time: column` stand for the column alone."""
        if not isinstance(values, dict):
            return values
        short = {key: {"column": values[key]} for key in ("sex", "time") if isinstance(values.get(key), str)}
        return {**values, **short}

    @model_validator(mode="after")
    def _fits(self) -> ImportPlan:
        for what, names in (("name", [self.name]), ("task", self.tasks), ("split", self.splits)):
            wrong = [name for name in names if not _NAME.fullmatch(name)]
            if wrong:
                raise ValueError(f"{what} {wrong[0]!r}: letters, digits, '.', '_' and '-' only, 100 at most")
        own = [name for name in ("age", "sex") if name in self.metadata]
        if own:
            raise ValueError(
                f"`metadata` names {own[0]!r}, which the cohort reads: use the key `{own[0]}: {own[0]}` instead"
            )
        forms = {name: task.form for name, task in self.tasks.items() if isinstance(task, ForecastingTask)}
        dated = [name for name, form in forms.items() if form != "durations"]
        if dated and self.time is None:
            raise ValueError(f"task {dated[0]!r} compares dates with that of the ECG: name its column with `time`")
        return self

    @property
    def needs_outcomes(self) -> bool:
        """Whether a task reads the table of measurements."""
        return any(isinstance(task, ForecastingTask) and task.form == "measurements" for task in self.tasks.values())

    def digest(self) -> str:
        """sha256 (64 hex digits) of all it says, defaults among it."""
        return content_key(_finite_json(self.model_dump(mode="json")))


def parse_plan(values: Any, *, where: str) -> ImportPlan:
    """A checked mapping from plain values.

    Raises:
        UsageError: unknown keys, with the nearest known ones, missing keys, or values that cannot be; all of them.
    """
    try:
        return ImportPlan.model_validate(values)
    except ValidationError as error:
        found = "; ".join(all_said(error.errors(), values, keys=_keys()))
        raise UsageError(f"{where} is no valid mapping: {found}.") from None


def _parts() -> tuple[type[_Part], ...]:
    tasks = (BooleanTask, ClassesTask, CodesTask, HemodynamicTask, ForecastingTask)
    return (ImportPlan, Signals, Sex, Time, *tasks, HashSplit, ColumnSplit, FoldSplit)


def _keys() -> set[str]:
    return {key for part in _parts() for key in part.model_fields}


def text_keys() -> set[str]:
    """Last parts of the keys whose value is text and nothing else."""
    plain = (str, str | None)
    found = {key for part in _parts() for key, field in part.model_fields.items() if field.annotation in plain}
    return found | {"delimiter", "separator"}


def _finite_json(value: Any) -> Any:
    """The same value with whole floats as integers, so that 500 and 500.0 are one plan."""
    if isinstance(value, dict):
        return {key: _finite_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite_json(item) for item in value]
    return int(value) if isinstance(value, float) and math.isfinite(value) and value.is_integer() else value
