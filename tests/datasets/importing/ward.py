"""The same made-up ECGs in every format, and tables beside them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
RATE = 250
SAMPLES = 500
COUNT = 24


def digital(index: int) -> np.ndarray:
    """int16 (12, SAMPLES), 1000 units a mV, obeying the limb-lead laws up to rounding."""
    time = np.arange(SAMPLES) / RATE
    beat = np.exp(-(((time % 0.8) - 0.4) ** 2) / 0.0008)
    slow = 30 * np.sin(8 * time + index)
    one, two = 700 * beat + slow, (900 + 10 * index) * beat - slow
    limbs = [one, two, two - one, -(one + two) / 2, one - two / 2, two - one / 2]
    chest = [(200 + 150 * lead) * beat + 20 * np.sin(9 * time + index) for lead in range(6)]
    return np.rint(np.array([*limbs, *chest])).astype("<i2")


def millivolts(index: int) -> np.ndarray:
    return digital(index) / 1000


def write_table(file: Path, rows: Sequence[Mapping[str, Any]], *, separator: str = ",") -> Path:
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    return file


def write_wfdb(folder: Path, name: str, samples: np.ndarray) -> None:
    (folder / f"{name}.dat").write_bytes(np.ascontiguousarray(samples.T).tobytes())
    lines = [f"{name} {len(samples)} {RATE} {samples.shape[1]}"]
    for lead, values in zip(LEADS, samples, strict=True):
        checksum = int(values.astype(np.int64).sum()) % 65536
        lines.append(f"{name}.dat 16 1000.0(0)/mV 16 0 {values[0]} {checksum} 0 {lead}")
    (folder / f"{name}.hea").write_text("\n".join(lines) + "\n")


def edf_bytes(
    samples: np.ndarray,
    *,
    labels: Sequence[str] = LEADS,
    unit: str = "uV",
    seconds: float = 1,
    rate: int = RATE,
    annotations: bool = True,
    reserved: str = "EDF+C",
    rates: Mapping[int, int] | None = None,
) -> bytes:
    """An EDF+ file of int16 (channels, samples) with 1 uV a unit, written field by field as the standard has them.

    Args:
        rates: channel -> samples in a data record, where it is to differ from the others; for its header only.
    """
    width = int(rate * seconds)
    records = samples.shape[1] // width
    names = [*labels, *(["EDF Annotations"] if annotations else [])]
    per_record = [(rates or {}).get(i, width) for i in range(len(labels))] + ([8] if annotations else [])

    def row(values: Sequence[object], size: int) -> bytes:
        return b"".join(str(value).ljust(size).encode("ascii") for value in values)

    count = len(names)
    head = b"0".ljust(8) + b"X".ljust(80) + b"Startdate X".ljust(80) + b"01.01.24" + b"00.00.00"
    head += row([256 * (count + 1)], 8) + row([reserved], 44) + row([records], 8) + row([seconds], 8) + row([count], 4)
    head += row(names, 16) + row([""] * count, 80) + row([unit] * len(labels) + [""] * (count - len(labels)), 8)
    head += row([-32768] * count, 8) + row([32767] * count, 8) + row([-32768] * count, 8) + row([32767] * count, 8)
    head += row([""] * count, 80) + row(per_record, 8) + row([""] * count, 32)
    body = bytearray()
    for record in range(records):
        body += np.ascontiguousarray(samples[:, record * width : (record + 1) * width]).tobytes()
        if annotations:
            body += f"+{record}\x14\x14".encode().ljust(16, b"\x00")
    return head + bytes(body)


class Ward:
    """A folder of signals in every format, and the rows of a table beside them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.signals = path / "signals"
        self.signals.mkdir(parents=True)
        self.rows: list[dict[str, Any]] = [
            {
                "ecg": f"e{index:02d}",
                "patient": f"p{index // 2:02d}",
                "age": 40 + index,
                "sex": index // 2 % 2,
                "afib": index % 3 == 0,
                "rhythm": ("SR", "AF", "PACE")[index % 3],
                "codes": ("A;B", "B", "none")[index % 3],
                "part": ("train", "valid", "test")[index // 2 % 3],
                "place": index,
                "fs": RATE,
            }
            for index in range(COUNT)
        ]

    def ids(self) -> list[str]:
        return [row["ecg"] for row in self.rows]

    def write(self, *formats: str) -> None:
        for index, name in enumerate(self.ids()):
            if "npy" in formats:
                np.save(self.signals / f"{name}.npy", millivolts(index).astype(np.float32))
            if "wfdb" in formats:
                write_wfdb(self.signals, name, digital(index))
            if "edf" in formats:
                (self.signals / f"{name}.edf").write_bytes(edf_bytes(digital(index)))
            if "mat" in formats:
                struct = {"data": millivolts(index), "age": 40.0}
                scipy.io.savemat(self.signals / f"{name}.mat", {"ECG": struct, "other": np.eye(3)})
            if "h5" in formats:
                with h5py.File(self.signals / f"{name}.h5", "w") as file:
                    file["ecg/tracing"] = digital(index).T.astype(np.float32)  # in uV, leads last
        every = np.stack([digital(index) for index in range(COUNT)])
        if "stack-npy" in formats:
            np.save(self.signals / "all.npy", every)
        if "stack-h5" in formats:
            for part in range(2):
                rows = np.arange(part, COUNT, 2)[::-1]
                with h5py.File(self.signals / f"part{part}.hdf5", "w") as file:
                    file["tracings"] = every[rows].transpose(0, 2, 1) / 1e6
                    file["exam_id"] = np.array([f"e{row:02d}".encode() for row in rows])

    def table(self, name: str = "table.csv") -> Path:
        return write_table(self.path / name, self.rows)

    def plan(self, **changes: Any) -> dict[str, Any]:
        """A valid mapping for .npy files, as plain values; `signals` is updated, other keys are replaced."""
        signals = {"file": "{record}.npy", "units": "mV", "rate": RATE, "leads": "standard", "seconds": 2}
        return {
            "name": "ward",
            "record": "ecg",
            "patient": "patient",
            "tasks": {"af": {"kind": "boolean", "columns": ["afib"]}},
            **changes,
            "signals": {**signals, **changes.get("signals", {})},
        }
