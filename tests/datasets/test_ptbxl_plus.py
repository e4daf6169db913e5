"""PTB-XL+: the 49 concepts against a plain loop, what is missing, and records that only one release has."""

from __future__ import annotations

import csv
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue.ptbxl_plus import DATASET
from einthoven.datasets.dataset import Scan
from einthoven.datasets.ptbxl_plus_features import (
    FAMILIES,
    INTERPBENCH_49,
    check_no_label_names,
    interpbench_concepts,
    read_features,
)
from einthoven.foundation.errors import DataError

from .record_layouts import change, without, write_csv, write_ptbxl_plus


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_ptbxl_plus(tmp_path / "source")


def scanned(folder: Path) -> Scan:
    return DATASET.scan(folder, 100.0, {})


def cells(folder: Path, name: str) -> dict[int, dict[str, str]]:
    with (folder / "ptb-xl-plus" / "features" / f"{name}_features.csv").open(newline="") as stream:
        return {int(row["ecg_id"]): row for row in csv.DictReader(stream)}


def test_there_are_the_49_concepts_of_the_benchmark_in_its_families() -> None:
    assert Counter(FAMILIES.values()) == {
        "RATE_RHYTHM": 5, "INTERVAL": 8, "AXIS": 4, "AMPLITUDE": 17, "ST_T": 15,
    }  # fmt: skip
    assert Counter(c.rule for c in INTERPBENCH_49) == {"global": 17, "lead_absmax": 31, "wrapped_difference": 1}
    assert Counter(c.table for c in INTERPBENCH_49) == {"12sl": 42, "ecgdeli": 7}
    assert len(FAMILIES) == len(INTERPBENCH_49) == 49


def test_concepts_are_what_a_loop_over_the_cells_gives(folder) -> None:
    found = scanned(folder).concepts["interpbench-49"]
    tables = {name: cells(folder, name) for name in ("12sl", "ecgdeli")}
    partial = 0
    for concept in INTERPBENCH_49:
        for row, ecg_id in enumerate(range(1, 21)):
            texts = [tables[concept.table][ecg_id][column] for column in concept.columns]
            values = [float(text) for text in texts if text]
            if concept.rule == "wrapped_difference":
                expected = math.nan
                if len(values) == 2:
                    turn = abs(values[0] - values[1]) % 360
                    expected = min(turn, 360 - turn)
            else:
                expected = max(values, key=abs, default=math.nan)
            partial += concept.rule == "lead_absmax" and 0 < len(values) < len(texts)
            assert found[concept.name][row] == pytest.approx(expected, nan_ok=True, abs=1e-9), (concept.name, ecg_id)
    assert partial > 100  # the loop met leads that are not there


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([0.5, -0.9, 0.2], -0.9),
        ([math.nan, 0.1, math.nan], 0.1),
        ([math.nan] * 3, math.nan),
        ([-0.4, 0.4, 0.1], -0.4),
        ([0.0, math.nan, math.nan], 0.0),
    ],
)
def test_the_largest_lead_keeps_its_sign_and_the_first_of_equals_wins(cells, expected) -> None:
    tables = {c.table: {} for c in INTERPBENCH_49}
    for concept in INTERPBENCH_49:
        tables[concept.table] |= {column: np.array([math.nan]) for column in concept.columns}
    tables["12sl"] |= {f"ST_Amp_{lead}": np.array([v]) for lead, v in zip(("II", "III", "aVF"), cells, strict=True)}
    assert interpbench_concepts(tables)["st_amp_inferior"][0] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(("one", "two", "expected"), [(170, -170, 20), (-90, 90, 180), (30, 10, 20), (359, 0, 1)])
def test_the_angle_between_axes_goes_the_short_way_round(one, two, expected) -> None:
    tables = {c.table: {} for c in INTERPBENCH_49}
    for concept in INTERPBENCH_49:
        tables[concept.table] |= {column: np.array([math.nan]) for column in concept.columns}
    tables["12sl"] |= {"R_AxisFrontal_Global": np.array([one]), "T_AxisFront_Global": np.array([two])}
    assert interpbench_concepts(tables)["qrst_angle"][0] == expected


def test_a_cohort_holds_concepts_beside_their_records_and_says_what_is_missing(folder, home) -> None:
    cohort = prepare("ptbxl-plus", folder)
    assert (len(cohort), cohort.samples) == (20, 1000)
    table = cohort.concepts("interpbench-49")
    assert table["record_id"].to_list() == [str(i) for i in range(1, 21)]
    truth = cells(folder, "12sl")
    heart_rate = [float(truth[i]["HR_Ventr_Global"] or "nan") for i in range(1, 21)]
    np.testing.assert_array_equal(table["hr_ventricular"].to_numpy(), heart_rate)
    missing = int(np.isnan(heart_rate).sum())
    assert missing
    assert any(f"hr_ventricular {missing}" in note for note in cohort.manifest.notes)
    assert "Table unig has no row for 10 of 20 records." in cohort.manifest.notes
    assert np.isnan(cohort.concepts("unig")["HR__Global"].to_numpy()[10:]).all()
    assert cohort.manifest.split_rules == ("official", "interpbench")
    assert [source for source in cohort.manifest.request["metadata"] if "ecgdeli" in source]


def test_records_without_a_row_are_left_out_and_counted(folder, home) -> None:
    file = folder / "ptb-xl-plus" / "features" / "ecgdeli_features.csv"
    rows = [row for row in cells(folder, "ecgdeli").values() if row["ecg_id"] != "7"]
    write_csv(file, list(rows[0]), rows)
    scan = scanned(folder)
    assert "7" not in scan.splits["official"]
    assert "7" not in scan.splits["interpbench"]
    cohort = prepare("ptbxl-plus", folder)
    assert (len(cohort), cohort.manifest.promised_records) == (19, 20)
    assert cohort.manifest.excluded.counts == {"no row in features/ecgdeli_features.csv": 1}


def test_rows_of_another_release_are_refused(folder) -> None:
    change(folder / "ptb-xl-plus" / "labels" / "ptbxl_statements.csv", 0, ecg_id=137)
    with pytest.raises(DataError, match=r"has 1 ECGs that ptbxl_database\.csv does not have; first ecg_id: 137"):
        scanned(folder)


def test_a_missing_column_and_an_unreadable_cell_are_named(folder) -> None:
    file = folder / "ptb-xl-plus" / "features" / "12sl_features.csv"
    change(file, 3, PR_Int_Global="a lot")
    with pytest.raises(DataError, match=r"row 4 \(ecg_id 17\): PR_Int_Global is 'a lot'; a number or nothing"):
        scanned(folder)
    without(file, "T_Amp_V4")
    with pytest.raises(DataError, match=r"12sl_features\.csv has no column T_Amp_V4; found ecg_id, HR_Ventr_Global"):
        scanned(folder)
    file.unlink()
    with pytest.raises(DataError, match=r"12sl_features\.csv of PTB-XL\+ 1\.0\.1 was expected .* found: none"):
        scanned(folder)


def test_text_that_no_concept_needs_is_left_out_and_said(folder) -> None:
    change(folder / "ptb-xl-plus" / "features" / "12sl_features.csv", 0, HR__Global="see report")
    scan = scanned(folder)
    assert "HR__Global" not in scan.concepts["12sl"]
    assert "Columns of table 12sl that hold text are left out: HR__Global." in scan.notes


def test_what_counts_as_no_value(tmp_path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("ecg_id,a,b\n3,nan,True\n1,,false\n2,inf,\n4,-1e-3, 2 \n")
    table = read_features(file)
    np.testing.assert_array_equal(table.columns["a"], [np.nan, np.nan, np.nan, -0.001])
    np.testing.assert_array_equal(table.columns["b"], [1, 0, np.nan, 2])
    np.testing.assert_array_equal(table.take(np.array([1, 2, 3, 4, 9]))["b"], [0, np.nan, 1, 2, np.nan])


@pytest.mark.parametrize(
    ("text", "message"),
    [("id\n1\n", "no column ecg_id"), ("ecg_id\n", "no rows"), ("ecg_id\n1\n1\n", "more than once"),
     ("ecg_id\n1\nx\n", "row 2: ecg_id is 'x'")],
)  # fmt: skip
def test_ids_that_cannot_be_matched_are_refused(tmp_path, text, message) -> None:
    (tmp_path / "table.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        read_features(tmp_path / "table.csv")


def test_two_copies_of_a_release_are_not_chosen_between(folder) -> None:
    (folder / "older").mkdir()
    (folder / "older" / "ptbxl_database.csv").write_text("ecg_id\n")
    with pytest.raises(DataError, match="found: older, ptb-xl"):
        scanned(folder)


def test_physionets_own_folders_and_the_source_itself_are_found(folder) -> None:
    before = scanned(folder)
    (folder / "ptb-xl").rename(folder / "1.0.3")
    (folder / "ptb-xl").mkdir()
    (folder / "1.0.3").rename(folder / "ptb-xl" / "1.0.3")
    moved = scanned(folder)
    assert moved.records[0].files[0] == "ptb-xl/1.0.3/records100/00000/00001_lr.hea"
    np.testing.assert_array_equal(moved.read(moved.records[4]).signal, signal_of_the_fifth(moved, folder))
    assert before.concepts["12sl"].keys() == moved.concepts["12sl"].keys()
    inside = folder / "ptb-xl" / "1.0.3"
    (folder / "ptb-xl-plus").rename(inside / "plus")
    assert scanned(inside).records[0].files[0] == "records100/00000/00001_lr.hea"


def signal_of_the_fifth(scan: Scan, folder: Path) -> np.ndarray:
    from einthoven.datasets.wfdb_files import read_wfdb

    stem = folder / scan.records[4].files[0].removesuffix(".hea")
    return read_wfdb(stem, record_id="5", patient_id="102").signal


def test_a_concept_is_not_called_like_a_label(folder) -> None:
    scan = scanned(folder)
    labels = frozenset(label for task in scan.tasks.values() for label in task.labels)
    check_no_label_names(scan.concepts, labels)
    with pytest.raises(DataError, match="Concept table 12sl has the concept 'norm', which is the name of a label"):
        check_no_label_names({"12sl": {"norm": 1}}, labels)
