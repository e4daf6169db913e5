"""MIT-BIH Arrhythmia Database: 48 half-hour recordings at 360 Hz, beats and rhythms annotated.

201 and 202 are of one person, so there are 47 patients. Lead MLII is stored; 102 and 104 were recorded without it and
are left out. Recordings differ in their second lead, which is not stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.datasets.dataset import Dataset, DatasetCard, Scan, Sizes, TaskCard
from einthoven.datasets.downloading.release import physionet
from einthoven.datasets.fold_rules import FOLD_RULES
from einthoven.datasets.person import age_of, sex_of

if TYPE_CHECKING:
    from einthoven.datasets.dataset import TaskTable
    from einthoven.datasets.wfdb_header import Header
    from einthoven.datasets.windows import AnnotatedRecording, Windows

RECORDS = tuple(
    str(number)
    for number in (*range(100, 125), *range(200, 235))
    if number not in (110, 120, 204, 206, 211, 216, 218, 224, 225, 226, 227, 229)
)
RHYTHMS = ("N", "AB", "AFIB", "AFL", "B", "BII", "IVR", "NOD", "P", "PREX", "SBR", "SVTA", "T", "VFL", "VT")
RATE = 360.0
LEAD = "MLII"
# ANSI/AAMI EC57: class -> symbols of beats in WFDB annotations.
AAMI = {"N": "NLRej", "S": "AaJS", "V": "VE", "F": "F", "Q": "/fQ"}
# EC57 leaves recordings with paced beats out.
PACED = ("102", "104", "107", "217")


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read headers and annotations; no sample is touched."""
    from dataclasses import replace

    from einthoven.datasets.rhythm_sets import RhythmSet, scan_windows, seconds_of

    database = RhythmSet(
        rate=rate, channels=(LEAD,), rhythms=RHYTHMS, patient_of={"202": "201"}, pick=_pick, about=_about
    )
    seconds = seconds_of(options)
    found, windows, annotated = scan_windows(source, RECORDS, database, rule="mitdb-labels: 1", seconds=seconds)
    beats = _beat_task(source, windows, annotated, length=round(seconds * rate))
    return replace(found, tasks={**found.tasks, "aami-beats": beats})


def _pick(header: Header) -> tuple[int, ...] | str:
    names = [signal.name for signal in header.signals]
    return (names.index(LEAD),) if LEAD in names else f"no lead {LEAD}"


def _about(header: Header) -> dict[str, object]:
    # The first comment begins with age and sex, as "69 M 1085 1629 x1"; -1 is unknown.
    fields = header.comments[0].split() if header.comments else []
    return {"age": age_of(fields[0] if fields else None), "sex": sex_of(fields[1]) if len(fields) > 1 else None}


def _beat_task(source: Path, windows: Windows, annotated: list[AnnotatedRecording], *, length: int) -> TaskTable:
    """Which AAMI classes of beats occur in a window."""
    from typing import Any

    import numpy as np
    import wfdb

    from einthoven.datasets.columns import LabelColumns
    from einthoven.datasets.dataset import TaskTable

    column_of = {symbol: column for column, symbols in enumerate(AAMI.values()) for symbol in symbols}
    targets = np.zeros((len(windows.start), len(AAMI)), dtype=np.uint8)
    used = np.zeros(len(windows.start), dtype=bool)
    for position, recording in enumerate(annotated):
        if recording.samples is None or recording.name in PACED:
            continue
        rows = np.flatnonzero(windows.recording == position)
        used[rows] = True
        beats: Any = wfdb.rdann(str(source / recording.name), "atr")
        for at, symbol in zip(beats.sample, beats.symbol, strict=True):
            window = int(at) // length
            if symbol in column_of and 0 <= window < len(rows):
                targets[rows[window], column_of[symbol]] = 1
    chosen = np.flatnonzero(used)
    labels = tuple(AAMI)
    return TaskTable(labels, LabelColumns(windows.records.record_id, labels, chosen, targets[chosen]))


DATASET = Dataset(
    card=DatasetCard(
        name="mitdb",
        title="MIT-BIH Arrhythmia Database",
        version="1.0.0",
        summary="48 half-hour recordings of 47 people, beats and rhythms annotated; windows of 10 s of lead MLII.",
        licence="ODC-By 1.0",
        access="open",
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=48, patients=47, gigabytes=0.1),
        url="https://physionet.org/content/mitdb/1.0.0/",
        citation=(
            "Moody and Mark. The impact of the MIT-BIH Arrhythmia Database. IEEE Eng. Med. Biol. 20(3), 45 (2001). "
            "doi:10.1109/51.932724"
        ),
        rates=(RATE,),
        tasks={
            "af": TaskCard("atrial fibrillation or not, by most samples of the window", "rhythm+waveform"),
            "rhythm": TaskCard("one of 15 annotated rhythms, by most samples of the window", "rhythm+waveform"),
            "aami-beats": TaskCard(
                "AAMI classes of beats in the window: N, S, V, F, Q; the four paced recordings are not in it",
                "rhythm+waveform",
            ),
        },
        split_rules=FOLD_RULES,
    ),
    scan=scan,
    options={"window": 10},
    release=physionet("mitdb", "1.0.0"),
)
