"""Embeddings that were computed elsewhere, found by record id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.contract import MetadataEncoder
from einthoven.foundation.errors import DataError
from einthoven.foundation.identity import content_key, sha256_array

ID = "record_id"
_SHOWN = 5


@dataclass(frozen=True)
class EmbeddingTable:
    """Embeddings with the ids of their records.

    Attributes:
        path: the file, for messages.
        ids: text, each once.
        values: float32 (records, dimension), finite.
    """

    path: Path
    ids: tuple[str, ...]
    values: np.ndarray

    @cached_property
    def digest(self) -> str:
        """sha256 (64 hex digits) over ids and values, whatever order and file they are in."""
        order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
        return content_key({"ids": [self.ids[row] for row in order], "values": sha256_array(self.values[order])})

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Record id -> row."""
        return {record: row for row, record in enumerate(self.ids)}


@dataclass(frozen=True)
class Match:
    """How a table and the records of a cohort go together.

    Attributes:
        missing: records of the cohort without an embedding.
        extra: embeddings of no record of the cohort; they are not used.
    """

    found: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]


class Precomputed(MetadataEncoder):
    """Gives each record the embedding that a table has for its id."""

    columns = (ID,)

    def __init__(self, card: EncoderCard, table: EmbeddingTable) -> None:
        super().__init__(card, {})
        self.table = table

    def match(self, record_ids: Iterable[str]) -> Match:
        """Which records have an embedding."""
        wanted = [str(record) for record in record_ids]
        missing = tuple(record for record in wanted if record not in self.table.row_of)
        extra = tuple(sorted(set(self.table.ids) - set(wanted)))
        return Match(found=len(wanted) - len(missing), missing=missing, extra=extra)

    def check_complete(self, record_ids: Iterable[str], *, where: str) -> Match:
        """As `match`, refused where a record has none.

        Raises:
            DataError: with how many, and the first ids on both sides.
        """
        match = self.match(record_ids)
        if match.missing:
            total = match.found + len(match.missing)
            raise DataError(
                f"{self.table.path} has no embedding for {len(match.missing)} of the {total} "
                f"records of {where}, such as {_some(match.missing)}; {len(match.extra)} of its {len(self.table.ids)} "
                f"embeddings are of no record there{', such as ' + _some(match.extra) if match.extra else ''}. Ids are "
                "compared as text and must be equal. Embed the missing records too."
            )
        return match

    def _embed_metadata(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        self.check_complete(columns[ID], where="the cohort")
        return self.table.values[[self.table.row_of[str(record)] for record in columns[ID]]]

    def _weights_identity(self) -> object:
        return self.table.digest


def read_embeddings(path: Path) -> EmbeddingTable:
    """Read embeddings and the ids of their records.

    Args:
        path: a .parquet file with a column record_id and either one column of lists or one float column for each
            number; or a .npy file, float (records, dimension), with a .csv of the same name beside it that has a
            column record_id in the same order.

    Raises:
        DataError: no ids, ids that are missing or repeated, columns that are no embeddings, lists of different
            lengths, or values that are not finite; the message counts them and gives examples.
    """
    ids, values = _parquet(path) if path.suffix.casefold() == ".parquet" else _npy(path)
    if len(ids) == 0 or values.shape[1] == 0:
        raise DataError(f"{path} holds {len(ids)} embeddings of {values.shape[1]} numbers; there is nothing to use.")
    absent = [str(row) for row, record in enumerate(ids) if record is None or record == ""]
    if absent:
        raise DataError(f"{path}: {len(absent)} of {len(ids)} embeddings have no {ID} (rows {_some(absent)}).")
    repeated = [str(record) for record, count in Counter(ids).items() if count > 1]
    if repeated:
        raise DataError(
            f"{path} has several embeddings for {len(repeated)} records, such as {_some(repeated)}. One a record was "
            "expected: average windows before, or keep one."
        )
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(values, dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(single).all(axis=1))
    if len(bad):
        raise DataError(
            f"{path}: the embeddings of {len(bad)} of {len(ids)} records hold NaN, infinity or numbers beyond float32, "
            f"such as those of {_some([str(ids[row]) for row in bad])}. Leave nothing undefined: a probe needs numbers."
        )
    return EmbeddingTable(path, tuple(map(str, ids)), single)


def _parquet(path: Path) -> tuple[list[str | None], np.ndarray]:
    try:
        table = pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path} cannot be read as parquet ({str(error).splitlines()[0]}).") from error
    ids = _ids(table, path)
    rest = table.drop(ID)
    lists = [name for name, kind in rest.schema.items() if isinstance(kind, pl.List | pl.Array)]
    if len(lists) == 1:
        return ids, _from_lists(rest[lists[0]], ids, path)
    others = [name for name, kind in rest.schema.items() if not kind.is_float()]
    if lists or others or not rest.width:
        raise DataError(
            f"{path} must have, beside {ID}, one column of lists or only float columns; found "
            f"{', '.join(f'{name} ({rest.schema[name]})' for name in (*lists, *others)[:_SHOWN]) or 'none'}. A column "
            "that is no part of the embedding, such as a label, must not become one."
        )
    return ids, rest.fill_null(float("nan")).to_numpy()


def _from_lists(column: pl.Series, ids: list[str | None], path: Path) -> np.ndarray:
    column = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
    lengths = column.list.len().to_list()
    usual = Counter(lengths).most_common(1)[0][0] if lengths else 0
    odd = [str(record) for record, length in zip(ids, lengths, strict=True) if length != usual or length is None]
    if odd:
        raise DataError(
            f"{path}: {len(odd)} of {len(ids)} embeddings are not of {usual} numbers, such as those of {_some(odd)}."
        )
    flat = column.explode() if len(column) else column
    try:
        numbers = flat.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{path}: column {column.name} holds {column.dtype}; lists of numbers were expected."
        ) from error
    return numbers.reshape(len(column), -1) if len(column) else np.zeros((0, 0))


def _npy(path: Path) -> tuple[list[str | None], np.ndarray]:
    beside = path.with_suffix(".csv")
    if not beside.is_file():
        raise DataError(
            f"{path} needs {beside.name} beside it: a table with a column {ID}, one row for each row of the array."
        )
    try:
        values = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read as a plain .npy array ({error}).") from error
    if values.ndim != 2 or values.dtype.kind not in "fiu":
        raise DataError(f"{path} holds {values.dtype} {values.shape}; numbers (records, dimension) were expected.")
    try:
        table = pl.read_csv(beside, infer_schema=False, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{beside} cannot be read ({str(error).splitlines()[0]}).") from error
    ids = _ids(table, beside)
    if len(ids) != len(values):
        raise DataError(f"{beside} has {len(ids)} rows, {path.name} {len(values)}; which is whose cannot be told.")
    return ids, values


def _ids(table: pl.DataFrame, path: Path) -> list[str | None]:
    if ID not in table.columns:
        raise DataError(f"{path} has no column {ID}; found {', '.join(table.columns[:8]) or 'none'}.")
    if table.schema[ID].is_float():
        raise DataError(f"{path}: {ID} is {table.schema[ID]}, and 7.0 is not '7'. Write it as text or whole numbers.")
    return table[ID].cast(pl.String).to_list()


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:_SHOWN]) + (", ..." if len(listed) > _SHOWN else "")
