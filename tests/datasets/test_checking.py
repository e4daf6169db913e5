"""A scan that could not be stored, or that means something else than it says, is refused before a sample is read."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from einthoven.datasets.catalogue.ptbxl import scan as scan_ptbxl
from einthoven.datasets.checking import check_scan
from einthoven.datasets.dataset import Scan, SourceRecord, TaskTable
from einthoven.foundation.errors import DataError, UsageError


def read(record: SourceRecord) -> Any:
    raise AssertionError("no sample may be read")


def scan(**changes: Any) -> Scan:
    records = [SourceRecord(f"r{i}", f"p{i // 2}", metadata={"age": 40.0 + i, "sex": "F"}) for i in range(12)]
    sound = Scan(
        records=records,
        tasks={"rhythm": TaskTable(("AFIB", "SR"), {f"r{i}": frozenset({"SR"}) for i in range(12)})},
        splits={"fixed": {f"r{i}": "train" if i < 6 else "test" for i in range(12)}},
        read=read,
        rate=100.0,
        samples=1000,
        concepts={"truth": {"hr": [60.0] * 12}},
    )
    return replace(sound, **changes)


def records(**changes: Any) -> list[SourceRecord]:
    """The sound records, the first one changed."""
    first, *rest = scan().records
    return [replace(first, **changes), *rest]


def task(labels: tuple[str, ...] = ("AFIB", "SR"), /, **positives: Any) -> dict[str, TaskTable]:
    return {"rhythm": TaskTable(labels, positives or {"r1": frozenset()})}


def test_a_sound_scan_passes() -> None:
    check_scan(scan(), where="dataset x")
    check_scan(scan(concepts={}, tasks={}), where="dataset x")
    check_scan(scan(records=records(metadata={})), where="dataset x")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate": 0.0}, "The rate of dataset x is 0.0; a number above 0"),
        ({"rate": float("nan")}, "The rate of dataset x is nan"),
        ({"rate": "100"}, "The rate of dataset x is '100'; .* Correct it in `scan`"),
        ({"rate": float("inf")}, "The rate of dataset x is inf"),
        ({"samples": -1}, "The samples of dataset x is -1"),
        ({"samples": True}, "The samples of dataset x is True"),
        ({"samples": 999.5}, "The samples of dataset x are 999.5; a whole number"),
        ({"gain": None}, "The gain of dataset x is None"),
        ({"gain": float("inf")}, "The gain of dataset x is inf"),
        ({"records": [], "tasks": {}, "splits": {}, "concepts": {}}, "name no record"),
        ({"records": records(record_id=7)}, r"1 record_ids of dataset x are not text .* First: 7 \(row 0\)"),
        ({"records": records(patient_id="")}, r"1 patient_ids of dataset x are not text .* First: '' \(row 0\)"),
        ({"records": records(record_id="")}, r"1 record_ids of dataset x are not text .* First: '' \(row 0\)"),
        ({"records": records(patient_id=7)}, r"1 patient_ids of dataset x are not text .* First: 7 \(row 0\)"),
        ({"records": records(record_id="r3")}, "1 record ids of dataset x occur more than once.* First: r3"),
        ({"records": records(metadata={"flat_leads": "I"})}, "1 metadata columns .* First: flat_leads"),
        *(
            ({"records": records(metadata={column: "I"})}, f"1 metadata columns .* First: {column}")
            for column in ("record_id", "patient_id", "clipped_leads")
        ),
        ({"records": records(metadata={"age": "40"})}, r"1 ages of dataset x are neither .* '40' \(record r0\)"),
        ({"records": records(metadata={"age": -1})}, r"1 ages .* First: -1 \(record r0\)"),
        ({"records": records(metadata={"age": 300})}, r"1 ages .* First: 300 \(record r0\)"),
        ({"records": records(metadata={"age": float("nan")})}, "1 ages .* First: nan"),
        ({"records": records(metadata={"age": True})}, "1 ages .* First: True"),
        ({"records": records(metadata={"sex": "male"})}, r"1 sexes .* First: 'male' \(record r0\)"),
        ({"tasks": {"../evil": TaskTable(("A",), {})}}, r"1 names of tasks .* cannot be file names.* '\.\./evil'"),
        ({"tasks": {5: TaskTable(("A",), {})}}, "1 names of tasks .* Use letters, digits, .* First: 5"),
        ({"tasks": {".hidden": TaskTable(("A",), {})}}, "cannot be file names"),
        ({"tasks": {"a" * 101: TaskTable(("A",), {})}}, "cannot be file names"),
        ({"tasks": task(())}, "task rhythm of dataset x has no labels"),
        ({"tasks": task(("record_id",))}, "1 labels of task rhythm .* 'record_id'"),
        ({"tasks": task(("A", ""))}, "1 labels of task rhythm .* First: ''"),
        (
            {"tasks": task(("A", "B", "A"))},
            "1 labels of task rhythm of dataset x are named more than once. Name each once. First: A",
        ),
        ({"tasks": task(r99=frozenset())}, "1 records of task rhythm .* or add them to `records`. First: r99"),
        ({"tasks": task(r1="SR")}, r"1 positives of task rhythm .* a frozenset in `scan`. First: 'SR' \(record r1\)"),
        ({"tasks": task(r1=["SR"])}, r"1 positives of task rhythm .* First: \['SR'\] \(record r1\)"),
        ({"tasks": task(r1=frozenset({1, "x"}))}, r"2 labels that .* First: 1 \(first in record r1\), 'x'"),
        ({"tasks": task(r1=frozenset({"AFL"}))}, r"1 labels that .* First: 'AFL' \(first in record r1\)"),
        ({"splits": {}}, "has no split rule"),
        ({"splits": {"a/b": {}}}, "1 names of split rules .* 'a/b'"),
        ({"splits": {"fixed": {"r99": "train"}}}, "1 records of split rule fixed .* First: r99"),
        ({"splits": {"fixed": {"r0": "train", "r1": "test"}}}, "puts 1 patient"),
        ({"splits": {"../evil": {}}}, r"1 names of split rules .* cannot be file names.* '\.\./evil'"),
        ({"concepts": {"../evil": {}}}, r"1 names of concept tables .* cannot be file names.* '\.\./evil'"),
        ({"concepts": {"x y": {}}}, "1 names of concept tables"),
        (
            {"concepts": {"t": {"hr": [1.0]}}},
            r"1 concepts of concept table t .* 12 records. Give NaN .* First: hr \(1\)",
        ),
        ({"concepts": {"t": {"record_id": [1.0] * 12}}}, "has a concept 'record_id'"),
    ],
)
def test_each_defect_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_scan(scan(**changes), where="dataset x")


def test_the_number_and_the_first_ten_are_said() -> None:
    unknown = {f"q{i}": frozenset[str]() for i in range(25)}
    with pytest.raises(DataError, match=r"^25 records .* First: q0, q1, .*, q9 and 15 more\.$"):
        check_scan(scan(tasks={"rhythm": TaskTable(("A",), unknown)}), where="dataset x")


def test_a_split_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="into 'dev'"):
        check_scan(scan(splits={"fixed": {"r0": "dev"}}), where="dataset x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sex": 2}, "record 1 has sex 2; 0 (male), 1 (female) or nothing was expected"),
        ({"sex": 0.5}, "record 1 has sex 0.5; 0 (male), 1 (female) or nothing was expected"),
        ({"sex": "F"}, "record 1 has sex 'F'; a number was expected"),
        ({"strat_fold": 2.5}, "record 1 has strat_fold 2.5; a whole number was expected"),
        ({"patient_id": "102.5"}, "record 1 has patient_id 102.5; a whole number was expected"),
        ({"patient_id": "inf"}, "record 1 has patient_id inf; a whole number was expected"),
        ({"ecg_id": ""}, "the record in row 1 has no ecg_id"),
        ({"ecg_id": "x"}, "record in row 1 has ecg_id 'x'; a number was expected"),
        ({"filename_lr": ""}, "record 1 has no filename_lr"),
        ({"scp_codes": "{1: 100.0}"}, "scp_codes of record 1 is '{1: 100.0}'"),
    ],
)
def test_an_odd_value_of_ptbxl_is_named(ptbxl, change, message) -> None:
    ptbxl.rows[0].update(change)
    ptbxl.write_metadata()
    with pytest.raises(DataError, match=re.escape(message)):
        scan_ptbxl(ptbxl.path, 100.0, {})


def test_sexes_written_as_decimals_are_the_same_sexes(ptbxl) -> None:
    before = [record.metadata["sex"] for record in scan_ptbxl(ptbxl.path, 100.0, {}).records]
    for row in ptbxl.rows:
        row["sex"] = f"{row['sex']}.0"
    ptbxl.write_metadata()
    assert [record.metadata["sex"] for record in scan_ptbxl(ptbxl.path, 100.0, {}).records] == before
    assert set(before) == {"F", "M"}


def test_ids_written_as_decimals_are_the_same_ids(ptbxl) -> None:
    before = [record.record_id for record in scan_ptbxl(ptbxl.path, 100.0, {}).records]
    ptbxl.rows[5]["ecg_id"] = "6.0"
    ptbxl.write_metadata()
    assert [record.record_id for record in scan_ptbxl(ptbxl.path, 100.0, {}).records] == before


def test_an_odd_fold_is_named_although_the_others_have_become_text(ptbxl) -> None:
    for row in ptbxl.rows:
        row["strat_fold"] = f"{row['strat_fold']}.0"
    ptbxl.rows[5]["strat_fold"] = "x"
    ptbxl.write_metadata()
    with pytest.raises(DataError, match="record 6 has strat_fold 'x'; a number was expected"):
        scan_ptbxl(ptbxl.path, 100.0, {})


@pytest.mark.parametrize("value", ["yes", "2.0"])
def test_an_odd_mark_of_a_statement_is_named_and_empties_no_task(ptbxl, value) -> None:
    file = ptbxl.path / "scp_statements.csv"
    file.write_text(file.read_text().replace("AFIB,fibrillation,,,1.0", f"AFIB,fibrillation,,,{value}"))
    with pytest.raises(DataError, match=r"AFIB has rhythm .*; 1 or nothing was expected"):
        scan_ptbxl(ptbxl.path, 100.0, {})
