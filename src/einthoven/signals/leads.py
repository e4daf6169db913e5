"""Lead names, their order, and the limb leads that follow from two others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from einthoven.foundation.errors import SignalError, nearest

STANDARD_LEADS: tuple[str, ...] = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")

# Each limb lead as (a, b) with lead = a * I + b * II: Einthoven's law (III = II - I) and Goldberger's definitions.
_LIMB: dict[str, tuple[float, float]] = {
    "I": (1.0, 0.0),
    "II": (0.0, 1.0),
    "III": (-1.0, 1.0),
    "aVR": (-0.5, -0.5),
    "aVL": (1.0, -0.5),
    "aVF": (-0.5, 1.0),
}

# Words that formats put around the name: aECG "MDC_ECG_LEAD_V1", DICOM "Lead I (Einthoven)", SCP "Lead V1", "ECG I".
_PREFIX = re.compile(r"^(?:mdc[ _.-]*)?(?:(?:ecg|ekg)[ _.-]*)?(?:lead[ _.-]*)?(?=[^ _.-])")
_SUFFIX = re.compile(r"\s*\(einthoven\)$")
_SEPARATOR = re.compile(r"(?<=.)[ _.-]+")

_BY_FOLDED = {lead.casefold(): lead for lead in STANDARD_LEADS}
# Latin American and CODE naming of the bipolar leads.
_BY_FOLDED |= {"di": "I", "dii": "II", "diii": "III"}


def canonical_lead(name: str) -> str:
    """The standard name of a lead, whatever format its name comes from.

    Case, outer white space, separators ("V-1", "V 1") and the words that formats add ("LEAD I", "ECG I",
    "MDC_ECG_LEAD_AVR", "Lead II (Einthoven)") do not matter. "-aVR" is not aVR, nor is "MLII" lead II: both are
    refused.

    Args:
        name: a lead's name.

    Returns:
        one of `STANDARD_LEADS`.

    Raises:
        SignalError: no standard lead has this name; the message gives the nearest ones.

    Example:
        >>> canonical_lead("MDC_ECG_LEAD_AVR"), canonical_lead(" lead ii"), canonical_lead("v-1")
        ('aVR', 'II', 'V1')
    """
    bare = _bare(name)
    try:
        return _BY_FOLDED[bare]
    except KeyError:
        close = nearest(bare, STANDARD_LEADS)
        hint = f" Nearest: {', '.join(close)}." if close else ""
        raise SignalError(
            f"Unknown lead {name!r}.{hint} Known: {', '.join(STANDARD_LEADS)} (case and prefixes such as "
            "'Lead ' or 'MDC_ECG_LEAD_' do not matter). Rename the lead, or leave it out, before it is read."
        ) from None


def canonical_leads(names: Iterable[str]) -> tuple[str, ...]:
    """The standard names of several leads, in the order given.

    Args:
        names: leads' names.

    Returns:
        as many names from `STANDARD_LEADS`, all different.

    Raises:
        SignalError: an unknown lead, or two names for the same lead.
    """
    return _canonical(tuple(names))


@lru_cache(maxsize=256)
def _canonical(given: tuple[str, ...]) -> tuple[str, ...]:
    # The records of a dataset have the same few namings.
    seen: dict[str, str] = {}
    for name in given:
        lead = canonical_lead(name)
        if lead in seen:
            raise SignalError(
                f"Lead {lead} occurs twice, as {seen[lead]!r} and {name!r}, in {', '.join(map(repr, given))}. "
                "Keep one of the two; which one holds the lead cannot be told from here."
            )
        seen[lead] = name
    return tuple(seen)


def arrange_leads(signal: np.ndarray, names: Sequence[str], *, target: Sequence[str] = STANDARD_LEADS) -> np.ndarray:
    """The leads of `target` in its order: taken by name, and limb leads that are missing derived.

    A missing limb lead is computed in float64 from the first two limb leads present, in the order I, II, III, aVR, aVL,
    aVF: III = II - I, aVR = -(I + II) / 2, aVL = I - II / 2, aVF = II - I / 2 (Einthoven 1912, Goldberger 1942). A lead
    that is present is never replaced. Precordial leads cannot be derived. Samples that are not finite stay so.

    Args:
        signal: (..., leads, samples), mV.
        names: the names of its leads, as many as the leads axis is long, in its order.
        target: the leads wanted, in the order wanted.

    Returns:
        float32 (..., len(target), samples), a new array.

    Raises:
        SignalError: an unknown or repeated lead, names that do not fit the shape, or a lead that is neither present
            nor derivable.

    Example:
        >>> import numpy as np
        >>> arrange_leads(np.array([[3.0], [1.0]]), ["II", "I"], target=["I", "II", "III"]).ravel()
        array([1., 3., 2.], dtype=float32)
    """
    values = np.asarray(signal)
    present = canonical_leads(names)
    wanted = canonical_leads(target)
    if values.ndim < 2 or values.shape[-2] != len(present):
        swapped = (
            " The axes look swapped: transpose it to (..., leads, samples)."
            if values.ndim >= 2 and values.shape[-1] == len(present)
            else ""
        )
        raise SignalError(
            f"Expected a signal of shape (..., {len(present)} leads, samples) for the leads {', '.join(present)}, "
            f"found shape {values.shape}.{swapped}"
        )
    missing = [lead for lead in wanted if lead not in present]
    basis = next(combinations((lead for lead in _LIMB if lead in present), 2), None)
    lost = [lead for lead in missing if lead not in _LIMB or basis is None]
    if lost:
        raise SignalError(_missing_message(lost, present))
    row = {lead: index for index, lead in enumerate(present)}
    arranged = np.empty((*values.shape[:-2], len(wanted), values.shape[-1]), dtype=np.float32)
    for index, lead in enumerate(wanted):
        if lead in row:
            arranged[..., index, :] = values[..., row[lead], :]
        else:
            assert basis is not None  # noqa: S101 - for the type checker; `lost` holds the lead otherwise
            first, second = (values[..., row[name], :].astype(np.float64) for name in basis)
            a, b = _weights(lead, basis)
            arranged[..., index, :] = a * first + b * second
    return arranged


def _bare(name: str) -> str:
    folded = _SUFFIX.sub("", str(name).strip().casefold())
    return _SEPARATOR.sub("", _PREFIX.sub("", folded))


def _weights(lead: str, basis: tuple[str, str]) -> tuple[float, float]:
    """(a, b) with lead = a * basis[0] + b * basis[1], by Cramer's rule on the (I, II) coordinates."""
    (p, q), (r, s) = _LIMB[basis[0]], _LIMB[basis[1]]
    x, y = _LIMB[lead]
    determinant = p * s - q * r
    return (x * s - y * r) / determinant, (p * y - q * x) / determinant


def _missing_message(lost: list[str], present: tuple[str, ...]) -> str:
    chest = [lead for lead in lost if lead not in _LIMB]
    limb = [lead for lead in lost if lead in _LIMB]
    why = []
    if chest:
        why.append(f"Precordial leads ({', '.join(chest)}) cannot be derived from others")
    if limb:
        why.append(f"Limb leads ({', '.join(limb)}) need two limb leads to be derived from")
    return (
        f"Missing leads: {', '.join(lost)}; present: {', '.join(present) or 'none'}. {'. '.join(why)}. "
        "Take a record that has them, or ask for fewer leads."
    )
