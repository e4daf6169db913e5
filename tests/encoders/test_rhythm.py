from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einthoven.encoders.rhythm import FEATURES, rhythm_statistics

_NAMES = [feature.name for feature in FEATURES]


def of_intervals(*rr: float, seconds: float = 10.0) -> dict[str, float]:
    return rhythm_statistics(np.cumsum([0.5, *rr]), seconds=seconds)


def test_every_feature_is_documented_and_given_in_order() -> None:
    assert list(of_intervals(1, 1, 1)) == _NAMES
    assert len(set(_NAMES)) == len(_NAMES)
    for feature in FEATURES:
        assert feature.unit
        assert feature.definition
        assert feature.scale > 0


def test_regular_rhythm() -> None:
    found = of_intervals(*[0.75] * 12)
    expected = dict.fromkeys(_NAMES, 0.0)
    expected |= dict.fromkeys(("mean_rr", "median_rr", "min_rr", "max_rr"), 0.75)
    expected |= {"beats": 1.3, "heart_rate": 80.0}
    # A constant series has a spread of rounding size only, so its shape (beat_to_beat) is not looked at here.
    del expected["beat_to_beat"]
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-6)


def test_values_by_hand() -> None:
    found = of_intervals(0.8, 1.0, 0.9, 0.96)
    assert found["beats"] == pytest.approx(0.5)
    assert found["median_rr"] == pytest.approx(0.93)
    assert found["heart_rate"] == pytest.approx(60 / 0.93)
    assert found["mean_rr"] == pytest.approx(0.915)
    assert found["min_rr"] == pytest.approx(0.8)
    assert found["max_rr"] == pytest.approx(1.0)
    # Deviations from 0.915: -0.115, 0.085, -0.015, 0.045.
    sd = math.sqrt((0.013225 + 0.007225 + 0.000225 + 0.002025) / 4)
    assert found["sd_rr"] == pytest.approx(sd)
    assert found["cv"] == pytest.approx(sd / 0.915)
    # Differences: 0.2, -0.1, 0.06.
    rmssd = math.sqrt((0.04 + 0.01 + 0.0036) / 3)
    assert found["rmssd"] == pytest.approx(rmssd)
    assert found["median_change"] == pytest.approx(0.1 / 0.93)
    assert found["pnn50"] == 1.0
    assert found["premature"] == 0.0
    assert found["pause"] == 0.0
    # SD1^2 is half the mean square of the differences; SD1^2 + SD2^2 = 2 sd^2.
    sd1_squared, sd2_squared = rmssd**2 / 2, 2 * sd**2 - rmssd**2 / 2
    assert found["sd2"] == pytest.approx(math.sqrt(sd2_squared))
    assert found["beat_to_beat"] == pytest.approx(sd1_squared / (sd1_squared + sd2_squared))
    # RR / median = 0.860, 1.075, 0.968, 1.032: bins -1, 1, 0, 0.
    assert found["entropy"] == pytest.approx(1.5)
    assert found["too_few_beats"] == 0.0


def test_premature_beat_with_a_full_pause() -> None:
    found = of_intervals(0.8, 0.8, 0.8, 0.5, 1.1, 0.8, 0.8, 0.8)
    assert found["premature"] == pytest.approx(1 / 8)
    assert found["pause"] == pytest.approx((1.1 / 0.8 - 1) / 8)


def test_premature_beat_without_a_pause() -> None:
    found = of_intervals(0.8, 0.8, 0.8, 0.5, 0.8, 0.8, 0.8, 0.8)
    assert found["premature"] == pytest.approx(1 / 8)
    assert found["pause"] == pytest.approx(0.0, abs=1e-12)


def test_premature_beat_at_the_end_has_no_next_interval() -> None:
    found = of_intervals(0.8, 0.8, 0.8, 0.8, 0.5)
    assert found["premature"] == pytest.approx(1 / 5)
    assert found["pause"] == 0.0


def test_differences_of_exactly_50_ms_do_not_count() -> None:
    peaks = np.array([50, 150, 255, 355, 460]) / 100
    assert rhythm_statistics(peaks, seconds=10)["pnn50"] == 0.0
    assert rhythm_statistics(peaks * 1.02, seconds=10)["pnn50"] == 1.0


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_too_few_beats_are_said_and_leave_zeros(count: int) -> None:
    found = rhythm_statistics(np.arange(count) * 2.0, seconds=10)
    assert found == dict.fromkeys(_NAMES, 0.0) | {"beats": count / 10, "too_few_beats": 1.0}


def test_alternating_rhythm_is_all_beat_to_beat_and_a_drift_is_not() -> None:
    assert of_intervals(*[0.6, 1.0] * 6)["beat_to_beat"] > 0.95
    assert of_intervals(*np.linspace(0.6, 1.0, 12))["beat_to_beat"] < 0.1


@given(st.lists(st.floats(min_value=0.2, max_value=4.0), min_size=0, max_size=40))
def test_always_finite_and_within_bounds(rr: list[float]) -> None:
    found = of_intervals(*rr)
    assert all(math.isfinite(value) for value in found.values())
    for name in ("pnn50", "premature", "beat_to_beat", "too_few_beats"):
        assert 0 <= found[name] <= 1
    assert 0 <= found["entropy"] <= math.log2(max(2, len(rr))) + 1e-12


@given(
    st.lists(st.floats(min_value=0.3, max_value=2.0), min_size=3, max_size=20), st.floats(min_value=0.0, max_value=5.0)
)
def test_a_shift_in_time_changes_nothing(rr: list[float], shift: float) -> None:
    peaks = np.cumsum([0.1, *rr])
    before, after = rhythm_statistics(peaks, seconds=10), rhythm_statistics(peaks + shift, seconds=10)
    # Features that compare with a threshold may flip on rounding; the others may not move.
    for name in ("mean_rr", "median_rr", "sd_rr", "rmssd", "heart_rate", "max_rr"):
        assert after[name] == pytest.approx(before[name], abs=1e-6)
