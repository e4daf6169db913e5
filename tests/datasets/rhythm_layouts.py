"""Made recordings in the layouts of the rhythm databases: format 212 and annotations, written by the wfdb package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import wfdb


def pulses(samples: int, rate: float) -> np.ndarray:
    """A pulse a second whose size tells the second, in mV (samples, 2)."""
    seconds = np.arange(samples) / rate
    pulse = np.exp(-0.5 * ((seconds % 1 - 0.5) / 0.02) ** 2)
    size = 0.5 + 0.01 * (seconds // 1 % 100)
    return np.stack([size * pulse, -0.7 * size * pulse + 0.01 * np.sin(seconds)], axis=1)


def write_holter(
    folder: Path,
    name: str,
    *,
    rate: float,
    samples: int,
    marks: Sequence[tuple[int, str]],
    names: tuple[str, ...] = ("ECG1", "ECG2"),
    comments: Sequence[str] = (),
) -> Path:
    """Write one recording with marks (sample, rhythm); its path without suffix."""
    folder.mkdir(parents=True, exist_ok=True)
    count = len(names)
    wfdb.wrsamp(
        name,
        fs=rate,
        units=["mV"] * count,
        sig_name=list(names),
        p_signal=pulses(samples, rate)[:, :count],
        fmt=["212"] * count,
        adc_gain=[200.0] * count,
        baseline=[0] * count,
        comments=list(comments),
        write_dir=str(folder),
    )
    places = np.array([at for at, _ in marks])
    wfdb.wrann(
        name, "atr", places, ["+"] * len(marks), aux_note=[f"({m}" for _, m in marks], fs=rate, write_dir=str(folder)
    )
    return folder / name


def write_afdb(folder: Path) -> Path:
    """Three of its recordings, less than a minute each."""
    marks = [(30, "N"), (5000, "AFIB"), (12_500, "AFL")]
    write_holter(folder, "04015", rate=250, samples=2500 * 6 + 100, marks=marks)
    write_holter(folder, "04043", rate=250, samples=2500 * 3, marks=[(2500, "J"), (5000, "SVTA")])
    write_holter(folder, "08455", rate=250, samples=2500 * 2, marks=[(0, "AFIB")])
    return folder


def write_ltafdb(folder: Path) -> Path:
    """One of its recordings, 20 s of it."""
    write_holter(folder, "00", rate=128, samples=1280 * 2, marks=[(0, "SBR"), (1280, "AFIB")])
    return folder


def write_unified_af(folder: Path) -> Path:
    """The three sources; of CinC 2017 the reference alone."""
    write_afdb(folder / "afdb")
    write_ltafdb(folder / "ltafdb")
    classes = "N" * 5076 + "A" * 758 + "O" * 2415 + "~" * 279
    (folder / "cinc2017").mkdir()
    rows = [f"A{number:05d},{kind}" for number, kind in enumerate(classes, 1)]
    (folder / "cinc2017" / "REFERENCE-v3.csv").write_text("\n".join(rows) + "\n")
    return folder


def wfdb_signal(stem: Path) -> np.ndarray:
    """All samples as the wfdb package reads them, in the header's units (signals, samples)."""
    record: Any = wfdb.rdrecord(str(stem))
    return record.p_signal.T


def wfdb_marks(stem: Path) -> list[tuple[int, str, str]]:
    """All annotations as the wfdb package reads them: sample, symbol, note."""
    found: Any = wfdb.rdann(str(stem), "atr")
    return list(zip(found.sample.tolist(), found.symbol, found.aux_note, strict=True))
