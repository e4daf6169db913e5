"""Mistakes in the input of an encoder, made on purpose, to see how far its embeddings move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from einthoven.signals.resampling import resample


@dataclass(frozen=True)
class Mistake:
    """One way to feed records wrongly.

    Attributes:
        name: short, for tables.
        make: (signals, leads, rate) to signals of the same shape that are wrong; None where it cannot be made of them.
        seen: what to look at where the encoder moves.
        unseen: what it means where it does not.
    """

    name: str
    make: Callable[[np.ndarray, Sequence[str], float], np.ndarray | None]
    seen: str
    unseen: str


def _half_rate(x: np.ndarray, leads: Sequence[str], rate: float) -> np.ndarray:
    """What a record of twice the rate is if it is taken for one of `rate`: every beat lasts twice as long."""
    half = x[..., : (x.shape[-1] + 1) // 2]
    return resample(half, rate, 2 * rate)[..., : x.shape[-1]]


def _arms(x: np.ndarray, leads: Sequence[str], rate: float) -> np.ndarray | None:
    """Arm electrodes exchanged: I turns over, II and III change places, and so do aVR and aVL."""
    at = {lead: index for index, lead in enumerate(leads)}
    if not {"I", "II", "III", "aVR", "aVL"} <= set(at):
        return None
    wrong = x.copy()
    wrong[:, at["I"]] = -x[:, at["I"]]
    for a, b in (("II", "III"), ("aVR", "aVL")):
        wrong[:, at[a]], wrong[:, at[b]] = x[:, at[b]], x[:, at[a]]
    return wrong


def _avl_avf(x: np.ndarray, leads: Sequence[str], rate: float) -> np.ndarray | None:
    at = {lead: index for index, lead in enumerate(leads)}
    if not {"aVL", "aVF"} <= set(at):
        return None
    wrong = x.copy()
    wrong[:, at["aVL"]], wrong[:, at["aVF"]] = x[:, at["aVF"]], x[:, at["aVL"]]
    return wrong


def _later(x: np.ndarray, leads: Sequence[str], rate: float) -> np.ndarray:
    return np.roll(x, -round(rate), axis=-1)


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "rate: twice as high as said",
        _half_rate,
        "Make sure that the rate given for your records is the true one.",
        "A wrong rate would go unnoticed: check it where the files come from.",
    ),
    Mistake(
        "leads: aVL and aVF exchanged",
        _avl_avf,
        "Make sure of the lead order; some releases have these two exchanged.",
        "It hardly uses these two leads apart.",
    ),
    Mistake(
        "leads: arm electrodes exchanged",
        _arms,
        "Make sure of the lead order.",
        "It hardly uses the limb leads.",
    ),
    Mistake(
        "polarity: upside down",
        lambda x, leads, rate: -x,
        "Make sure of the sign of the gain.",
        "It cannot tell a deflection up from one down; check that this is meant.",
    ),
    Mistake(
        "unit: uV taken for mV",
        lambda x, leads, rate: x * np.float32(1000),
        "Make sure of the unit: Einthoven gives mV.",
        "Its normalisation takes the unit away: voltages cannot be read from it.",
    ),
    Mistake(
        "unit: mV taken for uV",
        lambda x, leads, rate: x * np.float32(0.001),
        "Make sure of the unit: Einthoven gives mV.",
        "Its normalisation takes the unit away: voltages cannot be read from it.",
    ),
    Mistake(
        "crop: one second later",
        _later,
        "So far the choice of the part of a record matters; crop as its authors did.",
        "Which part of a record is taken hardly matters.",
    ),
)


def white_noise(like: np.ndarray) -> np.ndarray:
    """Noise without any ECG, of the size of each record, the same on every machine."""
    noise = np.random.default_rng(0).standard_normal(like.shape)
    return (noise * like.std(axis=(1, 2), keepdims=True)).astype(np.float32)
