"""From records as they are read to what a cohort stores: checked, in its leads, as int16, with quality flags.

Records are taken in by blocks, since a block costs little more than a record; what is decided about a record does not
depend on its block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from einthoven.foundation.errors import DataError
from einthoven.signals.leads import STANDARD_LEADS, arrange_leads
from einthoven.signals.limb_law import BROKEN_ABOVE, LIMB_LEADS, broken_limb_law, limb_lead_residuals
from einthoven.signals.quality import quality_flags
from einthoven.signals.units import HIGHEST_MILLIVOLTS, LOWEST_MILLIVOLTS, check_plausible_millivolts

from .block import Block
from .dataset import Record

_LARGEST = np.iinfo(np.int16).max
FLAGS: tuple[str, str] = ("flat_leads", "clipped_leads")
"""Columns of `records.parquet` that taking in fills: names of the leads that have the flaw."""
_NO_FLAGS: dict[str, str] = dict.fromkeys(FLAGS, "")
# The quick look at amplitudes takes other order statistics than the check itself; near its bounds the check decides.
_NEAR = 1.5


@dataclass(frozen=True)
class Intake:
    """What a cohort expects of every record.

    Attributes:
        rate: Hz.
        samples: per lead, or None where records differ.
        leads: what is stored, in order.
        gain: int16 units per mV.
    """

    rate: float
    samples: int | None
    leads: tuple[str, ...]
    gain: float

    @property
    def standard(self) -> bool:
        """Whether the leads are standard leads, to be taken by name."""
        return set(self.leads) <= set(STANDARD_LEADS)


@dataclass(frozen=True)
class Taken:
    """One record as it is stored: int16 (leads, samples), and its flags by column of `records.parquet`."""

    signal: np.ndarray
    flags: dict[str, str]


def take_in(records: Sequence[Record], intake: Intake) -> list[Taken | DataError]:
    """Check and convert a block of records, each for itself.

    Returns:
        for each record what is to be stored, or why it cannot be.
    """
    taken: list[Taken | DataError | None] = [_misfit(record, intake) for record in records]
    alike: dict[tuple[tuple[str, ...], tuple[int, ...]], list[int]] = {}
    for index, record in enumerate(records):
        if taken[index] is None:
            alike.setdefault((record.leads, record.signal.shape), []).append(index)
    for (leads, _), rows in alike.items():
        if isinstance(records, Block):
            signals = records.together(rows)
        else:
            signals = np.stack([records[row].signal for row in rows])
        for row, outcome in zip(rows, _take_in_alike(signals, leads, intake), strict=True):
            taken[row] = outcome
    return [outcome for outcome in taken if outcome is not None]


def _misfit(record: Record, intake: Intake) -> DataError | None:
    """What keeps a record out before its samples are looked at."""
    if record.rate != intake.rate:
        return DataError(f"Sampled at {record.rate:g} Hz; {intake.rate:g} Hz was expected.")
    shape = record.signal.shape
    if len(shape) != 2 or shape[0] != len(record.leads):
        return DataError(
            f"The signal has shape {shape}; (leads, samples) of {len(record.leads)} leads was expected. "
            "Is it transposed?"
        )
    if intake.samples is not None and shape[1] != intake.samples:
        return DataError(f"{shape[1]} samples per lead; {intake.samples} were expected.")
    if shape[1] == 0:
        return DataError("The signal has no samples.")
    return None


def _take_in_alike(signals: np.ndarray, leads: tuple[str, ...], intake: Intake) -> list[Taken | DataError]:
    """A block of records of the same leads and length, float32 (records, leads, samples)."""
    errors: list[DataError | None] = [None] * len(signals)
    finite = np.asarray(np.isfinite(signals).all(axis=(1, 2)))
    for row in np.flatnonzero(~finite):
        errors[row] = _not_finite(signals[row], leads)
    if not finite.any():
        return [error for error in errors if error is not None]
    clean = signals if finite.all() else np.where(finite[:, None, None], signals, 0)
    try:
        arranged = _arranged(clean, leads, intake)
    except DataError as error:
        # Of the leads' names, and so of every record of the block; each gets its own, which is noted upon later.
        return [found if found is not None else type(error)(str(error)) for found in errors]
    scaled = np.multiply(arranged, intake.gain, dtype=np.float64)
    np.rint(scaled, out=scaled)
    fits = (scaled.max(axis=(1, 2)) <= _LARGEST) & (scaled.min(axis=(1, 2)) >= -_LARGEST)
    stored = (scaled if fits.all() else np.clip(scaled, -_LARGEST, _LARGEST)).astype("<i2")
    for row in np.flatnonzero(finite & ~(fits & _clearly_plausible(stored, intake))):
        errors[row] = _implausible(arranged[row], scaled[row], intake)
    _check_limbs(clean, leads, errors)
    flags = quality_flags(arranged, intake.rate)
    all_flat = np.asarray(flags.flat.all(axis=1))
    flagged = np.asarray(flags.flat.any(axis=1) | flags.clipped.any(axis=1))
    outcome: list[Taken | DataError] = []
    for row, error in enumerate(errors):
        if error is None and all_flat[row]:
            error = DataError(
                "No lead moves: every one keeps one value for half of the record or longer. No ECG does. Leave it out."
            )
        names = _NO_FLAGS
        if flagged[row]:
            names = {
                flag: " ".join(lead for lead, hit in zip(intake.leads, mask[row], strict=True) if hit)
                for flag, mask in zip(FLAGS, (flags.flat, flags.clipped), strict=True)
            }
        outcome.append(error if error is not None else Taken(stored[row], names))
    return outcome


def _arranged(signals: np.ndarray, leads: tuple[str, ...], intake: Intake) -> np.ndarray:
    if leads == intake.leads:
        return signals
    if intake.standard:
        return arrange_leads(signals, leads, target=intake.leads)
    raise DataError(f"The channels are {', '.join(leads)}; {', '.join(intake.leads)} were expected.")


def _not_finite(signal: np.ndarray, leads: tuple[str, ...]) -> DataError:
    bad = ~np.isfinite(signal)
    shown = [f"{lead} ({count})" for lead, count in zip(leads, bad.sum(axis=1), strict=True) if count]
    return DataError(
        f"{int(bad.sum())} samples are not finite (NaN or the format's mark for an invalid sample), "
        f"in lead {', '.join(shown)}. Einthoven does not invent samples."
    )


def _clearly_plausible(stored: np.ndarray, intake: Intake) -> np.ndarray:
    """Whether each record's amplitude is far from the bounds of `check_plausible_millivolts`, bool (records,).

    Sorting int16 is several times faster than taking percentiles of floats, and nearly every record is.
    """
    ordered = np.sort(stored, axis=-1)
    cut = int(0.005 * (ordered.shape[-1] - 1))
    ranges = np.sort((ordered[..., -1 - cut].astype(np.float64) - ordered[..., cut]) / intake.gain, axis=-1)
    # The median over the leads that vary, which are the last ones now.
    varying = (ranges > 0).sum(axis=-1, keepdims=True)
    last = ranges.shape[-1] - 1
    middle = [np.minimum(last, last + 1 - varying + half) for half in ((varying - 1) // 2, varying // 2)]
    amplitude = np.mean([np.take_along_axis(ranges, place, axis=-1)[:, 0] for place in middle], axis=0)
    return (amplitude > LOWEST_MILLIVOLTS * _NEAR) & (amplitude < HIGHEST_MILLIVOLTS / _NEAR)


def _implausible(arranged: np.ndarray, scaled: np.ndarray, intake: Intake) -> DataError | None:
    try:
        check_plausible_millivolts(arranged)
    except DataError as error:
        return error
    if np.abs(scaled).max() > _LARGEST:
        lead, sample = np.unravel_index(np.abs(scaled).argmax(), scaled.shape)
        return DataError(
            f"Lead {intake.leads[lead]} reaches {arranged[lead, sample]:.1f} mV at sample {sample}, beyond the "
            f"{_LARGEST / intake.gain:.1f} mV that int16 holds at {intake.gain:g} units per mV."
        )
    return None


def _check_limbs(signals: np.ndarray, leads: tuple[str, ...], errors: list[DataError | None]) -> None:
    if not set(LIMB_LEADS) <= set(leads):
        return
    broken = limb_lead_residuals(signals, leads).max(axis=1) > BROKEN_ABOVE
    for row in np.flatnonzero(broken):
        if errors[row] is None:
            errors[row] = DataError(broken_limb_law(signals[row], leads))
