"""Labels, splits and metadata as a mapping states them, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from einthoven.datasets.cohort import Cohort
from einthoven.datasets.importing.loading import load_plan
from einthoven.datasets.importing.mapping import Time, parse_plan
from einthoven.datasets.importing.preparing import import_table, preview
from einthoven.datasets.splitting import hash_split
from einthoven.foundation.errors import DataError, EinthovenError, UsageError

from .ward import Ward


@pytest.fixture
def made(ward: Ward, home: Path) -> Ward:
    ward.write("npy")
    return ward


def imported(ward: Ward, **plan: Any) -> Cohort:
    return import_table(ward.table(), ward.signals, parse_plan(ward.plan(**plan), where="plan"), replace=True)


def refused(ward: Ward, words: str, error: type[EinthovenError] = DataError, **plan: Any) -> None:
    with pytest.raises(error) as caught:
        imported(ward, **plan)
    assert caught.match(words)


def test_boolean_columns(made: Ward) -> None:
    made.rows[4]["afib"] = ""
    tasks = {"af": {"kind": "boolean", "columns": {"AF": "afib", "young": "sex"}}}
    task = imported(made, tasks=tasks).task("af")
    assert task.labels == ("AF", "young")
    assert task.rows.tolist() == [i for i in range(24) if i != 4]
    assert task.targets[:4].tolist() == [[1, 0], [0, 0], [0, 1], [1, 1]]
    assert imported(made, tasks=tasks).manifest.notes == (
        "Task af: 23 of 24 records are in it; left out: 1 (empty cell).",
    )


def test_classes(made: Ward) -> None:
    assert imported(made, tasks={"r": {"kind": "classes", "column": "rhythm"}}).task("r").labels == ("AF", "PACE", "SR")
    named = {"kind": "classes", "column": "rhythm", "classes": {"SR": "sinus", "AF": "af", "PACE": "other"}}
    task = imported(made, tasks={"r": named}).task("r")
    assert task.labels == ("sinus", "af", "other")
    assert task.targets[:3].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    some = {"kind": "classes", "column": "rhythm", "classes": ["SR", "AF"]}
    refused(made, r"8 cells of column rhythm .*one of 'SR', 'AF' was expected.*'PACE' \(row 3\)", tasks={"r": some})


def test_codes(made: Ward) -> None:
    made.rows[3]["codes"] = ""
    codes = {"kind": "codes", "column": "codes", "delimiter": ";", "none": "none"}
    task = imported(made, tasks={"c": codes}).task("c")
    assert task.labels == ("A", "B")
    assert task.rows.tolist() == [i for i in range(24) if i != 3]
    assert task.targets[:3].tolist() == [[1, 1], [0, 1], [0, 0]]
    mapped = imported(made, tasks={"c": {**codes, "labels": {"A": "first"}}}).task("c")
    assert (mapped.labels, mapped.targets[:3].tolist()) == (("first",), [[1], [0], [0]])
    refused(
        made, "1 code of the mapping occurring nowhere.*'C'", tasks={"c": {**codes, "labels": {"C": "x", "A": "y"}}}
    )


def test_the_default_split_is_by_patient(made: Ward) -> None:
    cohort = imported(made)
    patients = dict(zip(cohort.record_ids, cohort.patient_ids, strict=True))
    expected = hash_split(patients, salt="einthoven", train=0.7, val=0.1)
    assert cohort.split().tolist() == list(expected.values())


def test_splits_of_every_kind(made: Ward) -> None:
    made.rows[0]["part"] = made.rows[1]["part"] = ""
    rules = {
        "given": {"kind": "column", "column": "part"},
        "coded": {"kind": "column", "column": "sex", "codes": {0: "train", 1: "test"}},
        "fold": {"kind": "folds", "folds": 4, "seed": 1},
        "hash": {"kind": "hash", "train": 0.5, "val": 0.25, "salt": "x"},
    }
    cohort = imported(made, splits=rules)
    assert cohort.manifest.split_rules == ("given", "coded", "fold-1", "fold-2", "fold-3", "fold-4", "hash")
    assert cohort.split().tolist()[:8] == ["", "", "val", "val", "test", "test", "train", "train"]
    assert cohort.split("coded").tolist()[:4] == ["train", "train", "test", "test"]
    tested = [i for fold in range(1, 5) for i, p in enumerate(cohort.split(f"fold-{fold}")) if p == "test"]
    assert sorted(tested) == list(range(24))
    made.rows[2]["part"] = "dev"
    refused(made, r"'train', .*'test' was expected.*'dev' \(row 3\)", splits=rules)
    made.rows[2]["part"] = "test"
    refused(made, "patient", splits=rules)  # p01 is in val too


def test_age_sex_and_further_columns(made: Ward) -> None:
    made.rows[0] |= {"age": "NaN", "sex": ""}
    made.rows[1] |= {"age": 300, "sex": 0}
    made.rows[2] |= {"sex": 0}
    cohort = imported(made, age="age", sex={"column": "sex", "codes": {0: "M", 1: "F"}}, metadata=["rhythm", "fs"])
    records = cohort.records
    assert records["age"].to_list()[:3] == [None, None, 42]
    assert records["sex"].to_list()[:4] == [None, "M", "M", "F"]
    assert records["rhythm"].to_list()[:2] == ["SR", "AF"]
    assert cohort.manifest.notes == (
        "1 age above 125 taken as unknown.",
        "1 patient with two sexes in the table.",
    )
    for row in made.rows:
        row["sex"] = "Female"
    assert set(imported(made, sex="sex").records["sex"]) == {"F"}


@pytest.mark.parametrize(
    ("column", "cell", "plan", "words"),
    [
        ("afib", "2", {}, r"1 cell of column afib .*yes or no was expected.*'2' \(row 3\)"),
        ("age", "-1", {"age": "age"}, r"years from 0 was expected.*'-1' \(row 3\)"),
        ("age", "old", {"age": "age"}, r"a number .*'old' \(row 3\)"),
        ("sex", "X", {"sex": "sex"}, r"one of 'f', 'female', 'm', 'male' was expected.*First: '0' \(row 1\)"),
        ("ecg", "e00", {}, r"2 cells of column ecg .* occurring more than once.*'e00' \(row 1\), 'e00' \(row 3\)"),
        ("ecg", "", {}, r"an id was expected.*None \(row 3\)"),
        ("patient", " ", {}, r"an id was expected.*None \(row 3\)"),
        ("fs", "31/05/2024", {"time": "fs"}, r"24 cells of column fs .*an ISO date"),
    ],
)
def test_cells_that_cannot_be_meant(made: Ward, column: str, cell: str, plan: dict[str, Any], words: str) -> None:
    made.rows[2][column] = cell
    refused(made, words, **plan)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"record": "egc"}, "Unknown column 'egc' in table.csv. Did you mean 'ecg'"),
        ({"signals": {"file": "{filename}.npy"}}, "Unknown column 'filename' in `signals.file`"),
        ({"age": "agee"}, "Did you mean 'age'"),
        ({"patients": "patient"}, "unknown key patients, did you mean patient"),
        ({"signals": {"unit": "mV"}}, "unknown key signals.unit, did you mean unit"),
        ({"tasks": {}}, "tasks: Dictionary should have at least 1 item"),
        ({"tasks": {"a b": {"kind": "boolean", "columns": ["afib"]}}}, "task 'a b': letters"),
        ({"tasks": {"a": {"kind": "bool", "columns": ["afib"]}}}, "tasks.a: Input tag 'bool'"),
        ({"name": "ptbxl"}, "A registered dataset is called 'ptbxl'"),
        ({"signals": {"rate": 0}}, "greater than or equal to 50"),
        ({"signals": {"gain": 200}}, "not both"),
        ({"signals": {"leads": "I,II,I"}}, "must name each lead once"),
        ({"signals": {"row": "place", "row_ids": "exam_id"}}, "`row` or `row_ids`, not both"),
        ({"splits": {"h": {"kind": "hash", "train": 0.8, "val": 0.2}}}, "add up to less than 1"),
        ({"splits": {"f": {"kind": "folds", "folds": 13}}}, "expected 3 to 12"),
        ({"signals": {"seconds": 1.0001}}, "no whole number of samples"),
        ({"metadata": ["record_id"]}, "1 column of `metadata` with a name"),
        ({"metadata": ["age"]}, "use the key `age: age`"),
        ({"metadata": ["fs", "sex"], "sex": "sex"}, "use the key `sex: sex`"),
        ({"signals": {"seconds": 1e308}}, "signals.seconds: Input should be less than or equal to 604800"),
        ({"signals": {"rate": 1e308}}, "mapping: signals.rate: Input should be less than or equal to 1000000"),
        ({"signals": {"rate": [1]}}, r"signals.rate: a number or text was expected \(found \[1\]\)\."),
        ({"signals": {"file": {"record": None}}}, "signals.file: text was expected .*begins with a brace in quotes"),
        (
            {"tasks": {"a": {"kind": "boolean", "columns": [True]}}},
            "mapping: tasks.a.columns.0: text was .*yes, no, on",
        ),
        (
            {"tasks": {"a": {"kind": "boolean", "columns": [7]}}},
            r"tasks.a.columns.0: text was .*\(found 7\): write it in q",
        ),
        ({"tasks": {"a": {"kind": "boolean", "columns": 7}}}, "tasks.a.columns: keys with values or a list was"),
        ({"tasks": {"classes": {"kind": "classes", "classes": [0, 1]}}}, "mapping: tasks.classes.column is missing"),
        (
            {"tasks": {"a": {"kind": "classes", "column": "rhythm", "classes": [["x"]]}}},
            "mapping: tasks.a.classes.0: text",
        ),
        ({"sex": {"codes": {}}}, "mapping: sex.column is missing"),
        ({"splits": {"f": {"kind": "folds", "folds": "x"}}}, "mapping: splits.f.folds: a whole number was expected"),
        ({"signals": {"rate": 49}}, "signals.rate: Input should be greater than or equal to 50"),
        ({"signals": {"rate": True}}, "signals.rate: a number was expected: YAML reads yes, no"),
        ({"signals": {"seconds": True}}, "signals.seconds: a number was expected: YAML reads yes, no"),
        ({"splits": {"f": {"kind": "folds", "seed": False}}}, "splits.f.seed: a number was expected: YAML reads"),
        ({"signals": {"leads": "I,II,"}}, "`leads` has an empty name"),
        ({"signals": {"leads": "I II V1"}}, "`leads` is one name, 'I II V1': write commas"),
        ({"signals": {"leads": ["I", "lead i"]}}, "must name each lead once, and has I twice"),
        ({"signals": {"unit": "mV"}}, r"unknown key signals.unit, did you mean units\?"),
        ({"splits": {"h": {"kind": "hash", "sald": "x"}}}, r"unknown key splits.h.sald, did you mean salt"),
        ({"splits": {"a": {"kind": "folds"}, "a-2": {"kind": "hash"}}}, "two split rules come to be called 'a-2'"),
        ({"splits": {"h": {"kind": "hash", "salt": "\ud800"}}}, "splits.h.salt with half of a surrogate pair"),
        ({"tasks": {"a": {"kind": "boolean", "columns": {"\ud800": "afib"}}}}, "columns.* with half of a surrogate"),
        ({"tasks": {"a": {"kind": "boolean", "columns": ["afib", "afib"]}}}, "must name each label once: afib, afib"),
        ({"tasks": {"a": {"kind": "boolean", "columns": []}}}, "must name each label once: it is empty"),
        ({"tasks": {"a": {"kind": "classes", "column": "rhythm", "classes": []}}}, "`classes` is empty"),
        ({"tasks": {"a": {"kind": "codes", "column": "codes", "delimiter": ";", "labels": {}}}}, "`labels` is empty"),
        ({"sex": {"column": "sex", "codes": {"m": "M", "M": "F"}}}, "'m' and 'M', but case does not matter"),
        ({"sex": {"column": "sex", "codes": {0: "M", "0": "F"}}}, "two keys stand for one cell: 0, '0'"),
        (
            {"splits": {"s": {"kind": "column", "column": "part", "codes": {"A": "val", "a": "test"}}}},
            "'A' and 'a', but case does not matter",
        ),
        ({"separator": '"'}, "`separator` is '\"'; a mark such as"),
        ({"separator": "\n"}, "a mark such as ';'"),
    ],
)
def test_mappings_that_cannot_be_meant(made: Ward, plan: dict[str, Any], words: str) -> None:
    refused(made, words, EinthovenError, **plan)  # type: ignore[arg-type]


@pytest.mark.parametrize("fmt", ["%", "day", "%d/%m", "%Y-%m-%d %Y", "%H:%M", "%Y-%Q-%d", "%d.%m.%Y%", "", "%Y\0%m%d"])
def test_a_format_that_reads_no_date_is_refused_itself(made: Ward, fmt: str) -> None:
    refused(
        made, r"time: `format` is .*year, month and day were expected", UsageError, time={"column": "fs", "format": fmt}
    )


@pytest.mark.parametrize("fmt", ["%d/%m/%Y", "%y%m%d", "%Y-%j", "%Y-%m-%dT%H:%M:%S.%f%z", "%d %b %Y", "%G-W%V-%u"])
def test_formats_that_read_dates(fmt: str) -> None:
    assert Time(column="c", format=fmt).format == fmt


def test_classes_may_be_numbers(made: Ward) -> None:
    cohort = imported(made, tasks={"s": {"kind": "classes", "column": "sex", "classes": [0, 1]}})
    assert cohort.manifest.tasks["s"].labels == ("0", "1")


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_none(made: Ward, name: str) -> None:
    with pytest.raises(UsageError, match="name of the cohort is empty"):
        import_table(made.table(), made.signals, parse_plan(made.plan(), where="plan"), name=name)


def test_one_column_for_both_ids_is_noted(made: Ward) -> None:
    manifest = imported(made, patient="ecg").manifest
    assert manifest.patients == 24
    assert manifest.notes == ("Every record counts as a patient of its own: the table does not say whose it is.",)


def test_the_same_request_is_kept_and_another_is_refused(made: Ward) -> None:
    file = made.table()
    first = import_table(file, made.signals, parse_plan(made.plan(), where="plan"))
    again = import_table(file, made.signals, parse_plan(made.plan(signals={"rate": 250.0}), where="plan"))
    assert again.manifest == first.manifest
    with pytest.raises(UsageError, match="was prepared from something else: mapping"):
        import_table(file, made.signals, parse_plan(made.plan(licence="other"), where="plan"))
    made.rows[0]["age"] = 99
    with pytest.raises(UsageError, match="was prepared from something else: table"):
        import_table(made.table(), made.signals, parse_plan(made.plan(), where="plan"))


def test_a_preview_writes_nothing_and_counts_what_would_be(made: Ward, home: Path) -> None:
    (made.signals / "e05.npy").unlink()
    plan = parse_plan(made.plan(splits={"given": {"kind": "column", "column": "part"}}), where="plan")
    found = preview(made.table(), made.signals, plan)
    assert not home.exists()
    assert (found.records, found.patients, found.missing, found.first) == (24, 12, ("e05.npy",), "")
    assert found.tasks["af"].records_present == {"train": 8, "val": 8, "test": 7}
    assert found.tasks["af"].positives_promised["train"] == {"afib": 4}
    broken = parse_plan(made.plan(signals={"units": "uV"}), where="plan")
    assert "These are not millivolts" in preview(made.table(), made.signals, broken).first


NOTHING = ("NaN", "null", "<NA>", "#N/A")


@pytest.mark.parametrize("column", ["ecg", "patient"])
@pytest.mark.parametrize("cell", NOTHING)
def test_what_programs_write_for_nothing_is_no_id(column: str, cell: str, made: Ward) -> None:
    """Else all patients without an id would be one."""
    made.rows[2][column] = cell
    refused(made, rf"1 cell of column {column} .*an id was expected.*'{cell}' \(row 3\)")


@pytest.mark.parametrize("cell", NOTHING)
def test_what_programs_write_for_nothing_is_no_class_and_no_code(cell: str, made: Ward) -> None:
    made.rows[2]["rhythm"] = made.rows[2]["codes"] = cell
    classes: dict[str, Any] = {"kind": "classes", "column": "rhythm"}
    refused(made, rf"a class or an empty cell .*'{cell}' \(row 3\)", tasks={"t": classes})
    assert imported(made, tasks={"t": {**classes, "classes": ["SR", "AF", "PACE", cell]}}).task("t").targets[2, 3]
    codes: dict[str, Any] = {"kind": "codes", "column": "codes", "delimiter": ";"}
    for more in ({}, {"labels": {"A": "a"}}):
        refused(made, rf"codes or an empty cell .*'{cell}' \(row 3\)", tasks={"t": {**codes, **more}})
    assert not imported(made, tasks={"t": {**codes, "none": cell}}).task("t").targets[2].any()


def test_a_delimiter_that_separates_nothing_is_noted(made: Ward) -> None:
    tasks = {"t": {"kind": "codes", "column": "codes", "delimiter": "|"}}
    assert "no cell of column codes has the delimiter '|'" in imported(made, tasks=tasks).manifest.notes[0]
    assert imported(made, tasks={"t": {**tasks["t"], "delimiter": ";"}}).manifest.notes == ()


@pytest.mark.parametrize("text", ["name: a\nname: b\n", "tasks: {a: {kind: boolean, kind: codes}}\n"])
def test_a_key_that_stands_twice_in_a_mapping_is_refused(text: str, tmp_path: Path) -> None:
    """YAML would keep the last one, and a task be lost without a word."""
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(UsageError, match="stands here for the second time"):
        load_plan(tmp_path / "m.yaml")
    (tmp_path / "m.yaml").write_text("a: &a {kind: codes}\nb: {<<: *a, kind: boolean}\n")
    with pytest.raises(UsageError, match="unknown key a"):
        load_plan(tmp_path / "m.yaml")
