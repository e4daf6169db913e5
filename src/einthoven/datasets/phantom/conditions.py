"""What each condition does to a beat. Sizes are mV along Frank's axes; times are seconds from the R peak.

The shapes were tuned until the twelve leads looked like the textbook's; criteria are those of Surawicz and Knilans
(Chou's Electrocardiography in Clinical Practice): rS in V1 to qR in V6, rSR' in V1 for right and broad notched R in V6
for left bundle branch block, discordant T in both, strain in hypertrophy, reciprocal change in infarction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .dipole import Beat, Part, Wave, extent

# Labels of the task `form`, in column order.
FORM = ("1AVB", "INVT", "LBBB", "LVH", "NORM", "PVC", "RBBB", "STD", "STE", "WPW")


@dataclass(frozen=True)
class Conduction:
    """How fast a beat is conducted.

    Attributes:
        pr: seconds from P onset to QRS onset.
        qt: seconds from QRS onset to T end.
        slowness: of the ventricles; QRS lasts this many times as long as its shape usually does.
    """

    pr: float
    qt: float
    slowness: float = 1.0


Vector = tuple[float, float, float]


def _qrs(*waves: tuple[float, float, Vector]) -> Beat:
    return tuple(Wave(Part.QRS, centre, width, vector) for centre, width, vector in waves)


_NORMAL_QRS = _qrs(
    (-0.028, 0.0060, (-0.13, -0.05, -0.24)),  # septum: to the right and front, r in V1 and q in I and V6
    (0.000, 0.0100, (0.95, 0.78, 0.42)),  # free wall of the left ventricle
    (0.021, 0.0085, (0.06, -0.26, 0.55)),  # base: to the back, S in V1-V3
)
_RBBB_QRS = (
    *_NORMAL_QRS[:2],
    *_qrs((0.021, 0.0085, (0.06, -0.15, 0.30)), (0.056, 0.0165, (-0.52, -0.06, -0.46))),  # late right ventricle
)
_LBBB_QRS = _qrs(
    (-0.030, 0.0130, (0.20, 0.10, 0.25)),  # no septal q: activation begins on the right
    (0.000, 0.0160, (0.85, 0.36, 0.85)),
    (0.040, 0.0180, (0.95, 0.22, 0.95)),  # the second hump of the notched R
    (0.072, 0.0120, (0.20, -0.12, 0.40)),
)
_WPW_QRS = (
    *_qrs((-0.055, 0.0180, (0.26, 0.16, -0.16)), (-0.034, 0.0110, (0.20, 0.12, -0.06))),  # delta wave: no septal q
    *_NORMAL_QRS[1:],
)
_PREMATURE_QRS = _qrs(
    (-0.034, 0.0200, (0.25, 0.55, 0.50)),
    (0.008, 0.0240, (0.75, 1.15, 1.15)),
    (0.058, 0.0210, (0.15, 0.45, 0.85)),
)
_T = (0.27, 0.20, -0.13)
_T_RBBB = (0.30, 0.20, 0.14)
_T_LBBB = (-0.28, -0.06, -0.42)
_T_STRAIN = (-0.17, -0.06, -0.10)
_T_PREMATURE = (-0.28, -0.42, -0.42)
_INVERTED_T = (-0.24, -0.12, 0.16)
_ELEVATION = {"anterior": (0.12, -0.07, -0.27), "inferior": (-0.08, 0.27, 0.04)}
_DEPRESSION = (-0.13, -0.10, 0.07)
_STRAIN_DEPRESSION = (-0.09, -0.04, -0.04)


def normal_beat(
    labels: frozenset[str], conduction: Conduction, *, p_size: float, territory: str, severity: float
) -> Beat:
    """A conducted beat under the conditions of `labels`.

    Args:
        labels: from `FORM`; "PVC" and "NORM" change nothing here.
        conduction: planted intervals.
        p_size: 0 for none (fibrillation), 1 for the usual P wave.
        territory: "anterior" or "inferior", of an elevation.
        severity: from 0 to 1, how marked the conditions are; intervals do not depend on it.
    """
    qrs, t = _NORMAL_QRS, _T
    if "LBBB" in labels:
        qrs, t = _LBBB_QRS, _T_LBBB
    elif "RBBB" in labels:
        *first, last = _RBBB_QRS
        qrs, t = (*first, last.scaled(0.35 + 0.65 * severity)), _T_RBBB
    elif "WPW" in labels:
        qrs = _WPW_QRS
    if "LVH" in labels:
        qrs = tuple(wave.scaled(1.15 + 0.85 * severity if wave.centre >= 0 else 1.2) for wave in qrs)
        t = t if "LBBB" in labels else _between(t, _T_STRAIN, severity)
    if "INVT" in labels:
        t = _between(t, _INVERTED_T, 0.5 + 0.5 * severity)
    shift = _between((0.0, 0.0, 0.0), _st_shift(labels, territory), severity)
    return _with_repolarisation(qrs, t, conduction, p_size=p_size, shift=shift)


def _between(a: Vector, b: Vector, share: float) -> Vector:
    """The vector `share` of the way from a to b."""
    return (a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2]))


def premature_beat(conduction: Conduction, *, qt: float) -> Beat:
    """A ventricular premature beat: broad, large, with a discordant T and no P."""
    return _with_repolarisation(
        _PREMATURE_QRS, _T_PREMATURE, replace(conduction, qt=qt), p_size=0.0, shift=(0.0, 0.0, 0.0)
    )


def _st_shift(labels: frozenset[str], territory: str) -> Vector:
    if "STE" in labels:
        return _ELEVATION[territory]
    if "STD" in labels:
        return _DEPRESSION
    if "LVH" in labels and "LBBB" not in labels:
        return _STRAIN_DEPRESSION
    return (0.0, 0.0, 0.0)


def _with_repolarisation(qrs: Beat, t: Vector, conduction: Conduction, *, p_size: float, shift: Vector) -> Beat:
    slow = conduction.slowness
    qrs = tuple(replace(wave, centre=slow * wave.centre, width=slow * wave.width) for wave in qrs)
    begin, end = extent(qrs, Part.QRS) or (0.0, 0.0)
    t_end = begin + conduction.qt
    # T is asymmetric: a slow rise under a faster fall. Its widths follow the time left for it.
    room = max(t_end - end, 0.12)
    fall, rise = 0.105 * room, 0.19 * room
    peak = t_end - 2.5 * fall
    beat = [
        *qrs,
        Wave(Part.T, peak, fall, (0.55 * t[0], 0.55 * t[1], 0.55 * t[2])),
        Wave(Part.T, peak - 1.1 * fall, rise, (0.5 * t[0], 0.5 * t[1], 0.5 * t[2])),
    ]
    if any(shift):
        # A plateau from the J point into T: three Gaussians that overlap.
        rest = peak - end
        beat += [Wave(Part.ST, end + share * rest, 0.17 * rest + 0.012, shift) for share in (0.1, 0.4, 0.7)]
    if p_size:
        # Right atrium first (to the front), then left (to the back): a P in II, a biphasic one in V1.
        p_begin = begin - conduction.pr
        beat += [
            Wave(Part.P, p_begin + 2.5 * 0.017, 0.017, (0.035 * p_size, 0.070 * p_size, -0.045 * p_size)),
            Wave(Part.P, p_begin + 2.5 * 0.017 + 0.030, 0.019, (0.060 * p_size, 0.055 * p_size, 0.045 * p_size)),
        ]
    return tuple(beat)
