"""What is planted can be read from the waveform by someone who does not know the plan."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.signal import find_peaks, welch

from einthoven.datasets.phantom.generator import Phantom, generate_phantom
from einthoven.datasets.phantom.population import RecordPlan
from einthoven.datasets.phantom.rendering import clean_leads, noisy_leads
from einthoven.signals.leads import STANDARD_LEADS

RATE = 1000.0
TWO = STANDARD_LEADS.index("II")


@pytest.fixture(scope="module")
def phantom() -> Phantom:
    return generate_phantom(records=600, seed=3)


def chosen(phantom: Phantom, rhythm: str, form: set[str], count: int) -> list[RecordPlan]:
    found = [plan for plan in phantom.rendering.plans if plan.rhythm == rhythm and plan.form == form][:count]
    assert len(found) == count
    return found


def clean(phantom: Phantom, plan: RecordPlan) -> np.ndarray:
    return clean_leads(plan, seed=phantom.rendering.seed, rate=RATE, seconds=phantom.rendering.seconds)


def r_peaks(signal: np.ndarray) -> np.ndarray:
    """Sample indices of the steepest moments of the vector of all leads, one a beat."""
    speed = np.sqrt((np.gradient(signal, axis=1) ** 2).sum(axis=0))
    return find_peaks(speed, height=0.35 * speed.max(), distance=round(0.28 * RATE))[0]


def test_fibrillation_is_irregular_and_its_truth_is_what_peaks_say(phantom: Phantom) -> None:
    irregular = []
    for plan in chosen(phantom, "AFIB", set(), 15):
        intervals = np.diff(r_peaks(clean(phantom, plan))) * 1000 / RATE
        assert intervals.mean() == pytest.approx(phantom.truth["rr_mean"][plan.index], rel=0.06)
        assert intervals.std(ddof=1) == pytest.approx(phantom.truth["rr_sd"][plan.index], rel=0.25, abs=12)
        irregular.append(intervals.std() / intervals.mean())
    assert np.median(irregular) > 0.12


def test_every_sinus_beat_has_a_p_wave_and_no_fibrillating_one_has(phantom: Phantom) -> None:
    def repeats(plan: RecordPlan) -> float:
        """How alike the 200 ms before QRS are from beat to beat: correlation with their mean."""
        signal = clean(phantom, plan)[TWO]
        before = np.array([signal[at - 260 : at - 60] for at in r_peaks(clean(phantom, plan)) if at > 300])
        # A T wave of the beat before slopes through the window; P does not.
        steps = np.arange(200) - 99.5
        before = before - before.mean(axis=1, keepdims=True)
        before -= (before @ steps / (steps @ steps))[:, None] * steps
        return float(np.median([np.corrcoef(row, before.mean(axis=0))[0, 1] for row in before]))

    sinus = [repeats(plan) for plan in chosen(phantom, "SR", {"NORM"}, 15)]
    fibrillating = [repeats(plan) for plan in chosen(phantom, "AFIB", set(), 15)]
    assert min(sinus) > 0.9
    assert np.median(fibrillating) < 0.75


def test_a_premature_beat_is_early_broad_and_followed_by_a_full_pause(phantom: Phantom) -> None:
    for plan in chosen(phantom, "SR", {"PVC"}, 8):
        signal = clean(phantom, plan)
        # Largest where the waves are broad: the size of the vector, smoothed over 60 ms.
        size = np.convolve(np.sqrt((signal**2).sum(axis=0)), np.ones(60) / 60, mode="same")
        beats = find_peaks(size, height=0.35 * np.median(np.sort(size)[-200:]), distance=round(0.3 * RATE))[0]
        broad = beats[size[beats] > 1.5 * np.median(size[beats])]
        # The plan may ask for more than have room between sinus beats; the truth counts those that are there.
        assert 1 <= len(broad) == phantom.truth["premature_beats"][plan.index] <= plan.premature
        peaks = r_peaks(signal)
        usual = np.median(np.diff(peaks))
        for at in broad:
            before, after = peaks[peaks < at - 150].max(), peaks[peaks > at + 150].min()
            # The sinus keeps its time: the two intervals around it are two usual ones together.
            assert after - before == pytest.approx(2 * usual, rel=0.15)
            assert 0.45 * usual < at - before < 0.80 * usual


def test_mains_stand_at_50_hz_where_the_rate_can_carry_them(phantom: Phantom) -> None:
    loud = max(phantom.rendering.plans, key=lambda plan: plan.mains)

    def line(rate: float) -> float:
        noise = noisy_leads(loud, seed=phantom.rendering.seed, rate=rate, seconds=10.0) - clean_leads(
            loud, seed=phantom.rendering.seed, rate=rate, seconds=10.0
        )
        frequency, power = welch(noise[6:], fs=rate, nperseg=round(2 * rate))
        at = np.abs(frequency - min(50.0, rate / 2)).argmin()
        near = (np.abs(frequency - 50.0) > 3) & (np.abs(frequency - 50.0) < 10)
        return float(np.median(power[:, at] / power[:, near].mean(axis=1)))

    assert line(500.0) > 20
    assert line(100.0) < 5


def test_noise_differs_between_records_of_one_patient(phantom: Phantom) -> None:
    several = next(
        [a, b]
        for a, b in zip(phantom.rendering.plans, phantom.rendering.plans[1:], strict=False)
        if a.patient.patient_id == b.patient.patient_id
    )
    noise = [
        noisy_leads(plan, seed=phantom.rendering.seed, rate=500.0, seconds=10.0)
        - clean_leads(plan, seed=phantom.rendering.seed, rate=500.0, seconds=10.0)
        for plan in several
    ]
    # Two slow wanders are alike by chance over ten seconds; steps from sample to sample are not.
    steps = [np.diff(record[7]) for record in noise]
    assert abs(np.corrcoef(steps[0], steps[1])[0, 1]) < 0.3
    assert noise[0].std() != pytest.approx(noise[1].std(), rel=0.01)


@pytest.mark.parametrize("rate", [100.0, 500.0])
def test_a_record_survives_storage_as_int16_at_a_thousand_units_a_millivolt(rate: float) -> None:
    signals = generate_phantom(records=60, seed=8, rate=rate).signals(0, 60)
    assert signals.shape == (60, 12, round(10 * rate))
    assert np.isfinite(signals).all()
    stored = np.round(signals * 1000)
    assert np.abs(stored).max() < np.iinfo(np.int16).max / 3
    np.testing.assert_allclose(stored.astype(np.int16) / 1000, signals, atol=0.00051)


def test_compiling_leaves_no_files(tmp_path) -> None:
    # numba caches beside the module, which may be read-only, unless this variable says where.
    script = (
        "from einthoven.datasets.phantom.generator import generate_phantom\n"
        "from einthoven.datasets.phantom.rendering import clean_leads\n"
        "phantom = generate_phantom(records=1, seed=3)\n"
        "clean_leads(phantom.rendering.plans[0], seed=3, rate=100.0, seconds=10.0)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []
