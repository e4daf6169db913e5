from __future__ import annotations

import pytest

from einthoven.reports.pairs import best_macro, find_difference, marks_against, reversed_difference, what_it_shows
from einthoven.studies.results import Difference, Estimate


def difference(a: str, b: str, point, low, high) -> Difference:
    estimate = Estimate(point=point, low=low, high=high, draws=10, undefined_draws=0, reason=None)
    return Difference(a=a, b=b, estimate=estimate, p=0.1)


def test_a_difference_is_found_either_way_round_and_its_ends_change_places():
    stored = difference("x", "y", 0.1, -0.05, 0.3)
    turned = find_difference([stored], "y", "x")
    assert turned is not None
    assert (turned.a, turned.b) == ("y", "x")
    assert (turned.estimate.point, turned.estimate.low, turned.estimate.high) == (-0.1, -0.3, 0.05)
    assert find_difference([stored], "x", "y") == stored
    assert find_difference([stored], "x", "z") is None
    assert reversed_difference(turned) == stored


def test_an_undefined_difference_stays_undefined_when_turned():
    turned = reversed_difference(difference("x", "y", 0.1, None, None))
    assert (turned.estimate.point, turned.estimate.low, turned.estimate.high) == (-0.1, None, None)


@pytest.mark.parametrize(
    ("low", "high", "shows"),
    [
        (0.001, 0.2, "higher"), (-0.2, -0.001, "lower"), (-0.1, 0.1, "undecided"),
        (0.0, 0.2, "undecided"), (-0.2, 0.0, "undecided"), (None, None, "undefined"),
    ],
)  # fmt: skip
def test_a_difference_is_shown_only_if_its_interval_excludes_zero(low, high, shows):
    assert what_it_shows(difference("x", "y", 0.1, low, high)) == shows


def test_a_pair_that_was_not_compared_shows_nothing():
    assert what_it_shows(None) == "undefined"


def test_only_an_interval_that_holds_zero_is_marked_undecided():
    known = [
        difference("best", "close", 0.01, -0.01, 0.03),
        difference("worse", "best", -0.2, -0.3, -0.1),
        difference("best", "odd", 0.1, None, None),
    ]
    marks = marks_against("best", ["best", "close", "worse", "odd", "absent"], known)
    assert marks == {"best": "best", "close": "undecided", "worse": "", "odd": "", "absent": ""}
    assert set(marks_against(None, ["close"], known).values()) == {""}


def test_the_best_is_the_highest_defined_and_the_first_of_equals(made):
    assert best_macro(made(skill=(0.7, 0.9, 0.9)).comparison("super"), "auroc") == "rr-features"
    assert best_macro(made(labels={"super": {"A": 2}}).comparison("super"), "auroc") is None
