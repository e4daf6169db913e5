"""The YAML file beside an exported network or a table of embeddings, and cards with most of their texts filled in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from einthoven.encoders.card import EncoderCard, Pretraining, SignalPreparation
from einthoven.foundation.errors import UsageError, nearest
from einthoven.signals.chain import Chain
from einthoven.signals.preprocessing import Preprocessing

Unit = Literal["mV", "uV", "V"]
UNITS: dict[str, float] = {"mV": 1.0, "uV": 1000.0, "V": 0.001}
"""What a signal in mV is multiplied by."""
_EXAMPLE = "{name: mine, file: model.pt, dimension: 512, input: {rate: 250, seconds: 10, normalisation: lead-z}}"


class Description(BaseModel):
    """What is said of a file that cannot say it itself.

    Attributes:
        name: what the encoder is called in tables: small letters, digits and "-".
        file: the network (.pt, .onnx) or the embeddings (.parquet, .npy), beside this file.
        dimension: numbers in an embedding; of a table of embeddings it is what the table has.
        input: of a network, the fields of `Preprocessing` or, with `steps`, of `Chain`; and `unit`.
        layout: axes of what the network takes.
        output: which output is the embedding, by number or name; None where there is one.
        pooling: of an output (records, tokens, width): the mean over its tokens, or the first; "none" for (records,
            dimension).
        licence: of the weights or embeddings.
        pretraining: registered datasets that were seen in training, [] for none, or "unknown".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    file: str = Field(min_length=1)
    dimension: int | None = Field(default=None, ge=1)
    input: dict[str, Any] | None = None
    layout: Literal["leads-samples", "samples-leads"] = "leads-samples"
    output: int | str | None = None
    pooling: Literal["none", "mean", "first"] = "none"
    title: str = ""
    summary: str = ""
    paper: str = ""
    licence: str = ""
    pretraining: Pretraining = "unknown"
    pretraining_note: str = ""

    @field_validator("pretraining", mode="before")
    @classmethod
    def _lists_are_names(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value


def read_description(path: Path) -> Description:
    """Read and check a YAML file; nothing in it can run code.

    Raises:
        UsageError: no such file, broken YAML, or unknown, missing or wrong keys, all at once.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}). An encoder's file says: {_EXAMPLE}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise UsageError(f"{path}{line} is not valid YAML: {getattr(error, 'problem', error)}.") from None
    if not isinstance(values, dict):
        raise UsageError(f"{path} must hold keys and values, such as {_EXAMPLE}; found {type(values).__name__}.")
    if "encoders" in values or "cohort" in values:
        raise UsageError(f"{path} is a study, not an encoder. An encoder's file says: {_EXAMPLE}")
    try:
        return Description.model_validate(values)
    except ValidationError as error:
        raise _invalid(path, error, Description) from None


def preparation(description: Description, path: Path) -> tuple[SignalPreparation, float]:
    """How records become what the network takes: the preset "native", and what mV are multiplied by after it.

    Raises:
        UsageError: no input, or one that is not valid; the message names the key.
    """
    if description.input is None:
        raise UsageError(
            f"{path} does not say what the network takes. Write for example input: {{rate: 250, seconds: 10, "
            "normalisation: lead-z}, with `leads` where they are not the twelve in their usual order."
        )
    values = dict(description.input)
    unit = values.pop("unit", "mV")
    if unit not in UNITS:
        raise UsageError(f"{path}: input.unit is one of {', '.join(UNITS)}; found {unit!r}.")
    kind: type[BaseModel] = Chain if "steps" in values else Preprocessing
    try:
        return kind.model_validate({"name": "native", **values}), UNITS[unit]  # type: ignore[return-value]  # either
    except ValidationError as error:
        raise _invalid(path, error, kind, prefix="input.") from None


def own_card(
    *,
    name: str,
    dimension: int,
    preprocessing: SignalPreparation | None,
    pretraining: Pretraining = "unknown",
    **texts: Any,
) -> EncoderCard:
    """A card of which only the necessary has to be said.

    Args:
        preprocessing: how records are prepared, named "native"; None for an encoder that reads no signal.
        texts: any other field of `EncoderCard`.
    """
    filled: dict[str, Any] = {
        "title": name,
        "summary": "An encoder from a file of the user's own.",
        "paper": "not stated",
        "code_licence": "not stated",
        "weights_licence": "not stated",
        "weights": "from the user's own file",
    }
    given = {field: value for field, value in texts.items() if value != ""}
    return EncoderCard(
        name=name,
        dimension=dimension,
        consumes="metadata" if preprocessing is None else "signal",
        preprocessings={} if preprocessing is None else {"native": preprocessing},
        pretraining=pretraining,
        **{**filled, **given},
    )


def described_card(
    description: Description, *, preprocessing: SignalPreparation | None, dimension: int, summary: str
) -> EncoderCard:
    """The card of what a YAML file describes."""
    return own_card(
        name=description.name,
        dimension=dimension,
        preprocessing=preprocessing,
        pretraining=description.pretraining,
        title=description.title,
        summary=description.summary or summary,
        paper=description.paper,
        weights_licence=description.licence,
        pretraining_note=description.pretraining_note,
    )


def name_from(stem: str) -> str:
    """A name for tables from a file's.

    Example:
        >>> name_from("My_Net v2")
        'my-net-v2'
    """
    return re.sub(r"[^a-z0-9]+", "-", stem.casefold()).strip("-") or "own"


def _invalid(path: Path, error: ValidationError, model: type[BaseModel], *, prefix: str = "") -> UsageError:
    lines = []
    for detail in error.errors():
        place = prefix + ".".join(map(str, detail["loc"]))
        if detail["type"] == "extra_forbidden":
            known = list(model.model_fields)
            close = nearest(str(detail["loc"][-1]), known)
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            lines.append(f"unknown key {place!r}.{hint} Known here: {', '.join(sorted(known))}.")
        elif detail["type"] == "missing":
            lines.append(f"key {place!r} is missing.")
        else:
            lines.append(f"{place}: {detail['msg']} (found {str(detail.get('input'))[:80]!r}).")
    return UsageError(f"{path} is not a valid description of an encoder:\n" + "\n".join(f"  - {x}" for x in lines))
