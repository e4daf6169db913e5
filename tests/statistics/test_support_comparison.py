"""Macro averages with and without labels of little support, on a set where one rare label turns the ranking."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from einthoven.foundation.errors import UsageError
from einthoven.metrics.discrimination import Discrimination, auroc, average_precision
from einthoven.statistics.support_comparison import compare_support


def _predictions() -> tuple[np.ndarray, np.ndarray]:
    """Encoder 0 is better on two labels, and wrong on the one positive of the third; the fourth has no positive."""
    generator = np.random.default_rng(0)
    target = np.zeros((300, 4), dtype=np.uint8)
    target[:60, 0], target[100:140, 1], target[7, 2] = 1, 1, 1
    scores = generator.normal(size=(2, 300, 4))
    scores[0] += 1.5 * target
    scores[1] += 1.0 * target
    scores[0, 7, 2], scores[1, 7, 2] = -9, 9
    return target, scores


def test_original_and_clean_columns_with_their_denominators():
    target, scores = _predictions()
    metrics: tuple[tuple[Discrimination, Callable[..., float]], ...] = (
        ("auroc", auroc),
        ("average_precision", average_precision),
    )
    for metric, function in metrics:
        compared = compare_support(target, scores, metric=metric, seed=1, draws=200)
        assert (compared.original.labels, compared.original.of) == (3, 4)
        assert (compared.clean.labels, compared.clean.of) == (2, 4)
        assert compared.original.judged.tolist() == [True, True, True, False]
        assert compared.support.reasons[2] == "1 positive in 300 test records; at least 10 needed"
        for encoder in range(2):
            values = [function(target[:, label], scores[encoder, :, label]) for label in range(3)]
            original, clean = (c.estimates[encoder] for c in (compared.original, compared.clean))
            assert original.interval.point == pytest.approx(np.mean(values))
            assert clean.interval.point == pytest.approx(np.mean(values[:2]))
            assert clean.interval.low < clean.reported < clean.interval.high
            assert abs(clean.reported - clean.interval.point) < 0.05
            change = compared.changes[encoder].interval
            assert change.point == pytest.approx(np.mean(values[:2]) - np.mean(values))
            assert change.low <= change.point <= change.high


def test_the_ranking_turns():
    target, scores = _predictions()
    compared = compare_support(target, scores, seed=1, draws=50)
    assert compared.original.ranks.tolist() == [2, 1]
    assert compared.clean.ranks.tolist() == [1, 2]
    assert compared.reversals == ((1, 0),)
    assert compared.best_changes
    same = compare_support(target, scores, seed=1, draws=50, minimum_positives=1)
    assert same.reversals == ()
    assert not same.best_changes
    assert same.changes[0].interval.point == 0.0
    equal = compare_support(target, scores[[0, 0, 1]], seed=1, draws=5)
    assert equal.clean.ranks.tolist() == [1.5, 1.5, 3]


def test_drawing_patients_leaves_the_original_without_limits_and_says_why():
    target, scores = _predictions()
    compared = compare_support(target, scores, seed=1, draws=100, protocol="paired", units=np.arange(300))
    interval = compared.original.estimates[0].interval
    assert math.isnan(interval.low)
    assert not math.isnan(interval.point)
    assert interval.reason is not None
    assert interval.reason.startswith("undefined in")
    assert compared.clean.estimates[0].interval.reason is None


def test_no_supported_label():
    target, scores = _predictions()
    compared = compare_support(target, scores, seed=1, draws=5, minimum_positives=100)
    assert (compared.clean.labels, compared.clean.of) == (0, 4)
    assert math.isnan(compared.clean.estimates[0].interval.point)
    assert np.isnan(compared.clean.ranks).all()
    assert (compared.reversals, compared.best_changes) == ((), False)


def test_the_threads_do_not_matter_and_bad_metrics_are_refused():
    target, scores = _predictions()
    one, two = (compare_support(target, scores, seed=1, draws=50, threads=threads) for threads in (1, 4))
    assert one.changes == two.changes
    assert one.clean.estimates == two.clean.estimates
    with pytest.raises(UsageError, match="metric: expected one of auroc, average_precision, found 'f1'"):
        compare_support(target, scores, metric="f1", seed=1)  # pyright: ignore[reportArgumentType]
