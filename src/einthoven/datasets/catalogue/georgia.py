"""Georgia: 10,344 12-lead ECGs of 5 to 10 s at 500 Hz, as the PhysioNet challenges release it.

Labels are the 26 diagnoses that the challenge of 2021 scored, its four pairs of equal codes taken together. Records
shorter than 10 s are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.datasets.dataset import Dataset, DatasetCard, Scan, Sizes, TaskCard, TaskTable
from einthoven.datasets.downloading.release import physionet

if TYPE_CHECKING:
    from einthoven.datasets.challenge import ChallengeRecord

_SAMPLES = 5000
_RECORDS = 10_344
# Code -> abbreviation in the challenge's own table (dx_mapping_scored.csv); codes it scores as one share a label.
SCORED_2021 = {
    "164889003": "AF", "164890007": "AFL", "6374002": "BBB", "426627000": "Brady", "733534002": "CLBBB|LBBB",
    "164909002": "CLBBB|LBBB", "713427006": "CRBBB|RBBB", "59118001": "CRBBB|RBBB", "270492004": "IAVB",
    "713426002": "IRBBB", "39732003": "LAD", "445118002": "LAnFB", "251146004": "LQRSV", "698252002": "NSIVCB",
    "426783006": "NSR", "284470004": "PAC|SVPB", "63593006": "PAC|SVPB", "10370003": "PR", "365413008": "PRWP",
    "427172004": "PVC|VPB", "17338001": "PVC|VPB", "164947007": "LPR", "111975006": "LQT", "164917005": "QAb",
    "47665007": "RAD", "427393009": "SA", "426177001": "SB", "427084000": "STach", "164934002": "TAb",
    "59931005": "TInv",
}  # fmt: skip


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read all headers; no sample is touched."""
    from einthoven.datasets.challenge import NO_PATIENTS, labels_of, read_challenge_folder, reader, source_records
    from einthoven.datasets.splitting import hash_split

    found = read_challenge_folder(source, names=r"E\d{5}", such_as="E00001", dataset="georgia")
    kept = [record for record in found if _is_kept(record)]

    return Scan(
        records=source_records(found, keep=_is_kept, reason="not 10 s long"),
        tasks={
            "scored-2021": TaskTable(
                labels=tuple(sorted(set(SCORED_2021.values()))),
                positives={r.name: labels_of(r.codes, SCORED_2021) for r in kept if r.codes},
            )
        },
        splits={"hash": hash_split({r.name: r.name for r in kept}, salt="einthoven", train=0.7, val=0.1)},
        read=reader(source, found),
        rate=rate,
        whole=_RECORDS,
        samples=_SAMPLES,
        rules={"georgia-labels": "1: scored in 2021, equal codes together", "georgia-length": "1: 10 s only"},
        notes=(NO_PATIENTS,),
    )


def _is_kept(record: ChallengeRecord) -> bool:
    return record.header.samples == _SAMPLES


DATASET = Dataset(
    card=DatasetCard(
        name="georgia",
        title="Georgia 12-lead ECG challenge database",
        version="PhysioNet/CinC challenge 2021, 1.0.3",
        summary="10,344 12-lead ECGs of 5 to 10 s from the southeastern United States.",
        licence="CC BY 4.0",
        access="open",
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=10_344),
        url="https://physionet.org/content/challenge-2021/1.0.3/",
        citation="Reyna et al. Will two do? Varying dimensions in electrocardiography. Comput. Cardiol. 48 (2021).",
        rates=(500.0,),
        tasks={"scored-2021": TaskCard("26 diagnoses scored by the challenge of 2021", "rhythm+waveform")},
        split_rules={"hash": "70 / 10 / 20 by a hash of the record id"},
    ),
    scan=scan,
    release=physionet("challenge-2021", "1.0.3", include=("training/georgia/*",)),
)
