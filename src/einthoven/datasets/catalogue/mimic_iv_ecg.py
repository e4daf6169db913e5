"""MIMIC-IV-ECG 1.0: 800,035 12-lead ECGs of 10 s at 500 Hz from 161,352 patients of one hospital.

Headers name their leads in the order I, II, III, aVR, aVF, aVL, V1 to V6; leads are taken by their names.

Task rule: `machine-statements` holds every record with a machine report; a record has a label if one line of the report
is that statement, case, outer white space and a full stop apart. A line that says more ("sinus rhythm with PACs") is
not the statement. These are the cart's readings, not a cardiologist's. The tasks of ECG-InterpBench are diagnosis codes
of the stay and need other modules of MIMIC-IV, as age and sex do; they are not read here.

Concept rule: times are ms, axes degrees, as the cart wrote them. A time of 0 or below, or of 29,000 and above (29999
and its like), is none; so is an axis beyond 360 degrees, and an interval that ends before it begins. The seven concepts
of ECG-InterpBench are others: it measures all of them, three amplitudes among them, from the waveform with NeuroKit2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.datasets.dataset import Dataset, DatasetCard, Record, Scan, Sizes, SourceRecord, TaskCard, TaskTable
from einthoven.datasets.downloading.release import physionet
from einthoven.foundation.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from einthoven.datasets.table_files import TextTable

RECORDS = "record_list.csv"
MEASUREMENTS = "machine_measurements.csv"
STATEMENTS = (
    "sinus rhythm",
    "sinus bradycardia",
    "sinus tachycardia",
    "atrial fibrillation",
    "atrial flutter",
    "left bundle branch block",
    "right bundle branch block",
    "left ventricular hypertrophy",
    "normal ecg",
    "borderline ecg",
    "abnormal ecg",
)
CONCEPTS = ("heart_rate", "pr_interval", "qrs_duration", "qt_interval", "p_axis", "qrs_axis", "t_axis")
_RATE = 500.0
_REPORTS = tuple(f"report_{line}" for line in range(18))
_TIMES = ("rr_interval", "p_onset", "qrs_onset", "qrs_end", "t_end")
_AXES = ("p_axis", "qrs_axis", "t_axis")
_NO_TIME = 29_000.0


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read the two tables, by column; no waveform is touched."""
    import polars as pl

    from einthoven.datasets.columns import RecordTable, SplitColumn

    listed = _read(source / RECORDS, ("subject_id", "study_id", "path")).frame
    measured = _measurements(source / MEASUREMENTS, listed)
    ids = listed["study_id"]
    stem = pl.col("path").str.strip_suffix(".hea")
    records = RecordTable(
        ids,
        listed["subject_id"],
        files=listed.select(files=pl.concat_list(stem + ".hea", stem + ".dat"))["files"],
        metadata=listed.select("ecg_time") if "ecg_time" in listed.columns else None,
    )
    concepts = _concepts(measured)

    def read(record: SourceRecord) -> Record:
        from einthoven.datasets.wfdb_files import read_wfdb

        stem = source / record.files[0].removesuffix(".hea")
        return read_wfdb(stem, record_id=record.record_id, patient_id=record.patient_id)

    return Scan(
        records=records,
        tasks={"machine-statements": _statements(ids, measured)},
        splits={
            "interpbench": SplitColumn.by_patient(records, {p: patient_split(p) for p in set(listed["subject_id"])})
        },
        read=read,
        rate=rate,
        samples=int(rate * 10),
        source_files=(RECORDS, MEASUREMENTS),
        rules={
            "mimic-statements": "1: whole lines of the machine's report",
            "mimic-measurements": "1: 0 and below, 29000 and above are none",
            "interpbench-external-head": "1: sha256, first 8 bytes modulo 10",
        },
        concepts={"machine": concepts},
        notes=_notes(measured, concepts),
    )


def patient_split(patient: str) -> str:
    """The split of a patient, 70 / 10 / 20: the first 8 bytes of sha256("external-head-v1:<subject_id>"), modulo 10.

    Source: ECG-InterpBench, `mimic_source_benchmark.py`.
    """
    share = int.from_bytes(hashlib.sha256(f"external-head-v1:{patient}".encode()).digest()[:8], "big") % 10
    return "train" if share < 7 else "val" if share < 8 else "test"


def _read(file: Path, filled: tuple[str, ...], others: tuple[str, ...] = ()) -> TextTable:
    """A table as text, so that an id stays as it is written; the columns `filled` are, and each study is there once."""
    from einthoven.datasets.table_files import read_table

    table = read_table(file, (*filled, *others), where="the folder of MIMIC-IV-ECG 1.0 that holds it")
    table.require(*filled)
    table.unique("study_id")
    return table


def _measurements(file: Path, listed: pl.DataFrame) -> pl.DataFrame:
    """The machine's row of every listed record, in their order; `there` is null where it has none."""
    import polars as pl

    table = _read(file, ("subject_id", "study_id"), (*_TIMES, *_AXES))
    measured = table.frame.with_columns(table.numbers(name) for name in (*_TIMES, *_AXES))
    reports = [column for column in _REPORTS if column in table]
    if not reports:
        raise DataError(f"{file.name} has no column report_0; found {', '.join(measured.columns)}.")
    chosen = measured.select("study_id", pl.col("subject_id").alias("there"), *reports, *_TIMES, *_AXES)
    joined = listed.select("study_id", "subject_id").join(chosen, on="study_id", how="left", maintain_order="left")
    others = joined.filter(pl.col("there") != pl.col("subject_id"))
    if len(others):
        raise DataError(
            f"{len(others)} studies have another subject_id in {file.name} than in {RECORDS}; first: study "
            f"{others['study_id'][0]}. The two are of different releases; download both again."
        )
    return joined


def _statements(ids: pl.Series, measured: pl.DataFrame) -> TaskTable:
    import numpy as np
    import polars as pl

    from einthoven.datasets.columns import LabelColumns

    lines = [column for column in _REPORTS if column in measured.columns]
    column_of = {statement: column for column, statement in enumerate(STATEMENTS)}
    reported = np.zeros(len(measured), dtype=bool)
    found = np.zeros((len(measured), len(STATEMENTS)), dtype=np.uint8)
    for line in lines:
        text = measured[line].str.strip_chars()
        reported |= (text.fill_null("") != "").to_numpy()
        bare = text.str.strip_suffix(".").str.strip_chars().str.to_lowercase()
        column = bare.replace_strict(column_of, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
        rows = np.flatnonzero(column >= 0)
        found[rows, column[rows]] = 1
    rows = np.flatnonzero(reported)
    return TaskTable(STATEMENTS, LabelColumns(ids, STATEMENTS, rows, found[rows]))


def _concepts(measured: pl.DataFrame) -> dict[str, np.ndarray]:
    import numpy as np

    values = {name: measured[name].fill_null(np.nan).to_numpy() for name in (*_TIMES, *_AXES)}
    time = {name: np.where((values[name] > 0) & (values[name] < _NO_TIME), values[name], np.nan) for name in _TIMES}

    def interval(start: str, end: str) -> np.ndarray:
        length = time[end] - time[start]
        return np.where(length > 0, length, np.nan)

    return {
        "heart_rate": 60_000.0 / time["rr_interval"],
        "pr_interval": interval("p_onset", "qrs_onset"),
        "qrs_duration": interval("qrs_onset", "qrs_end"),
        "qt_interval": interval("qrs_onset", "t_end"),
        **{name: np.where(np.abs(values[name]) <= 360, values[name], np.nan) for name in _AXES},
    }


def _notes(measured: pl.DataFrame, concepts: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    import numpy as np

    missing = ", ".join(f"{name} {int(np.isnan(values).sum())}" for name, values in concepts.items())
    return (
        "Labels and concepts are the cart's own readings, not a cardiologist's.",
        f"{MEASUREMENTS} has no row for {measured['there'].null_count()} of {len(measured)} records; records without a "
        f"value: {missing}.",
    )


DATASET = Dataset(
    card=DatasetCard(
        name="mimic-iv-ecg",
        title="MIMIC-IV-ECG",
        version="1.0",
        summary="800,035 12-lead ECGs of 10 s with the cart's report and measurements.",
        licence="ODbL 1.0",
        access="open",
        how="Age, sex, diagnoses and reports of cardiologists are not in it and need credentialed MIMIC-IV.",
        sharing="Records and databases made from them, under the same licence; results, with attribution.",
        sizes=Sizes(records=800_035, patients=161_352),
        url="https://physionet.org/content/mimic-iv-ecg/1.0/",
        citation=(
            "Gow et al. MIMIC-IV-ECG: diagnostic electrocardiogram matched subset (version 1.0). PhysioNet (2023). "
            "doi:10.13026/4nqg-sb35"
        ),
        rates=(_RATE,),
        tasks={"machine-statements": TaskCard("11 statements of the cart's report", "rhythm+waveform")},
        concepts={"machine": "heart rate, PR, QRS, QT and three axes, as the cart measured them"},
        split_rules={"interpbench": "70 / 10 / 20 by a hash of the patient id (ECG-InterpBench)"},
    ),
    scan=scan,
    release=physionet(
        "mimic-iv-ecg", "1.0", include=(RECORDS, MEASUREMENTS, "files/*"), always=(RECORDS, MEASUREMENTS)
    ),
)
