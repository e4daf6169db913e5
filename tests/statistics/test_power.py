"""A plan's numbers are those a simulation finds, and fit each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm, rankdata

from einthoven.foundation.errors import UsageError
from einthoven.statistics.effective_support import effective_support
from einthoven.statistics.power import (
    Assumptions,
    auroc_variance,
    difference_error,
    needed_positives,
    power_to_show,
    smallest_difference,
)


def simulated(
    aurocs: tuple[float, float], positives: int, negatives: int, alike: float, times: int, seed: int
) -> np.ndarray:
    """AUROCs (times, 2) of two normal scores with a correlation, on the same records."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky([[1, alike], [alike, 1]])
    shift = norm.ppf(aurocs)[:, None] * math.sqrt(2)
    found = np.empty((times, 2))
    for time in range(times):
        scores = root @ rng.standard_normal((2, positives + negatives))
        scores[:, :positives] += shift
        ranks = rankdata(scores, axis=1)[:, :positives].sum(axis=1)
        found[time] = (ranks - positives * (positives + 1) / 2) / (positives * negatives)
    return found


@pytest.mark.parametrize("auroc", [0.5, 0.6, 0.85, 0.99])
@pytest.mark.parametrize(("positives", "negatives"), [(1, 1), (3, 40), (200, 900)])
def test_the_variance_is_that_of_the_double_integral(auroc: float, positives: int, negatives: int) -> None:
    shift = norm.ppf(auroc) * math.sqrt(2)
    # Two positives above one negative y: Phi(shift - y) squared, over y.
    both, _ = quad(lambda y: norm.cdf(shift - y) ** 2 * norm.pdf(y), -12, 12, epsabs=1e-13)
    expected = auroc * (1 - auroc) + (positives + negatives - 2) * (both - auroc**2)
    assert auroc_variance(auroc, positives, negatives) == pytest.approx(expected / (positives * negatives), rel=1e-8)


def test_a_perfect_or_hopeless_encoder_has_no_variance() -> None:
    assert auroc_variance(1.0, 5, 5) == 0
    assert auroc_variance(0.0, 5, 5) == 0


@pytest.mark.parametrize(("auroc", "positives", "negatives", "alike"), [(0.75, 30, 600, 0.5), (0.9, 60, 600, 0.8)])
def test_the_smallest_difference_is_found_as_often_as_is_said(
    auroc: float, positives: int, negatives: int, alike: float
) -> None:
    null = simulated((auroc, auroc), positives, negatives, alike, 1500, seed=1)
    assumed = Assumptions(auroc=auroc, correlation=float(np.corrcoef(null.T)[0, 1]))
    assert null[:, 0].std() == pytest.approx(math.sqrt(auroc_variance(auroc, positives, negatives)), rel=0.08)
    smallest = smallest_difference(positives, negatives, assumed).difference
    found = np.diff(simulated((auroc, auroc + smallest), positives, negatives, alike, 1500, seed=2), axis=1)[:, 0]
    assert found.std() == pytest.approx(difference_error(smallest, positives, negatives, assumed), rel=0.1)
    shown = np.mean(found / found.std() > norm.isf(0.025))
    assert 0.74 < shown < 0.86


@given(
    st.integers(5, 5000),
    st.integers(5, 50_000),
    st.floats(0.55, 0.95),
    st.floats(-0.2, 0.95),
    st.integers(1, 30),
)
def test_plans_fit_each_other(positives: int, negatives: int, auroc: float, correlation: float, family: int) -> None:
    assumed = Assumptions(auroc=auroc, correlation=correlation, comparisons=family)
    found = smallest_difference(positives, negatives, assumed)
    if found.reason is not None:
        assert math.isnan(found.difference)
        assert assumed.z * difference_error(1 - auroc, positives, negatives, assumed) > 1 - auroc
        return
    assert 0 < found.difference <= 1 - auroc
    assert power_to_show(found.difference, positives, negatives, assumed) == pytest.approx(0.8, abs=1e-4)
    more = smallest_difference(2 * positives, 2 * negatives, assumed)
    assert more.difference < found.difference
    needed = needed_positives(found.difference, prevalence=positives / (positives + negatives), assumed=assumed)
    assert needed == pytest.approx(positives, abs=1)


def test_more_comparisons_need_more() -> None:
    one, many = (smallest_difference(80, 1500, Assumptions(comparisons=n)).difference for n in (1, 15))
    assert many > 1.2 * one


def test_what_cannot_be_shown_has_a_reason() -> None:
    assert smallest_difference(0, 100).reason == "no positive test record"
    assert smallest_difference(10, 0).reason == "no negative test record"
    nearly = smallest_difference(2, 50, Assumptions(auroc=0.99))
    assert math.isnan(nearly.difference)
    assert "not even an AUROC of 1" in str(nearly.reason)
    assert math.isnan(power_to_show(0.1, 0, 10))


def test_records_of_one_patient_count_once_when_they_are_alike() -> None:
    target = [1, 1, 1, 0, 0, 1]
    patients = ["a", "a", "b", "b", "c", "d"]
    alike = effective_support(target, patients)
    assert (alike.positives, alike.negatives, alike.positive_patients) == (4, 2, 3)
    assert alike.effective_positives == pytest.approx(16 / 6)  # sizes 2, 1, 1
    assert alike.effective_negatives == 2
    apart = effective_support(target, patients, alike=0.0)
    assert (apart.effective_positives, apart.effective_negatives) == (4, 2)
    assert effective_support([0, 0], ["a", "b"]).effective_positives == 0


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.floats(0, 1))
def test_effective_records_lie_between_one_and_all(patients: list[int], alike: float) -> None:
    found = effective_support([1] * len(patients), np.array(patients), alike=alike)
    assert 1 - 1e-9 <= found.effective_positives <= len(patients) + 1e-9


@pytest.mark.parametrize(
    "settings",
    [
        {"auroc": 0.4},
        {"auroc": 1.0},
        {"correlation": 1.0},
        {"alpha": 0.0},
        {"power": 1.0},
        {"comparisons": 0},
        {"power": 0.04},
        {"auroc": math.nan},
    ],
)
def test_assumptions_outside_their_range_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Assumptions(**settings)  # type: ignore[arg-type]  # integers and floats


@pytest.mark.parametrize(
    ("difference", "prevalence"), [(0.0, 0.1), (-0.1, 0.1), (0.2, 0.1), (0.01, 0.0), (0.01, 1.0), (math.nan, 0.1)]
)
def test_a_difference_that_cannot_be_is_refused(difference: float, prevalence: float) -> None:
    with pytest.raises(UsageError):
        needed_positives(difference, prevalence=prevalence)


@pytest.mark.parametrize(("patients", "alike"), [(["a"], 1.0), (["a", "b"], 1.5), ([["a"], ["b"]], 1.0)])
def test_support_of_other_shapes_is_refused(patients: list[str], alike: float) -> None:
    with pytest.raises(UsageError):
        effective_support([1, 0], patients, alike=alike)


def test_the_least_of_the_differences_that_can_be_shown_is_found_where_a_larger_one_cannot() -> None:
    assumed = Assumptions(correlation=0.99)
    # Nearly equal AUROCs err alike; that of a perfect encoder does not err, and leaves the other's error as it is.
    assert difference_error(0.15, 10, 2000, assumed) * assumed.z > 0.15
    found = smallest_difference(10, 2000, assumed)
    assert found.reason is None
    assert power_to_show(found.difference, 10, 2000, assumed) == pytest.approx(0.8, abs=1e-4)
    below = np.linspace(1e-4, found.difference - 1e-4, 50)
    assert all(power_to_show(float(d), 10, 2000, assumed) < 0.8 for d in below)


def test_a_difference_up_to_one_is_one_whatever_rounding_says() -> None:
    assumed = Assumptions(auroc=0.9)
    assert 1 - assumed.auroc < 0.1
    assert needed_positives(0.1, prevalence=0.1, assumed=assumed) >= 1
    for wrong in (math.nan, 0.0, -0.1, 0.11):
        with pytest.raises(UsageError, match=r"difference: expected above 0 and at most 0\.1"):
            power_to_show(wrong, 50, 2000, assumed)


def test_less_than_one_record_is_not_called_none() -> None:
    assert smallest_difference(0, 5).reason == "no positive test record"
    assert smallest_difference(5, 0.5).reason == "less than one negative test record"
