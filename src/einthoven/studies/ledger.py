"""The ledger: a folder of finished cells. A cell is there whole, under its key, or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl
from pydantic import BaseModel, ValidationError

from einthoven.foundation.errors import DataError
from einthoven.foundation.identity import canonical_json, content_key, sha256_array, sha256_columns, sha256_file
from einthoven.foundation.publishing import exclusive, publish_folder, read_json, write_json
from einthoven.version import VERSION

from .cells import Cell

R = TypeVar("R", bound=BaseModel)
State = Literal["finished", "failed", "not run"]
_FILES = "files.json"
# What may differ between two ledgers of equal content: times and machines, and bytes that depend on a library.
_TRANSIENT = ("provenance.json", _FILES)


class Ledger:
    """Finished (`cells/<key>/`) and failed (`failures/<key>.json`) cells of a study's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cells = folder / "cells"
        self._failures = folder / "failures"

    def has(self, key: str) -> bool:
        """Whether the cell is finished, with every file it was stored with; what is in them is for reading to check.

        A cell that has lost a file is not finished: it is computed again.
        """
        folder = self._cells / key
        if not (folder / "result.json").is_file():
            return False
        try:
            return all((folder / name).is_file() for name in self._stated(key))
        except DataError:
            return False

    def path(self, key: str) -> Path:
        """The folder of a finished cell."""
        return self._cells / key

    def publish(
        self,
        cell: Cell,
        result: BaseModel,
        provenance: dict[str, Any],
        *,
        arrays: dict[str, dict[str, np.ndarray]] | None = None,
        tables: dict[str, pl.DataFrame] | None = None,
    ) -> None:
        """Store a finished cell by one rename, and forget an earlier failure of it.

        Args:
            arrays: file stem -> named arrays, written as .npz.
            tables: file stem -> table, written as .parquet.
        """
        key = cell.key
        final = self._cells / key
        with exclusive(final, wait_seconds=60, doing="storing the cell"):
            if self.has(key):
                return
            # A folder without its result.json is not a finished cell, whatever has happened to it.
            with publish_folder(final, replace=True) as work:
                write_json(work / "spec.json", json.loads(canonical_json(cell.identity())))
                for stem, values in (arrays or {}).items():
                    np.savez_compressed(work / f"{stem}.npz", allow_pickle=False, **values)  # type: ignore[arg-type]  # numpy's stub takes ** for allow_pickle
                for stem, table in (tables or {}).items():
                    table.write_parquet(work / f"{stem}.parquet")
                write_json(work / "provenance.json", provenance)
                write_json(work / "result.json", result.model_dump(mode="json"))
                write_json(work / _FILES, {file.name: sha256_file(file) for file in sorted(work.iterdir())})
        (self._failures / f"{key}.json").unlink(missing_ok=True)

    def verify(self, key: str) -> None:
        """Check that a finished cell is as it was stored, and stored under its own key.

        Raises:
            DataError: a file changed, is missing or was added; the message names it.
        """
        folder = self.path(key)
        stated = self._stated(key)
        found = {
            file.name: sha256_file(file) if file.is_file() else "" for file in folder.iterdir() if file.name != _FILES
        }
        wrong = sorted(name for name in stated.keys() | found.keys() if stated.get(name) != found.get(name))
        if wrong:
            raise DataError(f"Cell {key[:12]} changed after it was stored: {', '.join(wrong)}. {self._remedy(key)}")
        identity = json.loads(self._read(key, "spec.json"))
        if content_key(identity) != key:
            raise DataError(f"Cell {key[:12]} holds another cell's specification. {self._remedy(key)}")

    def result(self, key: str, expected: type[R]) -> R:
        """The typed result of a finished cell.

        Raises:
            DataError: it is not finished, or its result is of another schema.
        """
        file = self._cells / key / "result.json"
        if not file.is_file():
            raise DataError(f"Cell {key[:12]} is not finished in {self.folder}; run the study to complete it.")
        if content_key(json.loads(self._read(key, "spec.json"))) != key:
            raise DataError(f"Cell {key[:12]} holds another cell's specification. {self._remedy(key)}")
        try:
            return expected.model_validate_json(self._read(key, "result.json"))
        except ValidationError as error:
            writer = self._written_by(key)
            raise DataError(
                f"{file} (written by Einthoven {writer}) cannot be read as {expected.__name__} by Einthoven {VERSION}: "
                f"{error.errors()[0]['msg']} at {'.'.join(map(str, error.errors()[0]['loc'])) or 'its top'}. "
                "Read it with that version, or delete its folder under cells/ and run the study again."
            ) from None

    def arrays(self, key: str, stem: str) -> dict[str, np.ndarray]:
        """Named arrays of a finished cell."""
        with np.load(io.BytesIO(self._read(key, f"{stem}.npz")), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}

    def table(self, key: str, stem: str) -> pl.DataFrame:
        """A table of a finished cell."""
        return pl.read_parquet(io.BytesIO(self._read(key, f"{stem}.parquet")))

    def provenance(self, key: str) -> dict[str, Any]:
        """How a finished cell came about."""
        return json.loads(self._read(key, "provenance.json"))

    def _remedy(self, key: str) -> str:
        return f"Delete the folder {self.path(key)} and run the study again."

    def _read(self, key: str, name: str) -> bytes:
        """The bytes of a file of a finished cell, which must be those that were stored.

        Raises:
            DataError: the file changed or is missing.
        """
        stated = self._stated(key)
        try:
            content = (self.path(key) / name).read_bytes()
        except OSError as error:
            raise DataError(f"Cell {key[:12]} is damaged: {error}. {self._remedy(key)}") from None
        if stated.get(name) != hashlib.sha256(content).hexdigest():
            raise DataError(f"Cell {key[:12]} changed after it was stored: {name}. {self._remedy(key)}")
        return content

    def _stated(self, key: str) -> dict[str, str]:
        """File name -> digest, as they were when the cell was stored."""
        try:
            stated = read_json(self.path(key) / _FILES)
        except (OSError, ValueError) as error:
            raise DataError(f"Cell {key[:12]} is damaged: {error}. {self._remedy(key)}") from None
        if not isinstance(stated, dict):
            raise DataError(f"Cell {key[:12]} is damaged: its {_FILES} is no list of files. {self._remedy(key)}")
        return stated

    def _written_by(self, key: str) -> str:
        try:
            return str(self.provenance(key).get("einthoven", "of an unknown version"))
        except (DataError, ValueError):
            return "of an unknown version"

    def record_failure(self, cell: Cell, message: str, detail: str) -> None:
        """Note that a cell failed; it is not finished and will be tried again."""
        write_json(
            self._failures / f"{cell.key}.json",
            {"key": cell.key, "title": cell.title, "message": message, "detail": detail},
        )

    def failures(self) -> dict[str, dict[str, Any]]:
        """Key -> what was noted of each failed cell that has not been finished since."""
        notes = {file.stem: _read_note(file) for file in sorted(self._failures.glob("*.json"))}
        return {key: note for key, note in notes.items() if not self.has(key)}

    def clear_unfinished(self) -> None:
        """Remove what killed processes left behind; call while no other process works on the study."""
        for stale in self._cells.glob(".unfinished-*"):
            shutil.rmtree(stale, ignore_errors=True)
        for lock in self._cells.glob(".*.lock"):
            lock.unlink(missing_ok=True)

    def digest(self, keys: Iterable[str]) -> str:
        """One sha256 over the finished cells among `keys`: equal if and only if all their content is equal.

        Times and machines (`provenance.json`) do not count. Tables and arrays count by content, since the bytes of a
        parquet or npz file depend on the library that wrote it.
        """
        total = hashlib.sha256()
        for key in sorted(key for key in keys if self.has(key)):
            total.update(key.encode())
            for name in sorted(self._stated(key)):
                if name not in _TRANSIENT:
                    total.update(f"{name}:{self._content_digest(key, Path(name))}".encode())
        return total.hexdigest()

    def _content_digest(self, key: str, file: Path) -> str:
        if file.suffix == ".parquet":
            return sha256_columns(self.table(key, file.stem).to_dict(as_series=False))
        if file.suffix == ".npz":
            return "".join(name + sha256_array(array) for name, array in sorted(self.arrays(key, file.stem).items()))
        return hashlib.sha256(self._read(key, file.name)).hexdigest()


def _read_note(file: Path) -> dict[str, Any]:
    """A failure's note; it is for people, so one that cannot be read costs nothing but its words."""
    try:
        note = read_json(file)
    except (OSError, ValueError):
        note = None
    return note if isinstance(note, dict) and "message" in note else {"message": "the note of it cannot be read"}
