"""What a scan says as columns is what it says as lists and dictionaries."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einthoven.datasets.checking import check_scan
from einthoven.datasets.columns import LabelColumns, RecordTable, SplitColumn, columnar, label_columns
from einthoven.datasets.concepts import ConceptColumns
from einthoven.datasets.dataset import SPLITS, Scan, SourceRecord, TaskTable
from einthoven.foundation.errors import DataError, UsageError

LABELS = ("A", "B", "C")


@st.composite
def scans(draw: st.DrawFn) -> Scan:
    count = draw(st.integers(1, 12))
    ids = [f"r{number}" for number in draw(st.permutations(range(count)))]
    files = draw(st.lists(st.lists(st.sampled_from(["a/x.dat", "b.hea"]), max_size=2), min_size=count, max_size=count))
    records = [
        SourceRecord(
            record_id=record,
            patient_id=f"p{record}",
            files=tuple(files[row]),
            metadata={
                "age": draw(st.none() | st.floats(0, 100)),
                "sex": draw(st.sampled_from(["F", "M", None])),
                "n": row,
            },
            left_out=draw(st.sampled_from(["", "short"])),
        )
        for row, record in enumerate(ids)
    ]
    in_task = draw(st.lists(st.sampled_from(ids), unique=True))
    positives = {record: frozenset(draw(st.sets(st.sampled_from(LABELS)))) for record in in_task}
    in_split = draw(st.lists(st.sampled_from(ids), unique=True))
    split = {record: draw(st.sampled_from(SPLITS)) for record in in_split}
    return Scan(
        records=records,
        tasks={"t": TaskTable(LABELS, positives)},
        splits={"s": split},
        read=lambda record: pytest.fail("no sample may be read"),
        rate=100.0,
        samples=10,
        concepts={"c": {"x": [float(row) for row in range(count)]}},
    )


@given(scans())
def test_columns_are_read_like_what_they_stand_for(scan: Scan) -> None:
    found = columnar(scan)
    assert list(found.records) == list(scan.records)
    assert [found.records[row] for row in range(len(scan.records))] == list(scan.records)
    assert found.records[-1] == scan.records[-1]
    assert found.records[1:3] == scan.records[1:3]
    assert found.tasks["t"].positives == scan.tasks["t"].positives
    assert dict(found.splits["s"]) == dict(scan.splits["s"])
    assert len(found.splits["s"]) == len(scan.splits["s"])
    assert (np.diff(label_columns(found.tasks["t"]).rows) > 0).all()
    assert found.concepts["c"]["x"][-1] == len(scan.records) - 1
    again = columnar(found)
    assert (again.records, again.tasks, again.splits) == (found.records, found.tasks, found.splits)


def test_some_records_are_taken_in_the_order_that_is_asked_for() -> None:
    table = RecordTable.of([SourceRecord(f"r{i}", "p", files=(f"{i}",)) for i in range(10)])
    assert [r.record_id for r in table.take(np.array([2, 3, 4]))] == ["r2", "r3", "r4"]
    assert [r.record_id for r in table.take(np.array([7, 0, 7]))] == ["r7", "r0", "r7"]
    assert table.take(np.array([], dtype=int)) == []
    with pytest.raises(IndexError):
        table[10]


def columns_of(scan: Scan) -> Scan:
    return check_scan(scan, where="dataset x")


@pytest.mark.parametrize(
    ("rows", "targets"),
    [
        ([1, 0], [[0], [1]]),
        ([0, 9], [[0], [1]]),
        ([0, 1], [[0], [2]]),
        ([0, 1], [[0, 1], [1, 0]]),
        ([-1, 0], [[0], [1]]),
    ],
)
def test_label_columns_that_do_not_fit_are_refused(rows: list[int], targets: list[list[int]]) -> None:
    ids = pl.Series(["r0", "r1"])
    bad = LabelColumns(ids, ("A",), np.array(rows), np.array(targets, dtype=np.uint8))
    scan = Scan(
        records=RecordTable(ids, ids),
        tasks={"t": TaskTable(("A",), bad)},
        splits={"s": SplitColumn(ids, np.array([0, 2]))},
        read=lambda record: pytest.fail("no sample may be read"),
        rate=100.0,
        samples=10,
    )
    with pytest.raises(DataError, match="columns of task t of dataset x do not fit"):
        columns_of(scan)


@pytest.mark.parametrize("codes", [[0], [0, 3], [0, -2]])
def test_a_split_column_that_does_not_fit_is_refused(codes: list[int]) -> None:
    ids = pl.Series(["r0", "r1"])
    scan = Scan(
        records=RecordTable(ids, ids),
        tasks={},
        splits={"s": SplitColumn(ids, np.array(codes))},
        read=lambda record: pytest.fail("no sample may be read"),
        rate=100.0,
        samples=10,
    )
    with pytest.raises(DataError, match="column of split rule s of dataset x does not fit"):
        columns_of(scan)


def test_a_patient_in_two_splits_is_found_in_columns_too() -> None:
    ids, patients = pl.Series(["r0", "r1", "r2"]), pl.Series(["p", "q", "p"])
    scan = Scan(
        records=RecordTable(ids, patients),
        tasks={},
        splits={"s": SplitColumn(ids, np.array([0, 1, 2]))},
        read=lambda record: pytest.fail("no sample may be read"),
        rate=100.0,
        samples=10,
    )
    with pytest.raises(DataError, match=r"1 patient\(s\).*First: patient p \(record r0 in train, record r2 in test\)"):
        columns_of(scan)


def test_a_rule_by_patient_names_the_split_of_every_record() -> None:
    table = RecordTable(pl.Series(["a", "b", "c"]), pl.Series(["p", "q", "p"]))
    split = SplitColumn.by_patient(table, {"p": "val"})
    assert dict(split) == {"a": "val", "c": "val"}
    assert split.names().tolist() == ["val", "", "val"]
    with pytest.raises(KeyError):
        split["b"]


def columnar_scan(**changes: object) -> Scan:
    ids = pl.Series(["r0", "r1", "r2"])
    fields = {
        "records": RecordTable(ids, pl.Series(["p", "q", "p"])),
        "tasks": {},
        "splits": {"s": SplitColumn(ids, np.zeros(3))},
        "read": lambda record: pytest.fail("no sample may be read"),
        "rate": 100.0,
        "samples": 10,
    }
    return Scan(**{**fields, **changes})


@pytest.mark.parametrize(
    ("ids", "patients", "metadata", "message"),
    [
        (["a", "b", "a"], ["p"] * 3, {}, "1 record ids .* occur more than once.* First: a"),
        (["a", "", None], ["p"] * 3, {}, r"2 record_ids .* First: '' \(row 1\), None \(row 2\)"),
        ([1, 2, 3], ["p"] * 3, {}, "1 record_ids .* are not text.* First: a column of Int64"),
        (["a", "b", "c"], ["p", None, "p"], {}, r"1 patient_ids .* First: None \(row 1\)"),
        (["a", "b", "c"], ["p"] * 3, {"age": [1.0, None, 151.0]}, r"1 ages .* First: 151.0 \(record c\)"),
        (
            ["a", "b", "c"],
            ["p"] * 3,
            {"age": [-1.0, float("nan"), 0.0]},
            r"2 ages .* -1.0 \(record a\), nan \(record b\)",
        ),
        (["a", "b", "c"], ["p"] * 3, {"sex": ["F", "w", None]}, r"1 sexes .* First: 'w' \(record b\)"),
        (["a", "b", "c"], ["p"] * 3, {"samples": [1, 2, 3]}, "1 metadata columns .* First: samples"),
    ],
)
def test_faults_of_records_given_as_columns_are_named(
    ids: list[str], patients: list[str], metadata: dict[str, list[object]], message: str
) -> None:
    names = pl.Series(ids)
    table = RecordTable(names, pl.Series(patients), metadata=pl.DataFrame(metadata))
    with pytest.raises(DataError, match=message):
        columns_of(columnar_scan(records=table, splits={"s": SplitColumn(names, np.zeros(3))}))


def test_concepts_of_too_few_records_are_refused() -> None:
    short = ConceptColumns(("x",), 2, lambda start, stop: {"x": [0.0] * (stop - start)})
    with pytest.raises(DataError, match=r"1 concepts of concept table c of dataset x .* First: x \(2\)"):
        columns_of(columnar_scan(concepts={"c": short}))


FAULTS = {
    "record_id": ["r0", "", "again"],
    "patient_id": ["p", ""],
    "age": [None, 0.0, 61.5, 150.0, -1.0, 151.0, float("nan"), float("inf")],
    "sex": [None, "F", "M", "f", ""],
}


@st.composite
def faulty(draw: st.DrawFn) -> list[SourceRecord]:
    """Records with at most one kind of value that is not as it must be, often none."""
    kind = draw(st.sampled_from(list(FAULTS)))
    more = draw(st.sampled_from([{}, {"n": 1}, {"samples": 1}]))
    rows = []
    for row in range(draw(st.integers(1, 14))):
        sound = {"record_id": f"r{row}", "patient_id": f"p{row}", "age": 50.0, "sex": "F"}
        given_row = {**sound, kind: draw(st.sampled_from([*FAULTS[kind], sound[kind]]))}
        person = {"age": given_row["age"], "sex": given_row["sex"], **more}
        rows.append(SourceRecord(given_row["record_id"], given_row["patient_id"], metadata=person))
    return rows


@given(faulty(), st.sampled_from([0, 1]))
def test_a_scan_is_refused_in_the_same_words_as_lists_and_as_columns(records: list[SourceRecord], short: int) -> None:
    ids = pl.Series([record.record_id for record in records])
    table = RecordTable(
        ids,
        pl.Series([record.patient_id for record in records]),
        metadata=pl.DataFrame(
            [dict(record.metadata) for record in records],
            schema_overrides={"age": pl.Float64, "sex": pl.String},
            infer_schema_length=None,
        ),
    )
    values = [1.0] * (len(records) - short)

    def outcome(given_records: object, concepts: object) -> str:
        scan = columnar_scan(records=given_records, splits={"s": dict.fromkeys(ids, "train")}, concepts={"c": concepts})
        try:
            return repr(list(columns_of(scan).records))
        except DataError as error:
            return str(error)

    part = ConceptColumns(("x",), len(values), lambda start, stop: {"x": values[start:stop]})
    assert outcome(records, {"x": values}) == outcome(table, part)


@pytest.mark.parametrize("ages", [["40", "50", "60"], [True, False, True]])
def test_ages_that_are_no_numbers_are_refused_in_columns_as_in_lists(ages: list[object]) -> None:
    ids = pl.Series(["r0", "r1", "r2"])
    with pytest.raises(DataError, match=r"`age` is a column of .*; years, as numbers"):
        RecordTable(ids, ids, metadata=pl.DataFrame({"age": ages}))
    listed = [SourceRecord(record, record, metadata={"age": age}) for record, age in zip(ids, ages, strict=True)]
    with pytest.raises(DataError, match="3 ages of dataset x"):
        columns_of(columnar_scan(records=listed, splits={"s": {}}))


def test_nothing_about_leaving_out_is_not_left_out() -> None:
    ids = pl.Series(["a", "b", "c"])
    table = RecordTable(ids, ids, left_out=pl.Series([None, "short", ""]))
    assert table.left_out.tolist() == [False, True, False]
    assert [record.left_out for record in table] == ["", "short", ""]


def test_columns_that_were_made_for_other_records_are_refused() -> None:
    others = pl.Series(["r2", "r1", "r0"])
    with pytest.raises(DataError, match="columns of split rule s of dataset x were made for other records"):
        columns_of(columnar_scan(splits={"s": SplitColumn(others, np.zeros(3))}))
    labels = LabelColumns(others, ("A",), np.array([0]), np.array([[1]]))
    with pytest.raises(DataError, match="columns of task t of dataset x were made for other records"):
        columns_of(columnar_scan(tasks={"t": TaskTable(("A",), labels)}))


@pytest.mark.parametrize("value", [256, -1, 0.5, float("nan")])
def test_values_that_a_column_does_not_hold_are_refused_and_not_made_others(value: float) -> None:
    ids = pl.Series(["r0"])
    with pytest.raises(DataError, match=r"Targets are .* that uint8 does not hold"):
        LabelColumns(ids, ("A",), np.array([0]), np.array([[value]]))
    if value != -1:
        with pytest.raises(DataError, match=r"Codes of splits are .* that int8 does not hold"):
            SplitColumn(ids, np.array([value]))


def test_an_unknown_split_is_refused_and_not_taken_for_none() -> None:
    table = RecordTable(pl.Series(["a", "b"]), pl.Series(["p", "q"]))
    with pytest.raises(UsageError, match="Record b was put into split 'validation'"):
        SplitColumn.named(table.record_id, np.array(["", "validation"]))
    with pytest.raises(UsageError, match="Record a was put into split 'dev'"):
        SplitColumn.by_patient(table, {"p": "dev"})
