"""MIT-BIH Atrial Fibrillation Database: 23 two-lead Holter recordings of 10 hours at 250 Hz, rhythms annotated.

Two of the 25 recordings, 00735 and 03665, have annotations but no signals, and are not read. Every recording is its own
patient.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from einthoven.datasets.dataset import Dataset, DatasetCard, Scan, Sizes, TaskCard
from einthoven.datasets.downloading.release import physionet
from einthoven.datasets.fold_rules import FOLD_RULES

RECORDS = (
    "04015", "04043", "04048", "04126", "04746", "04908", "04936", "05091", "05121", "05261", "06426", "06453",
    "06995", "07162", "07859", "07879", "07910", "08215", "08219", "08378", "08405", "08434", "08455",
)  # fmt: skip
RHYTHMS = ("N", "AFIB", "AFL", "J")
RATE = 250.0


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read headers and annotations; no sample is touched."""
    from einthoven.datasets.rhythm_sets import RhythmSet, all_channels, scan_windows, seconds_of

    database = RhythmSet(rate=rate, channels=("ECG1", "ECG2"), rhythms=RHYTHMS, patient_of={}, pick=all_channels(2))
    return scan_windows(source, RECORDS, database, rule="afdb-labels: 1", seconds=seconds_of(options))[0]


DATASET = Dataset(
    card=DatasetCard(
        name="afdb",
        title="MIT-BIH Atrial Fibrillation Database",
        version="1.0.0",
        summary="23 two-lead Holter recordings of 10 hours, rhythms annotated; windows of 10 s.",
        licence="ODC-By 1.0",
        access="open",
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=23, patients=23, gigabytes=0.64),
        url="https://physionet.org/content/afdb/1.0.0/",
        citation=(
            "Moody and Mark. A new method for detecting atrial fibrillation using R-R intervals. "
            "Computers in Cardiology 10, 227 (1983)."
        ),
        rates=(RATE,),
        tasks={
            "af": TaskCard("atrial fibrillation or not, by most samples of the window", "rhythm+waveform"),
            "rhythm": TaskCard("one of N, AFIB, AFL (flutter), J (junctional)", "rhythm+waveform"),
        },
        split_rules=FOLD_RULES,
    ),
    scan=scan,
    options={"window": 10},
    release=physionet("afdb", "1.0.0"),
)
