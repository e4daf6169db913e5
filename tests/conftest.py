"""Where tests find real data and golden values, and a home folder of their own."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from einthoven.foundation.identity import sha256_file

# How long an example takes says how busy the machine is.
settings.register_profile("einthoven", deadline=None)
settings.load_profile("einthoven")

_ROOT = Path(__file__).resolve().parents[1]


def _folder(variable: str, default: Path, what: str) -> Path:
    chosen = Path(os.environ[variable]) if os.environ.get(variable) else default
    if chosen.is_dir():
        return chosen
    reason = f"no {what}: {variable} is {os.environ.get(variable)!r} and {default} does not exist"
    if os.environ.get("CI"):
        pytest.fail(f"{reason}; on CI these tests must run")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real ECGs."""
    return _folder("EINTHOVEN_TEST_DATA", _ROOT.parent / "shared" / "data", "real ECGs")


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of values computed by independent programs."""
    return _folder("EINTHOVEN_TEST_GOLDEN", _ROOT.parent / "shared" / "golden", "golden values")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty `$EINTHOVEN_HOME`, so that no test sees or leaves anything of the user's."""
    folder = tmp_path / "home"
    monkeypatch.setenv("EINTHOVEN_HOME", str(folder))
    return folder


class PtbxlFolder:
    """A small source folder in the layout of PTB-XL, written by the test, to be broken by the test.

    Twenty patients with two records each, two patients in each of the ten folds. Signals are smooth, in mV, and differ
    by record.
    """

    def __init__(self, path: Path, *, rate: int = 100) -> None:
        self.path = path
        self.rate = rate
        self.rows: list[dict[str, object]] = []
        path.mkdir(parents=True)
        (path / "scp_statements.csv").write_text(
            ",description,diagnostic,form,rhythm,diagnostic_class,diagnostic_subclass\n"
            "NORM,normal,1.0,,,NORM,NORM\n"
            "IMI,inferior infarction,1.0,,,MI,IMI\n"
            "PVC,premature,,1.0,,,\n"
            "SR,sinus rhythm,,,1.0,,\n"
            "AFIB,fibrillation,,,1.0,,\n"
        )
        for index in range(40):
            codes = "{'NORM': 100.0, 'SR': 0.0}" if index % 2 else "{'IMI': 50.0, 'PVC': 0.0, 'AFIB': 0.0}"
            stem = f"{index + 1:05d}"
            self.rows.append(
                {
                    "ecg_id": index + 1,
                    "patient_id": f"{100 + index // 2}.0",
                    "age": 300.0 if index == 0 else 40.0 + index,
                    "sex": index % 2,
                    "scp_codes": codes,
                    "strat_fold": index // 4 + 1,
                    "filename_lr": f"records100/00000/{stem}_lr",
                    "filename_hr": f"records500/00000/{stem}_hr",
                }
            )
            self.write_record(self.stem(index), self.samples(index))
        self.write_metadata()

    def stem(self, index: int) -> Path:
        """Path of a record without suffix."""
        column = "filename_lr" if self.rate == 100 else "filename_hr"
        return self.path / str(self.rows[index][column])

    def samples(self, index: int) -> np.ndarray:
        """int16 (12, samples) of a record, 1000 units a mV, obeying the limb-lead laws up to rounding."""
        time = np.arange(10 * self.rate) / self.rate
        beat = np.exp(-(((time % 0.8) - 0.4) ** 2) / 0.0008)
        one, two = 700 * beat, (900 + 10 * index) * beat
        limbs = [one, two, two - one, -(one + two) / 2, one - two / 2, two - one / 2]
        chest = [(200 + 150 * lead) * beat + 5 * np.sin(time + index) for lead in range(6)]
        return np.rint(np.array([*limbs, *chest])).astype("<i2")

    def write_record(self, stem: Path, samples: np.ndarray, *, unit: str = "mV", names: tuple[str, ...] = ()) -> None:
        """Write `stem`.dat and `stem`.hea (format 16) with true checksums."""
        names = names or ("I", "II", "III", "AVR", "AVL", "AVF", "V1", "V2", "V3", "V4", "V5", "V6")
        stem.parent.mkdir(parents=True, exist_ok=True)
        stem.with_name(f"{stem.name}.dat").write_bytes(np.ascontiguousarray(samples.T, dtype="<i2").tobytes())
        lines = [f"{stem.name} {len(samples)} {self.rate} {samples.shape[1]}"]
        for name, lead in zip(names, samples, strict=True):
            checksum = int(lead.astype(np.int64).sum()) % 65536
            lines.append(f"{stem.name}.dat 16 1000.0(0)/{unit} 16 0 {lead[0]} {checksum} 0 {name}")
        stem.with_name(f"{stem.name}.hea").write_text("\n".join(lines) + "\n")

    def write_metadata(self) -> None:
        """Write ptbxl_database.csv from `rows`."""
        with (self.path / "ptbxl_database.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, fieldnames=list(self.rows[0]))
            writer.writeheader()
            writer.writerows(self.rows)


@pytest.fixture
def ptbxl(tmp_path: Path) -> PtbxlFolder:
    """A whole, valid, small source folder in the layout of PTB-XL."""
    return PtbxlFolder(tmp_path / "ptbxl")


@pytest.fixture
def vouch() -> Callable[[Path], None]:
    """State the digests of a cell's files anew, as if it had been stored as it now is."""

    def restate(folder: Path) -> None:
        digests = {f.name: sha256_file(f) for f in sorted(folder.iterdir()) if f.name != "files.json"}
        (folder / "files.json").write_text(json.dumps(digests))

    return restate
