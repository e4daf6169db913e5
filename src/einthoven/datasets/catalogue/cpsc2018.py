"""CPSC2018: 6,877 12-lead ECGs of 6 to 144 s at 500 Hz, 9 labels.

Two releases are read, with the same records, labels and splits: that of the PhysioNet challenges (headers with SNOMED
codes), and that of the challenge of 2018 itself (MATLAB structs and REFERENCE.csv).

Label rule: the SNOMED codes of the `Dx` comment, or every label of the reference, which are the same. Length rule
(ecg-fix, Berger et al. 2026): records shorter than 10 s are left out, longer ones cut to their middle 10 s, which
leaves 6,867.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.datasets.dataset import Dataset, DatasetCard, Record, Scan, Sizes, SourceRecord, TaskCard, TaskTable
from einthoven.datasets.downloading.release import physionet

if TYPE_CHECKING:
    from einthoven.datasets.challenge import ChallengeRecord
    from einthoven.datasets.cpsc2018_native import NativeRecord

_SAMPLES = 5000
_RECORDS = 6_877
LABEL_OF_CODE = {
    "426783006": "NSR",
    "164889003": "AF",
    "270492004": "IAVB",
    "164909002": "LBBB",
    "59118001": "RBBB",
    "284470004": "PAC",
    "164884008": "PVC",  # ventricular ectopics, as this release codes them; not 427172004
    "429622005": "STD",
    "164931005": "STE",
}
# Label of REFERENCE.csv -> SNOMED code.
_NATIVE_LABELS = {
    "1": "NSR", "2": "AF", "3": "IAVB", "4": "LBBB", "5": "RBBB", "6": "PAC", "7": "PVC", "8": "STD", "9": "STE",
}  # fmt: skip
SNOMED_OF_NATIVE = {
    number: code for number, label in _NATIVE_LABELS.items() for code, name in LABEL_OF_CODE.items() if name == label
}


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read all headers, or of the release without them all files, since only they say how long a record is."""
    from einthoven.datasets.challenge import NO_PATIENTS, labels_of
    from einthoven.datasets.cpsc2018_native import is_native
    from einthoven.datasets.splitting import drawn_among, hash_split, stratified_random

    found, read, source_files = _native(source) if is_native(source) else _challenge(source)
    kept = [record for record in found if _is_kept(record)]
    table = TaskTable(
        labels=tuple(sorted(LABEL_OF_CODE.values())),
        positives={r.name: labels for r in kept if (labels := labels_of(r.codes, LABEL_OF_CODE))},
    )

    return Scan(
        records=[record.source_record(left_out="" if _is_kept(record) else "shorter than 10 s") for record in found],
        tasks={"rhythm-form": table},
        splits={
            "ecgfix": stratified_random(table, seed=42),
            "hash": hash_split({r.name: r.name for r in kept}, salt="einthoven", train=0.7, val=0.1),
        },
        read=read,
        rate=rate,
        whole=None if source_files else _RECORDS,  # the native release lists its records
        samples=_SAMPLES,
        source_files=source_files,
        rules={"cpsc2018-labels": "1: SNOMED codes", "cpsc2018-length": "1: middle 10 s, shorter left out"},
        notes=(NO_PATIENTS, *drawn_among(len(found), _RECORDS, rule="ecgfix")),
    )


_Layout = tuple["Sequence[ChallengeRecord | NativeRecord]", Callable[[SourceRecord], Record], tuple[str, ...]]


def _challenge(source: Path) -> _Layout:
    from einthoven.datasets.challenge import centre_crop, read_challenge_folder, reader

    found = read_challenge_folder(source, names=r"A\d{4}", such_as="A0001", dataset="cpsc2018")
    return found, reader(source, found, change=centre_crop(_SAMPLES)), ()


def _native(source: Path) -> _Layout:
    from einthoven.datasets.challenge import centre_crop
    from einthoven.datasets.cpsc2018_native import read_native_folder, reader, reference_file

    found = read_native_folder(source, snomed_of=SNOMED_OF_NATIVE)
    return found, reader(source, found, change=centre_crop(_SAMPLES)), (reference_file(source),)


def _is_kept(record: ChallengeRecord | NativeRecord) -> bool:
    from einthoven.datasets.challenge import ChallengeRecord

    samples = record.header.samples if isinstance(record, ChallengeRecord) else record.samples
    # A record whose file is missing has no length yet; it is counted among the missing ones.
    return samples is None or samples >= _SAMPLES


DATASET = Dataset(
    card=DatasetCard(
        name="cpsc2018",
        title="CPSC 2018",
        version="PhysioNet/CinC challenge 2020, 1.0.2; or CPSC 2018, training set",
        summary="6,877 12-lead ECGs of 6 to 144 s from 11 hospitals, 9 rhythm and form labels.",
        licence="CC BY 4.0",
        access="open",
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=6_877),
        url="https://physionet.org/content/challenge-2020/1.0.2/",
        citation=(
            "Liu et al. An open access database for evaluating the algorithms of electrocardiogram rhythm and "
            "morphology abnormality detection. J. Med. Imaging Health Inform. 8(7), 1368 (2018)."
        ),
        rates=(500.0,),
        tasks={"rhythm-form": TaskCard("9 labels: AF, IAVB, LBBB, NSR, PAC, PVC, RBBB, STD, STE", "rhythm+waveform")},
        split_rules={
            "ecgfix": "random 70 / 10 / 20 by record, every label in every split, seed 42 (ecg-fix)",
            "hash": "70 / 10 / 20 by a hash of the record id",
        },
    ),
    scan=scan,
    release=physionet("challenge-2020", "1.0.2", include=("training/cpsc_2018/*",)),
)
