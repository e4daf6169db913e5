"""Two encoders: points, intervals, p-values and verdicts are those of the parts, and read the same from both sides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from einthoven.foundation.errors import UsageError
from einthoven.statistics.bootstrap_protocols import resample_discrimination
from einthoven.statistics.interval_kinds import interval_of_kind
from einthoven.statistics.intervals import Interval
from einthoven.statistics.jackknife import jackknife_discrimination
from einthoven.statistics.multiplicity import Method
from einthoven.statistics.pair_comparison import PairComparison, PairTest, _compared, compare_pair
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
    assert found.macro.verdict == "undefined"
    assert found.macro.reason is not None
    assert "take the permutation or the bootstrap test for the macro average" in found.macro.reason


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
        {"exchange": "numbers"},
        {"interval": "jackknife_logit"},
        {"interval": "x"},
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


@pytest.mark.parametrize("metric", ["auroc", "average_precision"])
def test_the_scale_of_scores_does_not_matter_where_ranks_are_exchanged(metric: Any) -> None:
    other = np.stack([SCORES[0], 1 / (1 + np.exp(-3 * SCORES[1] - 5))])
    # By their text, as NaN is not equal to itself.
    assert repr(compared(metric=metric)) == repr(compared(other, metric=metric))
    raw = [repr(compared(scores, metric=metric, exchange="scores")) for scores in (SCORES, other)]
    assert raw[0] != raw[1]


def test_one_is_higher_only_where_p_and_interval_agree() -> None:
    seen = set()
    for size in np.linspace(0, 1, 24):
        scores = np.stack([TARGET * size + NOISE[0], NOISE[1]])
        for alpha, adjust, kind in ((0.05, "bonferroni", "percentile"), (0.3, None, "jackknife")):
            for entry in compared(scores, alpha=alpha, adjust=adjust, interval=kind).labels:
                one = entry.compared
                by_p = one.p_adjusted <= alpha
                by_interval = one.difference.low > 0 or one.difference.high < 0
                if not entry.judged:
                    assert one.only is None
                    continue
                assert (one.verdict in ("a higher", "b higher")) == (by_p and by_interval)
                assert one.only == (None if by_p == by_interval else "p" if by_p else "interval")
                seen.add(one.only)
    assert seen == {None, "interval"}


@pytest.mark.parametrize("limits", [(-0.1, 0.3), (math.nan, math.nan)])
def test_a_p_without_its_interval_claims_nothing(limits: tuple[float, float]) -> None:
    interval = Interval(0.1, *limits, confidence=0.95, draws=99, undefined_draws=0, reason=None)
    found = _compared(
        np.array([0.8, 0.7]), interval, p=0.01, p_adjusted=0.01, floor=0.001, alpha=0.05, not_judged=None, no_test=None
    )
    assert (found.verdict, found.only) == ("no difference shown", "p")


@pytest.mark.parametrize(("test", "factor"), [("permutation", 1), ("bootstrap", 2)])
def test_the_least_p_of_so_many_draws_is_told(test: PairTest, factor: int) -> None:
    target = np.tile([[0], [1]], (40, 1))
    clear = np.stack([target + np.linspace(0, 0.5, 80)[:, None], np.random.default_rng(0).random((80, 1))])
    found = compare_pair(target, clear, labels=["x"], units=list(range(80)), test=test, draws=99)
    assert found.labels[0].compared.p == pytest.approx(factor / 100)
    assert found.labels[0].compared.p_at_floor
    assert not compared(np.stack([SCORES[0], SCORES[0]]), test=test).labels[0].compared.p_at_floor


@pytest.mark.parametrize("kind", ["bca", "jackknife"])
def test_intervals_of_another_kind_are_those_of_that_kind(kind: Any) -> None:
    found = compared(interval=kind)
    left_out = jackknife_discrimination(TARGET, SCORES, units=UNITS).auroc
    drawn = resample_discrimination(TARGET, SCORES, units=UNITS, draws=199, seed=4).auroc
    for index, entry in enumerate(found.labels):
        expected = interval_of_kind(
            kind,
            entry.compared.a - entry.compared.b,
            draws=drawn[:, 0, index] - drawn[:, 1, index],
            jackknife=left_out[:, 0, index] - left_out[:, 1, index],
        )
        assert (entry.compared.difference.low, entry.compared.difference.high) == pytest.approx(
            (expected.low, expected.high), nan_ok=True
        )
    assert found.interval == kind
    assert found.macro.difference.low < found.macro.difference.point < found.macro.difference.high
