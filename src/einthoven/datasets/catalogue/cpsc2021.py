"""CPSC2021: 1,436 two-lead recordings of 8 s to 6 hours at 200 Hz of 105 patients, AF episodes annotated.

A recording is called `data_<patient>_<number>`, and its header says which kind of patient it is of: without AF,
paroxysmal or persistent AF.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.datasets.dataset import Dataset, DatasetCard, Scan, Sizes, TaskCard
from einthoven.datasets.downloading.release import physionet
from einthoven.foundation.errors import DataError

if TYPE_CHECKING:
    from einthoven.datasets.columns import SplitColumn
    from einthoven.datasets.dataset import TaskTable
    from einthoven.datasets.wfdb_header import Header
    from einthoven.datasets.windows import Windows

RHYTHMS = ("N", "AFIB", "AFL")
RATE = 200.0
_RECORDINGS = 1_436
KIND = "patient_kind"
KINDS = ("non atrial fibrillation", "paroxysmal atrial fibrillation", "persistent atrial fibrillation")


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read headers and annotations; no sample is touched."""
    from dataclasses import replace

    from einthoven.datasets.rhythm_sets import RhythmSet, all_channels, scan_windows, seconds_of

    stems = sorted(
        (path.relative_to(source).as_posix().removesuffix(".hea") for path in source.rglob("data_*_*.hea")),
        key=lambda stem: [int(part) if part.isdigit() else part for part in stem.rpartition("/")[2].split("_")],
    )
    if not stems:
        raise DataError(f"There is no header of cpsc2021 (names like data_0_1.hea) below {source}.")
    database = RhythmSet(
        rate=rate,
        channels=("I", "II"),
        rhythms=RHYTHMS,
        patient_of={stem.rpartition("/")[2]: stem.rpartition("/")[2].split("_")[1] for stem in stems},
        pick=all_channels(2),
        about=_about,
        unmarked="N",  # only episodes of AF and flutter are marked
    )
    found, windows, _ = scan_windows(
        source,
        stems,
        database,
        rule="cpsc2021-labels: 1",
        seconds=seconds_of(options),
        splits=_hash,
    )
    # Each recording that is not here counts as one record, since nobody knows how many windows it has.
    whole = len(found.records) + _RECORDINGS - len(stems)
    notes = found.notes
    if len(stems) < _RECORDINGS:
        here = f"{len(stems)} of {_RECORDINGS:,} recordings are here"
        notes = (f"{here}; each of the others counts as one of the records promised, which are windows.", *notes)
    return replace(found, whole=whole, notes=notes, tasks={**found.tasks, "patient-kind": _kind_task(windows)})


def _about(header: Header) -> dict[str, object]:
    kind = header.comments[0].strip().casefold() if header.comments else ""
    if kind not in KINDS:
        raise DataError(
            f"The header of {header.name} says {kind!r}; one of {', '.join(KINDS)} was expected. Download it again."
        )
    return {KIND: kind}


def _kind_task(windows: Windows) -> TaskTable:
    import numpy as np

    from einthoven.datasets.columns import LabelColumns
    from einthoven.datasets.dataset import TaskTable

    kinds = windows.records.metadata[KIND].to_numpy() if KIND in windows.records.metadata.columns else np.array([])
    rows = np.flatnonzero(np.isin(kinds, KINDS))
    targets = np.array([kinds[rows] == kind for kind in KINDS], dtype=np.uint8).T.reshape(len(rows), len(KINDS))
    labels = tuple(kind.split()[0] for kind in KINDS)
    return TaskTable(labels, LabelColumns(windows.records.record_id, labels, rows, targets))


def _hash(windows: Windows) -> dict[str, SplitColumn]:
    from einthoven.datasets.columns import SplitColumn
    from einthoven.datasets.splitting import hash_split

    patients = windows.records.patient_id.unique().to_list()
    split = hash_split(dict(zip(patients, patients, strict=True)), salt="einthoven", train=0.7, val=0.1)
    return {"hash": SplitColumn.by_patient(windows.records, split)}


DATASET = Dataset(
    card=DatasetCard(
        name="cpsc2021",
        title="CPSC 2021, paroxysmal atrial fibrillation",
        version="1.0.0",
        summary="1,436 two-lead recordings of 105 patients, AF episodes annotated; windows of 10 s.",
        licence="CC BY 4.0",
        access="open",
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=1_436, patients=105),
        url="https://physionet.org/content/cpsc2021/1.0.0/",
        citation=(
            "Wang et al. Paroxysmal atrial fibrillation events detection from dynamic ECG recordings: the 4th China "
            "Physiological Signal Challenge 2021. PhysioNet (2021). doi:10.13026/ksya-qw89"
        ),
        rates=(RATE,),
        tasks={
            "af": TaskCard("atrial fibrillation or not, by most samples of the window", "rhythm+waveform"),
            "rhythm": TaskCard("one of N, AFIB, AFL (flutter)", "rhythm+waveform"),
            "patient-kind": TaskCard(
                "the recording's patient is without AF (non), paroxysmal or persistent", "rhythm+waveform"
            ),
        },
        split_rules={"hash": "70 / 10 / 20 by a hash of the patient"},
    ),
    scan=scan,
    options={"window": 10},
    release=physionet("cpsc2021", "1.0.0"),
)
