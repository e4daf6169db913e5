from __future__ import annotations

import csv
import warnings
from pathlib import Path

import numpy as np
import pytest
import wfdb
from sklearn.metrics import roc_auc_score

from einthoven.datasets.phantom.generator import generate_phantom
from einthoven.encoders.catalogue.rr_features import r_peaks
from einthoven.encoders.contract import Encoder
from einthoven.encoders.registry import build_encoder
from einthoven.encoders.rhythm import FEATURES
from einthoven.signals.leads import STANDARD_LEADS

_RATE = 250.0
_NAMES = [feature.name for feature in FEATURES]


def beats_at(times: np.ndarray) -> np.ndarray:
    """A lead with a narrow R wave and a broad T wave for each time, 10 s at 250 Hz, mV."""
    t = np.arange(2500) / _RATE
    lead = np.zeros_like(t)
    for time in times:
        lead += np.exp(-(((t - time) / 0.012) ** 2)) + 0.2 * np.exp(-(((t - time - 0.28) / 0.05) ** 2))
    return lead


def features(*leads: np.ndarray) -> dict[str, float]:
    encoder = build_encoder("rr-features")
    assert isinstance(encoder, Encoder)
    x = np.stack(leads)[None].astype(np.float32)
    scales = np.array([feature.scale for feature in FEATURES])
    return dict(zip(_NAMES, encoder.embed(x)[0] / scales, strict=True))


@pytest.mark.parametrize("rr", [0.45, 0.6, 0.8, 1.2, 1.7])
def test_regular_beats_are_found_where_they_are(rr: float) -> None:
    times = np.arange(0.6, 9.6, rr)
    np.testing.assert_allclose(r_peaks(beats_at(times), _RATE), times, atol=0.5 / _RATE + 1e-9)


def test_heart_rate_and_premature_beat() -> None:
    times = np.cumsum([0.6, 0.8, 0.8, 0.8, 0.5, 1.1, 0.8, 0.8, 0.8, 0.8, 0.8])
    lead = beats_at(times)
    found = features(lead, lead, lead)
    assert found["heart_rate"] == pytest.approx(75, rel=0.01)
    assert found["beats"] == pytest.approx(1.1)
    assert found["premature"] == pytest.approx(0.1, abs=1e-6)
    assert found["pause"] == pytest.approx(0.0375, abs=0.002)


def test_flat_lead_ii_falls_back_to_the_next() -> None:
    flat, slow, fast = np.zeros(2500), beats_at(np.arange(0.6, 9.6, 1.2)), beats_at(np.arange(0.6, 9.6, 0.6))
    assert features(flat, slow, fast)["heart_rate"] == pytest.approx(50, rel=0.01)
    assert features(flat, flat, fast)["heart_rate"] == pytest.approx(100, rel=0.01)
    assert features(slow, fast, fast)["heart_rate"] == pytest.approx(50, rel=0.01)


def test_lead_with_too_few_beats_falls_back_to_the_next() -> None:
    two, slow = beats_at(np.array([2.0, 6.0])), beats_at(np.arange(0.6, 9.6, 1.2))
    assert features(two, slow, slow)["heart_rate"] == pytest.approx(50, rel=0.01)


def test_without_a_lead_of_four_beats_the_most_beats_count() -> None:
    one, two = beats_at(np.array([5.0])), beats_at(np.array([2.0, 6.0]))
    found = features(one, two, np.zeros(2500))
    assert found["beats"] == pytest.approx(0.2)
    assert found["too_few_beats"] == 1
    assert found["heart_rate"] == 0


@pytest.mark.parametrize(
    "lead",
    [
        np.zeros(2500),
        np.full(2500, 3.0),
        np.linspace(-1, 1, 2500),
        np.tile([0.0, 1.0], 1250),
        np.eye(1, 2500, 0)[0],
        np.eye(1, 2500, 2499)[0],
        np.sin(np.arange(2500) / 10),
        np.repeat([0.0, 1.0], 1250),
        1e4 * np.random.default_rng(0).normal(size=2500),
    ],
    ids=["flat", "constant", "ramp", "alternating", "first", "last", "sine", "step", "noise"],
)
def test_leads_that_are_no_ecg_give_finite_features_and_no_warning(lead: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(np.isfinite(value) for value in features(lead, lead, lead).values())


def test_amplitude_does_not_change_the_rhythm() -> None:
    lead = beats_at(np.cumsum([0.6, 0.8, 0.7, 0.9, 0.5, 1.1, 0.8]))
    assert features(lead, lead, lead) == features(3 * lead, lead, lead)


class RealFeatures:
    """Features, and heart rate by lead, of PTB-XL records in fibrillation and in sinus rhythm."""

    def __init__(self, data: Path) -> None:
        with (data / "RECORDS_INDEX.tsv").open() as stream:
            rows = [row for row in csv.DictReader(stream, delimiter="\t") if "ptbxl/records100" in row["path"]]
        fibrillation = [row for row in rows if "AFIB" in row["labels"].split(";")]
        sinus = [row for row in rows if row["labels"].split(";")[-1] == "SR"]
        chosen = fibrillation[:60] + sinus[::16][:60]
        self.target = np.array(["AFIB" in row["labels"].split(";") for row in chosen])
        signals = np.stack([wfdb.rdrecord(str(data / row["path"])).p_signal.T for row in chosen])  # type: ignore[union-attr]  # p_signal is set
        encoder = build_encoder("rr-features")
        assert isinstance(encoder, Encoder)
        self.x = encoder.card.preprocessings["native"].apply(signals, STANDARD_LEADS, 100)
        scales = np.array([feature.scale for feature in FEATURES])
        self.features = dict(zip(_NAMES, (encoder.embed(self.x) / scales).T, strict=True))


@pytest.fixture(scope="module")
def real(real_data: Path) -> RealFeatures:
    return RealFeatures(real_data)


@pytest.mark.realdata
def test_real_records_have_plausible_beats(real: RealFeatures) -> None:
    assert len(real.target) == 120
    assert real.features["too_few_beats"].mean() < 0.02
    rate = real.features["heart_rate"]
    assert np.mean((rate > 35) & (rate < 180)) > 0.98


@pytest.mark.realdata
def test_leads_of_real_records_agree_on_heart_rate(real: RealFeatures) -> None:
    by_lead = np.array([[60 / np.median(np.diff(r_peaks(lead, _RATE))) for lead in record] for record in real.x])
    assert np.mean(np.abs(by_lead[:, 0] / by_lead[:, 1] - 1) < 0.05) > 0.9


@pytest.mark.realdata
def test_irregularity_separates_fibrillation_from_sinus_rhythm(real: RealFeatures) -> None:
    for name in ("cv", "rmssd", "median_change", "entropy"):
        assert roc_auc_score(real.target, real.features[name]) > 0.85


def test_channels_of_any_name_are_taken_as_they_are() -> None:
    phantom = generate_phantom(records=4, seed=3, rate=250.0)
    whole = phantom.signals(0, 4)
    encoder = build_encoder("rr-features")
    assert isinstance(encoder, Encoder)
    native, channels = encoder.card.preprocessings["native"], encoder.card.preprocessings["channels"]
    rows = [phantom.rendering.leads.index(lead) for lead in ("II", "V5", "I")]
    by_name = encoder.embed(native.apply(whole, phantom.rendering.leads, 250.0))
    np.testing.assert_array_equal(encoder.embed(channels.apply(whole[:, rows], ("A", "B", "C"), 250.0)), by_name)
    alone = encoder.embed(channels.apply(whole[:, rows[:1]], ("MLII",), 250.0))
    np.testing.assert_array_equal(alone, by_name)  # lead II shows every beat of these records
