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
_COLUMNS = 8
_EXAMPLE = (
    "A usable table begins so: record_id,patient_id,label,target,score / r1,p1,AFIB,1,2.3 / r1,p1,SBRAD,0,-1.7 "
    "(patient_id may be left out)."
)


def read_prediction_tables(files: Sequence[Path]) -> Predictions:
    """Predictions of several encoders on the same records, one CSV or parquet file each.

    Columns: `record_id`, `label`, `target` (0 or 1), and `score`, `logit` or `probability`; `patient_id` where records
    of one patient are to be drawn together, else every record is a unit of its own. If there is a column `split`, rows
    of `test` are taken. Rows may stand in any order. Names and ids of a CSV are taken as they are written: 01 is not 1.

    Raises:
        DataError: a file cannot be read, lacks a column, names a record and label twice, has a score that is not
            finite or a probability outside [0, 1], or the files do not hold the same records, labels, targets and
            patients; the message says which and what to do.
    """
    read = [_read(file) for file in files]
    tables = [table.rename({table.columns[-1]: "score"}) for table, _ in read]
    scales = tuple(table.columns[-1] for table, _ in read)
    having = [has for _, has in read]
    if any(having) and not all(having):
        with_, without = files[having.index(True)], files[having.index(False)]
        raise DataError(
            f"{with_} has a column patient_id and {without} has none. Records of one patient are drawn together: add "
            "the column to both, or take it out of both where every record is of another patient."
        )
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
        has_patients=all(having),
        scales=scales,
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
        raise DataError(f"{file} lacks {lacking}; it has {_some(table.columns)}. {_what_is_wrong(table.columns)}")
    if "split" in table.columns:
        table = table.filter(pl.col("split") == "test")
    if not len(table):
        raise DataError(f"{file} has no row" + (" of split `test`." if "split" in table.columns else "."))
    unit = "patient_id" if "patient_id" in table.columns else "record_id"
    words = table.filter(pl.col("target").is_not_null() & pl.col("target").cast(pl.Float64, strict=False).is_null())
    if table["target"].dtype == pl.String and len(words):
        found_words = table["target"].drop_nulls().unique(maintain_order=True).head(_SHOWN).to_list()
        raise DataError(
            f"{file}: targets of 0 and 1 were expected, found {', '.join(map(repr, found_words))}. Write 1 where the "
            "record has the label of its row and 0 where it has not; of classes that exclude each other make one row "
            f"for each record and class. {_EXAMPLE}"
        )
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
    outside = found.filter((pl.col(score) < 0) | (pl.col(score) > 1)) if score == "probability" else found.clear()
    if len(outside):
        raise DataError(
            f"{file}: probabilities from 0 to 1 were expected; {len(outside)} of {len(found)} rows are outside; first: "
            f"{outside[score][0]:g} of record {outside['record_id'][0]}, label {outside['label'][0]}. Name the column "
            "`logit` or `score` if it holds such."
        )
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


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _COLUMNS} more" if len(names) > _COLUMNS else ""
    return ", ".join(names[:_COLUMNS]) + more


def _what_is_wrong(columns: Sequence[str]) -> str:
    """What a table that is not one row a record and label looks like, and what to do."""
    for mark, name in ((";", "';'"), ("\t", "tabs")):
        if len(columns) == 1 and mark in columns[0]:
            return f"Its columns are separated by {name}: write it with commas, or as parquet. {_EXAMPLE}"
    if "label" not in columns and len(columns) > len(_NEEDED):
        return (
            "It looks wide, with a column for each label; one row for each record and label was expected (polars: "
            f"`unpivot`, pandas: `melt`). {_EXAMPLE}"
        )
    return f"One row for each record and label was expected. {_EXAMPLE}"


def _names_in(table: pl.DataFrame) -> list[str]:
    return [name for column in ("record_id", "label") for name in table[column].unique(maintain_order=True)]


def _check_same(first: Path, one: pl.DataFrame, file: Path, other: pl.DataFrame) -> None:
    keys = ["record_id", "label"]
    for here, there, rows in (
        (first, file, one.join(other, on=keys, how="anti")),
        (file, first, other.join(one, on=keys, how="anti")),
    ):
        if len(rows):
            padded = next((name for table in (one, other) for name in _names_in(table) if name != name.strip()), None)
            hint = f" One of the names is {padded!r}: take the blanks out." if padded is not None else ""
            shown = ", ".join(f"{r} {label}" for r, label in rows.select(keys).head(_SHOWN).iter_rows())
            raise DataError(
                f"{len(rows)} pairs of record and label are in {here} and not in {there}; first: {shown}. Encoders are "
                f"compared on the same records: leave those out, or predict them too.{hint}"
            )
    both = one.join(other, on=keys, suffix="_other")
    for name in ("target", "patient_id"):
        differ = both.filter(pl.col(name) != pl.col(f"{name}_other"))
        if len(differ):
            raise DataError(
                f"{first} and {file} have another {name} in {len(differ)} rows; first: record "
                f"{differ['record_id'][0]}, label {differ['label'][0]}. They are of different label files or versions."
            )
