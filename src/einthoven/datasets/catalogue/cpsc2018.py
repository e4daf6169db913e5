"""CPSC2018: 6,877 12-lead ECGs of 6 to 144 s at 500 Hz, 9 labels, as the PhysioNet challenges release it.

Label rule: the SNOMED codes of the `Dx` comment. Length rule (ecg-fix, Berger et al. 2026): records shorter than 10 s
are left out, longer ones cut to their middle 10 s, which leaves 6,867.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.datasets.dataset import Dataset, DatasetCard, Scan, Sizes, TaskCard, TaskTable

if TYPE_CHECKING:
    from einthoven.datasets.challenge import ChallengeRecord

_SAMPLES = 5000
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


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read all headers; no sample is touched."""
    from einthoven.datasets.challenge import centre_crop, labels_of, read_challenge_folder, reader, source_records
    from einthoven.datasets.splitting import hash_split, stratified_random

    found = read_challenge_folder(source, names=r"A\d{4}", dataset="cpsc2018")
    kept = [record for record in found if _is_kept(record)]
    table = TaskTable(
        labels=tuple(sorted(LABEL_OF_CODE.values())),
        positives={r.name: labels for r in kept if (labels := labels_of(r.codes, LABEL_OF_CODE))},
    )

    return Scan(
        records=source_records(found, keep=_is_kept, reason="shorter than 10 s"),
        tasks={"rhythm-form": table},
        splits={
            "ecgfix": stratified_random(table, seed=42),
            "hash": hash_split({r.name: r.name for r in kept}, salt="einthoven", train=0.7, val=0.1),
        },
        read=reader(source, found, change=centre_crop(_SAMPLES)),
        rate=rate,
        samples=_SAMPLES,
        rules={"cpsc2018-labels": "1: SNOMED codes", "cpsc2018-length": "1: middle 10 s, shorter left out"},
    )


def _is_kept(record: ChallengeRecord) -> bool:
    return record.header.samples >= _SAMPLES


DATASET = Dataset(
    card=DatasetCard(
        name="cpsc2018",
        title="CPSC 2018",
        version="PhysioNet/CinC challenge 2020, 1.0.2",
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
)
