"""Probabilities of ranks and sets of ranks: golden draws, slow counting, and coverage by simulation."""

from __future__ import annotations

import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import squareform
from scipy.stats import norm

from einthoven.foundation.errors import DataError, UsageError
from einthoven.statistics.direction import Better
from einthoven.statistics.multiplicity import adjust_p
from einthoven.statistics.ranks import rank_probabilities, rank_sets

NAN = math.nan
DRAWS = arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 6)), elements=st.sampled_from([0.1, 0.2, 0.5]))


def test_golden_first_ranks(golden: Path):
    document = json.loads((golden / "statistics" / "crossed_design.json").read_text())
    draws = np.load(golden / "statistics" / "crossed_design.npz")
    cases: list[tuple[str, Better]] = [("test_recon_R2", "higher"), ("test_dead_fraction", "lower")]
    for metric, better in cases:
        found = rank_probabilities(draws[f"boot_{metric}"].T, better=better)
        expected = document["metrics"][metric]["rank1_probability_of_draws"]
        np.testing.assert_allclose(found.probability[:, 0], list(expected.values()), rtol=0, atol=1e-12)


@settings(deadline=None)
@given(DRAWS)
def test_rows_and_columns_sum_to_one(draws: np.ndarray):
    found = rank_probabilities(draws, better="higher").probability
    np.testing.assert_allclose(found.sum(axis=0), 1, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    # The other direction turns the ranks round.
    np.testing.assert_allclose(rank_probabilities(draws, better="lower").probability, found[:, ::-1], atol=1e-12)


@settings(deadline=None)
@given(DRAWS)
def test_ties_are_shared_as_if_broken_at_random(draws: np.ndarray):
    total, encoders = draws.shape
    expected = np.zeros((encoders, encoders))
    for draw in draws.tolist():
        for encoder, value in enumerate(draw):
            above, equal = sum(other > value for other in draw), draw.count(value)
            for rank in range(above, above + equal):
                expected[encoder, rank] += 1 / equal / total
    np.testing.assert_allclose(rank_probabilities(draws, better="higher").probability, expected, atol=1e-12)


def test_a_draw_without_all_encoders_ranks_none():
    draws = np.tile([0.9, 0.8], (100, 1))
    draws[:5, 1] = NAN
    found = rank_probabilities(draws, better="higher")
    assert (found.draws, found.undefined_draws, found.reason) == (100, 5, None)
    assert found.probability.tolist() == [[1, 0], [0, 1]]
    draws[5, 0] = NAN
    undefined = rank_probabilities(draws, better="higher")
    assert undefined.reason == "undefined in 6 of 100 draws; at least 95% must be defined"
    assert np.isnan(undefined.probability).all()
    assert rank_probabilities(np.empty((0, 2)), better="higher").reason == "no draws"
    assert rank_probabilities([[NAN, 1.0]], better="higher").reason == "undefined in all 1 draws"


@st.composite
def compared(draw):
    encoders = draw(st.integers(2, 6))
    points = draw(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4, NAN]), min_size=encoders, max_size=encoders))
    pairs = draw(
        st.lists(
            st.sampled_from([0.001, 0.05, 0.2, NAN]),
            min_size=encoders * (encoders - 1) // 2,
            max_size=encoders * (encoders - 1) // 2,
        )
    )
    return points, squareform(np.array(pairs), checks=False)


@settings(deadline=None)
@given(compared())
def test_rank_sets_counted_slowly(case):
    points, p = case
    directions: list[tuple[Better, int]] = [("higher", 1), ("lower", -1)]
    for better, sign in directions:
        for own, found in enumerate(rank_sets(points, p, better=better)):
            low, high, lacking = 1, len(points), 0
            for other in range(len(points)):
                if other == own:
                    continue
                lead = sign * (points[own] - points[other])
                if math.isnan(lead) or math.isnan(p[own, other]):
                    lacking += 1
                elif p[own, other] <= 0.05:
                    low += lead < 0
                    high -= lead > 0
            assert (found.low, found.high, found.undefined_pairs, found.of) == (low, high, lacking, len(points))
            if not any(map(math.isnan, points)):
                # The observed rank is always in the set.
                assert low <= 1 + sum(sign * (points[own] - one) < 0 for one in points) <= high


def test_a_set_says_itself_in_words():
    alone, pair, other = rank_sets([0.9, 0.5, 0.4], squareform([0.01, 0.01, 0.9]), better="higher")
    assert (str(alone), str(pair), str(other)) == ("1", "2-3", "2-3")


def test_all_true_ranks_are_in_their_sets_as_often_as_claimed():
    # Five encoders with known means and errors; Holm over all pairs. Three standard errors: 1.5 %.
    generator = np.random.default_rng(3)
    means = np.array([0.0, 0.0, 0.3, 0.6, 1.5])
    pairs = np.array(list(combinations(range(5), 2)))
    missed = wide = 0
    for _ in range(2000):
        seen = means + 0.25 * generator.standard_normal(5)
        z = (seen[pairs[:, 0]] - seen[pairs[:, 1]]) / (0.25 * math.sqrt(2))
        sets = rank_sets(seen, squareform(adjust_p(2 * norm.sf(abs(z)), method="holm").p), better="higher")
        for own, one in enumerate(sets):
            # With equal truths any of the tied ranks is true.
            best, worst = 1 + np.sum(means > means[own]), np.sum(means >= means[own])
            if one.low > best or one.high < worst:
                missed += 1
                break
        wide += sum(one.high - one.low for one in sets)
    assert missed / 2000 <= 0.05 + 0.015
    # And they are not always 1-5.
    assert wide / 2000 < 5 * 4 * 0.8


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: rank_sets([1, 2], [[1]], better="higher"), UsageError, r"expected \(2, 2\), found \(1, 1\)"),
        (lambda: rank_sets([1, 2], [[1, 0.1], [0.2, 1]], better="higher"), UsageError, "same p-value of"),
        (lambda: rank_sets([1, 2], [[1, 2], [2, 1]], better="higher"), DataError, "found 2.0 at position 1"),
        (lambda: rank_sets([1, 2], [[1, 1], [1, 1]], better="higher", alpha=1), UsageError, "found 1"),
        (lambda: rank_probabilities([1, 2], better="higher"), UsageError, "draws: expected 2 axes, found 1"),
        (lambda: rank_probabilities([[math.inf]], better="higher"), DataError, "found infinity"),
        (lambda: rank_probabilities([[1]], better="higher", minimum_defined=2), UsageError, "minimum_defined"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
