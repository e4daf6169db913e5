"""Study specifications: what the user writes in YAML, checked key by key."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
)

from einthoven.encoders.own.reference import SUFFIXES, is_own
from einthoven.foundation.errors import UsageError, nearest
from einthoven.foundation.names import PATTERN
from einthoven.probing.grid import ProbeGrid

# `true` is a number to Python and never one to a user.
Whole = Annotated[int, Field(strict=True)]
_Strict = ConfigDict(frozen=True, extra="forbid")
Name = Annotated[str, Field(pattern=f"^{PATTERN}$")]


class EncoderChoice(BaseModel):
    """One encoder of a study: its registered name, a preprocessing preset and its parameters.

    Attributes:
        file: where an encoder that is registered nowhere is taken from, as `encoders.own.opening.open_own` takes it. A
            study may give the file alone, as the name; planning then calls it what its card says. Where a file lies is
            no part of any identity.
    """

    model_config = _Strict

    name: str
    preprocessing: str = "native"
    parameters: dict[str, int | float | str | bool] = Field(default_factory=dict)
    file: str | None = None

    @field_validator("file")
    @classmethod
    def _is_a_file(cls, value: str | None) -> str | None:
        if value is not None and not is_own(value):
            raise ValueError(f"a file ends in one of {', '.join(SUFFIXES)}")
        return value

    @model_serializer(mode="wrap")
    def _without_an_empty_file(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values = handler(self)
        if values.get("file") is None:
            values.pop("file", None)
        return values

    def identity(self) -> dict[str, Any]:
        """What counts for keys of cells: all but where a file lies. JSON-able."""
        return self.model_dump(mode="json", exclude={"file"})

    @property
    def id(self) -> str:
        """What it is called in tables: the name, and whatever differs from the default."""
        extras = [] if self.preprocessing == "native" else [self.preprocessing]
        extras += [f"{key}={value}" for key, value in sorted(self.parameters.items())]
        return f"{self.name} ({', '.join(extras)})" if extras else self.name


class BootstrapSpec(BaseModel):
    """How intervals are made: draws of whole patients (or records) from the test split, the same for all encoders."""

    model_config = _Strict

    draws: Whole = Field(default=1000, ge=100, le=100_000)
    unit: Literal["patient", "record"] = "patient"
    confidence: float = Field(default=0.95, gt=0, lt=1)


class SupportSpec(BaseModel):
    """When a label is judged: with fewer test positives (or negatives) it is reported but not averaged."""

    model_config = _Strict

    minimum_positives: Whole = Field(default=10, ge=1, le=10_000_000)


class RepresentationsSpec(BaseModel):
    """Which frozen encoder is better, and can we tell? Linear probes on tasks of one cohort.

    Attributes:
        name: of the study; its folder is `runs/<name>` unless another is given.
        cohort: name of a prepared cohort.
        split: a split rule of the cohort; None is its default.
        tasks: tasks of the cohort; empty means all of them.
        encoders: what is compared.
        baseline: name of the encoder every other one is measured against beside the best, or None.
        show_record: whether the report shows one record with its id and labels; None is "if the dataset is open or
            synthetic".
        seed: of the bootstrap draws.
    """

    model_config = _Strict

    study: Literal["representations"] = "representations"
    name: Name
    cohort: str
    split: str | None = None
    tasks: tuple[str, ...] = ()
    encoders: tuple[EncoderChoice, ...] = Field(min_length=1)
    baseline: str | None = None
    probe: ProbeGrid = Field(default_factory=ProbeGrid)
    bootstrap: BootstrapSpec = Field(default_factory=BootstrapSpec)
    support: SupportSpec = Field(default_factory=SupportSpec)
    show_record: bool | None = None
    seed: Whole = Field(default=0, ge=0, lt=2**63)

    @field_validator("encoders", mode="before")
    @classmethod
    def _names_are_choices(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [{"name": item} if isinstance(item, str) else item for item in value]
        return value

    @field_validator("encoders")
    @classmethod
    def _distinct(cls, value: tuple[EncoderChoice, ...]) -> tuple[EncoderChoice, ...]:
        ids = [choice.id for choice in value]
        repeated = sorted({i for i in ids if ids.count(i) > 1})
        if repeated:
            raise ValueError(f"the encoder {', '.join(repeated)} is named more than once")
        return value

    @field_validator("tasks")
    @classmethod
    def _distinct_tasks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) != len(value):
            raise ValueError(f"a task is named more than once in {list(value)}")
        return value


def parse_spec(values: Any, *, where: str) -> RepresentationsSpec:
    """Check the values of a study file.

    Args:
        values: what the YAML file holds.
        where: the file, for messages.

    Raises:
        UsageError: unknown keys (with the nearest valid ones), missing keys, values of the wrong kind; all at once.
    """
    if not isinstance(values, dict):
        raise UsageError(f"{where} must hold a mapping of keys to values; found {type(values).__name__}.")
    kind = values.get("study", "representations")
    if kind != "representations":
        raise UsageError(f"{where}: study is {kind!r}; this version runs 'representations'.")
    try:
        return RepresentationsSpec.model_validate(values)
    except ValidationError as error:
        problems = [_problem(detail) for detail in error.errors()]
        raise UsageError(f"{where} is not a valid study:\n" + "\n".join(f"  - {p}" for p in problems)) from None


def _problem(detail: Any) -> str:
    path = [str(part) for part in detail["loc"]]
    place = ".".join(path)
    if detail["type"] == "extra_forbidden":
        known = _keys_at(path[:-1])
        close = nearest(path[-1], known)
        hint = f" Did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
        return f"unknown key {place!r}.{hint} Known here: {', '.join(sorted(known))}."
    if detail["type"] == "missing":
        return f"key {place!r} is missing."
    return f"{place}: {detail['msg']} (found {detail.get('input')!r})."


def _keys_at(path: list[str]) -> list[str]:
    model: type[BaseModel] = RepresentationsSpec
    inner = {"probe": ProbeGrid, "bootstrap": BootstrapSpec, "support": SupportSpec, "encoders": EncoderChoice}
    if path:
        model = inner.get(path[0], model)
    return list(model.model_fields)
