"""Einthoven's law: kept by every arrangement of electrodes, broken by every exchange of names."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from einthoven.datasets.phantom.generator import generate_phantom
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.signals.limb_law import LIMB_LEADS, broken_limb_law, limb_lead_residuals


@pytest.fixture(scope="module")
def records() -> np.ndarray:
    return generate_phantom(records=60, seed=3).signals(0, 60).astype(np.float64)


def test_sound_records_keep_the_law_up_to_rounding(records) -> None:
    assert limb_lead_residuals(records, STANDARD_LEADS).max() < 1e-5
    stored = np.rint(records * 1000) / 1000
    assert limb_lead_residuals(stored, STANDARD_LEADS).max() < 0.05
    assert {broken_limb_law(record, STANDARD_LEADS) for record in stored} == {""}


def test_residuals_are_what_they_say_by_hand() -> None:
    rng = np.random.default_rng(0)
    one, two, noise = rng.normal(size=(3, 1, 4001))
    limbs = {"I": one, "II": two, "III": two - one + 0.3 * noise, "aVR": -(one + two) / 2, "aVL": one - two / 2,
             "aVF": two - one / 2}  # fmt: skip
    names = ("aVF", "III", "I", "aVR", "II", "aVL")
    found = limb_lead_residuals(np.stack([limbs[name] for name in names], axis=1), names)[0]
    assert found[0] == pytest.approx(0.3 * noise.std() / (two - one).std(), rel=0.02)
    np.testing.assert_allclose(found[1:], 0, atol=1e-6)


def test_swapped_electrodes_keep_the_law(records) -> None:
    """Right and left arm exchanged: I turns over, II and III change places, and so do aVR and aVL."""
    leads = dict(zip(STANDARD_LEADS, records.swapaxes(0, 1), strict=True))
    swapped = {
        **leads,
        "I": -leads["I"],
        "II": leads["III"],
        "III": leads["II"],
        "aVR": leads["aVL"],
        "aVL": leads["aVR"],
    }
    assert limb_lead_residuals(np.stack(list(swapped.values()), axis=1), STANDARD_LEADS).max() < 1e-5


@pytest.mark.parametrize("pair", list(combinations(LIMB_LEADS, 2)), ids="-".join)
def test_exchanged_names_are_found_and_named(records, pair) -> None:
    a, b = pair
    names = [b if name == a else a if name == b else name for name in STANDARD_LEADS]
    messages = [broken_limb_law(record, names) for record in records]
    # Neighbours such as III and aVF look alike in many hearts, others in few.
    assert np.mean([bool(message) for message in messages]) > 0.35
    assert np.mean([f"names of {a} and {b} exchanged" in message for message in messages]) > 0.3


def test_leads_that_are_not_all_there_are_not_judged(records) -> None:
    assert broken_limb_law(records[0, :5], STANDARD_LEADS[:5]) == ""


def test_noise_in_quiet_leads_is_no_violation() -> None:
    quiet = np.random.default_rng(1).normal(scale=0.01, size=(12, 1000))
    assert broken_limb_law(quiet, STANDARD_LEADS) == ""


@pytest.mark.realdata
def test_real_records_keep_the_law(real_data) -> None:
    from einthoven.datasets.wfdb_files import read_wfdb

    headers = sorted((real_data / "ptbxl" / "records100").rglob("*.hea"))[::20]
    assert len(headers) > 50
    for header in headers:
        record = read_wfdb(header.with_suffix(""), record_id=header.stem, patient_id="x")
        assert broken_limb_law(record.signal, record.leads) == "", header.name
