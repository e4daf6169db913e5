"""Chains of steps: each step against scipy, and what every chain promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal
from pydantic import TypeAdapter, ValidationError

from einthoven.foundation.errors import SignalError, UsageError
from einthoven.signals.chain import AnyStep, Chain
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.signals.preprocessing import Bandpass, Preprocessing
from einthoven.signals.steps.filters import Butterworth, FirBandpass, MinusMedian, NeurokitClean, Notch
from einthoven.signals.steps.lengths import Fit, JoinLeads, Views
from einthoven.signals.steps.rates import Decimate, Resample
from einthoven.signals.steps.scales import HalfPrecision, Rescale, Shift, Standardise

RATE = 500.0
STEPS: list[Any] = [
    Fit(seconds=5),
    Fit(seconds=12, pad="edge"),
    Views(seconds=4, starts=(0, 3.5)),
    JoinLeads(),
    Resample(rate=250, method="fft"),
    Decimate(factor=5),
    Butterworth(low=0.67, high=40, order=4),
    Butterworth(low=0.67, high=40, order=4, form="transfer-function"),
    Butterworth(low=0.5, high=None, order=5, precision="float32"),
    Notch(frequency=50, quality=30),
    FirBandpass(low=0.05, high=47, seconds=0.3),
    MinusMedian(seconds=0.4),
    NeurokitClean(),
    Standardise(over="lead", eps=1e-8),
    Standardise(over="record", ddof=1, floor=1e-6),
    Rescale(over="record", low=0, high=1, eps=1e-8),
    Rescale(over="lead", low=-1, high=1),
    Shift(mean=-0.0008, sd=0.2365),
    HalfPrecision(),
]
every_step = pytest.mark.parametrize("step", STEPS, ids=lambda s: f"{s.step}-{STEPS.index(s)}")


@pytest.fixture(scope="module")
def ecgs() -> np.ndarray:
    """(4, 12, 5000), mV, float64: beats, drift, hum and noise, each record at another scale."""
    rng = np.random.default_rng(3)
    time = np.arange(5000) / RATE
    beats = np.exp(-(((time % 0.83) - 0.3) ** 2) / 0.0006)
    drift = 0.3 * np.sin(2 * np.pi * 0.2 * time) + 0.05 * np.sin(2 * np.pi * 50 * time)
    gain = rng.uniform(0.3, 2, (4, 12, 1))
    return gain * beats + drift + 0.01 * rng.normal(size=(4, 12, 5000))


@every_step
def test_every_step_keeps_its_promises(step: Any, ecgs: np.ndarray) -> None:
    kept = ecgs.copy()
    together, rate = step.run(ecgs, RATE)
    np.testing.assert_array_equal(ecgs, kept)
    assert together.dtype == np.float64
    assert len(together) == len(ecgs)
    assert np.isfinite(together).all()
    assert rate > 0
    for row in range(len(ecgs)):
        np.testing.assert_array_equal(step.run(ecgs[row : row + 1], RATE)[0][0], together[row])
    again = TypeAdapter(AnyStep).validate_python(step.model_dump(mode="json"))
    assert again == step


@every_step
def test_every_step_takes_a_record_where_nothing_moves(step: Any) -> None:
    out, _ = step.run(np.zeros((1, 12, 5000)), RATE)
    assert np.isfinite(out).all()


def test_filters_are_those_of_scipy(ecgs: np.ndarray) -> None:
    def both_ways(b: Any, a: Any) -> np.ndarray:
        return scipy.signal.filtfilt(b, a, ecgs, axis=-1)

    expected = both_ways(*scipy.signal.iirnotch(50, 30, fs=RATE))
    np.testing.assert_allclose(Notch(frequency=50, quality=30).run(ecgs, RATE)[0], expected, atol=1e-12)
    polynomials: Any = scipy.signal.butter(4, [0.67, 40], "bandpass", fs=RATE)
    expected = both_ways(*polynomials)
    step = Butterworth(low=0.67, high=40, order=4, form="transfer-function")
    np.testing.assert_allclose(step.run(ecgs, RATE)[0], expected, atol=1e-12)
    expected = both_ways(scipy.signal.firwin(151, [0.05, 47], pass_zero=False, fs=RATE), [1.0])
    np.testing.assert_allclose(FirBandpass(low=0.05, high=47, seconds=0.3).run(ecgs, RATE)[0], expected, atol=1e-12)
    expected = ecgs - np.stack([[scipy.signal.medfilt(lead, 201) for lead in record] for record in ecgs])
    np.testing.assert_array_equal(MinusMedian(seconds=0.4).run(ecgs, RATE)[0], expected)
    expected = scipy.signal.decimate(ecgs, 5, axis=-1)
    found, rate = Decimate(factor=5).run(ecgs, RATE)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert rate == 100


def test_a_notch_above_half_the_rate_leaves_the_signal_alone(ecgs: np.ndarray) -> None:
    np.testing.assert_array_equal(Notch(frequency=50, quality=30).run(ecgs, 100.0)[0], ecgs)


def test_scales_by_hand() -> None:
    x = np.array([[[0.0, 1, 2, 3], [10, 10, 10, 10]]])
    z, _ = Standardise(over="lead").run(x, 1.0)
    np.testing.assert_allclose(z[0, 0], (np.arange(4) - 1.5) / np.sqrt(1.25))
    np.testing.assert_array_equal(z[0, 1], 0)
    np.testing.assert_allclose(Standardise(over="lead", floor=10).run(x, 1.0)[0][0, 0], (np.arange(4) - 1.5) / 10)
    np.testing.assert_allclose(
        Standardise(over="record", ddof=1, eps=1).run(x, 1.0)[0], (x - x.mean()) / (x.std(ddof=1) + 1)
    )
    np.testing.assert_allclose(Rescale(over="record", low=-3, high=3).run(x, 1.0)[0], 6 * x / 10 - 3)
    np.testing.assert_array_equal(Rescale(over="lead", low=0, high=1, constant=0.5).run(x, 1.0)[0][0, 1], 0.5)
    np.testing.assert_allclose(Shift(mean=1, sd=2).run(x, 1.0)[0], (x - 1) / 2)


def test_a_chain_does_what_the_preprocessing_of_the_same_steps_does(ecgs: np.ndarray) -> None:
    signal = ecgs.astype(np.float32)
    chain = Chain(
        name="a",
        steps=(
            Resample(rate=250, method="polyphase"),
            Butterworth(low=0.5, high=40, order=5),
            Standardise(over="lead", ddof=1, eps=1e-8),
            Fit(seconds=9),
        ),
        shape=(12, 2250),
        rate=250,
    )
    same = Preprocessing(
        name="b", rate=250, seconds=9, filter=Bandpass(low=0.5, high=40, order=5), normalisation="lead-z"
    )
    found = chain.apply(signal, STANDARD_LEADS, RATE)
    # The one rounds to float32 after each step, the other at the end.
    np.testing.assert_allclose(found, same.apply(signal, STANDARD_LEADS, RATE), atol=2e-5)
    assert found.dtype == np.float32
    assert found.flags.c_contiguous


def test_leads_are_put_in_the_order_of_the_chain(ecgs: np.ndarray) -> None:
    swapped = ("I", "II", "III", "aVR", "aVF", "aVL", "V1", "V2", "V3", "V4", "V5", "V6")
    chain = Chain(name="a", leads=swapped, steps=(), shape=(12, 5000), rate=500)
    found = chain.apply(ecgs, STANDARD_LEADS, RATE)
    np.testing.assert_array_equal(found[:, 4], ecgs[:, 5].astype(np.float32))
    assert chain.takes(STANDARD_LEADS)
    assert not chain.takes(("V1",))
    assert Chain(name="a", leads=None, steps=(), shape=(1, 5), rate=500).takes(("ECG",))


def test_the_name_is_not_part_of_the_identity_and_everything_else_is() -> None:
    base = Chain(name="a", steps=(Fit(seconds=10),), shape=(12, 5000), rate=500)
    assert base.model_copy(update={"name": "b"}).identity() == base.identity()
    for change in (
        {"leads": ("I",)},
        {"steps": ()},
        {"steps": (Fit(seconds=9),)},
        {"shape": (12, 4500)},
        {"rate": 250.0},
    ):
        assert base.model_copy(update=change).identity() != base.identity()
    assert Chain.model_validate({"name": "a", **base.identity()}) == base


def test_what_cannot_be_is_refused(ecgs: np.ndarray) -> None:
    chain = Chain(name="ten", steps=(), shape=(12, 2500), rate=250)
    with pytest.raises(SignalError, match=r"'ten' made \(12, 5000\) .* the encoder takes \(12, 2500\)"):
        chain.apply(ecgs, STANDARD_LEADS, RATE)
    with pytest.raises(SignalError, match="batch"):
        chain.apply(ecgs[0], STANDARD_LEADS, RATE)
    broken = ecgs.copy()
    broken[2, 3, 4] = np.nan
    with pytest.raises(SignalError, match=r"Preprocessing ten needs finite samples: 1 of"):
        chain.apply(broken, STANDARD_LEADS, RATE)
    with pytest.raises(ValidationError, match="rate"):
        Chain(name="a", steps=(), shape=(12, 1), rate=0)
    with pytest.raises(ValidationError):
        Chain.model_validate({"name": "a", "steps": [{"step": "unknown"}], "shape": (12, 1), "rate": 1})
    with pytest.raises(UsageError, match="half the sampling rate"):
        Butterworth(low=0.5, high=300, order=2, form="transfer-function").run(ecgs, RATE)
    with pytest.raises(UsageError, match="half the sampling rate"):
        FirBandpass(low=0.5, high=300, seconds=0.3).run(ecgs, RATE)
    with pytest.raises(UsageError, match="whole sampling rates"):
        NeurokitClean().run(ecgs, 360.5)


@pytest.mark.parametrize(
    "step",
    [
        Views(seconds=5, starts=(0, 6)),
        Decimate(factor=5),
        Notch(frequency=50, quality=30),
        Butterworth(low=0.67, high=40, order=4, form="transfer-function"),
        FirBandpass(low=0.05, high=47, seconds=0.3),
    ],
    ids=lambda s: s.step,
)
def test_records_that_are_too_short_are_refused_with_what_is_needed(step: Any) -> None:
    with pytest.raises(SignalError, match=r"needs? more than|are wanted and the record has"):
        step.run(np.ones((1, 2, 9)), RATE)
