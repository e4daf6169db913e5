"""Which encoders cannot be told from the best: the rule of the ECG evaluation paper, word for word."""

from __future__ import annotations

import math
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einthoven.foundation.errors import DataError, UsageError
from einthoven.statistics.best_verdicts import (
    BestVerdict,
    best_encoder,
    verdict_on_any_metric,
    verdicts_against_best,
)
from einthoven.statistics.direction import Better

NAN = math.nan
NAMES = ["a", "b", "c", "d"]


def judge(values, p, *, metric="auroc", better: Better = "higher", **options):
    return verdicts_against_best(values, p, encoders=NAMES[: len(values)], metric=metric, better=better, **options)


def test_exactly_the_level_is_a_difference_and_above_it_is_not():
    # "Not significantly different if its Bonferroni-corrected p-value exceeds 0.05": 3 comparisons.
    found = judge([0.9, 0.8, 0.7, 0.6], [NAN, 0.0166, 0.05 / 3, 0.0167])
    assert [one.verdict for one in found] == ["best", "different", "different", "not different"]
    assert [one.reference for one in found] == ["a"] * 4
    assert found[3].p_adjusted == pytest.approx(0.0501)
    assert math.isnan(found[0].p_adjusted)


def test_undefined_comparisons_are_named_and_outside_the_family():
    found = judge([0.9, NAN, 0.7, 0.6], [NAN, 0.001, 0.04, NAN])
    assert [one.verdict for one in found] == ["best", "undefined", "different", "undefined"]
    assert found[1].reason == "the value itself is undefined"
    assert found[3].reason == "there is no p-value against the best"
    # One test is left, and nothing to correct for.
    assert found[2].p_adjusted == 0.04
    assert math.isnan(found[1].p_adjusted)


def test_without_any_value_nothing_is_best():
    found = judge([NAN, NAN], [NAN, NAN])
    assert [(one.verdict, one.reference) for one in found] == [("undefined", None)] * 2
    assert best_encoder([NAN, NAN], better="higher") is None


def test_the_best_is_the_lowest_where_lower_is_better_and_the_first_of_equals():
    assert best_encoder([0.3, 0.1, NAN, 0.1], better="lower") == 1
    assert [one.verdict for one in judge([0.3, 0.1], [0.5, NAN], better="lower")] == ["not different", "best"]


def test_a_p_value_against_another_reference_is_refused():
    with pytest.raises(UsageError, match=r"expected NaN for 'a', which has the best auroc, found 0.3"):
        judge([0.9, 0.8], [0.3, NAN])


def verdict(encoder: str, metric: str, word) -> BestVerdict:
    return BestVerdict(encoder, metric, word, "a", 0.5, NAN, NAN, None)


def test_not_different_on_any_metric_is_enough():
    words = {
        "a": ("best", "different", "best"),
        "b": ("different", "not different", "not different"),
        "c": ("different", "different", "different"),
        "d": ("different", "undefined", "undefined"),
    }
    verdicts = [
        verdict(encoder, metric, word)
        for encoder, pair in words.items()
        for metric, word in zip(("auroc", "auprc"), pair, strict=False)
    ]
    assert verdict_on_any_metric(verdicts) == {encoder: triple[2] for encoder, triple in words.items()}


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=4), st.data())
def test_one_verdict_each_and_the_order_of_encoders_does_not_matter(values: list[float], data):
    best = best_encoder(values, better="higher")
    p = [NAN if at == best else data.draw(st.floats(0, 1)) for at in range(len(values))]
    found = {one.encoder: one for one in judge(values, p)}
    assert len(found) == len(values)
    assert [one.verdict for one in found.values()].count("best") == 1
    for one in found.values():
        if one.verdict != "best":
            # The definition, written out.
            assert (one.verdict == "not different") == (min(1, one.p * (len(values) - 1)) > 0.05)
    if len(set(values)) == len(values):
        turned = verdicts_against_best(
            values[::-1], p[::-1], encoders=NAMES[: len(values)][::-1], metric="auroc", better="higher"
        )
        assert {one.encoder: one.verdict for one in turned} == {name: one.verdict for name, one in found.items()}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: judge([0.9, 0.8], [NAN]), UsageError, "found 2, 1 and 2"),
        (lambda: judge([0.9, 0.8], [NAN, 0.5], alpha=5), UsageError, "such as 0.05, found 5"),
        (lambda: judge([0.9, 0.8], [NAN, 5]), DataError, "found 5.0 at position 1"),
        (lambda: judge([math.inf, 0.8], [NAN, 0.5]), DataError, "found infinity"),
        (lambda: judge([0.9], [NAN], better=cast("Better", "more")), UsageError, "'higher' or 'lower', found 'more'"),
        (lambda: best_encoder([[0.9]], better="higher"), UsageError, "expected 1 axes, found 2"),
        (
            lambda: verdict_on_any_metric([verdict("a", "auroc", "best")] * 2),
            UsageError,
            "one verdict on 'a' by 'auroc', found two",
        ),
        (
            lambda: verdict_on_any_metric([verdict("a", "auroc", "best"), verdict("b", "auprc", "best")]),
            UsageError,
            "'a': expected a verdict by every metric, found none by auprc",
        ),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
