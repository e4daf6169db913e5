"""The counting rules of the hemodynamic template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einthoven.datasets.dataset import TaskTable
from einthoven.datasets.importing.hemodynamic import hemodynamic_tasks, later_records, one_a_patient
from einthoven.datasets.importing.mapping import parse_plan
from einthoven.datasets.importing.preparing import import_table
from einthoven.datasets.importing.table import Table
from einthoven.datasets.importing.task_mapping import HemodynamicTask
from einthoven.foundation.errors import DataError, UsageError

from .ward import Ward


def table(**columns: list[str | None]) -> Table:
    return Table(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), name="t.csv", sha256="")


def test_thresholds_are_inclusive_and_missing_pressures_leave_out() -> None:
    read = table(w=["14.9", "15", "15.1", None, "nan"], a=["19.99", "20", None, "100", "0"])
    found = hemodynamic_tasks("p", HemodynamicTask(kind="hemodynamic", mpcwp="w", mpa="a"), read, list("vwxyz"))
    assert found["p-mpcwp"].table == TaskTable(
        ("mpcwp_gte_15",),
        {"v": frozenset(), "w": frozenset(["mpcwp_gte_15"]), "x": frozenset(["mpcwp_gte_15"])},
    )
    assert {record: bool(labels) for record, labels in found["p-mpa"].table.positives.items()} == {
        "v": False,
        "w": True,
        "y": True,
        "z": False,
    }
    assert found["p-mpa"].table.labels == ("mpa_gte_20",)
    assert found["p-mpcwp"].left_out == {"no catheter value": 2}
    assert {task.family for task in found.values()} == {"hemodynamic"}


def test_thresholds_are_parameters() -> None:
    task = HemodynamicTask(kind="hemodynamic", mpa="a", mpa_at_least=25)
    found = hemodynamic_tasks("p", task, table(a=["24", "25"]), ["1", "2"])
    assert list(found) == ["p-mpa"]
    assert found["p-mpa"].table.positives == {"1": frozenset(), "2": frozenset(["mpa_gte_25"])}


@pytest.mark.parametrize("cell", ["-1", "100.1", "700"])
def test_impossible_pressures_are_refused_with_their_row(cell: str) -> None:
    task = HemodynamicTask(kind="hemodynamic", mpcwp="w")
    with pytest.raises(DataError, match=rf"a pressure from 0 to 100 mmHg was expected.*'{cell}' \(row 2\)"):
        hemodynamic_tasks("p", task, table(w=["12", cell]), ["1", "2"])


def test_kilopascals_are_refused_and_zeros_are_counted() -> None:
    task = HemodynamicTask(kind="hemodynamic", mpcwp="w")
    with pytest.raises(DataError, match=r"Column w of t.csv: the median pressure is 1.33; mmHg were expected.*kPa"):
        hemodynamic_tasks("p", task, table(w=["1.33", "3.2", "0.8", None]), list("abcd"))
    found = hemodynamic_tasks("p", task, table(w=["0", "12", "16", None]), list("abcd"))["p-mpcwp"]
    assert found.notes == ("1 of 3 values of w are 0 mmHg, and count as that.",)
    assert not hemodynamic_tasks("p", task, table(w=["9", "12"]), list("ab"))["p-mpcwp"].notes


def test_a_task_without_pressures_is_no_task() -> None:
    plan = {
        "name": "x",
        "record": "r",
        "patient": "p",
        "signals": {"file": "a"},
        "tasks": {"p": {"kind": "hemodynamic"}},
    }
    with pytest.raises(UsageError, match="name the column of at least one pressure"):
        parse_plan(plan, where="plan")


@pytest.mark.parametrize("ids", [["9" * 5000, "10"], ["²", "10"], ["9" * 19, "10"]])
def test_ids_that_are_no_numbers_are_compared_as_text(ids: list[str]) -> None:
    task = TaskTable(("a",), dict.fromkeys(ids, frozenset[str]()))
    assert later_records([task], ids, ["p", "p"], None) == {max(ids)}


def test_without_times_the_lowest_id_stands_for_its_patient() -> None:
    task = TaskTable(("l",), dict.fromkeys(["10", "9", "11"], frozenset()))
    assert later_records([task], ["10", "9", "11", "1"], ["p"] * 4, None) == {"10", "11"}


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.one_of(st.none(), st.integers(0, 3))),
        min_size=1,
        max_size=14,
    ),
    with_times=st.booleans(),
    data=st.data(),
)
def test_one_record_a_patient_against_the_definition(rows: list[Any], with_times: bool, data: st.DataObject) -> None:
    ids = [str(number) for number in data.draw(st.permutations(range(len(rows))))]
    patients = [f"p{patient}" for patient, _, _ in rows]
    known = dict(zip(ids, (count for _, count, _ in rows), strict=True))
    times = dict(zip(ids, (time for _, _, time in rows), strict=True))
    tasks = [TaskTable(("l",), {i: frozenset() for i in ids if known[i] > depth}) for depth in range(2)]
    part_of = {patient: data.draw(st.sampled_from(["train", "val", "test"])) for patient in sorted(set(patients))}
    split = {record: part_of[patient] for record, patient in zip(ids, patients, strict=True)}
    days = np.array([np.nan if times[i] is None else times[i] for i in ids], dtype=float) if with_times else None
    thinned = one_a_patient(split, later_records(tasks, ids, patients, days))
    for patient in set(patients):
        own = [record for record, whose in zip(ids, patients, strict=True) if whose == patient]
        kept = [record for record in own if record in thinned]
        inside = [record for record in own if known[record]]
        if part_of[patient] == "train" or not inside:
            assert kept == own
            continue
        fullest = [record for record in inside if known[record] == max(known[i] for i in inside)]
        timed = [record for record in fullest if with_times and times[record] is not None]
        earliest = [i for i in timed if times[i] == min(times[j] for j in timed)] or fullest
        assert [i for i in kept if known[i]] == [min(earliest, key=int)]
        assert [i for i in kept if not known[i]] == [i for i in own if not known[i]]


def test_an_imported_cohort(ward: Ward, home: Path) -> None:
    """Twelve patients with two ECGs each: the first of each in val and test, by time; both in train."""
    ward.write("npy")
    for index, row in enumerate(ward.rows):
        row |= {"w": 10 + index % 2 * 10, "a": "" if index == 0 else 25, "when": f"2024-01-{28 - index:02d}"}
    plan = parse_plan(
        ward.plan(
            time="when",
            tasks={"p": {"kind": "hemodynamic", "mpcwp": "w", "mpa": "a"}},
            splits={"given": {"kind": "column", "column": "part"}},
        ),
        where="plan",
    )
    cohort = import_table(ward.table(), ward.signals, plan)
    parts = cohort.split("given").tolist()
    assert [parts.count(part) for part in ("train", "val", "test", "")] == [8, 4, 4, 8]
    assert set(np.array(ward.ids())[np.array(parts) == ""]) == {
        f"e{i:02d}" for i in range(24) if i // 2 % 3 and not i % 2
    }
    manifest = cohort.manifest
    assert manifest.families == {"p-mpcwp": "hemodynamic", "p-mpa": "hemodynamic"}
    assert manifest.notes == (
        "Task p-mpa: 23 of 24 records are in it; left out: 1 (no catheter value).",
        "Split rule given: 8 records in no split: later ECGs of patients in val and test, of whom p takes one each.",
    )
    assert manifest.rules["import-p-mpa"].endswith("left out: 1 no catheter value")
    assert manifest.tasks["p-mpcwp"].positives_present["test"] == {"mpcwp_gte_15": 4}


def test_a_record_that_a_rule_puts_nowhere_stands_for_nobody(ward: Ward, home: Path) -> None:
    """The first ECG of every patient is in no split, so that the second one counts."""
    ward.write("npy")
    for index, row in enumerate(ward.rows):
        row |= {"w": 20, "half": "test" if index % 2 else "", "part": ("train", "test")[index // 2 % 2]}
    column = {"kind": "column", "column": "half"}
    tasks = {"p": {"kind": "hemodynamic", "mpcwp": "w"}}
    plan = parse_plan(
        ward.plan(tasks=tasks, splits={"half": column, "part": {**column, "column": "part"}}), where="plan"
    )
    cohort = import_table(ward.table(), ward.signals, plan)
    assert cohort.split("half").tolist() == ["", "test"] * 12
    assert cohort.split("part").tolist() == ["train", "train", "test", ""] * 6


def test_two_templates_have_one_record_a_patient_together(ward: Ward, home: Path) -> None:
    """Each by itself would keep another ECG of a patient, and thin out that of the other."""
    ward.write("npy")
    for index, row in enumerate(ward.rows):
        row |= {"w": 20 if index % 2 else "", "a": 25, "part": "test"}
    tasks = {"p": {"kind": "hemodynamic", "mpcwp": "w"}, "q": {"kind": "hemodynamic", "mpa": "a"}}
    splits = {"given": {"kind": "column", "column": "part"}}
    cohort = import_table(ward.table(), ward.signals, parse_plan(ward.plan(tasks=tasks, splits=splits), where="plan"))
    assert cohort.split("given").tolist() == ["", "test"] * 12
    assert cohort.manifest.notes[-1].endswith("of whom p and q take one each.")
