"""AFDB, LTAFDB, MIT-BIH, CPSC2021 and their union: which windows, which labels, whose."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import wfdb

from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue import afdb, cpsc2021, ltafdb, mitdb, unified_af
from einthoven.datasets.dataset import Scan
from einthoven.foundation.errors import DataError, UsageError

from .rhythm_layouts import wfdb_marks, wfdb_signal, write_afdb, write_holter, write_ltafdb

WINDOW = {"window": 10}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EINTHOVEN_HOME", str(tmp_path / "home"))


def labels(scan: Scan, task: str) -> dict[str, set[str]]:
    return {record: set(found) for record, found in scan.tasks[task].positives.items()}


def test_windows_of_afdb_have_the_label_of_most_of_their_samples(tmp_path: Path) -> None:
    scan = afdb.scan(write_afdb(tmp_path / "afdb"), 250.0, WINDOW)
    assert labels(scan, "af") == {
        "04015-00000": set(), "04015-00001": set(), "04015-00002": {"AFIB"}, "04015-00003": {"AFIB"},
        "04015-00004": {"AFIB"}, "04015-00005": set(),
        "04043-00001": set(), "04043-00002": set(),  # window 0 has no annotated sample
        "08455-00000": {"AFIB"}, "08455-00001": {"AFIB"},
    }  # fmt: skip
    rhythm = labels(scan, "rhythm")
    assert rhythm["04015-00005"] == {"AFL"}
    assert rhythm["04043-00001"] == {"J"}
    assert "04043-00002" not in rhythm  # SVTA is none of the task's rhythms
    assert any("SVTA (1)" in note for note in scan.notes)
    assert any(note.startswith("1 windows have no annotated sample") for note in scan.notes)


def test_every_patient_of_afdb_is_once_in_test_and_folds_do_not_depend_on_what_is_there(tmp_path: Path) -> None:
    whole = afdb.scan(write_afdb(tmp_path / "afdb"), 250.0, WINDOW)
    (tmp_path / "afdb" / "04043.dat").unlink()
    part = afdb.scan(tmp_path / "afdb", 250.0, WINDOW)
    patient_of = {record.record_id: record.patient_id for record in part.records}
    times_in_test: Counter[str] = Counter()
    for rule, split in part.splits.items():
        by_patient = {patient_of[record]: name for record, name in split.items()}
        assert len(by_patient) == 23
        times_in_test.update(patient for patient, name in by_patient.items() if name == "test")
        assert all(whole.splits[rule][f"{p}-00000"] == by_patient[p] for p in ("04015", "08455"))
    assert set(times_in_test.values()) == {1}


def test_a_cohort_of_afdb_holds_the_windows_it_says(tmp_path: Path) -> None:
    folder = write_afdb(tmp_path / "afdb")
    cohort = prepare("afdb", folder, allow_missing=True)
    assert (len(cohort), cohort.leads, cohort.samples) == (11, ("ECG1", "ECG2"), 2500)
    assert cohort.manifest.excluded.counts == {"missing file": 20}
    whole = wfdb_signal(folder / "04015")
    for row in range(6):
        np.testing.assert_allclose(cohort.signal(row), whole[:, row * 2500 : (row + 1) * 2500], atol=6e-4)
    assert len(np.unique(cohort.records["recording"])) == 3


@pytest.mark.parametrize(
    ("suffix", "content", "reason"),
    [
        (".atr", b"\x01", "cut short"),
        (".atr", b"", "is empty"),
        (".atr", b"\xff" * 30 + b"\0\0", "cannot be decoded"),
        (".atr", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git-lfs pointer"),
        (".hea", b"04043 2 250 many\n", "header of record 04043"),
    ],
)
def test_a_broken_header_or_annotation_file_is_a_bad_record(
    suffix: str, content: bytes, reason: str, tmp_path: Path
) -> None:
    folder = write_afdb(tmp_path / "afdb")
    (folder / f"04043{suffix}").write_bytes(content)
    with pytest.raises(DataError, match=reason) as refused:
        prepare("afdb", folder, allow_missing=True)
    assert any("--bad-records exclude" in note for note in refused.value.__notes__)
    cohort = prepare("afdb", folder, allow_missing=True, bad_records="exclude")
    assert len(cohort) == 8
    counts = cohort.manifest.excluded.counts
    assert counts.pop("missing file") == 20
    assert sum(counts.values()) == 1
    excluded = pl.read_parquet(cohort.path / "excluded.parquet").filter(pl.col("record_id") == "04043")
    assert reason in excluded["detail"][0]
    assert "3 of 23 recordings are here" in " ".join(cohort.manifest.notes)


def test_annotations_that_were_cut_short_are_not_taken_for_the_whole(tmp_path: Path) -> None:
    folder = write_afdb(tmp_path / "afdb")
    whole = (folder / "04015.atr").read_bytes()
    for size in range(1, len(whole)):
        (folder / "04015.atr").write_bytes(whole[:size])
        scan = afdb.scan(folder, 250.0, WINDOW)
        assert not any(record.startswith("04015") for record in labels(scan, "af")), size


def test_other_windows_can_be_asked_for_and_none_is_refused(tmp_path: Path) -> None:
    folder = write_afdb(tmp_path / "afdb")
    assert afdb.scan(folder, 250.0, {"window": 30}).samples == 7500
    with pytest.raises(UsageError, match="window is 0; 1 to 3600 seconds were expected"):
        afdb.scan(folder, 250.0, {"window": 0})


def test_a_recording_at_another_rate_is_refused(tmp_path: Path) -> None:
    write_holter(tmp_path, "04015", rate=128, samples=2000, marks=[(0, "N")])
    with pytest.raises(DataError, match=r"04015\.hea is sampled at 128 Hz; 250 Hz was expected"):
        afdb.scan(tmp_path, 250.0, WINDOW)


def test_201_and_202_of_mitdb_are_one_patient_and_recordings_without_mlii_are_left_out(tmp_path: Path) -> None:
    leads = ("MLII", "V1")
    for name in ("201", "202"):
        write_holter(tmp_path, name, rate=360, samples=7200, marks=[(0, "AFIB")], names=leads, comments=["68 M 0 0 x1"])
    write_holter(tmp_path, "102", rate=360, samples=7200, marks=[(0, "P")], names=("V5", "V2"))
    write_holter(tmp_path, "114", rate=360, samples=7200, marks=[(0, "N")], names=("V5", "MLII"))
    scan = mitdb.scan(tmp_path, 360.0, WINDOW)
    of = {record.record_id: record for record in scan.records}
    assert len(mitdb.RECORDS) == 48
    assert len({record.patient_id for record in scan.records}) == 47
    assert of["202-00000"].patient_id == of["201-00001"].patient_id == "201"
    assert (of["201-00000"].metadata["age"], of["201-00000"].metadata["sex"]) == (68.0, "M")
    assert of["102"].left_out == "no lead MLII"
    second = wfdb_signal(tmp_path / "114")[1, :3600]
    np.testing.assert_allclose(scan.read(of["114-00000"]).signal[0], second, atol=1e-6)


@pytest.mark.realdata
def test_beats_of_the_real_mitdb_are_counted_into_their_windows(real_data: Path) -> None:
    scan = mitdb.scan(real_data / "mitdb", 360.0, WINDOW)
    found = labels(scan, "aami-beats")
    marks = wfdb_marks(real_data / "mitdb" / "208")
    for window in range(180):
        inside = {
            mitdb_class
            for at, symbol, _ in marks
            for mitdb_class, symbols in mitdb.AAMI.items()
            if window * 3600 <= at < (window + 1) * 3600 and symbol in symbols
        }
        assert found[f"208-{window:05d}"] == inside
    assert sum("V" in row for record, row in found.items() if record.startswith("208")) == 175


@pytest.mark.realdata
def test_the_real_cpsc2021_is_normal_outside_its_marked_episodes(real_data: Path) -> None:
    scan = cpsc2021.scan(real_data / "cpsc2021", 200.0, WINDOW)
    found = labels(scan, "af")
    for name in ("data_101_6", "data_92_19", "data_35_4", "data_8_4"):
        marks = wfdb_marks(real_data / "cpsc2021" / name)
        af = np.zeros(wfdb.rdheader(str(real_data / "cpsc2021" / name)).sig_len, dtype=bool)
        for at, _, note in marks:
            if note.startswith("("):
                af[at:] = note.startswith("(AFIB")
        for window in range(len(af) // 2000):
            share = af[window * 2000 : (window + 1) * 2000].mean()
            assert share != 0.5
            assert (found[f"{name}-{window:05d}"] == {"AFIB"}) == (share > 0.5)
    assert len({record.patient_id for record in scan.records}) == 6
    kinds = labels(scan, "patient-kind")
    assert (kinds["data_8_4-00000"], kinds["data_35_4-00000"]) == ({"persistent"}, {"non"})


def test_outside_marked_episodes_cpsc2021_is_normal(tmp_path: Path) -> None:
    leads, comment = ("I", "II"), ["paroxysmal atrial fibrillation"]
    marks = [(2500, "AFIB"), (5000, "N")]
    write_holter(tmp_path, "data_7_1", rate=200, samples=8000, marks=marks, names=leads, comments=comment)
    write_holter(tmp_path, "data_7_2", rate=200, samples=1000, marks=[(0, "N")], names=leads, comments=comment)
    write_holter(tmp_path, "data_8_1", rate=200, samples=2000, marks=[(0, "N")], names=leads, comments=["sick"])
    with pytest.raises(DataError, match=r"data_8_1 says 'sick'; one of non atrial fibrillation"):
        cpsc2021.scan(tmp_path, 200.0, WINDOW)
    for file in tmp_path.glob("data_8_1.*"):
        file.unlink()
    scan = cpsc2021.scan(tmp_path, 200.0, WINDOW)
    af = [labels(scan, "af")[f"data_7_1-{window:05d}"] for window in range(4)]
    assert af == [set(), {"AFIB"}, set(), set()]
    assert {record.patient_id for record in scan.records} == {"7"}
    assert scan.records[-1].left_out == "shorter than one window"
    assert scan.whole == 5 + 1436 - 2


def write_to_annotations(annotations: Path, folder: Path, name: str, samples: int) -> None:
    """A recording of format 212 as long as its real annotations; its header says its checksums."""
    folder.mkdir(parents=True, exist_ok=True)
    one = (200 * np.exp(-0.5 * ((np.arange(samples) % 128 - 64) / 3.0) ** 2)).astype(np.int64)
    two = -one
    packed = np.empty((samples, 3), dtype=np.uint8)
    packed[:, 0] = one & 0xFF
    packed[:, 1] = (one >> 8 & 0xF) | ((two >> 8 & 0xF) << 4)
    packed[:, 2] = two & 0xFF
    packed.tofile(folder / f"{name}.dat")
    lines = [f"{name}.dat 212 200 12 0 0 {int(s.sum()) % 65536} 0 ECG" for s in (one, two)]
    (folder / f"{name}.hea").write_text("\n".join([f"{name} 2 128 {samples}", *lines]) + "\n")
    (folder / f"{name}.atr").write_bytes((annotations / f"{name}.atr").read_bytes())


@pytest.mark.realdata
def test_real_annotations_of_ltafdb_give_the_windows_that_counting_samples_gives(
    real_data: Path, tmp_path: Path
) -> None:
    samples = 9_661_000
    write_to_annotations(real_data / "ltafdb_annotations", tmp_path, "00", samples)
    scan = ltafdb.scan(tmp_path, 128.0, WINDOW)
    marks = wfdb_marks(tmp_path / "00")
    names = ["", *ltafdb.RHYTHMS]
    of_sample = np.zeros(samples, dtype=np.int8)
    for at, _, note in marks:
        if note.startswith("("):
            of_sample[at:] = names.index(note[1:])
    windows = of_sample[: samples // 1280 * 1280].reshape(-1, 1280)
    counts = np.stack([(windows == code).sum(axis=1) for code in range(len(names))], axis=1)
    found = labels(scan, "rhythm")
    for window, row in enumerate(counts):
        expected = {names[1 + row[1:].argmax()]} if row[1:].any() else None
        assert found.get(f"00-{window:05d}") == expected
    assert sum(row[1:].any() for row in counts) == 7547 - 65  # 83,607 samples are not annotated
    first = scan.records[0]
    np.testing.assert_allclose(scan.read(first).signal[0].max(), 1.0)


@pytest.mark.realdata
def test_the_union_has_the_labels_of_its_rule(real_data: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    write_afdb(source / "afdb")
    write_ltafdb(source / "ltafdb")
    (source / "cinc2017").symlink_to(real_data / "cinc2017")
    scan = unified_af.scan(source, 300.0, {})
    rhythm, af = labels(scan, "rhythm"), labels(scan, "af")
    assert rhythm["afdb-04015-00005"] == {"AFL"}
    assert rhythm["afdb-04043-00002"] == {"normal"}  # SVTA, by the rule
    assert rhythm["ltafdb-00-00000"] == {"normal"}
    assert af["ltafdb-00-00001"] == {"AFIB"}
    holders = {record.split("-")[0] for record, found in rhythm.items() if found & {"AFL", "J"}}
    assert holders == {"afdb"}

    rows = (real_data / "cinc2017" / "REFERENCE-v3.csv").read_text().split()
    reference = {row.split(",")[0].rpartition("/")[2]: row.split(",")[1] for row in rows}
    for record in (r for r in af if r.startswith("cinc2017")):
        kind = reference[record.split("-")[1]]
        assert kind != "~"
        assert (af[record] == {"AFIB"}) == (kind == "A")
        assert rhythm.get(record) == {"N": {"normal"}, "A": {"AFIB"}}.get(kind)

    cohort = prepare("unified-af", source, allow_missing=True, bad_records="exclude")
    assert (cohort.rate, cohort.leads, cohort.samples) == (300.0, ("ECG",), 3000)
    assert set(cohort.records["database"]) == {"afdb", "ltafdb", "cinc2017"}
    ids = list(cohort.record_ids)
    own = wfdb_signal(source / "ltafdb" / "00")[0, :1280]
    resampled = np.interp(np.arange(3000) / 300, np.arange(1280) / 128, own)
    np.testing.assert_allclose(cohort.signal(ids.index("ltafdb-00-00000"))[0], resampled, atol=0.05)


def test_a_union_that_lacks_a_part_says_which(tmp_path: Path) -> None:
    (tmp_path / "afdb").mkdir()
    with pytest.raises(DataError, match="no folder ltafdb, cinc2017"):
        unified_af.scan(tmp_path, 300.0, {})
