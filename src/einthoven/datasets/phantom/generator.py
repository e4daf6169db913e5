"""The whole phantom: metadata at once, signals and measurements when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from einthoven.foundation.errors import UsageError
from einthoven.signals.leads import STANDARD_LEADS

from .conditions import FORM
from .population import RHYTHM, Population, RecordPlan
from .rendering import noisy_leads
from .truth import UNITS, measure

_DECIMALS = 6


@dataclass(frozen=True)
class Rendering:
    """How planted records are made signals and measurements, one by one: a record is the same whatever the others are.

    Attributes:
        plans: what is planted in each record.
        seed, rate, seconds: of the generation; rate in Hz.
    """

    plans: Population
    seed: int
    rate: float
    seconds: float

    leads = STANDARD_LEADS

    @property
    def samples(self) -> int:
        """Samples per lead."""
        return round(self.rate * self.seconds)

    def signals(self, start: int, stop: int) -> np.ndarray:
        """Records start to stop, float32 mV (records, 12, samples).

        Raises:
            UsageError: a range that leaves the cohort or runs backwards.
        """
        plans = self._between(start, stop)
        made = np.empty((stop - start, len(self.leads), self.samples), dtype=np.float32)
        for row, plan in enumerate(plans):
            made[row] = noisy_leads(plan, seed=self.seed, rate=self.rate, seconds=self.seconds)
        return made

    def truth(self, start: int, stop: int) -> dict[str, np.ndarray]:
        """The measurements of records start to stop: concept -> float64, NaN where undefined; units in `truth.UNITS`.

        Raises:
            UsageError: a range that leaves the cohort or runs backwards.
        """
        plans = self._between(start, stop)
        found = {concept: np.empty(stop - start) for concept in UNITS}
        for row, plan in enumerate(plans):
            for concept, value in measure(plan, seed=self.seed, seconds=self.seconds).items():
                # Sines and exponentials differ in their last bits between processors; rounded, the truth is the same
                # on all, and so is the cohort's fingerprint. Adding 0 makes -0 and 0 one value.
                found[concept][row] = np.round(value, _DECIMALS) + 0.0
        return found

    def _between(self, start: int, stop: int) -> Iterator[RecordPlan]:
        if not 0 <= start <= stop <= len(self.plans):
            raise UsageError(f"Expected 0 <= start <= stop <= {len(self.plans)} records, found {start} to {stop}.")
        return (self.plans[row] for row in range(start, stop))


@dataclass(frozen=True)
class Phantom:
    """A synthetic cohort; all sequences are in record order.

    Attributes:
        rendering: what makes its signals and measurements; it holds a few bytes a record.
        record_ids: names of the records; no two are the same.
        patient_ids: whose record each is.
        age: years, float64 (records,).
        sex: F or M.
        split: one of train, val and test (70 / 10 / 20); all records of a patient are in one.
        tasks: task -> labels and uint8 targets (records, labels).
    """

    rendering: Rendering
    record_ids: np.ndarray
    patient_ids: np.ndarray
    age: np.ndarray
    sex: np.ndarray
    split: np.ndarray
    tasks: Mapping[str, tuple[tuple[str, ...], np.ndarray]]

    @cached_property
    def truth(self) -> Mapping[str, np.ndarray]:
        """Concept -> float64 (records,), of all records; see `Rendering.truth`."""
        return self.rendering.truth(0, len(self.record_ids))

    def signals(self, start: int, stop: int) -> np.ndarray:
        """Records start to stop; see `Rendering.signals`."""
        return self.rendering.signals(start, stop)


def generate_phantom(*, records: int = 2000, seed: int = 0, rate: float = 100.0, seconds: float = 10.0) -> Phantom:
    """Plant a synthetic 12-lead cohort.

    The signals come from a dipole that moves through each beat as a sum of Gaussians (McSharry et al. 2003; Sameni et
    al. 2007) and is seen by the twelve leads through Dower's matrix, with breathing, noise and arrhythmias planted
    patient by patient. A larger cohort of the same seed begins with the smaller one.

    Args:
        records: how many records; patients have one to four.
        seed: of everything.
        rate: sampling rate, Hz.
        seconds: length of a record.

    Raises:
        UsageError: fewer than one record, or a rate or length no ECG has.
    """
    if records < 1:
        raise UsageError(f"records: expected at least 1, found {records}.")
    if seed < 0:
        raise UsageError(f"seed: expected 0 or more, found {seed}.")
    if not 50 <= rate <= 2000:
        raise UsageError(f"rate: expected 50 to 2000 Hz, found {rate:g}.")
    if not 4 <= seconds <= 600:
        raise UsageError(f"seconds: expected 4 to 600, found {seconds:g}.")
    plans = Population(records=records, seed=seed)
    widths = {"record_ids": 10, "patient_ids": 10, "sex": 1, "split": 5}
    names = {name: np.empty(records, dtype=f"U{width}") for name, width in widths.items()}
    age = np.empty(records)
    rhythm = np.zeros((records, len(RHYTHM)), dtype=np.uint8)
    form = np.zeros((records, len(FORM)), dtype=np.uint8)
    for row, plan in enumerate(plans):
        patient = plan.patient
        for column, value in zip(
            names.values(), (plan.record_id, patient.patient_id, patient.sex, patient.split), strict=True
        ):
            column[row] = value
        age[row] = patient.age
        rhythm[row] = [plan.rhythm == label for label in RHYTHM]
        form[row] = [label in plan.form for label in FORM]
    return Phantom(
        rendering=Rendering(plans, seed, float(rate), float(seconds)),
        **names,
        age=age,
        tasks={"rhythm": (RHYTHM, rhythm), "form": (FORM, form)},
    )
