"""SPH: 25,770 12-lead ECGs of 10 to 60 s at 500 Hz from 24,666 patients of Shandong Provincial Hospital.

Label rule: `AHA_Code` holds statements separated by ";", each a primary code of the AHA/ACC/HRS recommendations (Mason
et al. 2007) and its modifiers after "+" ("22;60+310"). A label is a primary statement; modifiers are kept as metadata.
Signals are float16 mV: limb leads obey Einthoven's law to its rounding, and amplitudes are those of other ECGs in mV.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.datasets.dataset import Dataset, DatasetCard, Record, Scan, Sizes, SourceRecord, TaskCard, TaskTable
from einthoven.datasets.person import SEXES, ages_of
from einthoven.datasets.table_files import TextTable, read_table
from einthoven.foundation.errors import DataError

if TYPE_CHECKING:
    import polars as pl

METADATA = "metadata.csv"
_RATE = 500.0
_RECORDS = 25_770
_LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
_SAMPLES = re.compile(r"0*[1-9]\d{0,8}", re.ASCII)
_AGAIN = "Correct it or download the file again."
_COLUMNS = ("ECG_ID", "AHA_Code", "Patient_ID", "Age", "Sex", "N")
# The 44 primary statements of the release; names are those of the recommendations.
STATEMENTS = {
    "1": "Normal ECG", "21": "Sinus tachycardia", "22": "Sinus bradycardia", "23": "Sinus arrhythmia",
    "30": "Atrial premature complex(es)", "31": "Atrial premature complexes, nonconducted",
    "36": "Junctional premature complex(es)", "37": "Junctional escape complex(es)", "50": "Atrial fibrillation",
    "51": "Atrial flutter", "54": "Junctional tachycardia", "60": "Ventricular premature complex(es)",
    "80": "Short PR interval", "81": "AV conduction ratio N:D", "82": "Prolonged PR interval",
    "83": "Second-degree AV block, Mobitz type I", "84": "Second-degree AV block, Mobitz type II",
    "85": "2:1 AV block", "86": "AV block, varying conduction", "87": "AV block, advanced",
    "88": "AV block, complete", "101": "Left anterior fascicular block", "102": "Left posterior fascicular block",
    "104": "Left bundle-branch block", "105": "Incomplete right bundle-branch block",
    "106": "Right bundle-branch block", "108": "Ventricular preexcitation", "120": "Right-axis deviation",
    "121": "Left-axis deviation", "125": "Low voltage", "140": "Left atrial enlargement",
    "142": "Left ventricular hypertrophy", "143": "Right ventricular hypertrophy", "145": "ST deviation",
    "146": "ST deviation with T-wave change", "147": "T-wave abnormality", "148": "Prolonged QT interval",
    "152": "TU fusion", "153": "ST-T change due to ventricular hypertrophy", "155": "Early repolarization",
    "160": "Anterior MI", "161": "Inferior MI", "165": "Anteroseptal MI", "166": "Extensive anterior MI",
}  # fmt: skip


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read metadata.csv; no sample is touched."""
    import polars as pl

    from einthoven.datasets.splitting import hash_split

    # The release has a folder of records; copies of some of them put them beside the metadata.
    folder = "records/" if (source / "records").is_dir() else ""
    records: list[SourceRecord] = []
    positives: dict[str, frozenset[str]] = {}
    length_of: dict[str, int] = {}
    table = read_table(source / METADATA, _COLUMNS, where="the folder that holds it and records/")
    table.require("ECG_ID", "Patient_ID")
    ages = ages_of(table.numbers("Age"))
    sexes = table.coded("Sex", SEXES, dtype=pl.String, expected="F, M or nothing")
    table.refuse("N", _no_samples(table), "a whole number of samples")
    for row, age, sex in zip(table.frame.iter_rows(named=True), ages, sexes, strict=True):
        record_id = row["ECG_ID"].removesuffix(".h5")
        code = row["AHA_Code"] or ""
        positives[record_id] = statements(code, record_id)
        length_of[record_id] = int(row["N"])
        records.append(
            SourceRecord(
                record_id=record_id,
                patient_id=row["Patient_ID"],
                files=(f"{folder}{record_id}.h5",),
                metadata={"age": age, "sex": sex, "aha_code": code},
            )
        )

    def read(record: SourceRecord) -> Record:
        import numpy as np

        from einthoven.datasets.array_files import read_h5

        where = f"record {record.record_id}"
        signal = read_h5(source / record.files[0], "ecg", where=where)
        expected = (len(_LEADS), length_of[record.record_id])
        if signal.shape != expected:
            raise DataError(
                f"ecg of {where} has shape {signal.shape}; {METADATA} promises {expected} (leads, samples). One of the "
                "two is of another recording, or the file was cut; download both again."
            )
        return Record(record.record_id, record.patient_id, signal.astype(np.float32), leads=_LEADS, rate=_RATE)

    return Scan(
        records=records,
        tasks={"statements": TaskTable(labels=tuple(STATEMENTS.values()), positives=positives)},
        splits={"hash": hash_split({r.record_id: r.patient_id for r in records}, salt="einthoven", train=0.7, val=0.1)},
        read=read,
        rate=rate,
        # Copies of some records come with the rows of these alone.
        whole=_RECORDS,
        samples=None,
        source_files=(METADATA,),
        rules={"sph-labels": "1: primary AHA statements, modifiers apart"},
    )


def statements(text: str, record_id: str) -> frozenset[str]:
    """The primary statements of an `AHA_Code`.

    Raises:
        DataError: one is none of the release's 44.

    Example:
        >>> sorted(statements("22;60+310", "A00001"))
        ['Sinus bradycardia', 'Ventricular premature complex(es)']
    """
    codes = [part.split("+")[0].strip() for part in text.split(";")]
    unknown = [code for code in codes if code not in STATEMENTS]
    if unknown:
        raise DataError(
            f"{METADATA}: record {record_id} has AHA_Code {text!r}; primary statements of the release such as "
            f"'22;60+310' were expected, and {unknown[0]!r} is none of its 44. {_AGAIN}"
        )
    return frozenset(STATEMENTS[code] for code in codes)


def _no_samples(table: TextTable) -> pl.Series:
    """Whether N of a row is no number of samples."""
    import polars as pl

    return pl.Series([not _SAMPLES.fullmatch(text or "") for text in table["N"]], dtype=pl.Boolean)


DATASET = Dataset(
    card=DatasetCard(
        name="sph",
        title="Shandong Provincial Hospital 12-lead ECG database",
        version="1",
        summary="25,770 12-lead ECGs of 10 to 60 s from 24,666 patients in Shandong, 44 AHA statements.",
        licence="CC BY 4.0",
        access="open",
        how="Download metadata.csv and records.tar.gz, and unpack the archive beside it.",
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=25_770, patients=24_666),
        url="https://springernature.figshare.com/collections/_/5779802",
        citation=(
            "Liu et al. A large-scale multi-label 12-lead electrocardiogram database with standardized diagnostic "
            "statements. Scientific Data 9, 272 (2022). doi:10.1038/s41597-022-01403-5"
        ),
        rates=(_RATE,),
        tasks={"statements": TaskCard("44 primary statements of the AHA/ACC/HRS; every record", "rhythm+waveform")},
        split_rules={"hash": "70 / 10 / 20 by a hash of the patient id"},
    ),
    scan=scan,
)
