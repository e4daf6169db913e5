"""Cleaning as neurokit2 does it, against neurokit2."""

from __future__ import annotations

import neurokit2
import numpy as np
import pytest

from einthoven.foundation.errors import SignalError
from einthoven.signals.steps.filters import NeurokitClean


@pytest.mark.parametrize(("rate", "powerline"), [(250, 50), (250, 60), (500, 50), (360, 60), (100, 50), (90, 50)])
def test_all_leads_at_once_is_neurokit2_lead_by_lead(rate: int, powerline: int) -> None:
    rng = np.random.default_rng(1)
    time = np.arange(10 * rate) / rate
    x = np.exp(-(((time % 0.8) - 0.3) ** 2) / 0.0008) * rng.uniform(0.2, 2, (3, 4, 1)) + rng.normal(
        size=(3, 4, len(time)), scale=0.05
    ).cumsum(axis=-1)
    found, same = NeurokitClean.model_validate({"powerline": powerline}).run(x, float(rate))
    assert same == rate
    for record, cleaned in zip(x.reshape(12, -1), found.reshape(12, -1), strict=True):
        expected = np.asarray(
            neurokit2.ecg_clean(record, sampling_rate=rate, method="neurokit", powerline=powerline), dtype=np.float64
        )
        np.testing.assert_allclose(cleaned, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_a_record_that_is_too_short_is_refused() -> None:
    with pytest.raises(SignalError, match="needs"):
        NeurokitClean().run(np.zeros((1, 1, 12)), 250.0)
