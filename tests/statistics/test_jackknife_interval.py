"""Jackknife intervals: values worked by hand, DeLong's variance, coverage, and the interval types by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t

from einthoven.foundation.errors import UsageError
from einthoven.metrics.discrimination import auroc
from einthoven.statistics.bca import bca_interval
from einthoven.statistics.delong import auroc_covariance
from einthoven.statistics.interval_kinds import interval_of_kind
from einthoven.statistics.intervals import percentile_interval
from einthoven.statistics.jackknife import jackknife_discrimination
from einthoven.statistics.jackknife_interval import jackknife_interval


def test_limits_worked_by_hand():
    # d = -1, 1: sum d^2 = 2, sum d^4 = 2, so 0.75 * 2 * 4 / 2 = 3 degrees of freedom; variance 1/2 * 2 = 1.
    interval = jackknife_interval(5.0, [4.0, 6.0], scale="identity", confidence=0.9)
    reach = t.ppf(0.95, 3)
    assert (interval.low, interval.high) == pytest.approx((5 - reach, 5 + reach))
    assert (interval.point, interval.draws, interval.undefined_draws, interval.reason) == (5.0, 0, 0, None)
    # The same on log-odds: 0.5 has log-odds 0, and a tenth there is 0.4 of them.
    interval = jackknife_interval(0.5, [0.4, 0.6], confidence=0.9)
    assert math.log(interval.high / (1 - interval.high)) == pytest.approx(0.4 * reach)
    assert interval.low == pytest.approx(1 - interval.high)


def test_its_variance_is_that_of_obuchowski_to_first_order():
    generator = np.random.default_rng(4)
    patients = np.repeat(np.arange(400), 3)
    target = (generator.random((1200, 1)) < 0.3).astype(int)
    scores = (np.repeat(generator.normal(size=400), 3) + generator.normal(size=1200) + target[:, 0])[None, :, None]
    for units in (patients, np.arange(1200)):
        left_out = jackknife_discrimination(target, scores, units=units).auroc[:, 0, 0]
        variance = (len(left_out) - 1) / len(left_out) * ((left_out - left_out.mean()) ** 2).sum()
        clustered = auroc_covariance(target, scores, units=units).covariance.item()
        assert variance == pytest.approx(clustered, rel=0.02)


def test_coverage_with_twenty_positives():
    # Two normals: AUROC 0.85. The percentile interval holds it in about 90 % here.
    truth, shift = 0.85, 1.4657378
    target = np.repeat([0, 1], [180, 20])[:, None]
    scores = np.random.default_rng(0).normal(size=(600, 200, 1)) + shift * target
    left_out = jackknife_discrimination(target, scores, units=np.arange(200)).auroc
    held = 0
    for encoder in range(600):
        point = auroc(target[:, 0], scores[encoder, :, 0])
        interval = jackknife_interval(point, left_out[:, encoder, 0])
        held += interval.low <= truth <= interval.high
    # 95 % with four standard errors of room.
    assert 548 <= held <= 591


@pytest.mark.parametrize(
    ("point", "left_out", "scale", "reason"),
    [
        (math.nan, [0.4, 0.6], "logit", "the value itself is undefined"),
        (0.5, [0.4], "logit", "1 unit to leave out; at least 2 needed"),
        (0.5, [], "logit", "0 units to leave out; at least 2 needed"),
        (0.5, [0.4, math.nan, 0.5], "identity", "undefined without 1 of 3 units"),
        (1.0, [1.0, 1.0], "logit", "a value of 1 has no finite log-odds"),
        (0.0, [0.1, 0.0], "logit", "a value of 0 has no finite log-odds"),
        (0.0, [0.3, 0.3], "identity", "the same whichever unit is left out"),
    ],
)
def test_no_limits_come_with_the_reason(point, left_out, scale, reason):
    interval = jackknife_interval(point, left_out, scale=scale)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.reason == reason


def test_types_by_name_are_the_functions():
    draws, left_out = np.random.default_rng(0).random(100), [0.4, 0.5, 0.55]
    both = {"draws": draws, "jackknife": left_out, "confidence": 0.9}
    assert interval_of_kind("percentile", 0.5, **both) == percentile_interval(0.5, draws, confidence=0.9)
    assert interval_of_kind("bca", 0.5, **both) == bca_interval(0.5, draws, jackknife=left_out, confidence=0.9)
    assert interval_of_kind("jackknife_logit", 0.5, **both) == jackknife_interval(0.5, left_out, confidence=0.9)
    expected = jackknife_interval(0.5, left_out, confidence=0.9, scale="identity")
    assert interval_of_kind("jackknife", 0.5, jackknife=left_out, confidence=0.9) == expected


def test_bad_input_is_refused():
    with pytest.raises(UsageError, match="confidence: expected a number between 0 and 1"):
        jackknife_interval(0.5, [0.5, 0.6], confidence=95)
    with pytest.raises(UsageError, match="scale: expected 'logit' or 'identity', found 'log'"):
        jackknife_interval(0.5, [0.5, 0.6], scale="log")  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match=r"point: expected a value from 0 to 1 .* found -0.1"):
        jackknife_interval(-0.1, [0.5, 0.6])
    with pytest.raises(UsageError, match=r"found shape \(1, 2\)"):
        jackknife_interval(0.5, [[0.5, 0.6]])
    with pytest.raises(UsageError, match=r"kind: expected one of percentile, bca, .*, found 'x'"):
        interval_of_kind("x", 0.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="draws: a percentile interval needs them"):
        interval_of_kind("percentile", 0.5, jackknife=[0.5])
    with pytest.raises(UsageError, match="jackknife: a bca interval needs them"):
        interval_of_kind("bca", 0.5, draws=[0.5])
