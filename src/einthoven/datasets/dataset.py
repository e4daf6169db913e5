"""What one dataset has to say: its card, its records, its labels and splits, and how to read one record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    import numpy as np

    from .downloading.release import Release

SPLITS = ("train", "val", "test")
Access = Literal["open", "credentialed", "private", "synthetic"]
Family = Literal["rhythm+waveform", "structural", "hemodynamic", "forecasting"]


@dataclass(frozen=True)
class TaskCard:
    """What a reader needs to know of one task.

    Attributes:
        summary: one line.
        family: what kind of question it asks of an ECG: what is written in it (rhythm+waveform), what an echocardiogram
            would show (structural), what a catheter would measure (hemodynamic), or what will happen (forecasting).
    """

    summary: str
    family: Family


@dataclass(frozen=True)
class Sizes:
    """How large a whole release is, as its publisher counts it; None where that is not published.

    Attributes:
        gigabytes: 10^9 bytes of files, unpacked.
    """

    records: int | None = None
    patients: int | None = None
    gigabytes: float | None = None


class DatasetCard(BaseModel):
    """What a reader needs to know before using a dataset; shown by `einthoven datasets show`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    version: str
    summary: str
    licence: str
    access: Access
    """How one gets the files. A report shows single records, and names them, only if it is "open" or "synthetic"."""
    how: str = ""
    """What one has to do to get them, beside `einthoven datasets download` or where that cannot; sentences."""
    sharing: str
    """What may be passed on: the records, what was computed from them, or neither."""
    sizes: Sizes = Sizes()
    url: str
    citation: str
    rates: tuple[float, ...]
    """Sampling rates the files come in, Hz; the first is the default of `prepare`."""
    tasks: Mapping[str, TaskCard]
    concepts: Mapping[str, str] = {}
    """Table of measurements -> one line about it."""
    split_rules: Mapping[str, str]
    """Rule name -> one line about it; the first is the default."""
    needs_source: bool = True
    """False for a dataset that is made, not read."""


@dataclass(frozen=True)
class Record:
    """One ECG recording, ready to be stored.

    Attributes:
        record_id: unique within its dataset.
        patient_id: the same for all recordings of one person.
        signal: float32 mV (leads, samples).
        leads: names of the leads, in the order of `signal`.
        rate: sampling rate, Hz.
    """

    record_id: str
    patient_id: str
    signal: np.ndarray
    leads: tuple[str, ...]
    rate: float


@dataclass(frozen=True)
class SourceRecord:
    """What a dataset's metadata say about one record, before its samples are read.

    Attributes:
        files: the files it needs, relative to the source folder; empty when it is made, not read.
        metadata: `age` (years or None), `sex` ("F", "M" or None) and any further column of `records.parquet`.
        left_out: why the dataset's own rule leaves the record out ("shorter than 10 s"); it is then counted among those
            that are promised and excluded. Empty for a record that is to be in the cohort.
    """

    record_id: str
    patient_id: str
    files: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    left_out: str = ""


@dataclass(frozen=True)
class TaskTable:
    """The labels of one task.

    Attributes:
        labels: all labels of the task, in column order, whether or not a record has them.
        positives: record id -> its labels. **A record is in the task if and only if it is a key**, so a record with
            an empty set is a record on which every label is negative.
    """

    labels: tuple[str, ...]
    positives: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Scan:
    """A dataset read down to its metadata; no sample has been touched.

    Records, positives, splits and concepts may be lists and dictionaries, which take some kilobytes a record, or the
    columns of `datasets/columns.py`, which datasets of hundreds of thousands of records need.

    Attributes:
        records: all records the metadata promise, in cohort order.
        tasks: task name -> labels.
        splits: rule name -> record id -> "train", "val" or "test"; the first rule is the default. A record that a rule
            does not name is in none of its splits.
        read: reads one record; raises DataError for a file that is not what it claims to be. Its signal is copied
            before the next one is read, so that the array may be used again.
        rate: of every record, Hz.
        samples: per lead, of every record; None where records differ in length.
        leads: what the cohort stores, in order: standard leads, which are taken by name and derived where that can be,
            or a recorder's own channels, which are taken as they are. None is the twelve standard leads.
        gain: int16 units per mV the cohort stores the signal with.
        source_files: metadata files the scan was made from, relative to the source folder.
        rules: name -> version of every rule that decided something, for the manifest.
        whole: how many records the whole release has, where they are listed from what lies in the folder; None where
            the metadata name every record.
        concepts: table -> concept -> one float a record, in the order of `records`; NaN where undefined.
        notes: what a reader of any report on this cohort must know.
    """

    records: Sequence[SourceRecord]
    tasks: Mapping[str, TaskTable]
    splits: Mapping[str, Mapping[str, str]]
    read: Callable[[SourceRecord], Record]
    rate: float
    samples: int | None
    leads: tuple[str, ...] | None = None
    gain: float = 1000.0
    source_files: tuple[str, ...] = ()
    rules: Mapping[str, str] = field(default_factory=dict)
    whole: int | None = None
    concepts: Mapping[str, Mapping[str, Sequence[float] | np.ndarray]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """A registered dataset.

    Attributes:
        scan: (source folder or None, rate in Hz, options) -> Scan.
        options: what `scan` understands beyond source and rate, with its defaults ("seed": 0).
        release: where its files can be downloaded from; None where they cannot.
    """

    card: DatasetCard
    scan: Callable[[Any, float, Mapping[str, int]], Scan]
    options: Mapping[str, int] = field(default_factory=dict)
    release: Release | None = None

    @property
    def name(self) -> str:
        """The name it is registered and prepared under."""
        return self.card.name

    @property
    def how_to_get(self) -> str:
        """What one has to do to have its files."""
        if not self.card.needs_source:
            return "Made by this package; there is nothing to get."
        if self.release is not None:
            login = " (needs a login; see its --help)" if self.release.login else ""
            command = f"einthoven datasets download {self.name}{login}"
            return f"{command}. {self.card.how}" if self.card.how else command
        at = f" It is at {self.card.url}." if self.card.url else ""
        return (
            f"`einthoven datasets download` cannot fetch it. {self.card.how}{at} Then: einthoven datasets prepare "
            f"{self.name} --source FOLDER"
        )
