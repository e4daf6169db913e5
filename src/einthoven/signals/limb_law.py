"""Einthoven's law: the six limb leads are two measurements, so four of them can be checked against the others.

A clinician who swaps electrodes keeps the law; a header that swaps names, or a file that mixes recordings, breaks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

LIMB_LEADS = ("I", "II", "III", "aVR", "aVL", "aVF")
# III = II - I (Einthoven 1912); aVR, aVL, aVF by their definition (Goldberger 1942). Weights of I and II.
_LAW = {"III": (-1.0, 1.0), "aVR": (-0.5, -0.5), "aVL": (1.0, -0.5), "aVF": (-0.5, 1.0)}
# Below this a lead may be mostly noise, and a residual of its size says nothing.
_QUIET_MILLIVOLTS = 0.05
# Rounding, filters and noise left at most 0.04, and once 0.33, on 842 records of PTB-XL and of the challenge sets. How
# often an exchange of two names leaves more depends on the two: nearly always I and III, in a third of hearts III and
# aVF, which are alike. A header that is wrong is wrong for all records of its source, so one is enough.
BROKEN_ABOVE = 0.5


def limb_lead_residuals(signal: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """How far each derived limb lead is from what I and II say it is.

    Args:
        signal: (records, leads, samples), mV, finite.
        names: standard names of its leads, all six limb leads among them.

    Returns:
        float32 (records, 4) for III, aVR, aVL, aVF: rms of the difference over rms of what was expected, both about
        their means; the denominator is at least 0.05 mV.
    """
    values = {lead: _centred(signal[:, list(names).index(lead)]) for lead in LIMB_LEADS}
    found = []
    for lead, (one, two) in _LAW.items():
        expected = np.float32(one) * values["I"] + np.float32(two) * values["II"]
        found.append(_rms(values[lead] - expected) / np.maximum(_rms(expected), _QUIET_MILLIVOLTS))
    return np.stack(found, axis=1)


def broken_limb_law(record: np.ndarray, names: Sequence[str]) -> str:
    """What is wrong with the limb leads of one record, in words; empty if they agree, or if not all six are there.

    Args:
        record: (leads, samples), mV, finite.
        names: standard names of its leads.
    """
    if not set(LIMB_LEADS) <= set(names):
        return ""
    residuals = limb_lead_residuals(record[None], names)[0]
    if residuals.max() <= BROKEN_ABOVE:
        return ""
    worst = int(residuals.argmax())
    lead, (one, two) = list(_LAW.items())[worst]
    cure = _exchange_that_mends(record, list(names))
    return (
        f"Lead {lead} is not {one:g} I {two:+g} II, as it must be: they differ by {residuals[worst]:.2f} of its size. "
        + (f"With the names of {cure[0]} and {cure[1]} exchanged all limb leads agree. " if cure else "")
        + "The leads are under wrong names, or not of one recording."
    )


def _exchange_that_mends(record: np.ndarray, names: list[str]) -> tuple[str, str] | None:
    for a, b in combinations(LIMB_LEADS, 2):
        exchanged = [b if name == a else a if name == b else name for name in names]
        if limb_lead_residuals(record[None], exchanged).max() <= BROKEN_ABOVE / 2:
            return a, b
    return None


def _centred(values: np.ndarray) -> np.ndarray:
    # float32 is enough for a ratio that is compared with 0.5, and half the memory to go through.
    values = np.asarray(values, dtype=np.float32)
    return values - values.mean(axis=-1, keepdims=True)


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("...i,...i->...", values, values) / values.shape[-1])
