"""Predictions of any program, as tables: one row for each record and label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from einthoven.foundation.errors import DataError

from .predictions import Predictions

_NEEDED = ("record_id", "label", "target")
# What a program may call its scores; the first that is there is taken.
_SCORES = ("score", "logit", "probability")
# Read from a CSV as they are written: as numbers, patients 01 and 1 would be one.
_TEXTS = ("record_id", "patient_id", "label", "split")
_SHOWN = 5


def read_prediction_tables(files: Sequence[Path]) -> Predictions:
    """Predictions of several encoders on the same records, one CSV or parquet file each.

    Columns: `record_id`, `label`, `target` (0 or 1), and `score`, `logit` or `probability`; `patient_id` where records
    of one patient are to be drawn together, else every record is a unit of its own. If there is a column `split`, rows
    of `test` are taken. Rows may stand in any order. Names and ids of a CSV are taken as they are written: 01 is not 1.

    Raises:
        DataError: a file cannot be read, lacks a column, names a record and label twice, has a score that is not
            finite, or the files do not hold the same records, labels, targets and kind of score; the message says
            which.
    """
    read = [_read(file) for file in files]
    tables = [table for table, _ in read]
    if len({table.columns[-1] for table in tables}) > 1:
        found = ", ".join(f"{table.columns[-1]} in {file}" for file, table in zip(files, tables, strict=True))
        raise DataError(f"Scores of one scale were expected, as a swap puts one in another's place; found {found}.")
    tables = [table.rename({table.columns[-1]: "score"}) for table in tables]
    first = tables[0]
    for file, table in zip(files[1:], tables[1:], strict=True):
        _check_same(files[0], first, file, table)
    labels = tuple(first["label"].unique(maintain_order=True))
    shape = (-1, len(labels))
    if len(first) != len(labels) * first["record_id"].n_unique():
        raise DataError(
            f"{files[0]} has {len(first)} rows for {first['record_id'].n_unique()} records and {len(labels)} labels; "
            "one for each record and label was expected. Predict every label of every record, or compare labels one by "
            "one."
        )
    order = {label: column for column, label in enumerate(labels)}
    places = [
        table.with_columns(pl.col("label").replace_strict(order).alias("column")).sort("record_id", "column")
        for table in tables
    ]
    return Predictions(
        encoders=_names(files),
        labels=labels,
        targets=places[0]["target"].to_numpy().astype(np.uint8).reshape(shape),
        scores=np.stack([place["score"].to_numpy().reshape(shape) for place in places]),
        record_ids=places[0]["record_id"].to_numpy().reshape(shape)[:, 0],
        patient_ids=places[0]["patient_id"].to_numpy().reshape(shape)[:, 0],
        reasons=(None,) * len(labels),
        has_patients=all(has for _, has in read),
    )


def _names(files: Sequence[Path]) -> tuple[str, ...]:
    """Files by their names, or by their paths where two have the same."""
    stems = [file.stem for file in files]
    return tuple(stems if len(set(stems)) == len(stems) else [str(file) for file in files])


def _read(file: Path) -> tuple[pl.DataFrame, bool]:
    """The rows of a file in columns of known types, and whether it names patients."""
    try:
        table = (
            pl.read_parquet(file, glob=False)
            if file.suffix.lower() == ".parquet"
            else pl.read_csv(
                file, infer_schema_length=None, glob=False, schema_overrides=dict.fromkeys(_TEXTS, pl.String)
            )
        )
    # A damaged parquet file can make polars panic, which is no PolarsError and not even an Exception.
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise DataError(f"{file} cannot be read as a {file.suffix or 'CSV'} table: {error}") from error
    missing = [name for name in _NEEDED if name not in table.columns]
    score = next((name for name in _SCORES if name in table.columns), None)
    if missing or score is None:
        lacking = ", ".join([*missing, *([] if score else [" or ".join(_SCORES)])])
        raise DataError(
            f"{file} lacks {lacking}; it has {', '.join(table.columns)}. One row for each record and label was "
            "expected."
        )
    if "split" in table.columns:
        table = table.filter(pl.col("split") == "test")
    if not len(table):
        raise DataError(f"{file} has no row" + (" of split `test`." if "split" in table.columns else "."))
    unit = "patient_id" if "patient_id" in table.columns else "record_id"
    texts = {"record_id": pl.col("record_id"), "patient_id": pl.col(unit), "label": pl.col("label")}
    try:
        found = table.select(
            *(column.cast(pl.String).alias(name) for name, column in texts.items()),
            pl.col("target").cast(pl.Float64, strict=False),
            pl.col(score).cast(pl.Float64, strict=False),
        )
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{file}: names and ids that can be written as text, and numbers, were expected in {', '.join(texts)}, "
            f"target and {score}: {error}"
        ) from error
    for name in found.columns:
        empty = found[name].is_null() | (
            found[name].is_nan() if found[name].dtype == pl.Float64 else found[name].str.len_bytes() == 0
        )
        if empty.any():
            row = int(empty.arg_true()[0])
            raise DataError(
                f"{file}: {int(empty.sum())} of {len(found)} rows have no usable {name}; first: record "
                f"{found['record_id'][row]}, label {found['label'][row]}. Complete them, or leave the record out of "
                "all files."
            )
    wrong = ~found["target"].is_in([0.0, 1.0])
    if wrong.any():
        raise DataError(f"{file}: targets of 0 and 1 were expected; found {found['target'].filter(wrong)[0]:g}.")
    infinite = found.filter(pl.col(score).is_infinite())
    if len(infinite):
        raise DataError(
            f"{file}: {len(infinite)} of {len(found)} rows have an infinite {score}; first: record "
            f"{infinite['record_id'][0]}, label {infinite['label'][0]}. Write finite numbers, such as logits that were "
            "not taken from probabilities of 0 and 1."
        )
    twice = found.filter(pl.struct("record_id", "label").is_duplicated())
    if len(twice):
        raise DataError(
            f"{file}: {len(twice)} rows name a record and label more than once; first: record {twice['record_id'][0]}, "
            f"label {twice['label'][0]}."
        )
    of_two = (
        found.group_by("record_id")
        .agg(pl.col("patient_id").n_unique().alias("patients"))
        .filter(pl.col("patients") > 1)
    )
    if len(of_two):
        raise DataError(f"{file}: record {of_two['record_id'].sort()[0]} has more than one patient_id.")
    return found, "patient_id" in table.columns


def _check_same(first: Path, one: pl.DataFrame, file: Path, other: pl.DataFrame) -> None:
    keys = ["record_id", "label"]
    for here, there, rows in (
        (first, file, one.join(other, on=keys, how="anti")),
        (file, first, other.join(one, on=keys, how="anti")),
    ):
        if len(rows):
            shown = ", ".join(f"{r} {label}" for r, label in rows.select(keys).head(_SHOWN).iter_rows())
            raise DataError(
                f"{len(rows)} pairs of record and label are in {here} and not in {there}; first: {shown}. Encoders are "
                "compared on the same records: leave those out, or predict them too."
            )
    both = one.join(other, on=keys, suffix="_other")
    for name in ("target", "patient_id"):
        differ = both.filter(pl.col(name) != pl.col(f"{name}_other"))
        if len(differ):
            raise DataError(
                f"{first} and {file} have another {name} in {len(differ)} rows; first: record "
                f"{differ['record_id'][0]}, label {differ['label'][0]}. They are of different label files or versions."
            )
