"""Long-Term AF Database: 84 two-lead Holter recordings of 24 to 25 hours at 128 Hz, rhythms annotated.

All patients have paroxysmal or sustained atrial fibrillation; every recording is its own patient. Recordings begin with
minutes that are not annotated; windows in them are in no task.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from einthoven.datasets.dataset import Dataset, DatasetCard, Scan, Sizes, TaskCard
from einthoven.datasets.downloading.release import physionet
from einthoven.datasets.fold_rules import FOLD_RULES

RECORDS = (
    "00", "01", "03", "05", "06", "07", "08", "10", "100", "101", "102", "103", "104", "105", "11", "110", "111",
    "112", "113", "114", "115", "116", "117", "118", "119", "12", "120", "121", "122", "13", "15", "16", "17", "18",
    "19", "20", "200", "201", "202", "203", "204", "205", "206", "207", "208", "21", "22", "23", "24", "25", "26",
    "28", "30", "32", "33", "34", "35", "37", "38", "39", "42", "43", "44", "45", "47", "48", "49", "51", "53", "54",
    "55", "56", "58", "60", "62", "64", "65", "68", "69", "70", "71", "72", "74", "75",
)  # fmt: skip
RHYTHMS = ("N", "AFIB", "AB", "B", "IVR", "SBR", "SVTA", "T", "VT")
RATE = 128.0


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read headers and annotations; no sample is touched."""
    from einthoven.datasets.rhythm_sets import RhythmSet, all_channels, scan_windows, seconds_of

    database = RhythmSet(rate=rate, channels=("ECG1", "ECG2"), rhythms=RHYTHMS, patient_of={}, pick=all_channels(2))
    return scan_windows(source, RECORDS, database, rule="ltafdb-labels: 1", seconds=seconds_of(options))[0]


DATASET = Dataset(
    card=DatasetCard(
        name="ltafdb",
        title="Long-Term AF Database",
        version="1.0.0",
        summary="84 two-lead Holter recordings of 24 to 25 hours, rhythms annotated; windows of 10 s.",
        licence="ODC-By 1.0",
        access="open",
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=84, patients=84, gigabytes=3.7),
        url="https://physionet.org/content/ltafdb/1.0.0/",
        citation=(
            "Petrutiu et al. Abrupt changes in fibrillatory wave characteristics at the termination of paroxysmal "
            "atrial fibrillation in humans. Europace 9, 466 (2007). doi:10.1093/europace/eum096"
        ),
        rates=(RATE,),
        tasks={
            "af": TaskCard("atrial fibrillation or not, by most samples of the window", "rhythm+waveform"),
            "rhythm": TaskCard(
                "one of N, AFIB, AB and B (atrial, ventricular bigeminy), IVR, SBR, SVTA, T (trigeminy), VT",
                "rhythm+waveform",
            ),
        },
        split_rules=FOLD_RULES,
    ),
    scan=scan,
    options={"window": 10},
    release=physionet("ltafdb", "1.0.0"),
)
