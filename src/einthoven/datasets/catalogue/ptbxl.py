"""PTB-XL 1.0.3: 21,799 12-lead ECGs of 10 s from 18,869 patients, at 100 and 500 Hz.

Label rule of the four tasks: every key of `scp_codes` counts, whatever its likelihood, and a record is in a task if it
has at least one of its labels. Split rule: the dataset's own folds, 1-8 / 9 / 10, which keep patients together.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from einthoven.datasets.dataset import Dataset, DatasetCard, Record, Scan, Sizes, SourceRecord, TaskCard, TaskTable
from einthoven.datasets.downloading.release import physionet
from einthoven.foundation.errors import DataError

if TYPE_CHECKING:
    import polars as pl

    from einthoven.datasets.table_files import TextTable

METADATA = "ptbxl_database.csv"
STATEMENTS = "scp_statements.csv"
OFFICIAL_FOLDS = {**dict.fromkeys(range(1, 9), "train"), 9: "val", 10: "test"}
# PTB-XL writes 300 for every age above 89 (its own anonymisation rule).
_AGE_ABOVE_89 = 300.0
_COLUMNS = ("ecg_id", "patient_id", "age", "sex", "scp_codes", "strat_fold", "filename_lr", "filename_hr")
_SEX_OF_CODE = {0.0: "M", 1.0: "F"}
_KEPT_NUMBERS = ("height", "weight", "site")
_KEPT_FLAGS = ("validated_by_human",)
_KEPT = ("height", "weight", "site", "device", "recording_date", "validated_by_human", "pacemaker")


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read the two metadata files; no waveform is touched."""
    from einthoven.datasets.splitting import hash_split

    table = _with_types(_read(source / METADATA, _COLUMNS))
    statements = _read(source / STATEMENTS, ("diagnostic_class", "diagnostic_subclass", "form", "rhythm")).frame
    labels_of = _labels_by_code(statements)
    known = set(statements[statements.columns[0]])
    column = "filename_lr" if rate == 100.0 else "filename_hr"

    records: list[SourceRecord] = []
    positives: dict[str, dict[str, frozenset[str]]] = {task: {} for task in labels_of}
    official: dict[str, str] = {}
    patients: dict[str, str] = {}
    for number, row in enumerate(table.iter_rows(named=True), 1):
        record_id = _record_id(row, number)
        codes = _codes(row["scp_codes"], record_id)
        unknown = [code for code in codes if code not in known]
        if unknown:
            raise DataError(f"{METADATA}: record {record_id} has the code {unknown[0]!r}, which {STATEMENTS} does not.")
        for task, mapping in labels_of.items():
            found = frozenset(mapping[code] for code in codes if code in mapping)
            if found:
                positives[task][record_id] = found
        fold = _whole(row, "strat_fold", record_id)
        if fold not in OFFICIAL_FOLDS:
            raise DataError(f"{METADATA}: record {record_id} has strat_fold {row['strat_fold']}; 1 to 10 was expected.")
        official[record_id] = OFFICIAL_FOLDS[fold]
        patients[record_id] = str(row["patient_id"])
        if not row[column]:
            raise DataError(f"{METADATA}: record {record_id} has no {column}, so its samples cannot be found.")
        records.append(_record(row, record_id, fold, row[column], codes))

    def read(record: SourceRecord) -> Record:
        from einthoven.datasets.wfdb_files import read_wfdb

        stem = source / record.files[0].removesuffix(".hea")
        return read_wfdb(stem, record_id=record.record_id, patient_id=record.patient_id)

    return Scan(
        records=records,
        tasks={
            task: TaskTable(labels=tuple(sorted(set(mapping.values()))), positives=positives[task])
            for task, mapping in labels_of.items()
        },
        splits={
            "official": official,
            # The id as it stands in the file, "15709.0": another spelling would be another hash and another split.
            "interpbench": hash_split(
                patients,
                salt="ecg_fm_interpretability_benchmark_v1",
                train=0.70,
                val=0.15,
            ),
        },
        read=read,
        rate=rate,
        samples=int(rate * 10),
        gain=1000.0,
        source_files=(METADATA, STATEMENTS),
        rules={
            "ptbxl-labels": "1: every scp_codes key",
            "ptbxl-official-folds": "1: 1-8 / 9 / 10",
            "interpbench-hash": "1",
        },
    )


def _read(file: Path, columns: tuple[str, ...]) -> TextTable:
    from einthoven.datasets.table_files import read_table

    return read_table(file, columns, where=f"the folder of PTB-XL 1.0.3 that holds {METADATA} and {STATEMENTS}")


def _with_types(table: TextTable) -> pl.DataFrame:
    """The table with those columns that a cohort keeps as what they are."""
    kept = {name: table.numbers(name) for name in _KEPT_NUMBERS if name in table}
    flags = {name: table.flags(name, empty=True) for name in _KEPT_FLAGS if name in table}
    return table.frame.with_columns(**kept, **flags)


def _labels_by_code(statements: pl.DataFrame) -> dict[str, dict[str, str]]:
    """Task -> SCP code -> label, from the columns of scp_statements.csv (its first column is the code)."""
    code = statements.columns[0]
    rows = list(statements.iter_rows(named=True))
    return {
        "super": {r[code]: r["diagnostic_class"] for r in rows if r["diagnostic_class"]},
        "sub": {r[code]: r["diagnostic_subclass"] for r in rows if r["diagnostic_subclass"]},
        "form": {r[code]: r[code] for r in rows if _is_marked(r, "form", r[code])},
        "rhythm": {r[code]: r[code] for r in rows if _is_marked(r, "rhythm", r[code])},
    }


def _is_marked(row: Mapping[str, Any], column: str, code: str) -> bool:
    """Whether a statement counts for a task. As in `_number`, a 1 may come as text."""
    value = row[column]
    if value is None:
        return False
    try:
        marked = float(value) == 1.0
    except ValueError:
        marked = False
    if not marked:
        raise DataError(f"{STATEMENTS}: {code} has {column} {value!r}; 1 or nothing was expected.")
    return True


@cache  # a third of the records share their text with another
def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError):
        return None


def _codes(text: str, record_id: str) -> dict[str, float]:
    codes = _literal(text)
    if not isinstance(codes, dict) or not all(isinstance(code, str) for code in codes):
        raise DataError(
            f"{METADATA}: scp_codes of record {record_id} is {text!r}; a literal like {{'NORM': 100.0}} was expected."
        )
    return codes


def _record(row: Mapping[str, Any], record_id: str, fold: int, stem: str, codes: Mapping[str, float]) -> SourceRecord:
    patient = _whole(row, "patient_id", record_id)
    if patient is None:
        raise DataError(f"{METADATA}: record {record_id} has no patient_id, so it cannot be kept to one split.")
    age = _number(row, "age", record_id)
    return SourceRecord(
        record_id=record_id,
        patient_id=str(patient),
        files=(f"{stem}.hea", f"{stem}.dat"),
        metadata={
            "age": 90.0 if age == _AGE_ABOVE_89 else age,
            "age_is_above_89": age == _AGE_ABOVE_89,
            "sex": _sex(_number(row, "sex", record_id), record_id),
            "fold": fold,
            "scp_codes": " ".join(codes),
            **{column: row.get(column) for column in _KEPT},
        },
    )


def _number(row: Mapping[str, Any], column: str, record_id: str) -> float | None:
    """A number of the table. One odd value makes a whole column text, so text of a number is a number too."""
    value = row[column]
    try:
        return None if value is None else float(value)
    except ValueError:
        raise DataError(f"{METADATA}: record {record_id} has {column} {value!r}; a number was expected.") from None


def _whole(row: Mapping[str, Any], column: str, record_id: str) -> int | None:
    """A whole number of the table; PTB-XL writes those of some columns as 15709.0."""
    number = _number(row, column, record_id)
    if number is not None and not number.is_integer():
        raise DataError(f"{METADATA}: record {record_id} has {column} {row[column]}; a whole number was expected.")
    return None if number is None else int(number)


def _record_id(row: Mapping[str, Any], number: int) -> str:
    found = _whole(row, "ecg_id", f"in row {number}")
    if found is None:
        raise DataError(f"{METADATA}: the record in row {number} has no ecg_id, so nothing can be matched to it.")
    return str(found)


def _sex(code: float | None, record_id: str) -> str | None:
    if code is None:
        return None
    if code not in _SEX_OF_CODE:
        raise DataError(
            f"{METADATA}: record {record_id} has sex {code:g}; 0 (male), 1 (female) or nothing was expected."
        )
    return _SEX_OF_CODE[code]


DATASET = Dataset(
    card=DatasetCard(
        name="ptbxl",
        title="PTB-XL",
        version="1.0.3",
        summary="21,799 clinical 12-lead ECGs of 10 s from 18,869 patients, 71 SCP-ECG statements.",
        licence="CC BY 4.0",
        access="open",
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=21_799, patients=18_869, gigabytes=3.2),
        url="https://physionet.org/content/ptb-xl/1.0.3/",
        citation=(
            "Wagner et al. PTB-XL, a large publicly available electrocardiography dataset. "
            "Scientific Data 7, 154 (2020). doi:10.1038/s41597-020-0495-6"
        ),
        rates=(100.0, 500.0),
        tasks={
            "super": TaskCard("5 diagnostic superclasses", "rhythm+waveform"),
            "sub": TaskCard("23 diagnostic subclasses", "rhythm+waveform"),
            "form": TaskCard("19 form statements", "rhythm+waveform"),
            "rhythm": TaskCard("12 rhythm statements", "rhythm+waveform"),
        },
        split_rules={
            "official": "folds 1-8 train, 9 val, 10 test; patients kept together",
            "interpbench": "70 / 15 / 15 by a hash of the patient id (ECG-InterpBench)",
        },
    ),
    scan=scan,
    release=physionet("ptb-xl", "1.0.3", always=("ptbxl_database.csv", "scp_statements.csv")),
)
