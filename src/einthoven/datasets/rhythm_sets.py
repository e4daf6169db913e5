"""What the databases of long recordings with rhythm annotations have in common: windows, two tasks, folds of patients.

Tasks: `af`, atrial fibrillation or not, in every window with a rhythm; `rhythm`, one of those the dataset declares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from einthoven.foundation.errors import DataError, UsageError

from .columns import LabelColumns, RecordTable, SplitColumn
from .dataset import Record, Scan, SourceRecord, TaskTable
from .fold_rules import FOLD_RULES, FOLDS
from .recordings import PartReader
from .splitting import patient_folds
from .wfdb_files import read_header
from .wfdb_header import Header
from .windows import NO_RHYTHM, AnnotatedRecording, Windows, cut, read_marks

AF = "AFIB"
_LONGEST_WINDOW = 3600


@dataclass(frozen=True)
class RhythmSet:
    """One database of long recordings.

    Attributes:
        rate: Hz, of every recording.
        channels: what the cohort stores, by the position of the signal in a header: names, in file order.
        rhythms: labels of the task `rhythm`, in the order in which ties go.
        patient_of: recording -> patient id; those it does not name are their own patients.
        pick: (header) -> positions of its signals that are stored, or the reason why it cannot be.
        about: (header) -> `age`, `sex` and more.
        unmarked: the rhythm before the first mark, where a database marks episodes only; "" where it is not known.
    """

    rate: float
    channels: tuple[str, ...]
    rhythms: tuple[str, ...]
    patient_of: Mapping[str, str]
    pick: Callable[[Header], tuple[int, ...] | str]
    about: Callable[[Header], Mapping[str, object]] = lambda header: {}
    unmarked: str = ""


def all_channels(count: int) -> Callable[[Header], tuple[int, ...] | str]:
    """A `pick` of all signals of recordings that must have as many."""

    def pick(header: Header) -> tuple[int, ...] | str:
        found = len(header.signals)
        return tuple(range(count)) if found == count else f"{found} signals and not {count}"

    return pick


def read_annotated(source: Path, stems: Sequence[str], of: RhythmSet) -> list[AnnotatedRecording]:
    """Read headers and annotations of all recordings that are there; those with broken ones say what is wrong.

    Args:
        stems: paths of recordings below the source folder, without suffix.

    Raises:
        DataError: a recording with another sampling rate, or a header that says what no header of the database says.
    """
    found = []
    for stem in stems:
        name = stem.rpartition("/")[2]
        files = (f"{stem}.hea", f"{stem}.atr", f"{stem}.dat")
        patient = of.patient_of.get(name, name)
        if not all((source / file).is_file() for file in files):
            found.append(AnnotatedRecording(name, patient, files, None))
            continue
        where = f"record {name}"
        try:
            header = read_header(source / stem, where=where)
        except DataError as error:
            found.append(AnnotatedRecording(name, patient, files, None, broken=str(error)))
            continue
        if header.rate != of.rate:
            raise DataError(f"{stem}.hea is sampled at {header.rate:g} Hz; {of.rate:g} Hz was expected.")
        picked = of.pick(header)
        if isinstance(picked, str):
            found.append(AnnotatedRecording(name, patient, files, None, left_out=picked))
            continue
        try:
            starts, rhythms = read_marks(source / stem, where=where)
        except DataError as error:
            about = of.about(header)
            found.append(AnnotatedRecording(name, patient, files, None, metadata=about, broken=str(error)))
            continue
        if of.unmarked and (not len(starts) or starts[0] > 0):
            starts, rhythms = np.insert(starts, 0, 0), (of.unmarked, *rhythms)
        found.append(AnnotatedRecording(name, patient, files, header.samples, starts, rhythms, of.about(header)))
    return found


def seconds_of(options: Mapping[str, int]) -> int:
    """The length of a window, from a dataset's options.

    Raises:
        UsageError: none above 0.
    """
    if not 1 <= options["window"] <= _LONGEST_WINDOW:
        raise UsageError(f"window is {options['window']}; 1 to {_LONGEST_WINDOW} seconds were expected.")
    return options["window"]


def scan_windows(
    source: Path,
    stems: Sequence[str],
    of: RhythmSet,
    *,
    rule: str,
    seconds: int,
    splits: Callable[[Windows], Mapping[str, SplitColumn]] | None = None,
    notes: tuple[str, ...] = (),
) -> tuple[Scan, Windows, list[AnnotatedRecording]]:
    """The scan of a database of long recordings, and what it was made from.

    Args:
        rule: name and version of the dataset's label rule, as "afdb-labels: 1".
        splits: default five folds of patients.
    """
    length = round(seconds * of.rate)
    annotated = read_annotated(source, stems, of)
    windows = cut(annotated, length=length, declared=of.rhythms)
    unknown = Counter(windows.names[code] for code in windows.rhythm if code >= len(of.rhythms))
    whole = windows.start >= 0
    without = int((whole & (windows.rhythm == NO_RHYTHM)).sum())
    if unknown:
        shown = ", ".join(f"{name} ({count})" for name, count in sorted(unknown.items()))
        notes = (*notes, f"Windows of rhythms that the task `rhythm` does not name are not in it: {shown}.")
    if without:
        notes = (*notes, f"{without} windows have no annotated sample; they are in no task.")
    broken = {one.name: one.broken for one in annotated if one.broken}
    here = sum(one.samples is not None for one in annotated) + len(broken)
    absent = sum(one.samples is None and not one.left_out and not one.broken for one in annotated)
    if absent:
        notes = (
            f"{here} of {here + absent} recordings are here; each of the others counts as one of the records promised.",
            *notes,
        )
    name, _, version = rule.partition(": ")
    scan = Scan(
        records=windows.records,
        tasks={"af": af_task(windows), "rhythm": rhythm_task(windows, of.rhythms)},
        splits=splits(windows)
        if splits
        else fold_columns(windows.records, recordings=windows.records.metadata["recording"]),
        read=window_reader(source, of, length, broken),
        rate=of.rate,
        samples=length,
        leads=of.channels,
        rules={name: version, "windows": "1: no overlap, rest dropped, most samples decide"},
        notes=notes,
    )
    return scan, windows, annotated


def af_task(windows: Windows) -> TaskTable:
    """Atrial fibrillation or not, in every window with a rhythm."""
    rows = np.flatnonzero(windows.rhythm != NO_RHYTHM)
    code = windows.names.index(AF)
    targets = (windows.rhythm[rows] == code)[:, None].astype(np.uint8)
    return TaskTable((AF,), LabelColumns(windows.records.record_id, (AF,), rows, targets))


def rhythm_task(windows: Windows, rhythms: Sequence[str]) -> TaskTable:
    """One of the declared rhythms."""
    rows = np.flatnonzero((windows.rhythm != NO_RHYTHM) & (windows.rhythm < len(rhythms)))
    targets = np.eye(len(rhythms), dtype=np.uint8)[windows.rhythm[rows]]
    return TaskTable(tuple(rhythms), LabelColumns(windows.records.record_id, rhythms, rows, targets))


def fold_columns(records: RecordTable, *, recordings: pl.Series) -> dict[str, SplitColumn]:
    """Five splits in which every patient is once in test, so that few patients can be tested on.

    Args:
        recordings: of which recording each record is a part. Folds hold as many recordings each, not as many windows:
            they must not depend on which recordings are there.
    """
    table = pl.DataFrame({"recording": recordings, "patient": records.patient_id}).unique()
    counts = dict(table.group_by("patient").len().iter_rows())
    return {
        rule: SplitColumn.by_patient(records, split)
        for rule, split in zip(FOLD_RULES, patient_folds(counts, folds=FOLDS), strict=True)
    }


def window_reader(
    source: Path, of: RhythmSet, length: int, broken: Mapping[str, str]
) -> Callable[[SourceRecord], Record]:
    """What reads a window; the recording it was cut from stays open for the next one.

    Args:
        broken: record id -> what is wrong, of recordings that could not be cut; said when they come to be read, where
            bad records may be left out.
    """
    opened: dict[str, PartReader] = {}

    def read(record: SourceRecord) -> Record:
        if record.record_id in broken:
            raise DataError(broken[record.record_id])
        stem = record.files[0].removesuffix(".hea")
        name, _, number = record.record_id.rpartition("-")
        if stem not in opened:
            recording = PartReader(source / stem, record_id=name)
            opened.clear()
            opened[stem] = recording
        recording = opened[stem]
        picked = of.pick(recording.header)
        if isinstance(picked, str):
            raise DataError(f"The recording {name} has {picked}.")
        start = int(number) * length
        signal = recording.part(start, start + length, signals=picked)
        return Record(record.record_id, record.patient_id, signal, leads=of.channels, rate=of.rate)

    return read
