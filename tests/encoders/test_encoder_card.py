from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from einthoven.encoders.card import EncoderCard, Parameter, UnusedSignal
from einthoven.encoders.registry import build_encoder
from einthoven.foundation.errors import UnknownNameError, UsageError
from einthoven.signals.preprocessing import Preprocessing

_NATIVE = Preprocessing(name="native", rate=100.0, seconds=10.0)


def card(**changes: Any) -> EncoderCard:
    fields: dict[str, Any] = {
        "name": "example",
        "title": "Example",
        "summary": "An example.",
        "paper": "none",
        "code_licence": "none",
        "weights_licence": "none",
        "weights": "none",
        "consumes": "signal",
        "preprocessings": {"native": _NATIVE},
        "dimension": 3,
        "pretraining": "unknown",
    }
    return EncoderCard.model_validate(fields | changes)


def test_presets_are_found_by_name() -> None:
    own = Preprocessing(name="own", rate=500.0)
    both = card(preprocessings={"native": _NATIVE, "own": own})
    assert both.preprocessing() is both.preprocessings["native"]
    assert both.preprocessing("own") == own


def test_metadata_encoder_has_a_preprocessing_that_uses_no_signal() -> None:
    none = card(consumes="metadata", preprocessings={})
    assert none.preprocessing() == UnusedSignal()
    assert none.preprocessing().identity() == {"signal": "unused"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"preprocessings": {}}, "first preprocessing must be 'native'"),
        ({"preprocessings": {"own": _NATIVE.model_copy(update={"name": "own"})}}, "first preprocessing must be"),
        ({"preprocessings": {"native": _NATIVE, "own": _NATIVE}}, "preset 'own' holds .* named 'native'"),
        ({"consumes": "metadata"}, "neither preprocessings nor hidden states"),
        ({"features": ("a", "b")}, "2 feature names for an embedding of 3"),
        ({"dimension": 0}, "greater than or equal to 1"),
        ({"name": "Two Words"}, "should match pattern"),
        ({"licence": "MIT"}, "Extra inputs are not permitted"),
    ],
)
def test_cards_that_contradict_themselves_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        card(**changes)


def test_default_of_a_parameter_must_be_valid_itself() -> None:
    with pytest.raises(ValueError, match=r"Parameter 'seed' of encoder example must be at least 0; found -1"):
        card(parameters={"seed": Parameter(kind="int", default=-1, minimum=0, summary="x")})


def test_parameters_are_filled_with_defaults() -> None:
    parameters = {
        "seed": Parameter(kind="int", default=0, minimum=0, summary="x"),
        "share": Parameter(kind="float", default=0.5, minimum=0.0, summary="x"),
        "pool": Parameter(kind="str", default="mean", summary="x"),
    }
    assert card(parameters=parameters).check_parameters({"share": 1}) == {"seed": 0, "share": 1.0, "pool": "mean"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, r"type int; found True \(bool\)"),
        ("3", r"type int; found '3' \(str\)"),
        (2.0, "type int"),
        (-1, "at least 0"),
    ],
)
def test_ill_typed_parameters_are_refused(value: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build_encoder("random-resnet18", seed=value)


def test_not_a_number_is_below_every_minimum() -> None:
    share = Parameter(kind="float", default=0.5, minimum=0.0, summary="x")
    with pytest.raises(UsageError, match="at least 0; found nan"):
        share.check(math.nan, name="share", where="encoder example")


def test_unknown_names_come_with_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError, match=r"Unknown parameter 'sed' in encoder random-resnet18\. Did you mean 'seed'"
    ):
        build_encoder("random-resnet18", sed=1)
    with pytest.raises(UnknownNameError, match=r"Unknown encoder 'random-resnet'\. Did you mean 'random-resnet18'"):
        build_encoder("random-resnet")
    with pytest.raises(UnknownNameError, match=r"Unknown parameter 'seed' in encoder age-sex\. Known: \(none\)"):
        build_encoder("age-sex", seed=1)
