"""CODE-15%: 345,779 12-lead ECGs of 7 to 10 s at 400 Hz from 233,770 patients of Minas Gerais, 6 labels, mortality.

Signals lie in `exams_part<i>.hdf5`, each with `exam_id` (n,) and `tracings` (n, 4096, 12). A tracing is found by its
exam id, never by its place; every part ends with a row of exam id 0 and zeros, which is nobody's.

Shorter recordings are padded with zeros at both ends (Zenodo 4916206). Samples in which all twelve leads are exactly
zero are taken off both ends, however many they are: most padded records have 2,934 samples left, but not all.

Unit: the values are taken as mV. The release states none; the authors' code says "scale 1e-4V" and also that volts
times 1000 give it, which contradict each other. Measured on ten real records, 0.7 to 40 Hz: the median over the leads
of the peak-to-peak (0.5th to 99.5th percentile) is 1.4 to 3.8, where other datasets have about 1.1 mV. As mV the
records are large, about twice the usual; as tenths of mV they would be five times below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.datasets.dataset import Dataset, DatasetCard, Record, Scan, Sizes, SourceRecord, TaskCard, TaskTable
from einthoven.datasets.person import ages_of
from einthoven.foundation.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from einthoven.datasets.array_files import Rows
    from einthoven.datasets.table_files import TextTable

METADATA = "exams.csv"
LABELS = ("1dAVb", "RBBB", "LBBB", "SB", "ST", "AF")
_RATE = 400.0
# DI, DII, DIII, AVR, AVL, AVF, V1 to V6, as the release says; the limb-lead laws hold in this order.
_LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
_COLUMNS = ("exam_id", "patient_id", "age", "is_male", *LABELS, "normal_ecg", "death", "timey", "trace_file")
_NOBODY = "0"


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read exams.csv; no HDF5 file is opened."""
    import numpy as np
    import polars as pl

    from einthoven.datasets.columns import LabelColumns, RecordTable
    from einthoven.datasets.splitting import hash_split

    table = _exams(source / METADATA)
    ids, patients = table["exam_id"], table["patient_id"]
    flags = {label: table.flags(label) for label in LABELS}
    years = table.numbers("timey", finite=True)
    death = table.flags("death", empty=True)
    male = table.flags("is_male", empty=True)
    metadata = pl.DataFrame(
        {
            "age": ages_of(table.numbers("age")),
            "sex": pl.DataFrame({"male": male})
            .select(pl.when(pl.col("male")).then(pl.lit("M")).when(~pl.col("male")).then(pl.lit("F")))
            .to_series(),
            "normal_ecg": table.flags("normal_ecg", empty=True),
            "death": death,
            "years": years,
        }
    )
    prevalent = int((death & (years <= 0)).sum())
    followed = _one_year(death, years)
    rows = np.flatnonzero(followed.is_not_null().to_numpy())
    every = np.arange(len(table))
    targets = np.stack([flag.to_numpy() for flag in flags.values()], axis=1)
    died = followed.drop_nulls().to_numpy().astype(np.uint8)[:, None]
    return Scan(
        records=RecordTable(
            ids, patients, files=table.frame.select(pl.concat_list("trace_file")).to_series(), metadata=metadata
        ),
        tasks={
            "abnormalities": TaskTable(LABELS, LabelColumns(ids, LABELS, every, targets)),
            "death-1y": TaskTable(("death",), LabelColumns(ids, ("death",), rows, died)),
        },
        splits={"hash": hash_split(dict(zip(ids, patients, strict=True)), salt="einthoven", train=0.7, val=0.1)},
        read=_reader(source),
        rate=rate,
        samples=None,
        source_files=(METADATA,),
        rules={
            "code15-unit": "1: values are mV",
            "code15-padding": "1: all-zero samples at both ends are taken off",
            "code15-death": "2: in (0, 1] year; at or before the ECG, or alive and followed for less, left out",
        },
        notes=(
            "The release does not state the unit of its signals. They are taken as mV, in which they are about twice "
            "as large as those of other datasets; what depends on absolute voltage is uncertain by this factor.",
            "Most records have 7.3 s of signal, the others 10.2 s, and the two groups were recorded differently: the "
            "longer ones have more baseline wander.",
            "Death and follow-up are known for a patient's first exam only, as the release gives them.",
            *([f"Left out of death-1y: {prevalent} exams with a death at or before the ECG."] if prevalent else []),
        ),
    )


def _exams(file: Path) -> TextTable:
    """exams.csv, records of one HDF5 file together."""
    import polars as pl

    from einthoven.datasets.table_files import read_table

    table = read_table(file, _COLUMNS, where="the folder that holds it and exams_part*.hdf5")
    table.require("exam_id", "patient_id", "trace_file")
    # What is read one after the other should lie in one file. Part 2 is before part 10.
    part = pl.col("trace_file").str.extract(r"(\d+)\.\w+$").cast(pl.Int64, strict=False)
    places = table.frame.with_row_index("place").sort(part, "trace_file", maintain_order=True)["place"]
    return table.take(places.to_numpy())


def _one_year(death: pl.Series, years: pl.Series) -> pl.Series:
    """Whether a patient died in the year after the exam.

    None where that is not known, and where a death is at or before the exam (as `importing/forecasting.py` has it).
    """
    import polars as pl

    frame = pl.DataFrame({"death": death, "years": years})
    after = pl.col("years")
    return frame.select(
        pl.when(pl.col("death") & (after > 0) & (after <= 1))
        .then(pl.lit(True))
        # Who died later was alive for a year, too.
        .when((pl.col("death") & (after > 1)) | (~pl.col("death") & (after >= 1)))
        .then(pl.lit(False))
    ).to_series()


def _reader(source: Path) -> Callable[[SourceRecord], Record]:
    """What reads a record; each HDF5 file is opened once, and of its tracings only the record's is read."""

    @cache
    def part(file: str) -> tuple[Rows, dict[str, int]]:
        from einthoven.datasets.array_files import Rows, h5_column

        path = source / file
        rows, ids = Rows(path, "tracings", where="code15"), h5_column(path, "exam_id", where="code15")
        if len(ids) != len(rows):
            raise DataError(f"{path} has {len(rows)} tracings and {len(ids)} exam ids. Download it again.")
        row_of = {exam: row for row, exam in enumerate(ids) if exam != _NOBODY}
        if len(row_of) != len(ids) - ids.count(_NOBODY):
            raise DataError(f"{path} has an exam id more than once, so tracings cannot be matched. Download it again.")
        return rows, row_of

    def read(record: SourceRecord) -> Record:
        file = record.files[0]
        rows, row_of = part(file)
        if record.record_id not in row_of:
            raise DataError(f"{source / file} has no tracing of exam {record.record_id}, though {METADATA} says so.")
        signal = without_padding(rows[row_of[record.record_id]], where=f"exam {record.record_id} in {file}")
        return Record(record.record_id, record.patient_id, signal, leads=_LEADS, rate=_RATE)

    return read


def without_padding(tracing: np.ndarray, *, where: str) -> np.ndarray:
    """The signal of one tracing, float32 (12, samples), without the zeros at its ends.

    Args:
        tracing: (samples, 12).

    Raises:
        DataError: it has another shape, or is zero throughout.
    """
    import numpy as np

    if tracing.ndim != 2 or tracing.shape[1] != len(_LEADS):
        raise DataError(f"The tracing of {where} has shape {tracing.shape}; (samples, 12) was expected.")
    used = np.flatnonzero((tracing != 0).any(axis=1))
    if not used.size:
        raise DataError(f"The tracing of {where} is zero throughout: the release has no signal of this exam.")
    return np.ascontiguousarray(tracing[used[0] : used[-1] + 1].T, dtype=np.float32)


DATASET = Dataset(
    card=DatasetCard(
        name="code15",
        title="CODE-15%",
        version="1.0.0",
        summary="345,779 12-lead ECGs of 7 to 10 s at 400 Hz from 233,770 patients in Brazil, 6 labels and mortality.",
        licence="CC BY 4.0",
        access="open",
        how="Download exams.csv and the 18 archives exams_part*.zip, and unpack them into one folder.",
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=345_779, patients=233_770),
        url="https://zenodo.org/records/4916206",
        citation=(
            "Ribeiro et al. CODE-15%: a large scale annotated dataset of 12-lead ECGs. Zenodo (2021). "
            "doi:10.5281/zenodo.4916206"
        ),
        rates=(_RATE,),
        tasks={
            "abnormalities": TaskCard("6 labels: 1dAVb, RBBB, LBBB, SB, ST, AF; every record", "rhythm+waveform"),
            "death-1y": TaskCard(
                "death in (0, 1] year; first exams followed for a year or until death, which is after the ECG",
                "forecasting",
            ),
        },
        split_rules={"hash": "70 / 10 / 20 by a hash of the patient id"},
    ),
    scan=scan,
)
