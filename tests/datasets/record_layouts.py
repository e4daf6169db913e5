"""Small source folders in the exact layouts of PTB-XL+, EchoNext and MIMIC-IV-ECG."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from einthoven.datasets.catalogue.echonext import LABELS, MILLIVOLTS_A_COUNT
from einthoven.datasets.ptbxl_plus_features import needed_columns

from .layouts import ecg, write_csv

MIMIC_LEADS = ("I", "II", "III", "aVR", "aVF", "aVL", "V1", "V2", "V3", "V4", "V5", "V6")
STANDARD = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
ECHONEXT_ROWS = {"train": 6, "val": 2, "test": 3, "no_split": 2}
# No one's: means and deviations of made signals differ from lead to lead, as the published ones do.
MEANS = [5.0, 4.0, -1.0, -5.0, 3.0, 2.0, -4.0, -1.5, -0.25, 3.5, 5.5, 5.75]
DEVIATIONS = [32.0, 31.0, 30.0, 28.0, 27.0, 26.0, 38.0, 53.0, 57.0, 50.0, 45.0, 39.0]
REPORTS = tuple(f"report_{line}" for line in range(18))
MACHINE_COLUMNS = (
    "subject_id", "study_id", "cart_id", "ecg_time", *REPORTS, "bandwidth", "filtering", "rr_interval", "p_onset",
    "p_end", "qrs_onset", "qrs_end", "t_end", "p_axis", "qrs_axis", "t_axis",
)  # fmt: skip


def write_wfdb(
    stem: Path, millivolts: np.ndarray, *, names: Sequence[str] = STANDARD, gain: int = 1000, rate: int = 100
) -> None:
    """`stem`.dat and `stem`.hea, format 16, with true checksums."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    values = np.rint(millivolts * gain).astype("<i2")
    stem.with_name(f"{stem.name}.dat").write_bytes(np.ascontiguousarray(values.T).tobytes())
    lines = [f"{stem.name} {len(values)} {rate} {values.shape[1]}"]
    for name, row in zip(names, values, strict=True):
        total = int(row.astype(np.int64).sum()) % 65536
        lines.append(f"{stem.name}.dat 16 {gain}.0(0)/mV 16 0 {row[0]} {total} 0 {name}")
    stem.with_name(f"{stem.name}.hea").write_text("\n".join(lines) + "\n")


def write_ptbxl_plus(folder: Path) -> Path:
    """Twenty records of PTB-XL at 100 Hz, two a fold, and their three tables of features."""
    waves, plus = folder / "ptb-xl", folder / "ptb-xl-plus"
    (plus / "labels").mkdir(parents=True)
    (plus / "features").mkdir()
    rows = []
    for index in range(20):
        stem = f"records100/00000/{index + 1:05d}_lr"
        write_wfdb(waves / stem, ecg(1000, 100, size=1 + index / 20))
        rows.append(
            {
                "ecg_id": index + 1, "patient_id": f"{100 + index // 2}.0", "age": 50.0, "sex": index % 2,
                "scp_codes": "{'NORM': 100.0, 'SR': 0.0}" if index % 2 else "{'IMI': 50.0, 'PVC': 0.0, 'SR': 0.0}",
                "strat_fold": index // 2 + 1, "filename_lr": stem, "filename_hr": stem.replace("100", "500"),
            }
        )  # fmt: skip
    write_csv(waves / "ptbxl_database.csv", list(rows[0]), rows)
    (waves / "scp_statements.csv").write_text(
        ",description,diagnostic,form,rhythm,diagnostic_class,diagnostic_subclass\n"
        "NORM,normal,1.0,,,NORM,NORM\nIMI,infarction,1.0,,,MI,IMI\nPVC,premature,,1.0,,,\nSR,sinus,,,1.0,,\n"
    )
    ids = [row["ecg_id"] for row in rows]
    # Another order than the records have, and half of Uni-G's rows missing.
    write_csv(plus / "labels" / "ptbxl_statements.csv", ("ecg_id", "scp_codes"), [{"ecg_id": i} for i in ids[::-1]])
    write_csv(plus / "labels" / "12sl_statements.csv", ("ecg_id", "statements"), [{"ecg_id": i} for i in ids])
    rng = np.random.default_rng(20)
    for name in ("12sl", "ecgdeli", "unig"):
        columns = [*needed_columns(name), "HR__Global"]
        values = np.round(rng.normal(0, 100, (20, len(columns))), 3)
        empty = rng.random(values.shape) < 0.2
        table = [
            {"ecg_id": i, **{c: "" if e else v for c, v, e in zip(columns, line, gaps, strict=True)}}
            for i, line, gaps in zip(ids, values.tolist(), empty.tolist(), strict=True)
        ]
        chosen = table[:10] if name == "unig" else table[::-1]
        write_csv(plus / "features" / f"{name}_features.csv", ("ecg_id", *columns), chosen)
    return folder


def echonext_signal(split: str, row: int) -> np.ndarray:
    """What a record of the made EchoNext is in mV: a pulse of 1 mV or a little more in lead II."""
    size = 1 / 0.9 + row / 10 + (0.05 if split == "val" else 0.0)
    return ecg(2500, 250, size=size)


def write_echonext(folder: Path) -> Path:
    """Eleven records in three splits and two in none, standardised from signals in counts of 4.88 uV."""
    folder.mkdir(parents=True)
    rows = []
    places = {
        split: [echonext_signal(split, row) for row in range(count)]
        for split, count in ECHONEXT_ROWS.items()
        if split != "no_split"
    }
    # Splits alternate in the metadata, as they do in the release.
    order = [(row, split) for split, count in ECHONEXT_ROWS.items() for row in range(count)]
    for number, (row, split) in enumerate(sorted(order)):
        flags = {f"{label}_flag": int((row + column) % 3 == 0) for column, label in enumerate(LABELS)}
        patient = f"p-{split}-{row // 2}"
        rows.append({"ecg_key": f"e{number}", "patient_key": patient, "age_at_ecg": 60 + row, "split": split,
                     "sex": ("Male", "Female")[row % 2], "acquisition_year": 2018, **flags})  # fmt: skip
    write_csv(folder / "echonext_metadata_100k.csv", list(rows[0]), rows)
    mean, sd = np.array(MEANS), np.array(DEVIATIONS)
    for split, signals in places.items():
        counts = np.stack(signals).transpose(0, 2, 1) / MILLIVOLTS_A_COUNT
        np.save(folder / f"EchoNext_{split}_waveforms.npy", ((counts - mean) / sd)[:, None])
    (folder / "waveform_normalization_params.json").write_text(json.dumps({"mean": MEANS, "std": DEVIATIONS}))
    return folder


def machine_row(subject: int, study: int, *reports: str, **columns: object) -> dict[str, object]:
    """A row of machine_measurements.csv; by default 75 a minute, PR 160, QRS 90, QT 400 ms, axes 40 degrees."""
    measured = {"rr_interval": 800, "p_onset": 40, "p_end": 150, "qrs_onset": 200, "qrs_end": 290, "t_end": 600,
                "p_axis": 40, "qrs_axis": 40, "t_axis": 40}  # fmt: skip
    return {
        "subject_id": subject,
        "study_id": study,
        **dict(zip(REPORTS, reports, strict=False)),
        **measured,
        **columns,
    }


def write_mimic(folder: Path, *, machine: Sequence[dict[str, object]] | None = None) -> Path:
    """Thirty records of twenty subjects, leads in the release's order, 200 units a mV; every tenth without machine row.

    Args:
        machine: rows of machine_measurements.csv; default made ones.
    """
    listed, measured = [], []
    for index in range(30):
        subject, study = 10_000_032 + index % 20, 40_689_238 + index
        path = f"files/p{str(subject)[:4]}/p{subject}/s{study}/{study}"
        signal = ecg(5000, 500, size=1 + index / 30)
        write_wfdb(
            folder / path, signal[[STANDARD.index(n) for n in MIMIC_LEADS]], names=MIMIC_LEADS, gain=200, rate=500
        )
        listed.append({"subject_id": subject, "study_id": study, "file_name": study,
                       "ecg_time": "2180-07-23 08:44:00", "path": path})  # fmt: skip
        if index % 10:
            reports = ("Sinus rhythm", "Normal ECG") if index % 2 else ("Atrial fibrillation.", "Abnormal ECG")
            measured.append(machine_row(subject, study, *reports))
    write_csv(folder / "record_list.csv", list(listed[0]), listed)
    write_csv(folder / "machine_measurements.csv", MACHINE_COLUMNS, measured if machine is None else machine)
    return folder


def change(file: Path, row: int, **columns: object) -> None:
    """Write other values into a row of a table."""
    with file.open(newline="") as stream:
        reader = csv.DictReader(stream)
        rows, names = list(reader), list(reader.fieldnames or ())
    rows[row] = {**rows[row], **{name: str(value) for name, value in columns.items()}}
    write_csv(file, names, rows)


def without(file: Path, column: str) -> None:
    """Take a column out of a table."""
    with file.open(newline="") as stream:
        reader = csv.DictReader(stream)
        rows, names = list(reader), list(reader.fieldnames or ())
    write_csv(file, [n for n in names if n != column], [{k: v for k, v in r.items() if k != column} for r in rows])
