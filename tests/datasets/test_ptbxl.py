"""PTB-XL: the labels and splits of the representation seed's Tables 10-13, from the real metadata."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import wfdb

from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue.ptbxl import DATASET, scan
from einthoven.datasets.source import open_source
from einthoven.foundation.errors import DataError, UsageError

# Positive records in train, val and test: arXiv 2602.17531v2, Tables 10 (super), 11 (sub), 13 (form), 12 (rhythm).
# The tables print labels without the underscores of PTB-XL's own names.
TABLES = {
    "super": {
        "CD": (3907, 495, 496),
        "HYP": (2119, 268, 262),
        "MI": (4379, 540, 550),
        "NORM": (7596, 955, 963),
        "STTC": (4186, 528, 521),
    },
    "sub": {
        "AMI": (2466, 306, 306),
        "CLBBB": (428, 54, 54),
        "CRBBB": (432, 55, 54),
        "ILBBB": (62, 7, 8),
        "IMI": (2618, 326, 327),
        "IRBBB": (894, 112, 112),
        "ISCA": (756, 92, 93),
        "ISCI": (318, 39, 40),
        "ISC_": (1019, 125, 128),
        "IVCD": (630, 78, 79),
        "LAFB/LPFB": (1437, 181, 179),
        "LAO/LAE": (341, 43, 42),
        "LMI": (161, 20, 20),
        "LVH": (1708, 210, 214),
        "NORM": (7596, 955, 963),
        "NST_": (615, 75, 77),
        "PMI": (13, 2, 2),
        "RAO/RAE": (79, 10, 10),
        "RVH": (102, 12, 12),
        "SEHYP": (24, 3, 2),
        "STTC": (1792, 225, 222),
        "WPW": (64, 7, 8),
        "_AVB": (658, 83, 82),
    },
    "form": {
        "ABQRS": (2683, 322, 322),
        "DIG": (145, 18, 18),
        "HVOLT": (49, 7, 6),
        "INVT": (235, 30, 29),
        "LNGQT": (94, 12, 11),
        "LOWT": (350, 44, 44),
        "LPR": (272, 34, 34),
        "LVOLT": (145, 19, 18),
        "NDT": (1461, 182, 182),
        "NST_": (615, 75, 77),
        "NT_": (340, 41, 42),
        "PAC": (318, 40, 40),
        "PRC(S)": (8, 1, 1),
        "PVC": (915, 114, 114),
        "QWAVE": (438, 55, 55),
        "STD_": (807, 101, 101),
        "STE_": (22, 3, 3),
        "TAB_": (28, 4, 3),
        "VCLVH": (701, 87, 87),
    },
    "rhythm": {
        "AFIB": (1211, 151, 152),
        "AFLT": (59, 7, 7),
        "BIGU": (66, 8, 8),
        "PACE": (237, 29, 28),
        "PSVT": (19, 3, 2),
        "SARRH": (618, 77, 77),
        "SBRAD": (509, 64, 64),
        "SR": (13404, 1670, 1674),
        "STACH": (661, 83, 82),
        "SVARR": (128, 15, 14),
        "SVTAC": (21, 3, 3),
        "TRIGU": (16, 2, 2),
    },
}
RECORDS = {
    "super": (17084, 2146, 2158),
    "sub": (17084, 2146, 2158),
    "form": (7197, 901, 880),
    "rhythm": (16832, 2100, 2098),
}
SPLITS = ("train", "val", "test")


@pytest.fixture(scope="module")
def real_scan(real_data: Path):
    return scan(real_data / "ptbxl", 100.0, {})


@pytest.mark.realdata
@pytest.mark.parametrize("task", TABLES)
def test_positives_of_all_labels_and_splits_equal_the_paper(real_scan, task: str) -> None:
    table, split = real_scan.tasks[task], real_scan.splits["official"]
    counts = Counter((label, split[record]) for record, labels in table.positives.items() for label in labels)
    found = {label: tuple(counts[label, name] for name in SPLITS) for label in table.labels}
    assert found == TABLES[task]


@pytest.mark.realdata
@pytest.mark.parametrize("task", TABLES)
def test_records_in_each_split_equal_the_paper(real_scan, task: str) -> None:
    split = Counter(real_scan.splits["official"][record] for record in real_scan.tasks[task].positives)
    assert tuple(split[name] for name in SPLITS) == RECORDS[task]


@pytest.mark.realdata
def test_the_metadata_are_whole_and_patients_stay_together(real_scan) -> None:
    assert len(real_scan.records) == 21_799
    assert len({record.patient_id for record in real_scan.records}) == 18_869
    ages = [record.metadata["age"] for record in real_scan.records]
    assert max(ages) == 90.0
    assert sum(record.metadata["age_is_above_89"] for record in real_scan.records) == 293
    by_patient: dict[str, set[str]] = {}
    for record in real_scan.records:
        by_patient.setdefault(record.patient_id, set()).add(real_scan.splits["official"][record.record_id])
    assert all(len(splits) == 1 for splits in by_patient.values())


@pytest.mark.realdata
@pytest.mark.parametrize(("rate", "folder", "suffix"), [(100.0, "records100", "lr"), (500.0, "records500", "hr")])
def test_stored_samples_are_exactly_the_files(real_data, home, tmp_path, rate, folder, suffix) -> None:
    source = tmp_path / "source"
    (source / folder / "00000").mkdir(parents=True)
    stems = sorted((real_data / "ptbxl" / folder / "00000").glob("*.hea"))[:12]
    for file in stems:
        for extension in (".hea", ".dat"):
            shutil.copy(file.with_suffix(extension), source / folder / "00000")
    for name in ("ptbxl_database.csv", "scp_statements.csv"):
        shutil.copy(real_data / "ptbxl" / name, source)
    cohort = prepare("ptbxl", source, rate=rate, allow_missing=True)
    assert len(cohort) == 12
    assert cohort.manifest.promised_records == 21_799
    assert cohort.manifest.excluded.counts == {"missing file": 21_787}
    stored = np.load(cohort.path / "signals.npy", mmap_mode="r")
    for row, record_id in enumerate(cohort.record_ids):
        stem = source / folder / "00000" / f"{int(record_id):05d}_{suffix}"
        read = wfdb.rdrecord(str(stem), physical=False)
        assert isinstance(read, wfdb.Record)
        digital = np.asarray(read.d_signal)
        np.testing.assert_array_equal(stored[row], digital.T)
        np.testing.assert_array_equal(cohort.signals(np.array([row]))[0], (digital.T / 1000).astype(np.float32))


def test_every_code_counts_whatever_its_likelihood(ptbxl) -> None:
    scanned = scan(ptbxl.path, 100.0, {})
    assert scanned.tasks["super"].labels == ("MI", "NORM")
    assert scanned.tasks["form"].positives["1"] == {"PVC"}
    assert "2" not in scanned.tasks["form"].positives
    assert scanned.tasks["rhythm"].positives["2"] == {"SR"}


def test_an_age_of_300_is_90_and_says_so(ptbxl) -> None:
    first = scan(ptbxl.path, 100.0, {}).records[0]
    assert (first.metadata["age"], first.metadata["age_is_above_89"]) == (90.0, True)


def test_sex_is_read_as_ptbxl_codes_it(ptbxl) -> None:
    assert [r.metadata["sex"] for r in scan(ptbxl.path, 100.0, {}).records[:2]] == ["M", "F"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scp_codes": "NORM"}, "scp_codes of record 1 is 'NORM'"),
        ({"scp_codes": "__import__('os').getcwd()"}, "a literal like"),
        ({"strat_fold": 11}, "record 1 has strat_fold 11; 1 to 10 was expected"),
        ({"patient_id": ""}, "record 1 has no patient_id"),
    ],
)
def test_broken_rows_are_named(ptbxl, change, message) -> None:
    ptbxl.rows[0].update(change)
    ptbxl.write_metadata()
    with pytest.raises(DataError, match=message.replace("(", r"\(").replace(")", r"\)")):
        scan(ptbxl.path, 100.0, {})


def test_a_rate_that_does_not_exist_and_a_missing_source_are_refused(ptbxl, tmp_path) -> None:
    with pytest.raises(UsageError, match="100 and 500 Hz; 250 Hz was asked for"):
        open_source(DATASET, ptbxl.path, rate=250.0, options={})
    with pytest.raises(UsageError, match="--source"):
        open_source(DATASET, None, rate=100.0, options={})
    with pytest.raises(DataError, match=r"ptbxl_database\.csv does not exist"):
        scan(tmp_path, 100.0, {})


def test_a_missing_column_is_named(ptbxl) -> None:
    for row in ptbxl.rows:
        del row["strat_fold"]
    ptbxl.write_metadata()
    with pytest.raises(DataError, match="has no column strat_fold; found ecg_id"):
        scan(ptbxl.path, 100.0, {})


@pytest.mark.realdata
def test_the_hash_split_is_the_one_of_interpbench(real_scan) -> None:
    """Its published numbers, with the patient id as the file writes it."""
    split = real_scan.splits["interpbench"]
    counted = Counter(split.values())
    assert (counted["train"], counted["val"], counted["test"]) == (15_149, 3_325, 3_325)
    patients = {record.patient_id for record in real_scan.records if split[record.record_id] == "test"}
    assert len(patients) == 2_862
