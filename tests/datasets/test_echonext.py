"""EchoNext: millivolts from standardised rows, rows matched with the metadata, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue.echonext import DATASET, LABELS
from einthoven.datasets.dataset import Record, Scan
from einthoven.datasets.file_content import digested
from einthoven.foundation.errors import DataError
from einthoven.signals.units import check_plausible_millivolts

from .record_layouts import DEVIATIONS, MEANS, change, echonext_signal, without, write_echonext


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_echonext(tmp_path / "source")


def scanned(folder: Path) -> Scan:
    return DATASET.scan(folder, 250.0, {})


def record(scan: Scan, name: str) -> Record:
    return scan.read(next(r for r in scan.records if r.record_id == name))


def test_a_pulse_of_one_millivolt_comes_back_as_one_millivolt(folder) -> None:
    scan = scanned(folder)
    lead_two = record(scan, "train-000000").signal[1]
    assert lead_two.max() == pytest.approx(1.0, abs=0.02)
    for split, row in (("train", 5), ("val", 1), ("test", 2)):
        found = record(scan, f"{split}-{row:06d}")
        assert (found.rate, found.signal.dtype, found.signal.shape) == (250.0, np.float32, (12, 2500))
        np.testing.assert_allclose(found.signal, echonext_signal(split, row), atol=1e-6)


def test_counts_that_are_taken_for_millivolts_are_205_times_too_large(folder) -> None:
    """The trap in which ecg-fix is: the plausibility check of preparing sees it, and not these signals."""
    raw = np.load(folder / "EchoNext_train_waveforms.npy")[0, 0].T
    counts = raw * np.array(DEVIATIONS)[:, None] + np.array(MEANS)[:, None]
    right = record(scanned(folder), "train-000000").signal
    assert np.median(np.ptp(counts, axis=1) / np.ptp(right, axis=1)) == pytest.approx(204.9, abs=0.1)
    check_plausible_millivolts(right)
    with pytest.raises(DataError, match=r"4\.88 uV each read as mV"):
        check_plausible_millivolts(counts)


def test_a_cohort_keeps_the_splits_and_counts_what_is_in_none(folder, home) -> None:
    cohort = prepare("echonext", folder)
    assert (len(cohort), cohort.rate, cohort.samples) == (11, 250.0, 2500)
    assert cohort.manifest.excluded.counts == {"in no split": 2}
    split = cohort.split()
    assert {name: int((split == name).sum()) for name in ("train", "val", "test")} == {"train": 6, "val": 2, "test": 3}
    row = list(cohort.record_ids).index("val-000001")
    np.testing.assert_allclose(cohort.signal(row), echonext_signal("val", 1), atol=5.1e-4)
    task = cohort.task("structural")
    assert task.labels == LABELS
    assert len(LABELS) == 12
    assert task.targets[row].tolist() == [int((1 + column) % 3 == 0) for column in range(12)]
    assert cohort.records["sex"][row] == "F"
    assert cohort.records["age"][row] == 61.0
    assert cohort.manifest.access == "credentialed"


def test_an_array_of_many_records_is_digested_once(folder, home, monkeypatch) -> None:
    """The splits alternate in the metadata, and an array of the release has up to 17 GB."""
    read: list[str] = []

    def counted(file: str) -> tuple[int, str, bytes | None]:
        read.append(Path(file).name)
        return digested(file)

    monkeypatch.setattr("einthoven.datasets.source_files.digested", counted)
    sources = pl.read_parquet(prepare("echonext", folder).path / "sources.parquet")
    assert len([name for name in read if "waveforms" in name]) == 3
    arrays = sources["file"].str.contains("waveforms")
    assert sources["file"].is_duplicated().sum() == 0
    assert int(arrays.sum()) == 3


def test_arrays_whose_rows_are_not_those_of_the_metadata_are_refused(folder) -> None:
    file = folder / "EchoNext_test_waveforms.npy"
    whole = np.load(file)
    np.save(file, whole[:-1])
    with pytest.raises(
        DataError, match=r"test_waveforms\.npy has shape \(2, 1, 2500, 12\).*promises \(3, 1, 2500, 12\)"
    ):
        scanned(folder)
    np.save(file, whole.transpose(0, 1, 3, 2))
    with pytest.raises(DataError, match=r"has shape \(3, 1, 12, 2500\)"):
        scanned(folder)
    np.save(file, whole.astype(object))
    with pytest.raises(DataError, match=r"test_waveforms\.npy"):
        scanned(folder)


def test_without_an_array_its_records_are_missing_files(folder, home) -> None:
    (folder / "EchoNext_val_waveforms.npy").unlink()
    with pytest.raises(DataError, match=r"2 of 13 records have no signal file"):
        prepare("echonext", folder)
    cohort = prepare("echonext", folder, allow_missing=True)
    assert cohort.manifest.excluded.counts["missing file"] == 2


@pytest.mark.parametrize(("age", "expected"), [("", None), ("nan", None), ("-1", None), ("999", None), ("90", 90.0)])
def test_an_age_that_nobody_has_is_none(folder, age, expected) -> None:
    change(folder / "echonext_metadata_100k.csv", 0, age_at_ecg=age)
    assert expected in [record.metadata["age"] for record in scanned(folder).records]


def test_without_its_normalisation_nothing_is_read(folder) -> None:
    file = folder / "waveform_normalization_params.json"
    file.unlink()
    with pytest.raises(DataError, match=r"(?s)have no unit.*PierreElias/IntroECG.*echonext_multilabel_minimodel"):
        scanned(folder)


@pytest.mark.parametrize(
    "stated",
    [
        {"mean": MEANS[:11], "std": DEVIATIONS},
        {"mean": MEANS, "std": [*DEVIATIONS, 1.0]},
        {"mean": MEANS, "std": [0.0, *DEVIATIONS[1:]]},
        {"mean": [float("nan"), *MEANS[1:]], "std": DEVIATIONS},
        {"mean": MEANS},
        {"mean": "5", "std": "x"},
        [],
    ],
)
def test_a_normalisation_that_is_not_of_twelve_leads_is_refused(folder, stated) -> None:
    (folder / "waveform_normalization_params.json").write_text(json.dumps(stated))
    with pytest.raises(DataError, match=r"waveform_normalization_params\.json .*IntroECG"):
        scanned(folder)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (
            "split",
            "holdout",
            r"row 1 \(ecg_key e\d+\): split is 'holdout'; one of train, val, test, no_split was expected",
        ),
        ("patient_key", "", r"row 1 .*: patient_key is None"),
        ("pasp_gte_45_flag", "", r"row 1 .*: pasp_gte_45_flag is None; 0 or 1"),
        ("pasp_gte_45_flag", "2", r"row 1 .*: pasp_gte_45_flag is '2'; 0 or 1"),
        ("sex", "X", r"row 1 .*: sex is 'X'; Male, Female, 1 or 0, or nothing"),
        ("age_at_ecg", "old", r"row 1 .*: age_at_ecg is 'old'; a number or nothing"),
    ],
)
def test_metadata_that_say_something_else_are_refused(folder, column, value, message) -> None:
    file = folder / "echonext_metadata_100k.csv"
    rows = pl.read_csv(file, infer_schema=False)["split"].to_list()
    assert rows[0] == "no_split"  # whose flags do not matter
    first = rows.index("train")
    row = first if "flag" in column else 0
    change(file, row, **{column: value})
    with pytest.raises(DataError, match=message.replace("row 1", f"row {row + 1}")):
        scanned(folder)


def test_flags_of_a_row_in_no_split_do_not_matter_and_a_column_that_lacks_is_named(folder) -> None:
    file = folder / "echonext_metadata_100k.csv"
    change(file, 0, pasp_gte_45_flag="")
    assert len(scanned(folder).records) == 13
    without(file, "pasp_gte_45_flag")
    with pytest.raises(DataError, match="has no column pasp_gte_45_flag"):
        scanned(folder)


def test_sex_as_numbers_and_no_age_at_all(folder) -> None:
    file = folder / "echonext_metadata_100k.csv"
    for row, value in enumerate(("1", "0", "")):
        change(file, row, sex=value)
    without(file, "age_at_ecg")
    keys = pl.read_csv(file, infer_schema=False)["ecg_key"].to_list()[:3]
    found = {record.metadata["ecg_key"]: record.metadata for record in scanned(folder).records}
    assert [found[key]["sex"] for key in keys] == ["M", "F", None]
    assert found[keys[0]]["age"] is None
