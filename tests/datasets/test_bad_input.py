"""Bad input is refused with record, file and cause, and leaves nothing half-written.

What the tests of single readers look at is not repeated here; this goes through the odd files that exist in the world,
and through what can happen to a folder while a cohort is made.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import wfdb

from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue import cinc2017
from einthoven.datasets.wfdb_files import read_header, read_wfdb
from einthoven.foundation.errors import DataError
from einthoven.foundation.publishing import BusyError
from einthoven.signals.leads import STANDARD_LEADS


def read(stem: Path):
    return read_wfdb(stem, record_id=stem.name, patient_id="p")


@pytest.mark.realdata
def test_every_odd_header_is_read_or_refused_with_its_cause(real_data: Path) -> None:
    odd = real_data / "odd"
    refused = {
        "git_lfs_pointer/00001_hr": "git-lfs pointer",
        "issue_headers/00001_medians_head": "multi-segment|names the signal file|announces",
    }
    seen = 0
    for file in sorted(odd.rglob("*.hea")):
        stem = file.with_suffix("")
        name = stem.relative_to(odd).as_posix()
        if name in refused:
            with pytest.raises(DataError, match=refused[name]) as caught:
                read_header(stem)
            assert stem.name in str(caught.value)
            continue
        seen += 1
        header = read_header(stem)
        assert header.samples > 0
        if not all((stem.parent / signal.file).is_file() for signal in header.signals):
            with pytest.raises(DataError, match="has no file") as caught:
                read(stem)
            assert header.signals[0].file in str(caught.value)
    assert seen == 9


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["A0001", "E00001"])
def test_records_with_the_date_before_the_time_have_the_samples_of_their_file(real_data: Path, name: str) -> None:
    stem = real_data / "odd" / "cinc2020_date_before_time" / name
    record = read(stem)
    raw = np.frombuffer(stem.with_suffix(".mat").read_bytes()[24:], dtype="<i2").reshape(-1, 12).T
    gain = {"A0001": 1000.0, "E00001": 4880.0}[name]
    np.testing.assert_allclose(record.signal, raw / gain, atol=1e-6)
    assert record.leads == STANDARD_LEADS


def write_record(folder: Path, name: str = "x", *, units: str = "mV", leads=STANDARD_LEADS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    signal = np.random.default_rng(0).normal(size=(500, len(leads)))
    scale = {"mV": 1.0, "uV": 1000.0}.get(units, 1.0)
    wfdb.wrsamp(
        name,
        fs=100,
        units=[units] * len(leads),
        sig_name=list(leads),
        p_signal=signal * scale,
        fmt=["16"] * len(leads),
        adc_gain=[1000.0 / scale] * len(leads),
        baseline=[0] * len(leads),
        write_dir=str(folder),
    )
    return folder / name


def test_a_unit_with_a_slash_is_read_whole_and_refused_by_name(tmp_path: Path) -> None:
    stem = write_record(tmp_path, units="mV/s")
    with pytest.raises(DataError, match=r"mV/s") as caught:
        read(stem)
    assert "lead I of record x" in "".join(getattr(caught.value, "__notes__", []))


@pytest.mark.parametrize("upper", [True, False])
def test_upper_case_names_of_leads_are_those_leads(tmp_path: Path, upper: bool) -> None:
    given = tuple(lead.upper() if upper else lead for lead in STANDARD_LEADS)
    assert read(write_record(tmp_path, leads=given)).leads == STANDARD_LEADS


@pytest.mark.parametrize(
    ("suffix", "message"),
    [(".hea", "header of record x .* no record line"), (".dat", r"x\.dat of record x .* is truncated")],
)
def test_an_empty_file_is_named(tmp_path: Path, suffix: str, message: str) -> None:
    stem = write_record(tmp_path)
    stem.with_suffix(suffix).write_bytes(b"")
    with pytest.raises(DataError, match=message):
        read(stem)


@pytest.mark.realdata
def test_a_reference_that_is_mixed_from_two_versions_is_refused(real_data: Path, tmp_path: Path) -> None:
    rows = (real_data / "cinc2017" / "REFERENCE-v3.csv").read_text().splitlines()
    older = next(path for path in sorted((real_data / "cinc2017").rglob("REFERENCE*.csv")) if "v3" not in path.name)
    old_rows = older.read_text().splitlines()
    (tmp_path / "REFERENCE-v3.csv").write_text("\n".join([*rows[:4000], *old_rows[4000:]]) + "\n")
    with pytest.raises(DataError, match=r"version 3 of the reference holds .* older version, cut short, or mixed"):
        cinc2017.scan(tmp_path, 300.0, {"window": 0})


@pytest.mark.realdata
def test_flat_leads_are_flagged_by_name_and_kept(real_data: Path, home) -> None:
    folder = real_data / "cinc2021_tuijalei" / "ChapmanShaoxing_Ningbo"
    cohort = prepare("csn", folder, allow_missing=True)
    flat = dict(zip(cohort.record_ids, cohort.records["flat_leads"], strict=True))
    known = {"JS45542": "V1 V2 V3 V4 V5 V6", "JS45551": "V4 V5 V6", "JS45544": "V1 V2 V3 V4 V5 V6"}
    # V1 of JS45544 jumps once by 12 mV and keeps one value for more than half of the record.
    for record, leads in known.items():
        assert flat[record] == leads


def test_half_a_cohort_is_not_taken_for_one_and_can_be_replaced(ptbxl, home) -> None:
    whole = prepare("ptbxl", ptbxl.path, rate=100)
    (whole.path / "manifest.json").unlink()
    (whole.path / "signals.npy").write_bytes(b"half")
    with pytest.raises(DataError, match=r"holds no whole cohort: it has no manifest\.json.*--replace"):
        prepare("ptbxl", ptbxl.path, rate=100)
    again = prepare("ptbxl", ptbxl.path, rate=100, replace=True)
    assert again.fingerprint == whole.fingerprint
    again.verify()


_FULL = """
import resource, sys
from einthoven.datasets.building import prepare
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
prepare("ptbxl", sys.argv[1], rate=100)
"""


def test_a_full_disk_leaves_nothing(ptbxl, home: Path) -> None:
    # A file that may not grow stands for a disk without room: both end in an OSError while the signals are written.
    ended = subprocess.run(
        [sys.executable, "-c", _FULL, str(ptbxl.path)], capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode != 0
    assert "File too large" in ended.stderr
    assert [path for path in (home / "cohorts").rglob("*") if path.name == "manifest.json"] == []
    shutil.rmtree(home, ignore_errors=True)
    prepare("ptbxl", ptbxl.path, rate=100).verify()


_HOLD = """
import sys
from einthoven.datasets.building import prepare

def progress(done, total):
    if done == 1:
        print("started", flush=True)
        sys.stdin.readline()

prepare("ptbxl", sys.argv[1], rate=100, progress=progress)
"""


def test_of_two_processes_preparing_one_cohort_the_second_is_told(ptbxl, home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(ptbxl.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "started\n"
        with pytest.raises(BusyError, match="preparing"):
            prepare("ptbxl", ptbxl.path, rate=100)
        first.communicate("go on\n", timeout=60)
    assert first.returncode == 0
    prepare("ptbxl", ptbxl.path, rate=100).verify()
