"""A moving dipole: each wave of a beat is a Gaussian in time along a direction in space.

After McSharry et al. (IEEE TBME 50, 289, 2003), who sum Gaussians over the cardiac cycle, in the three-dimensional
form of Sameni et al. (EURASIP J. Adv. Signal Process. 2007, 43407). Directions are Frank's: x to the patient's left, y
to the feet, z to the back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

# Dower's matrix (Dower, Machado, Osborne, Clin. Cardiol. 3, 87, 1980): leads I, II and V1-V6 from x, y, z.
_DOWER = np.array(
    [
        [0.632, -0.235, 0.059],
        [0.235, 1.066, -0.132],
        [-0.515, 0.157, -0.917],
        [0.044, 0.164, -1.387],
        [0.882, 0.098, -1.277],
        [1.213, 0.127, -0.601],
        [1.125, 0.127, -0.086],
        [0.831, 0.076, 0.230],
    ]
)
# The four other limb leads are what I and II make them, exactly.
_FROM_INDEPENDENT = np.zeros((12, 8))
_FROM_INDEPENDENT[[0, 1], [0, 1]] = 1.0
_FROM_INDEPENDENT[2, :2] = (-1.0, 1.0)
_FROM_INDEPENDENT[3, :2] = (-0.5, -0.5)
_FROM_INDEPENDENT[4, :2] = (1.0, -0.5)
_FROM_INDEPENDENT[5, :2] = (-0.5, 1.0)
_FROM_INDEPENDENT[range(6, 12), range(2, 8)] = 1.0
_FROM_INDEPENDENT.setflags(write=False)

LEAD_VECTORS = _FROM_INDEPENDENT @ _DOWER
"""(12, 3): mV in each standard lead for a dipole of 1 along x, y, z."""

# A wave is taken to begin and end this many standard deviations from its centre (4 % of its height).
EDGE = 2.5


class Part(Enum):
    """Which deflection of the beat a wave belongs to."""

    P = "P"
    QRS = "QRS"
    ST = "ST"
    T = "T"


@dataclass(frozen=True)
class Wave:
    """One Gaussian: centre and width in seconds from the R peak, and the dipole's direction and size at its centre."""

    part: Part
    centre: float
    width: float
    vector: tuple[float, float, float]

    def scaled(self, factor: float) -> Wave:
        """The same wave, larger or smaller."""
        x, y, z = self.vector
        return replace(self, vector=(x * factor, y * factor, z * factor))

    def moved(self, seconds: float) -> Wave:
        """The same wave, later or earlier."""
        return replace(self, centre=self.centre + seconds)

    @property
    def begin(self) -> float:
        """When it begins, seconds from the R peak."""
        return self.centre - EDGE * self.width

    @property
    def end(self) -> float:
        """When it ends, seconds from the R peak."""
        return self.centre + EDGE * self.width


Beat = tuple[Wave, ...]


def rotated(beat: Beat, *, frontal: float, horizontal: float) -> Beat:
    """The beat of a heart that lies differently: turned in the frontal plane, then in the horizontal one (radians)."""
    cf, sf, ch, sh = np.cos(frontal), np.sin(frontal), np.cos(horizontal), np.sin(horizontal)
    turn = np.array([[ch, 0, -sh], [0, 1, 0], [sh, 0, ch]]) @ np.array([[cf, -sf, 0], [sf, cf, 0], [0, 0, 1]])
    turned = []
    for wave in beat:
        x, y, z = (turn @ np.array(wave.vector)).tolist()
        turned.append(replace(wave, vector=(x, y, z)))
    return tuple(turned)


def leads_at(beat: Beat, times: np.ndarray, *, parts: frozenset[Part] = frozenset(Part)) -> np.ndarray:
    """The beat in the 12 standard leads, float64 mV (12, times); times in seconds from the R peak."""
    dipole = np.zeros((3, len(times)))
    for wave in beat:
        if wave.part in parts:
            shape = np.exp(-0.5 * ((times - wave.centre) / wave.width) ** 2)
            dipole += np.array(wave.vector)[:, None] * shape
    return LEAD_VECTORS @ dipole


def extent(beat: Beat, part: Part) -> tuple[float, float] | None:
    """When a deflection begins and ends (seconds from the R peak), or None if the beat has none."""
    waves = [wave for wave in beat if wave.part is part]
    return (min(wave.begin for wave in waves), max(wave.end for wave in waves)) if waves else None


def limb_leads_from(independent: np.ndarray) -> np.ndarray:
    """All 12 leads from I, II and V1-V6: (8, samples) -> (12, samples); used for noise, which is made at electrodes."""
    return _FROM_INDEPENDENT @ independent
