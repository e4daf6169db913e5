"""From beats and waves to the twelve leads of one record."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np

from einthoven.foundation.seeds import seed_for

from .conditions import Conduction, normal_beat, premature_beat
from .dipole import LEAD_VECTORS, Beat, Part, extent, limb_leads_from, rotated
from .population import RecordPlan
from .rhythms import Beats, make_beats

# Outside four standard deviations a wave is below 0.04 % of its height and is left out.
_REACH = 4.0
# A premature beat starts in the ventricle and repolarises late.
_PREMATURE_QT = 1.08
# Direction of the fibrillatory waves: largest in V1.
_FIBRILLATION = np.array([-0.35, 0.45, -0.75])


def beats_of(plan: RecordPlan, *, seed: int, seconds: float) -> Beats:
    """The R peaks planted in a record."""
    return make_beats(plan, seconds=seconds, rng=np.random.default_rng(_stream("beats", plan, seed)))


def shapes_of(plan: RecordPlan) -> tuple[Beat, Beat]:
    """The conducted and the premature beat of a record, as they lie in this patient's chest."""
    patient = plan.patient
    qt = patient.qtc * (60.0 / plan.heart_rate) ** (1 / 3)  # Fridericia
    conduction = Conduction(pr=plan.pr, qt=qt, slowness=patient.slowness)
    p_size = 0.0 if plan.rhythm == "AFIB" else patient.p_size
    planted = {"p_size": p_size, "territory": plan.territory, "severity": plan.severity}
    beat = normal_beat(plan.form, conduction, **planted)
    begin, end = extent(beat, Part.QRS) or (0.0, 0.0)
    # A broad QRS ends later and so does its T: the time from J to T end is what the rate decides.
    broad = max(end - begin - 0.09, 0.0)
    beat = normal_beat(plan.form, replace(conduction, qt=qt + broad), **planted)
    premature = premature_beat(conduction, qt=qt * _PREMATURE_QT + 0.04)
    return _placed(beat, plan), _placed(premature, plan)


def _placed(beat: Beat, plan: RecordPlan) -> Beat:
    patient = plan.patient
    size = {Part.P: 1.0, Part.QRS: patient.voltage, Part.ST: 1.0, Part.T: patient.t_size}
    turned = rotated(beat, frontal=patient.frontal, horizontal=patient.horizontal)
    return tuple(wave.scaled(size[wave.part]) for wave in turned)


def clean_leads(plan: RecordPlan, *, seed: int, rate: float, seconds: float) -> np.ndarray:
    """The record without noise, float64 mV (12, samples)."""
    beats = beats_of(plan, seed=seed, seconds=seconds)
    samples = round(rate * seconds)
    dipole = np.zeros((3, samples))
    for shape, which in zip(shapes_of(plan), (~beats.premature, beats.premature), strict=True):
        centres = np.array([wave.centre for wave in shape])
        widths = np.array([wave.width for wave in shape])
        vectors = np.array([wave.vector for wave in shape])
        _add_beats(dipole, beats.times[which], centres, widths, vectors, rate)
    if plan.rhythm == "AFIB":
        rng = np.random.default_rng(_stream("fibrillation", plan, seed))
        dipole += _FIBRILLATION[:, None] * _fibrillation(np.arange(samples) / rate, rng)
    return LEAD_VECTORS @ dipole


def noisy_leads(plan: RecordPlan, *, seed: int, rate: float, seconds: float) -> np.ndarray:
    """The record as it is stored, float32 mV (12, samples); noise is made at electrodes, so the limb-lead laws hold."""
    leads = clean_leads(plan, seed=seed, rate=rate, seconds=seconds)
    rng = np.random.default_rng(_stream("noise", plan, seed))
    time = np.arange(leads.shape[1]) / rate
    noise = np.zeros((8, leads.shape[1]))
    for _ in range(3):
        frequency = rng.uniform(0.05, 0.45)
        phase = rng.uniform(0, 2 * np.pi, (8, 1))
        noise += plan.wander * rng.normal(0, 0.6, (8, 1)) * np.sin(2 * np.pi * frequency * time + phase)
    noise += plan.muscle * rng.uniform(0.4, 1.2, (8, 1)) * rng.standard_normal(noise.shape)
    phase = rng.uniform(0, 2 * np.pi, (8, 1))
    if rate > 100.0:
        # At 100 Hz the mains' 50 Hz is the Nyquist frequency, where only a constant of alternating sign could stand.
        noise += plan.mains * np.sin(2 * np.pi * 50.0 * time + phase)
    return (leads + limb_leads_from(noise)).astype(np.float32)


def _stream(name: str, plan: RecordPlan, seed: int) -> int:
    return seed_for(f"phantom-{name}", seed, plan.index)


def _fibrillation(time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Fibrillatory waves: a few oscillations of 4 to 9 Hz whose size and frequency drift."""
    total = np.zeros_like(time)
    for _ in range(4):
        frequency = rng.uniform(4.2, 8.5)
        drift = rng.uniform(0.2, 0.6) * np.sin(2 * np.pi * rng.uniform(0.1, 0.5) * time + rng.uniform(0, 2 * np.pi))
        size = 1 + 0.5 * np.sin(2 * np.pi * rng.uniform(0.1, 0.6) * time + rng.uniform(0, 2 * np.pi))
        total += size * np.sin(2 * np.pi * frequency * time + 2 * drift + rng.uniform(0, 2 * np.pi))
    return rng.uniform(0.020, 0.055) * total


@numba.njit
def _add_beats(
    dipole: np.ndarray,
    times: np.ndarray,
    centres: np.ndarray,
    widths: np.ndarray,
    vectors: np.ndarray,
    rate: float,
) -> None:  # pragma: no cover - compiled
    samples = dipole.shape[1]
    for beat in range(len(times)):
        for wave in range(len(centres)):
            centre = times[beat] + centres[wave]
            first = max(0, int(np.ceil((centre - _REACH * widths[wave]) * rate)))
            last = min(samples - 1, int(np.floor((centre + _REACH * widths[wave]) * rate)))
            for sample in range(first, last + 1):
                distance = (sample / rate - centre) / widths[wave]
                height = np.exp(-0.5 * distance * distance)
                for axis in range(3):
                    dipole[axis, sample] += vectors[wave, axis] * height
