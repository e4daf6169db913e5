"""Two encoders: points, intervals, p-values and verdicts are those of the parts, and read the same from both sides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from einthoven.foundation.errors import UsageError
from einthoven.statistics.multiplicity import Method
from einthoven.statistics.pair_comparison import PairComparison, PairTest, compare_pair
from einthoven.statistics.resampling import draw_counts

RNG = np.random.default_rng(11)
RECORDS = 300
UNITS = np.array([f"p{i // 2}" for i in range(RECORDS)])
TARGET = (RNG.random((RECORDS, 4)) < [0.4, 0.2, 0.01, 0.3]).astype(np.uint8)
TARGET[:, 2] = 0
TARGET[:3, 2] = 1
NOISE = RNG.standard_normal((2, RECORDS, 4))
SCORES = np.round(TARGET * np.array([2.0, 0.5, 1.0, 1.0]) * np.array([1.0, 0.2])[:, None, None] + NOISE, 1)  # ties
LABELS = ("clear", "weak", "rare", "none")


def compared(scores: np.ndarray = SCORES, **settings: Any) -> PairComparison:
    return compare_pair(TARGET, scores, labels=LABELS, units=UNITS, **{"draws": 199, "seed": 4, **settings})


@pytest.mark.parametrize(("metric", "peer"), [("auroc", roc_auc_score), ("average_precision", average_precision_score)])
def test_points_and_limits_are_those_of_a_slow_loop(metric: Any, peer: Any) -> None:
    found = compared(metric=metric)
    counts = draw_counts(UNITS, draws=199, seed=4)
    for index, entry in enumerate(found.labels):
        values = [peer(TARGET[:, index], SCORES[e, :, index]) for e in (0, 1)]
        assert (entry.compared.a, entry.compared.b) == pytest.approx(values, abs=1e-12)
        assert entry.positives == TARGET[:, index].sum()
    differences = []
    for count in counts:
        rows = np.repeat(np.arange(RECORDS), count)
        differences.append(peer(TARGET[rows, 0], SCORES[0, rows, 0]) - peer(TARGET[rows, 0], SCORES[1, rows, 0]))
    low, high = np.percentile(differences, [2.5, 97.5])
    interval = found.labels[0].compared.difference
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-12)


def test_a_rare_label_is_reported_and_neither_judged_nor_averaged() -> None:
    found = compared()
    rare = found.labels[2]
    assert (rare.judged, rare.compared.verdict) == (False, "not judged")
    assert rare.compared.reason == "3 positives in 300 test records; at least 10 needed"
    assert math.isnan(rare.compared.p)
    assert not math.isnan(rare.compared.a)
    assert (found.family, found.macro_labels) == (3, 3)
    judged = [entry.compared for entry in found.labels if entry.judged]
    assert found.macro.a == pytest.approx(np.mean([entry.a for entry in judged]))
    assert compared(minimum_positives=1).family == 4


def test_what_is_clear_is_shown_and_holm_is_over_the_judged_labels() -> None:
    found = compared()
    assert found.labels[0].compared.verdict == "a higher"
    p = np.array([entry.compared.p for entry in found.labels if entry.judged])
    adjusted = np.array([entry.compared.p_adjusted for entry in found.labels if entry.judged])
    order = np.argsort(p)
    expected = np.minimum(1, np.maximum.accumulate(p[order] * (3 - np.arange(3))))
    np.testing.assert_allclose(adjusted[order], expected)
    raw = compared(adjust=None)
    assert [entry.compared.p_adjusted for entry in raw.labels if entry.judged] == p.tolist()
    assert found.macro.p_adjusted == found.macro.p


@pytest.mark.parametrize("test", ["permutation", "bootstrap", "delong"])
def test_the_other_way_round_it_says_the_same(test: Any) -> None:
    here, there = compared(test=test), compared(SCORES[::-1], test=test)
    other = {"a higher": "b higher", "b higher": "a higher"}
    for one, two in zip([*here.labels], [*there.labels], strict=True):
        assert two.compared.verdict == other.get(one.compared.verdict, one.compared.verdict)
        assert one.compared.p == pytest.approx(two.compared.p, nan_ok=True)
        assert one.compared.difference.low == pytest.approx(-two.compared.difference.high, nan_ok=True)


@pytest.mark.parametrize("test", ["permutation", "bootstrap", "delong"])
def test_equal_encoders_are_never_told_apart(test: Any) -> None:
    found = compared(np.stack([SCORES[0], SCORES[0]]), test=test)
    for entry in found.labels:
        assert entry.compared.verdict in ("no difference shown", "not judged", "undefined")
        assert math.isnan(entry.compared.p) or entry.compared.p == 1
        if entry.compared.verdict == "undefined":
            assert entry.compared.reason
    assert found.macro.verdict in ("no difference shown", "undefined")


def test_delong_has_no_test_of_the_macro_average() -> None:
    found = compared(test="delong")
    assert (found.macro.verdict, found.macro.reason) == ("undefined", "DeLong's test is of single labels")


def test_a_label_without_predictions_is_not_read() -> None:
    scores = SCORES.copy()
    scores[1, :, 1] = np.nan
    found = compared(scores, undefined=[None, "no training positive", None, None])
    weak = found.labels[1].compared
    assert (weak.verdict, weak.reason) == ("not judged", "no training positive")
    assert math.isnan(weak.a)
    assert math.isnan(weak.difference.low)
    assert found.labels[0].compared == compared(undefined=[None, "x", None, None]).labels[0].compared


def test_without_a_judged_label_there_is_no_macro_average() -> None:
    found = compared(minimum_positives=250)
    assert found.family == 0
    assert found.macro.verdict == "not judged"
    assert found.macro.reason == "none of 4 labels is judged"


@pytest.mark.parametrize(
    "settings",
    [
        {"metric": "f1"},
        {"test": "t"},
        {"test": "delong", "metric": "average_precision"},
        {"alpha": 0.0},
        {"alpha": 1.0},
    ],
)
def test_what_is_not_offered_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        compared(**settings)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="scores of shape"):
        compared(SCORES[:1])
    with pytest.raises(UsageError, match="2 names"):
        compare_pair(TARGET, SCORES, labels=("a", "b"), units=UNITS)


@pytest.mark.parametrize("test", ["permutation", "bootstrap"])
@pytest.mark.parametrize("adjust", ["holm", "bonferroni", "bh", "by", None])
def test_too_few_draws_to_show_anything_are_told(test: PairTest, adjust: Method | None) -> None:
    target = np.tile([[0], [1]], (40, 5))
    clear = np.stack([target + np.linspace(0, 0.5, 80)[:, None], np.random.default_rng(0).random((80, 5))])

    def with_draws(draws: int) -> PairComparison:
        return compare_pair(
            target, clear, labels=list("abcde"), units=list(range(80)), test=test, adjust=adjust, draws=draws
        )

    least = with_draws(1).least_draws
    for draws, shown in ((least - 1, False), (least, True)):
        verdicts = {entry.compared.verdict for entry in with_draws(draws).labels}
        assert verdicts == {"a higher" if shown else "no difference shown"}


def test_of_delong_and_of_no_label_no_draws_are_needed() -> None:
    target = np.tile([[0], [1]], (12, 1))
    scores = np.random.default_rng(0).random((2, 24, 1))
    found = compare_pair(target, scores, labels=["x"], units=list(range(24)), test="delong", draws=10)
    assert found.least_draws == 0
    none = compare_pair(target, scores, labels=["x"], units=list(range(24)), minimum_positives=13, draws=10)
    assert (none.least_draws, none.family) == (0, 0)
