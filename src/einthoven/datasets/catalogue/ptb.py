"""PTB: 549 ECGs of 38 to 120 s at 1000 Hz from 290 subjects, 12 standard leads and 3 Frank leads; one diagnosis each.

Label rule: the comment "Reason for admission" of a record's header, grouped as the release's own table of diagnoses
does; a record without one ("n/a") is in no task. The Frank leads (vx, vy, vz) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.datasets.dataset import Dataset, DatasetCard, Record, Scan, Sizes, SourceRecord, TaskCard, TaskTable
from einthoven.datasets.downloading.release import physionet
from einthoven.datasets.person import age_of, sex_of
from einthoven.datasets.text_files import read_text
from einthoven.foundation.errors import DataError

if TYPE_CHECKING:
    from einthoven.datasets.wfdb_header import Header

RECORDS = "RECORDS"
_RATE = 1000.0
_FRANK = ("vx", "vy", "vz")
# Reason as the headers write it -> class of the release's table.
CLASS_OF_REASON = {
    "myocardial infarction": "Myocardial infarction",
    "cardiomyopathy": "Cardiomyopathy/Heart failure",
    "heart failure (nyha 2)": "Cardiomyopathy/Heart failure",
    "heart failure (nyha 3)": "Cardiomyopathy/Heart failure",
    "heart failure (nyha 4)": "Cardiomyopathy/Heart failure",
    "bundle branch block": "Bundle branch block",
    "dysrhythmia": "Dysrhythmia",
    "hypertrophy": "Myocardial hypertrophy",
    "myocardial hypertrophy": "Myocardial hypertrophy",
    "valvular heart disease": "Valvular heart disease",
    "myocarditis": "Myocarditis",
    "stable angina": "Miscellaneous",
    "unstable angina": "Miscellaneous",
    "palpitation": "Miscellaneous",
    "healthy control": "Healthy control",
}
_STEM = re.compile(r"[\w-]+/[\w-]+")
_NOT_STATED = ("", "n/a")


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read RECORDS and all headers; no sample is touched."""
    from einthoven.datasets.splitting import hash_split
    from einthoven.datasets.wfdb_files import read_header

    records: list[SourceRecord] = []
    headers: dict[str, Header] = {}
    positives: dict[str, frozenset[str]] = {}
    for stem in _stems(source / RECORDS):
        patient, _, record_id = stem.rpartition("/")
        if not (source / f"{stem}.hea").is_file():
            # Its label and files are not known; it is counted among the missing ones.
            records.append(SourceRecord(record_id=record_id, patient_id=patient, files=(f"{stem}.hea",)))
            continue
        header = headers[record_id] = read_header(source / stem, where=f"record {record_id}")
        reason = header.comment("Reason for admission") or ""
        if reason.casefold() not in _NOT_STATED:
            positives[record_id] = frozenset([_class(reason, record_id)])
        files = dict.fromkeys(signal.file for signal in header.signals)
        records.append(
            SourceRecord(
                record_id=record_id,
                patient_id=patient,
                files=(f"{stem}.hea", *(f"{patient}/{file}" for file in files)),
                metadata={
                    "age": age_of(header.comment("age")),
                    "sex": sex_of(header.comment("sex")),
                    "reason_for_admission": reason or None,
                },
            )
        )

    def read(record: SourceRecord) -> Record:
        from einthoven.datasets.wfdb_files import read_wfdb

        header = headers[record.record_id]
        names = [signal.name for signal in header.signals]
        stem = source / record.files[0].removesuffix(".hea")
        whole = read_wfdb(stem, record_id=record.record_id, patient_id=record.patient_id, leads=names, header=header)
        return _standard_leads(whole)

    return Scan(
        records=records,
        tasks={
            "admission": TaskTable(labels=tuple(dict.fromkeys(CLASS_OF_REASON.values())), positives=positives),
        },
        splits={"hash": hash_split({r.record_id: r.patient_id for r in records}, salt="einthoven", train=0.7, val=0.1)},
        read=read,
        rate=rate,
        samples=None,
        gain=2000.0,  # of the recorder, so that its samples are stored as they are
        source_files=(RECORDS,),
        rules={"ptb-labels": "1: reason for admission, as the release's table groups them", "ptb-leads": "1: 12 leads"},
    )


def _stems(file: Path) -> list[str]:
    """Paths of the records without suffix, "patient001/s0010_re", in the order of the release."""
    text = read_text(file, where="the folder of PTB 1.0.0 that holds it")
    stems = [line.strip() for line in text.splitlines() if line.strip()]
    bad = [stem for stem in stems if not _STEM.fullmatch(stem)]
    if bad:
        raise DataError(
            f"{file} names the record {bad[0]!r}; one like patient001/s0010_re was expected. Download it again."
        )
    return stems


def _class(reason: str, record_id: str) -> str:
    if reason.casefold() not in CLASS_OF_REASON:
        raise DataError(
            f"The header of record {record_id} has the reason for admission {reason!r}, which is none of PTB's: "
            f"{', '.join(CLASS_OF_REASON)}, n/a."
        )
    return CLASS_OF_REASON[reason.casefold()]


def _standard_leads(record: Record) -> Record:
    from dataclasses import replace

    from einthoven.signals.leads import canonical_leads

    rows = [row for row, name in enumerate(record.leads) if name.casefold() not in _FRANK]
    return replace(record, signal=record.signal[rows], leads=canonical_leads(record.leads[row] for row in rows))


DATASET = Dataset(
    card=DatasetCard(
        name="ptb",
        title="PTB Diagnostic ECG Database",
        version="1.0.0",
        summary="549 12-lead ECGs of 38 to 120 s at 1000 Hz from 290 subjects, 9 reasons for admission.",
        licence="ODC-By 1.0",
        access="open",
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=549, patients=290),
        url="https://physionet.org/content/ptbdb/1.0.0/",
        citation=(
            "Bousseljot et al. Nutzung der EKG-Signaldatenbank CARDIODAT der PTB ueber das Internet. "
            "Biomedizinische Technik 40, S317 (1995)."
        ),
        rates=(_RATE,),
        tasks={"admission": TaskCard("one of 9 reasons for admission, healthy control among them", "rhythm+waveform")},
        split_rules={"hash": "70 / 10 / 20 by a hash of the patient"},
    ),
    scan=scan,
    release=physionet("ptbdb", "1.0.0"),
)
