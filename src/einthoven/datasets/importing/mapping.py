"""What a table's columns and a folder's files mean (`einthoven datasets import --mapping FILE`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from einthoven.datasets.dataset import Access
from einthoven.foundation.errors import UsageError
from einthoven.foundation.identity import content_key
from einthoven.foundation.names import RULE, is_name

from .mapping_errors import all_said
from .mapping_values import Number, Part, WholeNumber, check_date_format, check_folded, texts
from .signal_mapping import Signals
from .task_mapping import BooleanTask, ClassesTask, CodesTask, ForecastingTask, HemodynamicTask, Task


class Sex(Part):
    """The column of sex, and its codes; without codes F, female, M and male in any case.

    Attributes:
        codes: cell -> "F", "M", or null for unknown.
    """

    column: str
    codes: Annotated[dict[str, Literal["F", "M"] | None], BeforeValidator(texts)] | None = None

    @model_validator(mode="after")
    def _in_any_case(self) -> Sex:
        check_folded(self.codes)
        return self


class Time(Part):
    """The column of the ECG's date, or date and time.

    Attributes:
        format: as in Python's strptime ("%d/%m/%Y"); default ISO 8601, such as 2024-05-31 or 2024-05-31T12:30:00.
    """

    column: str
    format: str | None = None

    @model_validator(mode="after")
    def _says_the_day(self) -> Time:
        check_date_format(self.format)
        return self


class HashSplit(Part):
    """By a hash of the patient id, so that a patient's split depends on no other patient."""

    kind: Literal["hash"]
    train: Annotated[Number, Field(gt=0, lt=1)] = 0.7
    val: Annotated[Number, Field(gt=0, lt=1)] = 0.1
    salt: str = "einthoven"

    @model_validator(mode="after")
    def _leaves_test(self) -> HashSplit:
        if self.train + self.val >= 1:
            raise ValueError("`train` and `val` must add up to less than 1; the rest is test")
        return self


class ColumnSplit(Part):
    """As a column says; a record with an empty cell is in no split.

    Attributes:
        codes: cell -> "train", "val" or "test"; default these three, in any case, and "valid" and "validation".
    """

    kind: Literal["column"]
    column: str
    codes: Annotated[dict[str, Literal["train", "val", "test"]], BeforeValidator(texts)] | None = None

    @model_validator(mode="after")
    def _in_any_case(self) -> ColumnSplit:
        check_folded(self.codes)
        return self


class FoldSplit(Part):
    """Folds by patient: rules NAME-1 to NAME-K, in which fold i is test, the next one val and the others train."""

    kind: Literal["folds"]
    folds: Annotated[WholeNumber, Field(ge=3, le=100)] = 5
    seed: WholeNumber = 0


def rule_names(name: str, split: HashSplit | ColumnSplit | FoldSplit) -> list[str]:
    """The split rules that one entry of `splits` makes: itself, or one a fold."""
    return [f"{name}-{fold}" for fold in range(1, split.folds + 1)] if isinstance(split, FoldSplit) else [name]


Split = Annotated[HashSplit | ColumnSplit | FoldSplit, Field(discriminator="kind")]


class ImportPlan(Part):
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
    splits: dict[str, Split] = Field(default_factory=lambda: {"patients": HashSplit(kind="hash")}, min_length=1)

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
            wrong = [name for name in names if not is_name(name)]
            if wrong:
                raise ValueError(f"{what} {wrong[0]!r}: {RULE}")
        rules = Counter(rule for name, split in self.splits.items() for rule in rule_names(name, split))
        twice = [rule for rule, count in rules.items() if count > 1]
        if twice:
            raise ValueError(f"two split rules come to be called {twice[0]!r}: rename one (folds get -1, -2, ... each)")
        mark = self.separator
        if mark is not None and (not mark.isascii() or mark.isalnum() or mark in '"\r\n\0'):
            raise ValueError(f"`separator` is {mark!r}; a mark such as ';', '|' or a tab was expected")
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
    unwritable = list(_unwritable(values, ()))
    if unwritable:
        raise UsageError(
            f"{where} is no valid mapping: {', '.join(unwritable[:10])} with half of a surrogate pair, which is no "
            "text. Write it without."
        )
    try:
        return ImportPlan.model_validate(values)
    except ValidationError as error:
        found = "; ".join(all_said(error.errors(), values, keys_at=lambda path: _keys_at(path, values), kinds=_KINDS))
        raise UsageError(f"{where} is no valid mapping: {found}.") from None


def _unwritable(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Keys whose text, or that of their value, cannot be written as UTF-8; YAML has escapes for such."""
    if isinstance(value, dict):
        for key, item in value.items():
            shown = str(key).encode("ascii", "backslashreplace").decode()
            if isinstance(key, str) and not _writable(key):
                yield ".".join((*path, shown))
            yield from _unwritable(item, (*path, shown))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _unwritable(item, (*path, str(index)))
    elif isinstance(value, str) and not _writable(value):
        yield ".".join(path) or "it"


def _writable(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


_TASKS: dict[str, type[Part]] = {
    "boolean": BooleanTask,
    "classes": ClassesTask,
    "codes": CodesTask,
    "hemodynamic": HemodynamicTask,
    "forecasting": ForecastingTask,
}
_SPLITS: dict[str, type[Part]] = {"hash": HashSplit, "column": ColumnSplit, "folds": FoldSplit}
_KINDS = {"tasks": _TASKS, "splits": _SPLITS}
_GROUPS: dict[str, type[Part]] = {"signals": Signals, "sex": Sex, "time": Time}


def _parts() -> tuple[type[Part], ...]:
    return (ImportPlan, *_GROUPS.values(), *_TASKS.values(), *_SPLITS.values())


def _keys_at(path: tuple[str, ...], values: Any) -> set[str]:
    """The keys that are known beside the last one of a path."""
    if len(path) < 2:
        return set(ImportPlan.model_fields)
    top, name = path[0], path[1]
    kinds = _KINDS.get(top)
    if kinds is not None:
        group = values[top].get(name) if isinstance(values.get(top), dict) else None
        kind = group.get("kind") if isinstance(group, dict) else None
        parts = [kinds[kind]] if isinstance(kind, str) and kind in kinds else list(kinds.values())
    else:
        parts = [_GROUPS.get(top, ImportPlan)]
    return {key for part in parts for key in part.model_fields}


def keys_of_kind(group: str, kind: object) -> set[str]:
    """The keys of an entry of `tasks` or `splits` of a kind; none if there is no such kind."""
    kinds = _KINDS.get(group, {})
    return set(kinds[kind].model_fields) if isinstance(kind, str) and kind in kinds else set()


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
