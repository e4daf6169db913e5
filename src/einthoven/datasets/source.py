"""A dataset's source folder, looked through before anything is written: what is promised, what is there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from einthoven.foundation.code_identity import code_identity
from einthoven.foundation.errors import DataError, UsageError, unknown_name
from einthoven.foundation.identity import content_key_of_items, sha256_file

from .checking import check_scan
from .columns import RecordTable, record_table
from .dataset import Dataset, Scan, SourceRecord
from .intake import take_in

_REMEMBERED_FOLDERS = 256
# What decides the content of a cohort lies in these packages, but for what only says where files are and what they are.
_DECIDING = ("einthoven.datasets", "einthoven.signals", "einthoven.foundation.seeds")
# A name without any of these stays below the folder.
_MAY_LEAVE = r"(?s)^[/\\]|^.:|\.\."
_DESCRIBING = ("einthoven.datasets.downloading.release",)


class Listing:
    """Which files lie below a folder.

    A folder is listed when one of its files is asked about; the last ones are remembered, since files that are asked
    about one after the other lie together.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._list = lru_cache(_REMEMBERED_FOLDERS)(self._listed)

    def has(self, file: str) -> bool:
        """Whether a file (relative, "/" between folders) exists."""
        return self._size(file) is not None

    def size(self, file: str) -> int:
        """Bytes of a file that exists."""
        size = self._size(file)
        if size is None:
            raise DataError(f"{file} does not exist below {self._folder}.")
        return size

    def _size(self, file: str) -> int | None:
        parent, _, name = file.rpartition("/")
        return self._list(parent).get(name)

    def _listed(self, parent: str) -> dict[str, int]:
        if self._folder is None:
            return {}
        try:
            with os.scandir(self._folder / parent) as entries:
                return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
        except (FileNotFoundError, NotADirectoryError):
            return {}


@dataclass(frozen=True)
class Source:
    """A dataset read down to its metadata, and which of its records have their files.

    Attributes:
        folder: of the files; None for a dataset that is made, not read.
        scan: as columns.
        present: positions in `scan.records` of records whose files exist, int64.
        missing: positions of the others.
        left_out: positions of records that the dataset's own rule leaves out.
        files: what lies in the folder.
        absent: how many records of the release the folder does not even name.
    """

    dataset: Dataset
    scan: Scan
    folder: Path | None
    present: np.ndarray
    missing: np.ndarray
    left_out: np.ndarray
    files: Listing
    absent: int = 0

    def path(self, file: str) -> Path:
        """Where a file of the dataset lies."""
        if self.folder is None:
            raise UsageError(f"{self.dataset.name} is made, not read; it has no file {file}.")
        return self.folder / file

    def place(self, file: str) -> str:
        """`path` as text, for what is done for every file of every record."""
        return f"{self.folder}{os.sep}{file.replace('/', os.sep)}" if self.folder else str(self.path(file))

    def first_missing(self, record: SourceRecord) -> str:
        """The first file of a record that does not exist."""
        return next((file for file in record.files if not self.files.has(file)), "")

    def request(self) -> dict[str, Any]:
        """What decides the content of a cohort made from here, as far as it is known without reading signals."""
        files = record_table(self.scan).frame["files"].gather(self.present).explode().drop_nulls()
        sizes = ([file, self.files.size(file)] for file in files.unique(maintain_order=True))
        return {
            "dataset": self.dataset.name,
            "version": self.dataset.card.version,
            "rate": self.scan.rate,
            "rules": dict(self.scan.rules),
            "code": code_identity(self.dataset.scan, within=_DECIDING, without=_DESCRIBING),
            "intake": code_identity(take_in, within=_DECIDING, without=_DESCRIBING),
            "metadata": {file: sha256_file(self.path(file)) for file in self.scan.source_files},
            "files": content_key_of_items(sizes),
            "records": len(self.present),
        }


def open_source(dataset: Dataset, folder: Path | None, *, rate: float, options: Mapping[str, int]) -> Source:
    """Read a dataset's metadata, check what must hold before it can be a cohort, and look for its files.

    Args:
        folder: of the files, or None for a dataset that is made.
        rate: sampling rate of the files to take, Hz.
        options: of the dataset's scan; those that are not given have their defaults.

    Raises:
        UsageError: a folder that does not exist, a rate or an option the dataset does not have.
        DataError: metadata that contradict themselves (see `check_scan`), or a file outside the folder.
    """
    if folder is not None and not folder.is_dir():
        raise UsageError(f"The source {folder} is not a folder.")
    if dataset.card.needs_source and folder is None:
        fetch = f", or fetch them: einthoven datasets download {dataset.name}" if dataset.release else ""
        raise UsageError(f"{dataset.name} is read from files: name the folder that holds them with --source{fetch}.")
    if not dataset.card.needs_source and folder is not None:
        raise UsageError(f"{dataset.name} is made, not read: leave --source out.")
    where = f"dataset {dataset.name}"
    if folder is not None and rate not in dataset.card.rates:
        known = " and ".join(f"{known:g}" for known in dataset.card.rates)
        raise UsageError(f"The files of {dataset.name} come at {known} Hz; {rate:g} Hz was asked for (--rate).")
    for option in options:
        if option not in dataset.options:
            raise unknown_name("option", option, dataset.options, where=where)
    scan = check_scan(dataset.scan(folder, rate, {**dataset.options, **options}), where=where)
    listing = Listing(folder)
    _refuse_outside(record_table(scan), folder)
    whole = _have_files(record_table(scan), listing) if folder else np.ones(len(scan.records), dtype=bool)
    left_out = record_table(scan).left_out
    return Source(
        dataset=dataset,
        scan=scan,
        folder=folder,
        present=np.flatnonzero(whole & ~left_out),
        missing=np.flatnonzero(~whole & ~left_out),
        left_out=np.flatnonzero(left_out),
        files=listing,
        absent=max(0, (scan.whole or 0) - len(scan.records)),
    )


def _refuse_outside(records: RecordTable, folder: Path | None) -> None:
    files = records.frame.select("record_id", "files").explode("files").drop_nulls()
    for record_id, file in files.filter(pl.col("files").str.contains(_MAY_LEAVE)).iter_rows():
        # By name only: a link inside the source folder is its owner's business.
        if _leaves_the_folder(file):
            raise DataError(f"Record {record_id} names the file {file!r}, which is outside {folder}.")


def _have_files(records: RecordTable, listing: Listing) -> np.ndarray:
    """Whether each record has all its files, bool (records,); one of many records is looked for once."""
    files = records.frame.select("files").with_row_index("row").explode("files").drop_nulls()
    absent = [file for file in files["files"].unique(maintain_order=True) if not listing.has(file)]
    there = np.ones(len(records), dtype=bool)
    there[files.filter(pl.col("files").is_in(absent))["row"].to_numpy()] = False
    return there


def _leaves_the_folder(file: str) -> bool:
    """Whether a relative name is none, or climbs; on every system, whichever system wrote the metadata."""
    plain = file.replace("\\", "/")
    return plain.startswith("/") or plain[1:2] == ":" or ".." in plain.split("/")


def _to_get_them(dataset: Dataset) -> str:
    if dataset.release is not None:
        return f"Fetch them: einthoven datasets download {dataset.name}."
    return dataset.card.how or "Put them there."


def check_complete(source: Source, *, allow_missing: bool) -> None:
    """Refuse a source that lacks signal files, unless that is allowed and at least one record has them.

    Raises:
        DataError: with how many records lack files, and the first ten.
    """
    records, missing = source.scan.records, source.missing
    if source.absent and not allow_missing:
        raise DataError(
            f"{len(records)} of {len(records) + source.absent} records of {source.dataset.name} are in "
            f"{source.folder}. {_to_get_them(source.dataset)} Or go on without the rest with --allow-missing (the "
            "manifest and every report will then say how many are missing)."
        )
    if len(missing) and not allow_missing:
        files = dict.fromkeys(source.first_missing(records[index]) for index in missing)
        first = list(files)[:10]
        raise DataError(
            f"{len(missing)} of {len(records)} records have no signal file under {source.folder}; "
            f"{len(files)} files do not exist. First {len(first)}: {', '.join(first)}. "
            f"{_to_get_them(source.dataset)} Or go on without them with --allow-missing (the manifest and every report "
            "will then say what is missing)."
        )
    if not len(source.present):
        raise DataError(f"None of the {len(records)} records of {source.dataset.name} has files in {source.folder}.")
