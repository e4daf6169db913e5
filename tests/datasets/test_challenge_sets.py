"""Datasets in the layout of the challenges, and CinC 2017: labels, lengths, refusals; real and made-up files."""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue.cpsc2018 import LABEL_OF_CODE
from einthoven.datasets.catalogue.csn import ECGFIX_48, MERL_38
from einthoven.datasets.catalogue.georgia import SCORED_2021
from einthoven.datasets.cohort import Cohort
from einthoven.datasets.registry import DATASETS
from einthoven.datasets.wfdb_files import read_wfdb
from einthoven.foundation.errors import DataError, UsageError

pytestmark = pytest.mark.realdata


def write(folder: Path, name: str, *, samples: int = 5000, dx: str = "426783006", age: str = "50", sex: str = "Male",
          comment: str = "# ") -> None:  # fmt: skip
    """A record in the challenge's layout: twelve leads that obey the limb-lead laws, in a .mat with 24 bytes before."""
    folder.mkdir(parents=True, exist_ok=True)
    time = np.arange(samples) / 500
    beat = 700 * np.exp(-(((time % 0.8) - 0.4) ** 2) / 0.0008)
    one, two = np.rint(beat), np.rint(1.3 * beat)
    leads = [
        one,
        two,
        two - one,
        -(one + two) / 2,
        one - two / 2,
        two - one / 2,
        *(beat * (i + 1) / 4 for i in range(6)),
    ]
    values = np.rint(np.array(leads)).astype("<i2")
    (folder / f"{name}.mat").write_bytes(bytes(24) + np.ascontiguousarray(values.T).tobytes())
    names = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
    lines = [f"{name} 12 500 {samples} 12-May-2020 12:33:59"]
    for lead, row in zip(names, values, strict=True):
        total = int(row.astype(np.int64).sum()) % 65536
        lines.append(f"{name}.mat 16+24 1000/mV 16 0 {row[0]} {total} 0 {lead}")
    lines += [f"{comment}Age: {age}", f"{comment}Sex: {sex}", f"{comment}Dx: {dx}"]
    (folder / f"{name}.hea").write_text("\n".join(lines) + "\n")


def test_cpsc_leaves_short_records_out_and_cuts_long_ones_to_their_middle(tmp_path, home) -> None:
    for index in range(10):
        write(tmp_path / "g1", f"A{index:04d}", samples=(5000, 4500, 7501)[index % 3], comment=("#", "# ")[index % 2])
    cohort = prepare("cpsc2018", tmp_path, allow_missing=True)
    assert cohort.samples == 5000
    assert cohort.manifest.excluded.counts == {"shorter than 10 s": 3, "not in the folder": 6867}
    assert cohort.manifest.promised_records == 6877
    assert any("ecgfix draws from all records" in note for note in cohort.manifest.notes)
    with pytest.raises(DataError, match=r"10 of 6877 records of cpsc2018 are in .* --allow-missing"):
        prepare("cpsc2018", tmp_path, name="whole")
    whole = read_wfdb(tmp_path / "g1" / "A0002", record_id="A0002", patient_id="A0002").signal
    row = list(cohort.record_ids).index("A0002")
    np.testing.assert_allclose(cohort.signal(row), whole[:, 1250:6250], atol=1e-6)


@pytest.mark.parametrize(
    ("age", "sex", "expected"),
    [
        ("50", "Male", (50.0, "M")),
        ("NaN", "Female", (None, "F")),
        ("300", "Unknown", (None, None)),
        ("", "", (None, None)),
    ],
)
def test_age_and_sex_as_the_headers_write_them(tmp_path, home, age, sex, expected) -> None:
    write(tmp_path, "E00001", age=age, sex=sex)
    records = prepare("georgia", tmp_path, allow_missing=True).records
    assert (records["age"][0], records["sex"][0]) == expected


def test_an_empty_dx_is_no_label_and_no_error(tmp_path, home) -> None:
    write(tmp_path, "E00001", dx="")
    write(tmp_path, "E00002", dx="164889003,999")
    cohort = prepare("georgia", tmp_path, allow_missing=True)
    assert cohort.task("scored-2021").rows.tolist() == [1]
    task = cohort.task("scored-2021")
    assert [label for label, hit in zip(task.labels, task.targets[0], strict=True) if hit] == ["AF"]


def test_csn_label_sets_are_those_that_are_used(real_data) -> None:
    assert len(ECGFIX_48) == len(set(ECGFIX_48.values())) == 48
    header = (real_data / "splits_merl" / "chapman" / "chapman_train.csv").read_text().splitlines()[0].split(",")
    assert sorted(MERL_38.values()) == sorted(header[3:])
    with (real_data / "csn" / "ConditionNames_SNOMED-CT.csv").open(encoding="utf-8-sig") as stream:
        rows = list(csv.DictReader(stream))
    names: dict[str, set[str]] = {}
    for row in rows:
        names.setdefault(row["Snomed_CT"].strip(), set()).add(row["AcronymName"].strip())
    assert (len(rows), len(names)) == (63, 55)
    for label_of in (ECGFIX_48, MERL_38):
        for code, name in label_of.items():
            assert name in names[code], (code, name, names[code])


def test_a_record_with_any_other_code_is_not_in_the_48(tmp_path, home) -> None:
    write(tmp_path / "WFDBRecords" / "01" / "010", "JS00001", dx="426177001,164934002")
    write(tmp_path / "WFDBRecords" / "01" / "010", "JS00002", dx="426177001,55827005")
    write(tmp_path / "WFDBRecords" / "01" / "019", "JS01052", dx="426177001")
    cohort = prepare("csn", tmp_path, allow_missing=True)
    assert cohort.record_ids.tolist() == ["JS00001", "JS00002"]  # the third is corrupt in the release
    assert cohort.task("ecgfix-48").rows.tolist() == [0]
    assert cohort.task("merl-38").rows.tolist() == [0]
    assert any("164909002 is LBBB, LBBBB and LFBBB" in note for note in cohort.manifest.notes)


def test_real_records_have_the_labels_of_merls_tables(real_data, home) -> None:
    """Two independent readings of the same headers."""
    source = real_data / "cinc2021_tuijalei"
    cpsc = DATASETS.get("cpsc2018").scan(source / "CPSC_CPSC-Extra", 500.0, {})
    names = {"AF": "AFIB", "PVC": "VPC", "NSR": "NORM", "IAVB": "1AVB", "RBBB": "CRBBB", "LBBB": "CLBBB"}
    stated: dict[str, set[str]] = {}
    for part in ("train", "val", "test"):
        with (real_data / "splits_merl" / "icbeb" / f"icbeb_{part}.csv").open() as stream:
            for row in csv.DictReader(stream):
                stated[row["filename"]] = {label for label in list(row)[7:] if row[label] == "1"}
    compared = 0
    for record, labels in cpsc.tasks["rhythm-form"].positives.items():
        assert {names.get(label, label) for label in labels} == stated[record]
        compared += 1
    assert compared == 10
    assert set(LABEL_OF_CODE.values()) == {"AF", "IAVB", "LBBB", "NSR", "PAC", "PVC", "RBBB", "STD", "STE"}


def test_the_challenges_equal_codes_are_one_label() -> None:
    assert len(SCORED_2021) == 30
    assert len(set(SCORED_2021.values())) == 26


def test_cinc2017_has_the_labels_of_version_3_and_no_other(real_data, home, tmp_path) -> None:
    scan = DATASETS.get("cinc2017").scan(real_data / "cinc2017", 300.0, {"window": 0})
    counted = Counter(next(iter(labels)) for labels in scan.tasks["rhythm"].positives.values())
    assert counted == {"normal": 5076, "af": 758, "other": 2415, "noisy": 279}
    for older in ("REFERENCE.csv", "REFERENCE-original.csv"):
        shutil.copy(real_data / "cinc2017" / "training2017" / older, tmp_path / older)
        with pytest.raises(DataError, match=f"{older}.* older versions with other labels"):
            prepare("cinc2017", tmp_path, allow_missing=True)
        shutil.copy(tmp_path / older, tmp_path / "REFERENCE-v3.csv")
        with pytest.raises(DataError, match="It is an older version, cut short, or mixed"):
            prepare("cinc2017", tmp_path, allow_missing=True)
        (tmp_path / older).unlink()
        (tmp_path / "REFERENCE-v3.csv").unlink()


def test_cinc2017_keeps_records_of_their_own_length_or_cuts_them_into_windows(real_data, home) -> None:
    whole = prepare("cinc2017", real_data / "cinc2017", allow_missing=True)
    assert (len(whole), whole.samples, whole.leads) == (595, None, ("ECG",))
    assert (whole.lengths.min(), whole.lengths.max()) == (2714, 18286)
    whole.verify()
    for row in (0, 300, 594):
        name = str(whole.record_ids[row])
        file = real_data / "cinc2017" / "training2017" / name
        expected = read_wfdb(file, record_id=name, patient_id=name, leads=("ECG",)).signal
        np.testing.assert_allclose(whole.signal(row), expected, atol=1e-6)
    with pytest.raises(DataError, match=r"have 2714 to 18286 samples, so they are no array.*signal\(row\)"):
        whole.signals(slice(0, 595))
    windows = prepare("cinc2017", real_data / "cinc2017", allow_missing=True, options={"window": 10}, name="windows")
    assert (windows.samples, len(windows)) == (3000, int((whole.lengths // 3000).sum()))
    assert windows.manifest.excluded.counts["shorter than 10 s"] == int((whole.lengths < 3000).sum())
    row = list(windows.record_ids).index("A00001-01")
    np.testing.assert_array_equal(windows.signal(row), whole.signal(0)[:, 3000:6000])


def _cinc2017(folder: Path, *, samples: int, records: int = 1) -> Path:
    """A folder with the reference of version 3, by its counts, and headers of the first records."""
    counts = {"N": 5076, "A": 758, "O": 2415, "~": 279}
    rows = [f"A{i:05d},{label}" for i, label in enumerate((k for k, n in counts.items() for _ in range(n)), 1)]
    (folder / "training2017").mkdir(parents=True, exist_ok=True)
    (folder / "REFERENCE-v3.csv").write_text("\n".join(rows) + "\n")
    for i in range(1, records + 1):
        name = f"A{i:05d}"
        (folder / "training2017" / f"{name}.mat").write_bytes(bytes(24 + 2 * min(samples, 20_000)))
        header = f"{name} 1 300 {samples}\n{name}.mat 16+24 1000/mV 16 0 0 0 0 ECG\n"
        (folder / "training2017" / f"{name}.hea").write_text(header)
    return folder


def test_a_window_that_no_record_of_cinc2017_fills_is_refused_and_says_so(tmp_path, home) -> None:
    source = _cinc2017(tmp_path / "source", samples=3001)
    for window in (62, 10**12, 10**400):
        with pytest.raises(DataError, match=f"window is {window} s, and no record is that long: they have 9 to 61 s"):
            prepare("cinc2017", source, allow_missing=True, options={"window": window})
    with pytest.raises(DataError, match=r"window is 11 s, and no record is that long: the longest here has 10\.0 s"):
        prepare("cinc2017", source, allow_missing=True, options={"window": 11})
    with pytest.raises(DataError, match="window is -1; seconds were expected"):
        prepare("cinc2017", source, allow_missing=True, options={"window": -1})
    scan = DATASETS.get("cinc2017").scan(source, 300.0, {"window": 5})
    assert [record.record_id for record in scan.records[:3]] == ["A00001-00", "A00001-01", "A00002"]


def test_a_header_of_cinc2017_that_promises_more_than_any_record_has_is_refused(tmp_path, home) -> None:
    source = _cinc2017(tmp_path / "source", samples=10**15)
    with pytest.raises(DataError, match=r"record A00001 promises 1000000000000000 samples; .* more than 18300"):
        prepare("cinc2017", source, allow_missing=True, options={"window": 5})


@pytest.mark.parametrize("content", [b"A00001,\xe9\n", "A00001,N\n".encode("utf-16"), "A00001,N\n".encode("utf-16-le")])
def test_a_reference_of_cinc2017_that_is_no_utf8_is_refused(tmp_path, home, content) -> None:
    (tmp_path / "REFERENCE-v3.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"REFERENCE-v3\.csv is not UTF-8 text: byte \d+ is 0x"):
        prepare("cinc2017", tmp_path, allow_missing=True)


def test_where_records_end_is_part_of_what_their_signals_are(real_data, home) -> None:
    """The file of their signals does not say, yet another cut of the same values is another thing."""
    cohort = prepare("cinc2017", real_data / "cinc2017", allow_missing=True)
    before = cohort.signals_fingerprint
    file = cohort.path / "records.parquet"
    table = pl.read_parquet(file)
    samples = table["samples"].to_list()
    samples[0], samples[1] = samples[0] + 5, samples[1] - 5
    table.with_columns(samples=pl.Series(samples)).write_parquet(file)
    recut = Cohort.open("cinc2017-300hz")
    assert recut.signals_fingerprint != before
    with pytest.raises(DataError, match="records changed since it was prepared"):
        recut.verify(["signals"])
    file.unlink()
    with pytest.raises(DataError, match=r"records\.parquet cannot be read"):
        Cohort.open("cinc2017-300hz")


def test_a_file_that_several_windows_are_cut_from_is_listed_once(real_data, home) -> None:
    windows = prepare("cinc2017", real_data / "cinc2017", allow_missing=True, options={"window": 10})
    sources = pl.read_parquet(windows.path / "sources.parquet")
    assert sources["file"].is_duplicated().sum() == 0
    assert len(sources) < len(windows)


@pytest.mark.parametrize("name", ["cpsc2018", "csn", "georgia", "cinc2017", "ptbxl"])
def test_a_rate_the_files_do_not_come_in_is_refused_before_they_are_read(tmp_path, home, name) -> None:
    with pytest.raises(UsageError, match=f"The files of {name} come at .* Hz; 250 Hz was asked for"):
        prepare(name, tmp_path, rate=250)
