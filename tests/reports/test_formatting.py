from __future__ import annotations

import pytest

from einthoven.reports.formatting import number, shown, with_interval, without_folders
from einthoven.studies.results import Estimate


def make(point, low=None, high=None, undefined=0, reason=None) -> Estimate:
    return Estimate(point=point, low=low, high=high, draws=100, undefined_draws=undefined, reason=reason)


@pytest.mark.parametrize(
    ("value", "signed", "text"),
    [
        (0.12345, False, "0.123"), (-0.0001, True, "0.000"), (-0.0004, False, "0.000"), (0.0004, True, "0.000"),
        (-0.25, True, "−0.250"), (0.25, True, "+0.250"), (float("nan"), False, "–"), (None, True, "–"),
    ],
)  # fmt: skip
def test_numbers_have_three_decimals_a_true_minus_and_no_signed_zero(value, signed, text):
    assert number(value, signed=signed) == text


def test_an_undefined_estimate_is_a_dash_with_its_own_reason_before_any_other():
    value = shown(make(None, reason="no positives"), reason="low support")
    assert (value.text, value.note, value.order, value.interval) == ("–", "no positives", "", "")
    assert shown(make(None), reason="low support").note == "low support"
    assert shown(None).note != ""


def test_a_point_without_an_interval_is_shown_without_brackets_and_says_why():
    value = shown(make(0.7, undefined=20, reason="undefined in 20 of 100 draws"))
    assert value.text == "0.700"
    assert value.interval == ""
    assert "20 of 100" in value.note
    assert with_interval(make(0.7)) == "0.700"


def test_left_out_draws_are_told():
    assert shown(make(0.7, 0.6, 0.8, undefined=3)).note == "undefined in 3 of 100 draws, which are left out"
    assert shown(make(0.7, 0.6, 0.8)).note == ""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("cannot read /home/ada/data/a.npy", "cannot read …/a.npy"),
        ("'/srv/x/y z'", "'…/y z'"),
        ("~/data/set/a.dat is short", "…/a.dat is short"),
        (r"open C:\Users\ada\a.npy failed", r"open …\a.npy failed"),
        ("3/4 and/or https://a.org/b/c, runs/demo/x", "3/4 and/or https://a.org/b/c, runs/demo/x"),
        ("in /tmp", "in /tmp"),
    ],
)
def test_folders_of_absolute_paths_are_left_out_and_nothing_else(text, kept):
    assert without_folders(text) == kept
