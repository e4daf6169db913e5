"""CinC 2017: 8,528 single-lead ECGs of 9 to 61 s at 300 Hz from a hand-held device; normal, AF, other, noisy.

Labels are version 3 of the challenge's reference. Older versions, which lie in the same release, are recognised by
their counts and refused: 1.7 % and 4.8 % of their labels differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from einthoven.datasets.challenge import NO_PATIENTS
from einthoven.datasets.dataset import Dataset, DatasetCard, Record, Scan, Sizes, SourceRecord, TaskCard, TaskTable
from einthoven.datasets.downloading.release import physionet
from einthoven.datasets.text_files import read_rows
from einthoven.foundation.errors import DataError

REFERENCE = "REFERENCE-v3.csv"
RATE = 300.0
# No record is longer, in s.
_LONGEST = 61
_CLASSES = {"N": "normal", "A": "af", "O": "other", "~": "noisy"}
# What version 3 holds, by the challenge's own count.
_COUNTS = {"N": 5076, "A": 758, "O": 2415, "~": 279}


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read the reference, and the headers if records are cut into windows; no sample is touched."""
    from einthoven.datasets.splitting import hash_split
    from einthoven.datasets.wfdb_files import read_header, read_wfdb

    window = options["window"]
    if window < 0:
        raise DataError(f"window is {window}; seconds were expected, or 0 for whole records.")
    if window > _LONGEST:
        raise DataError(
            f"window is {window} s, and no record is that long: they have 9 to {_LONGEST} s. Take a shorter window, or "
            "0 for whole records."
        )
    label_of = _reference(source)
    records: list[SourceRecord] = []
    start_of: dict[str, int] = {}
    longest = 0
    for name in label_of:
        files = (f"training2017/{name}.hea", f"training2017/{name}.mat")
        if not window or not (source / files[0]).is_file():
            records.append(SourceRecord(record_id=name, patient_id=name, files=files))
            continue
        samples = read_header(source / "training2017" / name, where=f"record {name}").samples
        if samples > _LONGEST * RATE:
            raise DataError(
                f"The header of record {name} promises {samples} samples; no record of the challenge has more than "
                f"{_LONGEST * RATE:.0f}. Download it again."
            )
        longest = max(longest, samples)
        length = int(window * RATE)
        if samples < length:
            reason = f"shorter than {window} s"
            records.append(SourceRecord(record_id=name, patient_id=name, files=files, left_out=reason))
        for part in range(samples // length):
            record_id = f"{name}-{part:02d}"
            start_of[record_id] = part * length
            records.append(SourceRecord(record_id=record_id, patient_id=name, files=files))

    if longest and not start_of:
        raise DataError(
            f"window is {window} s, and no record is that long: the longest here has {longest / RATE:.1f} s. Take a "
            "shorter window."
        )

    def read(record: SourceRecord) -> Record:
        from dataclasses import replace

        stem = source / record.files[0].removesuffix(".hea")
        whole = read_wfdb(stem, record_id=record.record_id, patient_id=record.patient_id, leads=("ECG",))
        start = start_of.get(record.record_id)
        if start is None:
            return whole
        return replace(whole, signal=whole.signal[:, start : start + int(window * RATE)])

    kept = {record.record_id: record.patient_id for record in records if not record.left_out}
    return Scan(
        records=records,
        tasks={
            "rhythm": TaskTable(
                labels=tuple(_CLASSES.values()),
                positives={record: frozenset([_CLASSES[label_of[patient]]]) for record, patient in kept.items()},
            )
        },
        splits={"hash": hash_split(kept, salt="einthoven", train=0.7, val=0.1)},
        read=read,
        rate=rate,
        samples=int(window * RATE) if window else None,
        leads=("ECG",),
        source_files=(REFERENCE,),
        notes=(NO_PATIENTS,),
        rules={"cinc2017-labels": "1: version 3 of the reference", "cinc2017-windows": "1: no overlap, rest dropped"},
    )


def _reference(source: Path) -> dict[str, str]:
    """Record name -> class, of version 3 and no other."""
    file = source / REFERENCE
    if not file.is_file():
        others = sorted(path.relative_to(source).as_posix() for path in source.rglob("REFERENCE*.csv"))
        older = f" {', '.join(others)} are older versions with other labels." if others else ""
        raise DataError(f"{file} does not exist: --source must name the folder that holds it.{older}")
    rows = read_rows(file, where="the folder that holds it")
    # Both ways in which it is released: "A00001,N" and "A00/A00001,N,0".
    label_of = {row[0].rpartition("/")[2]: row[1] for row in rows if len(row) > 1 and row[1] in _CLASSES}
    counts = dict(Counter(label_of.values()))
    if counts != _COUNTS:
        raise DataError(
            f"{file} holds {counts}; version 3 of the reference holds {_COUNTS}. It is an older version, cut short, or "
            "mixed from two; take REFERENCE-v3.csv of the challenge's page."
        )
    return label_of


DATASET = Dataset(
    card=DatasetCard(
        name="cinc2017",
        title="PhysioNet/CinC challenge 2017",
        version="1.0.0, labels v3",
        summary="8,528 single-lead ECGs of 9 to 61 s from a hand-held device.",
        licence="ODC-By 1.0",
        access="open",
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=8_528, gigabytes=0.1),
        url="https://physionet.org/content/challenge-2017/1.0.0/",
        citation=(
            "Clifford et al. AF classification from a short single lead ECG recording. "
            "Computing in Cardiology 44 (2017)."
        ),
        rates=(RATE,),
        tasks={"rhythm": TaskCard("one of normal, af, other, noisy", "rhythm+waveform")},
        split_rules={"hash": "70 / 10 / 20 by a hash of the record"},
    ),
    scan=scan,
    options={"window": 0},
    release=physionet(
        "challenge-2017",
        "1.0.0",
        include=(REFERENCE, "training2017.zip"),
        unpack=(("training2017.zip", "training2017"),),
    ),
)
