import numpy as np
import pytest

from einthoven.foundation.errors import SignalError, UsageError
from einthoven.signals.samples import finite_samples, positive_rate


def test_the_layout_is_one_whatever_the_strides():
    signal = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 1, 0)
    found = finite_samples(signal, step="Testing")
    assert found.flags.c_contiguous
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, signal)


def test_it_is_a_copy_even_of_what_fits_already():
    signal = np.zeros((2, 3))
    finite_samples(signal, step="Testing")[0, 0] = 1
    assert signal[0, 0] == 0


def test_samples_that_are_not_finite_are_counted_and_located():
    signal = np.zeros((2, 3))
    signal[1, 1:] = np.nan, np.inf
    with pytest.raises(SignalError, match=r"Testing needs finite samples: 2 of 6 .* index \(1, 1\) of shape \(2, 3\)"):
        finite_samples(signal, step="Testing")
    with pytest.raises(SignalError, match=r"at least one sample, found shape \(\)"):
        finite_samples(np.float64(3), step="Testing")  # type: ignore[arg-type]  # no axis is the test


def test_rates():
    assert positive_rate(500, name="rate") == 500.0
    with pytest.raises(UsageError, match="The rate must be a finite number above 0 Hz, found -1"):
        positive_rate(-1, name="rate")
