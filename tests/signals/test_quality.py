import numpy as np
import pytest
import wfdb

from einthoven.foundation.errors import SignalError, UsageError
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.signals.quality import QualityFlags, quality_flags

RATE = 500


def beats(steps_per_mv: float = 200, samples: int = 5000, leads: int = 12) -> np.ndarray:
    """Gaussian QRS (sd 10 ms) and T waves (sd 40 ms) once a second, rounded to ADC steps."""
    phase = np.arange(samples) / RATE % 1
    wave = np.exp(-0.5 * ((phase - 0.3) / 0.010) ** 2) + 0.3 * np.exp(-0.5 * ((phase - 0.6) / 0.04) ** 2)
    sizes = np.linspace(0.2, 2.0, leads)[:, None]
    return (np.round(sizes * wave * steps_per_mv) / steps_per_mv).astype(np.float32)


def record(stem) -> tuple[np.ndarray, float]:
    signal, fields = wfdb.rdsamp(str(stem))
    return np.asarray(signal).T.astype(np.float32), float(fields["fs"])


@pytest.mark.parametrize("steps_per_mv", [50, 200, 205, 1000, 30000])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_clean_record_has_no_flag_however_it_is_quantised(steps_per_mv, sign):
    flags = quality_flags(sign * beats(steps_per_mv)[None], RATE)
    assert flags.reasons() == [""]
    assert not flags.flagged.any()


def test_flags_name_the_record_and_the_lead():
    batch = np.stack([beats() for _ in range(5)])
    batch[1, 3, 17] = np.nan
    batch[2, 6:] = 0.7
    batch[3, 11] = np.clip(batch[3, 11], None, 1.0)
    batch[3, 10] = -np.clip(batch[3, 10], None, 1.0)
    batch[4, 2, 2000:] = 0
    flags = quality_flags(batch, RATE)
    np.testing.assert_array_equal(flags.flagged, [False, True, True, True, True])
    assert flags.reasons() == [
        "",
        "not finite: aVR",
        "flat: V1, V2, V3, V4, V5, V6",
        "clipped: V5, V6",
        "flat: III",
    ]
    assert flags.flat.sum() == 7
    assert flags.clipped.sum() == 2
    assert flags.non_finite.sum() == 1


def test_a_short_record():
    assert quality_flags(beats(samples=1249)[None], RATE).reasons() == ["too short"]
    assert quality_flags(beats(samples=1250)[None], RATE).reasons() == [""]
    assert quality_flags(beats(samples=1249)[None], RATE, shortest_seconds=1).reasons() == [""]


def test_a_lead_without_any_sample_is_only_not_finite():
    signal = beats()[None].copy()
    signal[0, 0] = np.nan
    signal[0, 1, 100:200] = -np.inf
    flags = quality_flags(signal, RATE)
    assert flags.reasons() == ["not finite: I, II"]


def test_a_pacing_spike_and_a_quiet_baseline_are_no_clipping():
    signal = beats()[None].copy()
    signal[0, :, 1100] = 9.0
    signal[0, :, 3000:3120] = 0.0
    assert quality_flags(signal, RATE).reasons() == [""]


def test_a_flat_topped_wave_that_is_reached_slowly_is_no_clipping():
    ramp = np.round(np.interp(np.arange(5000), [0, 2000, 2100, 5000], [0, 1, 1, 0]), 3).astype(np.float32)
    assert not quality_flags(np.tile(ramp, (1, 12, 1)), RATE).clipped.any()


def test_saturation_at_the_end_of_the_record():
    signal = beats()[None].copy()
    signal[0, 5, 4947:] = 3.025
    assert quality_flags(signal, RATE).reasons() == ["clipped: aVF"]


def test_one_lead_and_one_sample():
    assert quality_flags(np.zeros((1, 1, 1)), 100).reasons(["I"]) == ["too short; flat: I"]


def test_a_record_does_not_depend_on_its_batch_and_the_input_is_untouched():
    batch = np.stack([beats(), np.clip(beats(), -1, 0.5), np.zeros((12, 5000), np.float32)])
    before = batch.copy()
    whole = quality_flags(batch, RATE)
    np.testing.assert_array_equal(batch, before)
    for index in range(3):
        one = quality_flags(batch[index : index + 1], RATE)
        np.testing.assert_array_equal(one.clipped[0], whole.clipped[index])
        np.testing.assert_array_equal(one.flat[0], whole.flat[index])


def test_bad_input():
    with pytest.raises(SignalError, match=r"\(records, leads, samples\), found shape \(12, 5000\)"):
        quality_flags(beats(), RATE)
    with pytest.raises(UsageError, match="sampling rate"):
        quality_flags(beats()[None], 0)
    flags = quality_flags(beats()[None], RATE)
    assert isinstance(flags, QualityFlags)
    with pytest.raises(UsageError, match="names of 12 leads, found 1: I"):
        flags.reasons(["I"])


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "flat"),
    [("JS45542", "V1 V2 V3 V4 V5 V6"), ("JS45544", "V1 V2 V3 V4 V5 V6"), ("JS45551", "V4 V5 V6"), ("JS45543", "")],
)
def test_real_flat_leads(real_data, name, flat):
    signal, rate = record(real_data / "cinc2021_tuijalei" / "ChapmanShaoxing_Ningbo" / name)
    flags = quality_flags(signal[None], rate)
    assert [lead for lead, hit in zip(STANDARD_LEADS, flags.flat[0], strict=True) if hit] == flat.split()
    assert not flags.clipped.any()


@pytest.mark.realdata
def test_real_clipping(real_data):
    signal, rate = record(real_data / "cpsc2021" / "data_8_3")
    assert quality_flags(signal[None], rate).reasons(["I", "II"]) == ["clipped: II"]


@pytest.mark.realdata
def test_real_records_are_rarely_flagged_and_clipping_them_is_seen(real_data):
    folder = real_data / "ptbxl"
    low = [np.fromfile(file, "<i2").reshape(1000, 12).T for file in sorted(folder.glob("records100/*/*_lr.dat"))]
    assert len(low) > 100
    flagged = quality_flags((np.stack(low) / 1000).astype(np.float32), 100).flagged
    assert flagged.mean() <= 0.002
    high = [np.fromfile(file, "<i2").reshape(5000, 12).T for file in sorted(folder.glob("records500/*/*_hr.dat"))]
    signals = np.stack(high) / 1000
    assert quality_flags(signals.astype(np.float32), 500).flagged.mean() <= 0.02
    centre = np.median(signals, axis=-1, keepdims=True)
    limit = 0.7 * np.abs(signals - centre).max(axis=-1, keepdims=True)
    clipped = np.round(np.clip(signals, centre - limit, centre + limit), 3).astype(np.float32)
    assert quality_flags(clipped, 500).clipped.mean() > 0.9


def test_a_small_wave_in_coarse_steps_is_no_clipping():
    # 8 steps high, so one step is more than 5 % of the range: only the count of steps tells this from clipping.
    phase = np.arange(5000) / RATE % 1
    wave = np.round(8 * np.exp(-0.5 * ((phase - 0.5) / 0.04) ** 2)) / 50
    assert not quality_flags(np.tile(wave, (1, 12, 1)).astype(np.float32), RATE).clipped.any()


@pytest.mark.parametrize(("plateaus", "clipped"), [(1, False), (2, True)])
def test_plateaus_of_10_ms_count_once_they_last_20_ms_together(plateaus, clipped):
    # A saw whose tips are steep on both sides and cut at 5 samples (10 ms at 500 Hz).
    lead = np.zeros(5000, dtype=np.float32)
    lead[::2] = 0.01
    for start in 1000 * np.arange(1, plateaus + 1):
        lead[start - 4 : start + 9] = [0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2]
    assert bool(quality_flags(lead[None, None], RATE).clipped[0, 0]) is clipped


@pytest.mark.realdata
def test_real_noise_that_repeats_its_largest_value_is_no_clipping(real_data):
    signal, rate = record(real_data / "cinc2021_tuijalei" / "ChapmanShaoxing_Ningbo" / "JS00001")
    assert quality_flags(signal[None], rate).reasons() == [""]
