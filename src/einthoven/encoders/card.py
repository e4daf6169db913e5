"""What an encoder says about itself: source, licences, input, embedding, parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from einthoven.foundation.errors import UsageError, unknown_name
from einthoven.signals.chain import Chain
from einthoven.signals.preprocessing import Preprocessing

from .checkpoint_source import CheckpointSource

ParameterValue = int | float | str | bool
DatasetName = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Pretraining = tuple[DatasetName, ...] | Literal["unknown"]
SignalPreparation = Preprocessing | Chain
"""How a record becomes what an encoder of signals takes."""

_KINDS: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}


class Parameter(BaseModel):
    """A value the user may set when an encoder is built.

    Attributes:
        kind: its type; an int is taken where a float is expected, nothing else is converted.
        default: its value where none is given.
        minimum: smallest number allowed, or None.
        summary: what it changes, one line.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["int", "float", "str", "bool"]
    default: ParameterValue
    minimum: float | None = None
    summary: str

    def check(self, value: object, *, name: str, where: str) -> ParameterValue:
        """`value` in the parameter's own type.

        Raises:
            UsageError: another type, or a number below the minimum.
        """
        if self.kind == "float" and type(value) is int:
            value = float(value)
        # `type` and not `isinstance`: True is an int to Python and never a seed to a user.
        if type(value) is not _KINDS[self.kind]:
            raise UsageError(
                f"Parameter {name!r} of {where} must be of type {self.kind}; found {value!r} ({type(value).__name__})."
            )
        # Written so that NaN, which is below nothing, is refused too.
        if self.minimum is not None and isinstance(value, int | float) and not value >= self.minimum:
            raise UsageError(f"Parameter {name!r} of {where} must be at least {self.minimum:g}; found {value!r}.")
        return value  # type: ignore[return-value]  # its type was compared with `kind` above


class UnusedSignal(BaseModel):
    """The preprocessing of an encoder that reads no signal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Literal["native"] = "native"

    def identity(self) -> dict[str, Any]:
        """What counts for cache keys: that the signal is not used."""
        return {"signal": "unused"}


class EncoderCard(BaseModel):
    """Everything to know about an encoder without building it.

    Attributes:
        name: what it is asked for by.
        title: its name for tables and pages.
        summary: what it is, one sentence.
        paper: where it is described.
        code_licence: of the code that runs here.
        weights_licence: of the checkpoint; says so where there are no weights.
        weights: where the weights come from, "none (random)" where nothing was trained.
        consumes: the signal of a record, or columns of its metadata.
        checkpoint: where trained weights come from and what their file looks like; None where there are none.
        preprocessings: preset name -> how records are prepared; the first is "native", the default. Empty for
            metadata encoders.
        views: what becomes of several views of one record: their embeddings are averaged, or put one after the other.
        dimension: numbers in an embedding.
        hidden_states: how many states `hidden_states` gives; 0 where the encoder has none.
        tokens: what the tokens of a hidden state are, in their order: "time steps", "class token, then leads x time".
        pretraining: names of the datasets it was trained on, as they are registered here; none at all and "unknown" are
            different answers. A report compares them with the cohort's dataset, by equality.
        pretraining_note: what a reader should know beside the names: which part, which labels.
        floor: whether it is a control that a useful encoder must beat.
        features: names of the embedding's numbers, where they have names.
        parameters: what the user may set.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    title: str = Field(min_length=1)
    summary: str = Field(min_length=1)
    paper: str = Field(min_length=1)
    code_licence: str = Field(min_length=1)
    weights_licence: str = Field(min_length=1)
    weights: str = Field(min_length=1)
    consumes: Literal["signal", "metadata"]
    checkpoint: CheckpointSource | None = None
    preprocessings: Mapping[str, SignalPreparation] = Field(default_factory=dict)
    views: Literal["mean", "concatenate"] = "mean"
    dimension: int = Field(ge=1)
    hidden_states: int = Field(default=0, ge=0)
    tokens: str = ""
    pretraining: Pretraining
    pretraining_note: str = ""
    floor: bool = False
    features: tuple[str, ...] = ()
    parameters: Mapping[str, Parameter] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> EncoderCard:
        if self.consumes == "metadata" and (self.preprocessings or self.hidden_states):
            raise ValueError("an encoder of metadata has neither preprocessings nor hidden states")
        if self.consumes == "signal" and next(iter(self.preprocessings), None) != "native":
            raise ValueError(f"the first preprocessing must be 'native'; found {list(self.preprocessings)}")
        for preset, preprocessing in self.preprocessings.items():
            if preset != preprocessing.name:
                raise ValueError(f"preset {preset!r} holds a preprocessing that is named {preprocessing.name!r}")
        if self.features and len(self.features) != self.dimension:
            raise ValueError(f"{len(self.features)} feature names for an embedding of {self.dimension} numbers")
        for name, parameter in self.parameters.items():
            parameter.check(parameter.default, name=name, where=f"encoder {self.name}")
        return self

    def preprocessing(self, preset: str = "native") -> SignalPreparation | UnusedSignal:
        """How records are prepared under a preset.

        Raises:
            UnknownNameError: the encoder has no such preset; the message lists those it has.
        """
        presets: Mapping[str, SignalPreparation | UnusedSignal] = self.preprocessings or {"native": UnusedSignal()}
        if preset not in presets:
            raise unknown_name("preprocessing", preset, presets, where=f"encoder {self.name}")
        return presets[preset]

    def check_parameters(self, given: Mapping[str, object]) -> dict[str, ParameterValue]:
        """All parameters of the encoder: the given values, checked, and the defaults of the others.

        Raises:
            UnknownNameError: a name the encoder has no parameter for.
            UsageError: a value of the wrong type or out of range.
        """
        where = f"encoder {self.name}"
        for name in given:
            if name not in self.parameters:
                raise unknown_name("parameter", name, self.parameters, where=where)
        return {
            name: parameter.check(given.get(name, parameter.default), name=name, where=where)
            for name, parameter in self.parameters.items()
        }
