from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einthoven.foundation.errors import SignalError, UnknownNameError, UsageError
from einthoven.signals.cropping import fit_length


@pytest.mark.parametrize(("crop", "expected"), [("centre", [2, 3, 4]), ("start", [0, 1, 2]), ("end", [5, 6, 7])])
def test_crop_rules(crop, expected):
    np.testing.assert_array_equal(fit_length(np.arange(8), 3, crop=crop), expected)


@pytest.mark.parametrize(
    ("pad", "expected"),
    [("zero", [1, 2, 3, 0, 0, 0, 0]), ("edge", [1, 2, 3, 3, 3, 3, 3]), ("repeat", [1, 2, 3, 1, 2, 3, 1])],
)
def test_pad_rules(pad, expected):
    signal = np.array([[[1, 2, 3], [10, 20, 30]]])
    fitted = fit_length(signal, 7, pad=pad)
    np.testing.assert_array_equal(fitted, np.array([[expected, [10 * v for v in expected]]]))
    assert fitted.dtype == np.float32


def test_refuse_refuses_only_what_is_shorter():
    np.testing.assert_array_equal(fit_length(np.arange(4), 4, pad="refuse"), np.arange(4))
    with pytest.raises(SignalError, match="5 samples are needed and the record has 4"):
        fit_length(np.arange(4), 5, pad="refuse")


@given(st.integers(1, 60), st.integers(1, 60), st.sampled_from(["centre", "start", "end"]))
def test_every_length_and_the_seed_rule_for_the_centre(samples, length, crop):
    signal = np.arange(1, samples + 1)
    fitted = fit_length(signal, length, crop=crop)
    assert fitted.shape == (length,)
    if samples >= length and crop == "centre":
        start = (samples - length) // 2
        np.testing.assert_array_equal(fitted, signal[start : start + length])
    if samples < length:
        np.testing.assert_array_equal(fitted[:samples], signal)


@pytest.mark.parametrize("length", [2, 3, 5])
def test_result_is_new_and_the_input_untouched(length):
    signal = np.arange(6, dtype=np.float32).reshape(3, 2).T
    fitted = fit_length(signal, length)
    fitted += 100
    np.testing.assert_array_equal(signal, np.arange(6).reshape(3, 2).T)


def test_bad_input():
    wrong: Any = "center"
    with pytest.raises(UnknownNameError, match="Did you mean 'centre'"):
        fit_length(np.arange(3), 2, crop=wrong)
    with pytest.raises(UnknownNameError, match="pad rule"):
        fit_length(np.arange(3), 2, pad=wrong)
    with pytest.raises(UsageError, match="1 sample or more"):
        fit_length(np.arange(3), 0)
    with pytest.raises(SignalError, match="at least one sample"):
        fit_length(np.zeros((12, 0)), 5)
