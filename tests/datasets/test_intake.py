"""Records are taken in by blocks, and what becomes of one does not depend on the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from einthoven.datasets.dataset import Record
from einthoven.datasets.intake import Intake, Taken, take_in
from einthoven.datasets.phantom.generator import generate_phantom
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.signals.quality import quality_flags

_INTAKE = Intake(rate=100.0, samples=1000, leads=STANDARD_LEADS, gain=1000.0)


def records() -> list[Record]:
    signals = generate_phantom(records=12, seed=2).signals(0, 12)
    return [Record(f"r{i}", f"p{i}", signal, STANDARD_LEADS, 100.0) for i, signal in enumerate(signals)]


def nan_at(signal: np.ndarray) -> np.ndarray:
    changed = signal.copy()
    changed[7, 3] = np.nan
    return changed


def spike(signal: np.ndarray) -> np.ndarray:
    changed = signal.copy()
    changed[8, 500] = 40.0
    return changed


BAD = {
    "1 samples are not finite .* lead V2": lambda r: replace(r, signal=nan_at(r.signal)),
    "Sampled at 500 Hz": lambda r: replace(r, rate=500.0),
    "900 samples per lead": lambda r: replace(r, signal=r.signal[:, :900]),
    "Is it transposed": lambda r: replace(r, signal=r.signal.T),
    "These are not millivolts": lambda r: replace(r, signal=r.signal * 1000),
    "beyond the 32.8 mV": lambda r: replace(r, signal=spike(r.signal)),
    "No lead moves": lambda r: replace(r, signal=r.signal * 0),
    "as it must be": lambda r: replace(r, leads=("II", "I", *STANDARD_LEADS[2:])),
    "Missing leads: V6": lambda r: replace(r, signal=r.signal[:11], leads=STANDARD_LEADS[:11]),
    "Unknown lead 'X'": lambda r: replace(r, leads=(*STANDARD_LEADS[:11], "X")),
}


def test_every_fault_is_found_among_good_records_and_the_good_are_as_if_alone() -> None:
    good = records()
    mixed = list(good)
    for position, change in zip((0, 2, 3, 5, 7, 8, 10), list(BAD.values())[:7], strict=True):
        mixed[position] = change(good[position])
    mixed += [change(good[1]) for change in list(BAD.values())[7:]]
    together = take_in(mixed, _INTAKE)
    assert len(together) == len(mixed)
    for record, outcome in zip(mixed, together, strict=True):
        alone = take_in([record], _INTAKE)[0]
        assert type(outcome) is type(alone)
        if isinstance(outcome, Taken):
            assert isinstance(alone, Taken)
            np.testing.assert_array_equal(outcome.signal, alone.signal)
            assert outcome.flags == alone.flags
        else:
            assert str(outcome) == str(alone)


@pytest.mark.parametrize("message", BAD)
def test_each_fault_has_its_message(message: str) -> None:
    outcome = take_in([BAD[message](records()[4])], _INTAKE)[0]
    with pytest.raises(Exception, match=message):
        raise outcome if isinstance(outcome, Exception) else AssertionError("it was taken in")


def test_what_is_stored_is_the_rounded_signal_with_the_flags_of_the_room_of_signals() -> None:
    good = records()
    signal = good[0].signal.copy()
    signal[6:9, 200:] = 0.05
    good[0] = replace(good[0], signal=signal)
    for record, outcome in zip(good, take_in(good, _INTAKE), strict=True):
        assert isinstance(outcome, Taken)
        np.testing.assert_array_equal(outcome.signal, np.rint(record.signal.astype(np.float64) * 1000).astype("<i2"))
        flags = quality_flags(record.signal[None], 100.0)
        assert outcome.flags["flat_leads"].split() == [STANDARD_LEADS[i] for i in np.flatnonzero(flags.flat[0])]
        assert outcome.flags["clipped_leads"].split() == [STANDARD_LEADS[i] for i in np.flatnonzero(flags.clipped[0])]
    outcome = take_in(good[:1], _INTAKE)[0]
    assert isinstance(outcome, Taken)
    assert outcome.flags["flat_leads"] == "V1 V2 V3"


def test_leads_in_another_order_and_derived_leads_are_stored_in_order() -> None:
    record = records()[3]
    order = [6, 0, 1, 7, 8, 9, 10, 11]
    eight = replace(record, signal=record.signal[order], leads=tuple(STANDARD_LEADS[i] for i in order))
    stored, expected = take_in([eight, record], _INTAKE)
    assert isinstance(stored, Taken)
    assert isinstance(expected, Taken)
    assert np.abs(stored.signal.astype(int) - expected.signal).max() <= 1


def test_channels_are_taken_as_they_are_named() -> None:
    intake = Intake(rate=100.0, samples=None, leads=("ECG",), gain=1000.0)
    one = Record("a", "a", records()[0].signal[1:2, :700], ("ECG",), 100.0)
    two = replace(one, leads=("ECG2",))
    taken, refused = take_in([one, two], intake)
    assert isinstance(taken, Taken)
    assert taken.signal.shape == (1, 700)
    assert "The channels are ECG2; ECG were expected" in str(refused)
