"""Long recordings cut into windows, each labelled by the rhythm that most of its samples are annotated with.

Windows do not overlap, the rest at the end of a recording is dropped, and a window of which no sample is annotated has
no rhythm. Everything is arithmetic on the marks where rhythms begin; no sample is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from einthoven.foundation.errors import DataError

from .columns import RecordTable
from .file_checks import check_file, reason_of

NO_RHYTHM = -1
_AGAIN = "Download the file again; `einthoven datasets verify` says which files are not as released."


@dataclass(frozen=True)
class AnnotatedRecording:
    """One recording, and where its rhythms begin.

    Attributes:
        name: of the recording; windows are called `<name>-00000` and so on.
        samples: per lead; None if it is not cut, because its files are not there or broken, or it is left out.
        starts: samples at which a rhythm begins, ascending.
        rhythms: what begins there.
        metadata: `age`, `sex` and further columns of its windows.
        left_out: why the dataset leaves it out, or "".
        broken: what is wrong with its header or annotations, or "".
    """

    name: str
    patient_id: str
    files: tuple[str, ...]
    samples: int | None
    starts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    rhythms: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    left_out: str = ""
    broken: str = ""


@dataclass(frozen=True)
class Windows:
    """All windows of all recordings, in order; a recording that is not cut is one row.

    Attributes:
        records: for a scan.
        recording: int32 (rows,), position of the recording.
        start: int64 (rows,), first sample; -1 for a recording that is not cut.
        rhythm: int16 (rows,), position in `names`, or -1 for none.
        names: rhythms that occur, those that were declared first.
    """

    records: RecordTable
    recording: np.ndarray
    start: np.ndarray
    rhythm: np.ndarray
    names: tuple[str, ...]


def read_marks(stem: Path, *, where: str, extension: str = "atr") -> tuple[np.ndarray, tuple[str, ...]]:
    """Where rhythms begin in a recording, by its WFDB annotation file: samples, and names without their bracket.

    Raises:
        DataError: there is no such file, or it cannot be read, or marks are not in order.
    """
    import wfdb

    file = stem.with_name(f"{stem.name}.{extension}")
    check_file(file, where=where)
    if not _ends_as_it_should(file):
        # wfdb would take what is left for the whole, and every window behind it for the last rhythm.
        raise DataError(
            f"The annotations {file.name} of {where} do not end with the mark of their end: the file was cut short. "
            f"{_AGAIN}"
        )
    try:
        found: Any = wfdb.rdann(str(stem), extension)
    # A broken file fails in as many ways as wfdb's reader has steps.
    except Exception as error:
        raise DataError(
            f"The annotations {file.name} of {where} cannot be decoded: {reason_of(error)} {_AGAIN}"
        ) from error
    notes = [(int(at), note.strip("\x00 ")) for at, note in zip(found.sample, found.aux_note, strict=True) if note]
    marks = [(at, note.removeprefix("(")) for at, note in notes if note.startswith("(")]
    starts = np.array([at for at, _ in marks], dtype=np.int64)
    if (np.diff(starts) < 0).any() or (starts < 0).any():
        raise DataError(f"The annotations {file.name} of {where} are not in order of time. Download the file again.")
    return starts, tuple(name for _, name in marks)


def _ends_as_it_should(file: Path) -> bool:
    """Whether the last of the 16-bit words of annotations is 0 (WFDB annot(5))."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        stream.seek(max(0, size - 2))
        return size % 2 == 0 and stream.read() == b"\0\0"


def majority(starts: np.ndarray, codes: np.ndarray, *, samples: int, length: int) -> np.ndarray:
    """The rhythm that most annotated samples of each window have, int16 (windows,); -1 where none is annotated.

    Args:
        starts: samples at which a rhythm begins, ascending; each lasts until the next one.
        codes: what begins there, integers from 0; of equally long ones the smallest wins.
        samples: of the recording.
        length: samples of a window.
    """
    edges = np.arange(samples // length + 1, dtype=np.int64) * length
    if not len(starts):
        return np.full(len(edges) - 1, NO_RHYTHM, dtype=np.int16)
    bounds = np.append(np.minimum(starts, samples), samples)  # marks behind the last sample occur
    lasting = np.diff(bounds)
    shares = np.zeros((int(codes.max()) + 1, len(edges) - 1))
    for code in range(len(shares)):
        # Samples of this rhythm before each moment: a broken line, exact at whole samples.
        before = np.concatenate(([0], np.cumsum(np.where(codes == code, lasting, 0))))
        shares[code] = np.diff(np.interp(edges, bounds, before))
    found = shares.argmax(axis=0).astype(np.int16)
    found[shares.max(axis=0) < 0.5] = NO_RHYTHM
    return found


def _or_left_out(annotated: AnnotatedRecording, length: int) -> AnnotatedRecording:
    if annotated.samples is None or annotated.samples >= length:
        return annotated
    return replace(annotated, samples=None, left_out="shorter than one window")


def cut(recordings: Sequence[AnnotatedRecording], *, length: int, declared: Sequence[str]) -> Windows:
    """The windows of recordings.

    Args:
        length: samples of a window.
        declared: rhythms in the order in which ties go; others are added behind as they occur.
    """
    names = list(dict.fromkeys([*declared, *(name for annotated in recordings for name in annotated.rhythms)]))
    code_of = {name: code for code, name in enumerate(names)}
    counts, starts, rhythms = [], [], []
    recordings = [_or_left_out(annotated, length) for annotated in recordings]
    for annotated in recordings:
        if annotated.samples is None:
            counts.append(1)
            starts.append(np.array([-1]))
            rhythms.append(np.array([NO_RHYTHM], dtype=np.int16))
            continue
        codes = np.array([code_of[name] for name in annotated.rhythms], dtype=np.int64)
        rhythm = majority(annotated.starts, codes, samples=annotated.samples, length=length)
        counts.append(len(rhythm))
        starts.append(np.arange(len(rhythm), dtype=np.int64) * length)
        rhythms.append(rhythm)
    recording = np.repeat(np.arange(len(recordings), dtype=np.int32), counts)
    start = np.concatenate(starts)
    ids = pl.Series([m.name for m in recordings], dtype=pl.String)[recording]
    number = pl.Series(start // length)
    records = RecordTable(
        pl.select(pl.when(number < 0).then(ids).otherwise(ids + "-" + number.cast(pl.String).str.zfill(5))).to_series(),
        pl.Series([m.patient_id for m in recordings], dtype=pl.String)[recording],
        files=pl.Series([list(m.files) for m in recordings], dtype=pl.List(pl.String))[recording],
        metadata=pl.DataFrame([{"recording": m.name, **m.metadata} for m in recordings], infer_schema_length=None)[
            recording
        ],
        left_out=pl.Series([m.left_out for m in recordings], dtype=pl.String)[recording],
    )
    return Windows(records, recording, start, np.concatenate(rhythms), tuple(names))
