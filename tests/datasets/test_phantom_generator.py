"""The phantom as a whole: what it offers a dataset, and which ranges of it can be made."""

from __future__ import annotations

import numpy as np
import pytest

from einthoven.datasets.phantom.generator import Phantom, generate_phantom
from einthoven.foundation.errors import UsageError


@pytest.fixture(scope="module")
def phantom() -> Phantom:
    return generate_phantom(records=120, seed=2)


def test_columns_are_in_record_order(phantom: Phantom) -> None:
    assert len(set(phantom.record_ids)) == 120
    assert phantom.age.dtype == np.float64
    assert set(phantom.sex) == {"F", "M"}
    assert set(phantom.split) == {"train", "val", "test"}
    for row, plan in enumerate(phantom.rendering.plans):
        patient = plan.patient
        assert (phantom.record_ids[row], phantom.patient_ids[row]) == (plan.record_id, patient.patient_id)
        assert (phantom.age[row], phantom.sex[row], phantom.split[row]) == (patient.age, patient.sex, patient.split)


def test_a_patient_is_the_same_person_in_every_record(phantom: Phantom) -> None:
    facts: dict[str, set[tuple[float, str, str]]] = {}
    for row, patient in enumerate(phantom.patient_ids):
        fact = (float(phantom.age[row]), phantom.sex[row], phantom.split[row])
        facts.setdefault(patient, set()).add(fact)
    assert max((phantom.patient_ids == patient).sum() for patient in facts) > 1
    assert all(len(found) == 1 for found in facts.values())


def test_signals_do_not_depend_on_how_they_are_cut(phantom: Phantom) -> None:
    whole = phantom.signals(0, 12)
    pieces = [phantom.signals(0, 1), phantom.signals(1, 5), phantom.signals(5, 5), phantom.signals(5, 12)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_no_records_are_an_empty_array(phantom: Phantom) -> None:
    empty = phantom.signals(120, 120)
    assert (empty.shape, empty.dtype) == ((0, 12, 1000), np.float32)


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (5, 4), (0, 121)])
def test_a_range_outside_the_cohort_is_refused(phantom: Phantom, start: int, stop: int) -> None:
    with pytest.raises(UsageError, match=rf"<= 120 records, found {start} to {stop}"):
        phantom.signals(start, stop)
