"""Predictions of other programs: rows in any order, and nothing compared that is not of the same records."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from einthoven.foundation.errors import DataError
from einthoven.studies.prediction_tables import read_prediction_tables


def table(offset: float = 0.0) -> pl.DataFrame:
    rows = [
        (f"r{r}", f"p{r // 2}", label, (r + k) % 2, r + 10 * k + offset)
        for r in range(4)
        for k, label in enumerate("xy")
    ]
    return pl.DataFrame(rows, schema=["record_id", "patient_id", "label", "target", "score"], orient="row")


def test_rows_in_another_order_are_the_same_predictions(tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.parquet"
    table().write_csv(one)
    table(0.5).sample(fraction=1, shuffle=True, seed=3).write_parquet(two)
    found = read_prediction_tables([one, two])
    assert (found.encoders, found.labels) == (("one", "two"), ("x", "y"))
    assert found.record_ids.tolist() == ["r0", "r1", "r2", "r3"]
    assert found.units("patient").tolist() == ["p0", "p0", "p1", "p1"]
    assert found.units("record").tolist() == found.record_ids.tolist()
    assert found.targets.tolist() == [[0, 1], [1, 0], [0, 1], [1, 0]]
    assert found.scores[0].tolist() == [[0, 10], [1, 11], [2, 12], [3, 13]]
    assert (found.scores[1] - found.scores[0] == 0.5).all()


def test_only_test_rows_count_and_without_patients_every_record_is_one(tmp_path: Path) -> None:
    extra = table().with_columns(pl.col("record_id") + "v", split=pl.lit("val"))
    whole = pl.concat([table().with_columns(split=pl.lit("test")), extra]).drop("patient_id")
    for name in ("a", "b"):
        whole.rename({"score": "logit"}).write_csv(tmp_path / f"{name}.csv")
    found = read_prediction_tables([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert found.units("patient").tolist() == ["r0", "r1", "r2", "r3"]


def test_brackets_in_a_name_are_no_pattern(tmp_path: Path) -> None:
    files = [tmp_path / "run[1].csv", tmp_path / "run[1].parquet"]
    table().write_csv(files[0])
    table().write_parquet(files[1])
    assert read_prediction_tables(files).scores.shape == (2, 4, 2)


def test_files_of_one_name_are_told_by_their_paths(tmp_path: Path) -> None:
    files = [tmp_path / folder / "predictions.csv" for folder in ("a", "b")]
    for file in files:
        file.parent.mkdir()
        table().write_csv(file)
    assert read_prediction_tables(files).encoders == tuple(map(str, files))


BAD: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "lacks target; it has record_id": lambda t: t.drop("target"),
    "lacks score or logit or probability": lambda t: t.drop("score"),
    "have no usable score; first: record r0, label x": lambda t: t.with_columns(score=pl.lit(float("nan"))),
    "found 'yes'. Write 1 where the record has the label": lambda t: t.with_columns(target=pl.lit("yes")),
    "have no usable target; first: record r0": lambda t: t.with_columns(target=pl.lit(None, dtype=pl.Int64)),
    "targets of 0 and 1 were expected; found 2": lambda t: t.with_columns(target=pl.lit(2)),
    "name a record and label more than once; first: record r0": lambda t: pl.concat([t, t.head(1)]),
    "has more than one patient_id": lambda t: t.with_columns(patient_id=pl.Series([str(i) for i in range(8)])),
    "has no row": lambda t: t.head(0),
    "2 pairs of record and label are in .*one.csv and not in": lambda t: t.filter(pl.col("record_id") != "r3"),
    "2 pairs of record and label are in .*two.csv and not in": lambda t: pl.concat(
        [t, t.head(2).with_columns(record_id=pl.lit("r9"))]
    ),
    "another target in 8 rows": lambda t: t.with_columns(target=1 - pl.col("target")),
    "another patient_id in 8 rows": lambda t: t.with_columns(patient_id="z" + pl.col("record_id")),
    "probabilities from 0 to 1 were expected; 4 of 8 rows are outside; first: 10 of": lambda t: (
        t.filter(pl.col("record_id").is_not_null())
        .with_columns(probability=pl.when(pl.col("label") == "x").then(0.5).otherwise(pl.col("score")))
        .drop("score")
    ),
    "has a column patient_id and .*two.csv has none": lambda t: t.drop("patient_id"),
    "One of the names is 'x ': take the blanks out": lambda t: t.with_columns(label=pl.col("label") + " "),
    "It looks wide, with a column for each label": lambda t: t.drop("label").rename({"score": "x", "target": "y"}),
    "found 'AFIB', 'SR'. .* one row for each record and class": lambda t: t.with_columns(
        target=pl.Series(["AFIB", "SR"] * 4)
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_each_fault_is_named(message: str, tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    table().write_csv(one)
    BAD[message](table()).write_csv(two)
    with pytest.raises(DataError, match=message):
        read_prediction_tables([one, two])


def test_a_record_without_one_of_the_labels_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        table().head(7).write_csv(tmp_path / f"{name}.csv")
    with pytest.raises(DataError, match="has 7 rows for 4 records and 2 labels"):
        read_prediction_tables([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_a_file_that_is_no_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(DataError, match=r"a\.parquet cannot be read as a \.parquet table"):
        read_prediction_tables([tmp_path / "a.parquet", tmp_path / "a.parquet"])
    with pytest.raises(DataError, match=r"cannot be read as a \.csv table"):
        read_prediction_tables([tmp_path / "none.csv", tmp_path / "none.csv"])


def numbered(ids: list[str], patients: list[str]) -> pl.DataFrame:
    rows = [(i, p, "1", k % 2, 0.5 + k) for k, (i, p) in enumerate(zip(ids, patients, strict=True))]
    return pl.DataFrame(rows, schema=["record_id", "patient_id", "label", "target", "score"], orient="row")


def test_ids_of_a_csv_are_as_they_are_written(tmp_path: Path) -> None:
    whole = numbered(["01", "1", "001", "2"], ["007", "7", "07", "7"])
    whole.write_csv(tmp_path / "a.csv")
    whole.write_parquet(tmp_path / "b.parquet")
    found = read_prediction_tables([tmp_path / "a.csv", tmp_path / "b.parquet"])
    assert found.record_ids.tolist() == ["001", "01", "1", "2"]
    assert found.patient_ids.tolist() == ["07", "007", "7", "7"]


def test_whether_patients_are_known_is_told(tmp_path: Path) -> None:
    table().write_csv(tmp_path / "a.csv")
    assert read_prediction_tables([tmp_path / "a.csv"]).has_patients
    table().drop("patient_id").write_csv(tmp_path / "a.csv")
    assert not read_prediction_tables([tmp_path / "a.csv"]).has_patients


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_an_infinite_score_is_named_by_its_record(value: float, tmp_path: Path) -> None:
    infinite = pl.when(pl.col("record_id") == "r2").then(value).otherwise(pl.col("score"))
    table().with_columns(score=infinite).write_csv(tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"a\.csv: 2 of 8 rows have an infinite score; first: record r2, label x"):
        read_prediction_tables([tmp_path / "a.csv"])


@pytest.mark.parametrize("name", ["record_id", "patient_id", "label", "score"])
def test_what_is_neither_text_nor_number_is_refused(name: str, tmp_path: Path) -> None:
    table().with_columns(pl.concat_list(name).alias(name)).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: names and ids that can be written as text, and numbers, were"):
        read_prediction_tables([tmp_path / "a.parquet"])


@pytest.mark.parametrize("name", ["record_id", "patient_id", "label"])
def test_an_empty_name_is_none(name: str, tmp_path: Path) -> None:
    table().with_columns(pl.lit("").alias(name)).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=f"8 of 8 rows have no usable {name}"):
        read_prediction_tables([tmp_path / "a.parquet"])


def test_what_makes_polars_panic_is_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object, **__: object) -> None:
        raise pl.exceptions.PanicException("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(DataError, match=r"a\.parquet cannot be read as a \.parquet table: called"):
        read_prediction_tables([tmp_path / "a.parquet"])


def test_a_suffix_in_capitals_is_one(tmp_path: Path) -> None:
    table().write_parquet(tmp_path / "a.PARQUET")
    assert read_prediction_tables([tmp_path / "a.PARQUET"]).encoders == ("a",)


def test_a_table_with_semicolons_is_told_from_one_without_columns(tmp_path: Path) -> None:
    table().write_csv(tmp_path / "a.csv", separator=";")
    with pytest.raises(DataError, match=r"separated by ';': write it with commas, .* A usable table begins so"):
        read_prediction_tables([tmp_path / "a.csv"])


def test_scores_of_two_kinds_are_read_and_named(tmp_path: Path) -> None:
    table().write_csv(tmp_path / "a.csv")
    table().rename({"score": "logit"}).write_csv(tmp_path / "b.csv")
    assert read_prediction_tables([tmp_path / "a.csv", tmp_path / "b.csv"]).scales == ("score", "logit")
