"""Patients and what is planted in each of their records."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from einthoven.foundation.seeds import seed_for

RHYTHM = ("AFIB", "SBRAD", "SR", "STACH")
"""Labels of the task `rhythm`, in column order; every record has exactly one."""

_MOST_RECORDS = 4


@dataclass(frozen=True)
class Patient:
    """What does not change between the records of one person."""

    patient_id: str
    age: float
    sex: str
    split: str
    frontal: float
    horizontal: float
    voltage: float
    t_size: float
    p_size: float
    qtc: float
    pr: float
    slowness: float
    fibrillates: float
    chronic: frozenset[str]


@dataclass(frozen=True)
class RecordPlan:
    """Everything planted in one record; its signal is a pure function of this and the seed.

    Attributes:
        heart_rate: beats a minute of the basic rhythm.
        rr_sd: relative standard deviation of the RR intervals of the basic rhythm.
        premature: number of ventricular premature beats to place.
        pr: seconds from P onset to QRS onset.
        severity: from 0 to 1, how marked the conditions of `form` are.
        wander, muscle, mains: noise amplitudes, mV.
    """

    index: int
    record_id: str
    patient: Patient
    rhythm: str
    form: frozenset[str]
    heart_rate: float
    rr_sd: float
    premature: int
    pr: float
    severity: float
    territory: str
    wander: float
    muscle: float
    mains: float


class Population(Sequence[RecordPlan]):
    """The first `records` records of the population with a seed; a longer one begins with the shorter one.

    A plan is made when it is asked for. Only whose record each is, and which of that patient's, is held.
    """

    def __init__(self, *, records: int, seed: int) -> None:
        self._seed = seed
        self._patient = array("i")
        self._visit = array("b")
        number = 0
        while len(self._patient) < records:
            count = min(_records_of(_patient_stream(seed, number)), records - len(self._patient))
            self._patient.extend([number] * count)
            self._visit.extend(range(count))
            number += 1
        self._made: tuple[int, Patient | None] = (-1, None)

    @overload
    def __getitem__(self, index: int) -> RecordPlan: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[RecordPlan, ...]: ...
    def __getitem__(self, index: int | slice) -> RecordPlan | tuple[RecordPlan, ...]:
        if isinstance(index, slice):
            return tuple(self[row] for row in range(*index.indices(len(self))))
        row = range(len(self))[index]
        return _record(self._patient_of(self._patient[row]), row, self._visit[row], self._seed)

    def __len__(self) -> int:
        return len(self._patient)

    def _patient_of(self, number: int) -> Patient:
        held, patient = self._made
        if held != number or patient is None:  # a patient's records follow each other
            rng = _patient_stream(self._seed, number)
            _records_of(rng)
            # A stream of its own, so that another split rule would leave the patients as they are.
            place = np.random.default_rng(seed_for("split", self._seed, number)).random()
            patient = _patient(f"P{number:05d}", "train" if place < 0.7 else "val" if place < 0.8 else "test", rng)
            self._made = (number, patient)
        return patient


def _patient_stream(seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng(seed_for("phantom-patient", seed, number))


def _records_of(rng: np.random.Generator) -> int:
    """How many records a patient has: the first that is drawn from its stream."""
    return 1 + int(rng.choice(_MOST_RECORDS, p=(0.72, 0.18, 0.07, 0.03)))


def _patient(patient_id: str, split: str, rng: np.random.Generator) -> Patient:
    age = float(np.clip(np.round(rng.normal(60, 17)), 18, 95))
    male = rng.random() < 0.52
    chronic: set[str] = set()
    if rng.random() < 0.011:
        chronic.add("WPW")
    else:
        block = rng.random()
        left, right = _chance(-5.0 + 0.033 * age), _chance(-4.7 + 0.033 * age + 0.3 * male)
        if block < left:
            chronic.add("LBBB")
        elif block < left + right:
            chronic.add("RBBB")
    if "WPW" not in chronic and rng.random() < _chance(-4.0 + 0.034 * age + 0.3 * male):
        chronic.add("LVH")
    slow = "WPW" not in chronic and rng.random() < _chance(-4.9 + 0.040 * age)
    if slow:
        chronic.add("1AVB")
    pr = rng.uniform(*((0.090, 0.110) if "WPW" in chronic else (0.215, 0.320) if slow else (0.135, 0.188)))
    return Patient(
        patient_id=patient_id,
        age=age,
        sex="M" if male else "F",
        split=split,
        frontal=float(rng.normal(-0.005 * (age - 60), 0.32)),
        horizontal=float(rng.normal(0.0, 0.24)),
        voltage=float(np.exp(rng.normal(0.05 * male, 0.20))),
        t_size=float(np.exp(rng.normal(0.15 * male, 0.25))),
        p_size=float(np.exp(rng.normal(0.0, 0.20))),
        qtc=float(rng.normal(0.405 if male else 0.418, 0.017)),
        pr=float(pr),
        slowness=float(np.clip(rng.normal(1.0 + 0.02 * male, 0.05), 0.90, 1.15)),
        fibrillates=0.0 if "WPW" in chronic else _chance(-6.3 + 0.062 * age),
        chronic=frozenset(chronic),
    )


def _record(patient: Patient, index: int, visit: int, seed: int) -> RecordPlan:
    rng = np.random.default_rng(seed_for("phantom-record", seed, patient.patient_id, visit))
    form = set(patient.chronic)
    if rng.random() < patient.fibrillates:
        rhythm, heart_rate, rr_sd = "AFIB", rng.uniform(60, 130), rng.uniform(0.14, 0.26)
        form.discard("1AVB")
    else:
        rhythm, heart_rate = _sinus(rng)
        # Respiratory variation is larger in the young and smaller at high rates.
        rr_sd = float(np.clip(rng.normal(0.045 - 0.0004 * (patient.age - 20), 0.012), 0.006, 0.09))
        rr_sd *= 70 / max(heart_rate, 70)
    acute = rng.random()
    if not form & {"LBBB", "WPW"}:
        form |= {"STE"} if acute < 0.05 else {"STD"} if acute < 0.11 else {"INVT"} if acute < 0.18 else set()
    premature = int(rng.integers(1, 4)) if rng.random() < _chance(-4.0 + 0.032 * patient.age) else 0
    if premature:
        form.add("PVC")
    if not form and rhythm != "AFIB":
        form.add("NORM")
    return RecordPlan(
        index=index,
        record_id=f"E{index:06d}",
        patient=patient,
        rhythm=rhythm,
        form=frozenset(form),
        heart_rate=float(heart_rate),
        rr_sd=rr_sd,
        premature=premature,
        pr=float(patient.pr + rng.normal(0, 0.003)) if "WPW" not in form else patient.pr,
        severity=float(rng.uniform(0.15, 1.0)),
        territory="anterior" if rng.random() < 0.5 else "inferior",
        wander=float(rng.gamma(2.0, 0.04)),
        muscle=float(rng.gamma(2.0, 0.011)),
        mains=float(rng.gamma(1.0, 0.006)),
    )


def _sinus(rng: np.random.Generator) -> tuple[str, float]:
    kind = rng.random()
    if kind < 0.10:
        return "SBRAD", rng.uniform(42, 57)
    if kind < 0.19:
        return "STACH", rng.uniform(104, 145)
    return "SR", float(np.clip(rng.normal(74, 9), 63, 96))


def _chance(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))
