"""CSN (Chapman, Shaoxing, Ningbo): 45,152 12-lead ECGs of 10 s at 500 Hz, SNOMED codes.

The release's own table of conditions has 63 rows and only 55 distinct codes, so an acronym does not name one thing:
four codes have several. Labels here are keyed by code. Two label sets in use are tasks: the 48 of ecg-fix (Berger et
al. 2026), under the acronyms its table ends with, and the 38 of MERL (Liu et al. 2024).
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
_RECORDS = 45_150  # of 45,152
# Their headers have 11 signal lines in the release.
_CORRUPT = ("JS01052", "JS23074")
# Code -> acronym. A comment gives the other acronyms of a code in the release's table.
ECGFIX_48 = {
    "270492004": "1AVB", "195042002": "2AVB", "54016002": "2AVB1", "164890007": "AF", "164889003": "AFIB",
    "39732003": "ALS", "284470004": "APB", "164917005": "AQW", "47665007": "ARS", "713422000": "AT",
    "233917008": "AVB", "233897008": "AVRT", "251199005": "CCR", "251198002": "CR", "428417006": "ERV",
    "164942001": "FQRS", "426995002": "JEB", "251164006": "JPT", "164873001": "LVH", "251146004": "LVQRSAL",
    "164947007": "PRIE", "164912004": "PWC", "111975006": "QTIE", "446358003": "RAH", "59118001": "RBBB",
    "89792004": "RVH", "427393009": "SA", "426177001": "SB", "426783006": "SR", "427084000": "ST",
    "429622005": "STDD", "164930006": "STE", "428750005": "STTC", "164931005": "STTU", "426761007": "SVT",
    "164934002": "TWC", "59931005": "TWO", "164937009": "UW", "11157007": "VB", "75532003": "VEB",
    "251180001": "VET", "13640000": "VFW", "17338001": "VPB", "195060002": "VPE", "74390002": "WPW",
    "164909002": "LFBBB",  # LBBB, LBBBB: every left bundle branch block
    "164865005": "MISW",  # MI, MIBW, MIFW, MILW: every myocardial infarction
    "698252002": "IVB",  # IDC
}  # fmt: skip
MERL_38 = {
    code: {"LFBBB": "LBBB", "MISW": "MI"}.get(name, name)
    for code, name in ECGFIX_48.items()
    if name not in ("AVRT", "FQRS", "IVB", "JPT", "LVQRSAL", "RAH", "SB", "VET", "VFW", "VPE")
}


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read all headers; no sample is touched."""
    from einthoven.datasets.challenge import NO_PATIENTS, labels_of, read_challenge_folder, reader, source_records
    from einthoven.datasets.splitting import drawn_among, hash_split, stratified_random

    pattern = rf"(?!{'|'.join(_CORRUPT)})JS\d{{5}}"
    found = read_challenge_folder(source, names=pattern, such_as="JS00001", dataset="csn")
    kept = [record for record in found if _is_kept(record)]
    seed_set = TaskTable(
        labels=tuple(sorted(ECGFIX_48.values())),
        # A record with any code outside the set is not in the task, as in ecg-fix.
        positives={r.name: labels_of(r.codes, ECGFIX_48) for r in kept if r.codes and set(r.codes) <= set(ECGFIX_48)},
    )
    usual_set = TaskTable(
        labels=tuple(sorted(MERL_38.values())),
        positives={r.name: labels for r in kept if (labels := labels_of(r.codes, MERL_38))},
    )

    return Scan(
        records=source_records(found, keep=_is_kept, reason="shorter than 10 s"),
        tasks={"ecgfix-48": seed_set, "merl-38": usual_set},
        splits={
            "hash": hash_split({r.name: r.name for r in kept}, salt="einthoven", train=0.7, val=0.1),
            "ecgfix": stratified_random(seed_set, seed=42),
        },
        read=reader(source, found),
        rate=rate,
        whole=_RECORDS,
        samples=_SAMPLES,
        rules={"csn-labels": "1: SNOMED codes; any other code leaves ecgfix-48"},
        notes=(
            NO_PATIENTS,
            *drawn_among(len(found), _RECORDS, rule="ecgfix"),
            "The release's condition table gives one SNOMED code to several acronyms: 164909002 is LBBB, LBBBB and "
            "LFBBB; 164865005 MI, MIBW, MIFW, MILW and MISW; 698252002 IDC and IVB; 195101003 WAVN and SAAWR. Labels "
            "here stand for the code.",
            f"The headers of {' and '.join(_CORRUPT)} are corrupt in the release; the two records are not read.",
        ),
    )


def _is_kept(record: ChallengeRecord) -> bool:
    return record.header.samples >= _SAMPLES


DATASET = Dataset(
    card=DatasetCard(
        name="csn",
        title="Chapman-Shaoxing-Ningbo",
        version="1.0.0",
        summary="45,152 12-lead ECGs of 10 s from Shaoxing and Ningbo, with SNOMED codes.",
        licence="CC BY 4.0",
        access="open",
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=45_152),
        url="https://physionet.org/content/ecg-arrhythmia/1.0.0/",
        citation=(
            "Zheng et al. A 12-lead electrocardiogram database for arrhythmia research covering more than 10,000 "
            "patients. Scientific Data 7, 48 (2020). doi:10.1038/s41597-020-0386-x"
        ),
        rates=(500.0,),
        tasks={
            "ecgfix-48": TaskCard("48 labels of ecg-fix; records with any other code are not in it", "rhythm+waveform"),
            "merl-38": TaskCard("38 labels of MERL; records with at least one of them", "rhythm+waveform"),
        },
        split_rules={
            "hash": "70 / 10 / 20 by a hash of the record id",
            "ecgfix": "random 70 / 10 / 20 of the records of ecgfix-48, every label in every split, seed 42",
        },
    ),
    scan=scan,
    release=physionet("ecg-arrhythmia", "1.0.0"),
)
