"""Small source folders in the exact layouts of releases of which no whole folder can be had for tests."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

EXAM_COLUMNS = (
    "exam_id", "age", "is_male", "nn_predicted_age", "1dAVb", "RBBB", "LBBB", "SB", "ST", "AF", "patient_id", "death",
    "timey", "normal_ecg", "trace_file",
)  # fmt: skip


def ecg(samples: int, rate: float, *, size: float = 1.0) -> np.ndarray:
    """(12, samples) mV, obeying the limb-lead laws; no sample is zero in all leads."""
    time = np.arange(samples) / rate
    beat = size * np.exp(-(((time % 0.8) - 0.4) ** 2) / 0.0008) + 0.01
    one, two = 0.7 * beat, 0.9 * beat
    limbs = [one, two, two - one, -(one + two) / 2, one - two / 2, two - one / 2]
    return np.array([*limbs, *(beat * (lead + 1) / 4 for lead in range(6))])


def write_csv(file: Path, columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    """A table with a header row; what a row lacks is empty."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(columns), restval="")
        writer.writeheader()
        writer.writerows(rows)


def write_part(file: Path, tracings: Mapping[int, np.ndarray]) -> None:
    """One HDF5 file of CODE-15%: (samples, 12) padded to 4096 at both ends, and the row of zeros that is nobody's."""
    import h5py

    padded = []
    for tracing in tracings.values():
        before = (4096 - len(tracing)) // 2
        padded.append(np.pad(tracing, ((before, 4096 - len(tracing) - before), (0, 0))))
    with h5py.File(file, "w") as opened:
        opened["exam_id"] = np.array([*tracings, 0], dtype=np.int64)
        opened["tracings"] = np.array([*padded, np.zeros((4096, 12))], dtype=np.float32)


def exam(exam_id: int, patient: int, **columns: object) -> dict[str, object]:
    """A row of exams.csv without any label."""
    flags = dict.fromkeys(("1dAVb", "RBBB", "LBBB", "SB", "ST", "AF"), "False")
    row: dict[str, object] = {"exam_id": exam_id, "age": 50, "is_male": "True", "patient_id": patient}
    return {**row, **flags, "normal_ecg": "True", "trace_file": "exams_part0.hdf5", **columns}


def write_code15(folder: Path) -> Path:
    """Ten exams of eight patients in two files, each in another order than its rows of exams.csv."""
    rows = [
        exam(100 + i, 7 if i > 7 else i, trace_file=f"exams_part{2 if i % 2 else 10}.hdf5", AF=str(i == 3), age=40 + i)
        for i in range(10)
    ]
    rows[0] |= {"death": "True", "timey": "0.5"}
    rows[1] |= {"death": "False", "timey": "0.7"}
    rows[2] |= {"death": "False", "timey": "4.2", "is_male": "False"}
    write_csv(folder / "exams.csv", EXAM_COLUMNS, rows)
    for part in (2, 10):
        exams = [row for row in rows if row["trace_file"] == f"exams_part{part}.hdf5"]
        tracings = {
            int(str(row["exam_id"])): ecg(2934 if part == 2 else 4096, 400, size=1 + int(str(row["exam_id"])) / 100).T
            for row in reversed(exams)
        }
        write_part(folder / f"exams_part{part}.hdf5", tracings)
    return folder


def write_sph(folder: Path) -> Path:
    """Five records of four patients as the release has them."""
    import h5py

    codes = ("1", "22;23", "60+310;147+367", "50+346", "104;145+362")
    rows = [
        {"ECG_ID": f"A{i + 1:05d}", "AHA_Code": code, "Patient_ID": f"S{min(i, 3):05d}", "Age": 50 + i,
         "Sex": "FM"[i % 2], "N": 5000 + 500 * i, "Date": "2020-03-04"}
        for i, code in enumerate(codes)
    ]  # fmt: skip
    write_csv(folder / "metadata.csv", list(rows[0]), rows)
    (folder / "records").mkdir()
    for row in rows:
        with h5py.File(folder / "records" / f"{row['ECG_ID']}.h5", "w") as opened:
            opened["ecg"] = ecg(int(str(row["N"])), 500).astype(np.float16)
    return folder


def write_ptb(folder: Path, *, signals: np.ndarray | None = None) -> Path:
    """Six records of five subjects: 12 leads in .dat and 3 Frank leads in .xyz, format 16, 2000 units a mV.

    Args:
        signals: (12, samples) mV that every record has; default made ones.
    """
    reasons = ("Myocardial infarction", "Myocardial infarction", "Heart failure (NYHA 3)", "n/a", "Healthy control",
               "Unstable angina")  # fmt: skip
    stems = []
    for index, reason in enumerate(reasons):
        patient, name = f"patient{max(index, 1):03d}", f"s{index + 10:04d}_re"
        stems.append(f"{patient}/{name}")
        standard = signals if signals is not None else ecg(38_000 + 400 * index, 1000)
        everything = np.rint(2000 * np.concatenate([standard, standard[:3] * 0.5])).astype("<i2")
        (folder / patient).mkdir(parents=True, exist_ok=True)
        everything[:12].T.tofile(folder / patient / f"{name}.dat")
        everything[12:].T.tofile(folder / patient / f"{name}.xyz")
        lines = [f"{name} 15 1000 {everything.shape[1]}"]
        leads = ("i", "ii", "iii", "avr", "avl", "avf", "v1", "v2", "v3", "v4", "v5", "v6", "vx", "vy", "vz")
        for row, lead in zip(everything, leads, strict=True):
            total = int(row.astype(np.int64).sum()) % 65536
            file = f"{name}.{'xyz' if lead in ('vx', 'vy', 'vz') else 'dat'}"
            lines.append(f"{file} 16 2000 16 0 {row[0]} {total} 0 {lead}")
        age = "n/a" if index == 3 else f"{60 + index}"
        lines += [f"# age: {age}", "# sex: female", "# ECG date: 01/10/1990", "# Diagnose:",
                  f"# Reason for admission: {reason}", "# Acute infarction (localization): no"]  # fmt: skip
        (folder / patient / f"{name}.hea").write_text("\n".join(lines) + "\n")
    (folder / "RECORDS").write_text("\n".join(stems) + "\n")
    return folder
