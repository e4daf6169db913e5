"""Unified AF: windows of 10 s of AFDB, LTAFDB and CinC 2017 at 300 Hz, one lead, under one label rule.

The rule (deepecgkit, its dataset `unified-af`): AFIB, AFL and J as annotated, every other annotated rhythm normal; of
CinC 2017 N is normal, A is AF, noisy records are dropped, and "other" counts for the binary task alone, as not AF. What
follows from it: AFL and J can come from the 23 recordings of AFDB only, and LTAFDB has nine of ten windows. Unlike
there, windows of which no sample is annotated are in no task.

The source folder holds `afdb/`, `ltafdb/` and `cinc2017/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.datasets.dataset import Dataset, DatasetCard, Record, Scan, Sizes, SourceRecord, TaskCard, TaskTable
from einthoven.datasets.fold_rules import FOLD_RULES

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import polars as pl

RATE = 300.0
SECONDS = 10
LABELS = ("normal", "AFIB", "AFL", "J")
PARTS = ("afdb", "ltafdb", "cinc2017")
# What a record is, beside a position in LABELS.
_NOT_AF, _NOTHING = -1, -2
_OF_CINC = {"normal": LABELS.index("normal"), "af": LABELS.index("AFIB"), "other": _NOT_AF, "noisy": _NOTHING}


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Scan the three datasets and put them one after the other; no sample is touched."""
    import numpy as np
    import polars as pl

    from einthoven.datasets.catalogue import afdb, cinc2017, ltafdb
    from einthoven.datasets.checking import check_scan
    from einthoven.datasets.columns import LabelColumns, RecordTable, record_table
    from einthoven.datasets.rhythm_sets import fold_columns
    from einthoven.foundation.errors import DataError

    absent = [part for part in PARTS if not (source / part).is_dir()]
    if absent:
        raise DataError(f"{source} has no folder {', '.join(absent)}; one each of {', '.join(PARTS)} was expected.")
    scans = {
        "afdb": afdb.scan(source / "afdb", afdb.RATE, {"window": SECONDS}),
        "ltafdb": ltafdb.scan(source / "ltafdb", ltafdb.RATE, {"window": SECONDS}),
        "cinc2017": check_scan(
            cinc2017.scan(source / "cinc2017", cinc2017.RATE, {"window": SECONDS}), where="dataset cinc2017"
        ),
    }
    prefixed = [_prefixed(part, record_table(scan).frame) for part, scan in scans.items()]
    frame = pl.concat(prefixed)
    databases = pl.concat(
        [pl.Series("database", [part]).new_from_index(0, len(scan.records)) for part, scan in scans.items()]
    )
    records = RecordTable(
        frame["record_id"],
        frame["patient_id"],
        files=frame["files"],
        left_out=frame["left_out"],
        metadata=databases.to_frame(),
    )
    codes = np.concatenate([_codes(part, scan) for part, scan in scans.items()])
    ids = records.record_id
    binary, four = np.flatnonzero(codes != _NOTHING), np.flatnonzero(codes >= 0)
    is_af = (codes[binary] == LABELS.index("AFIB"))[:, None]
    return Scan(
        records=records,
        tasks={
            "af": TaskTable(("AFIB",), LabelColumns(ids, ("AFIB",), binary, is_af)),
            "rhythm": TaskTable(LABELS, LabelColumns(ids, LABELS, four, np.eye(len(LABELS))[codes[four]])),
        },
        splits=fold_columns(records, recordings=records.patient_id),
        read=_reader(scans, rate),
        rate=rate,
        samples=round(SECONDS * rate),
        leads=("ECG",),
        source_files=tuple(f"{part}/{file}" for part, scan in scans.items() for file in scan.source_files),
        rules={
            "unified-af-labels": "1",
            "unified-af-rate": "1: first lead, windows resampled one by one, polyphase",
            **{name: version for scan in scans.values() for name, version in scan.rules.items()},
        },
        notes=(
            "AFL and J come from AFDB alone, from few of its 23 recordings: folds differ much in them.",
            *(f"{part}: {note}" for part, scan in scans.items() for note in scan.notes),
        ),
    )


def _prefixed(part: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The records of a part, their ids and files named after it."""
    import polars as pl

    return frame.with_columns(
        pl.format("{}-{}", pl.lit(part), "record_id").alias("record_id"),
        pl.format("{}-{}", pl.lit(part), "patient_id").alias("patient_id"),
        pl.col("files").list.eval(pl.format("{}/{}", pl.lit(part), pl.element())),
    )


def _codes(part: str, scan: Scan) -> np.ndarray:
    """What each record of a part is: a position in LABELS, or one of the codes beside them; int8 (records,)."""
    import numpy as np

    from einthoven.datasets.columns import label_columns

    codes = np.full(len(scan.records), _NOTHING, dtype=np.int8)
    rhythm = label_columns(scan.tasks["rhythm"])
    if part != "cinc2017":  # every annotated rhythm, whether or not the part's own task names it
        codes[label_columns(scan.tasks["af"]).rows] = LABELS.index("normal")
    for column, label in enumerate(rhythm.labels):
        code = _OF_CINC[label] if part == "cinc2017" else LABELS.index(label if label in LABELS else "normal")
        codes[rhythm.rows[rhythm.targets[:, column] == 1]] = code
    return codes


def _reader(scans: Mapping[str, Scan], rate: float) -> Callable[[SourceRecord], Record]:
    from dataclasses import replace

    from einthoven.signals.resampling import resample

    def read(record: SourceRecord) -> Record:
        part, _, record_id = record.record_id.partition("-")
        files = tuple(file.removeprefix(f"{part}/") for file in record.files)
        found = scans[part].read(replace(record, record_id=record_id, files=files))
        signal = resample(found.signal[:1], found.rate, rate)
        return Record(record.record_id, record.patient_id, signal, leads=("ECG",), rate=rate)

    return read


DATASET = Dataset(
    card=DatasetCard(
        name="unified-af",
        title="Unified AF: AFDB, LTAFDB and CinC 2017",
        version="afdb 1.0.0, ltafdb 1.0.0, challenge-2017 1.0.0 labels v3",
        summary="10 s windows of one lead at 300 Hz from three databases, under one label rule.",
        licence="ODC-By 1.0",
        access="open",
        how=(
            "Fetch its three parts into one folder: `einthoven datasets download afdb --to FOLDER/afdb`, and ltafdb "
            "and cinc2017 alike."
        ),
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(gigabytes=4.4),
        url="",
        citation="Cite the three databases; see `einthoven datasets show` of each.",
        rates=(RATE,),
        tasks={
            "af": TaskCard("atrial fibrillation or not; other rhythms of CinC 2017 are not", "rhythm+waveform"),
            "rhythm": TaskCard(
                "one of normal, AFIB, AFL, J; other rhythms of CinC 2017 are left out", "rhythm+waveform"
            ),
        },
        split_rules=FOLD_RULES,
    ),
    scan=scan,
)
