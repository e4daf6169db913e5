"""Tables of releases that end within a row, or have a comma too many, are refused by every reader of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from einthoven.datasets.catalogue import code15, echonext, mimic_iv_ecg, ptbxl, ptbxl_plus, sph
from einthoven.datasets.dataset import Dataset
from einthoven.foundation.errors import DataError

from .layouts import write_code15, write_sph
from .record_layouts import write_echonext, write_mimic, write_ptbxl_plus

TABLES: list[tuple[Dataset, Callable[[Path], Path], str]] = [
    (code15.DATASET, write_code15, "exams.csv"),
    (echonext.DATASET, write_echonext, "echonext_metadata_100k.csv"),
    (mimic_iv_ecg.DATASET, write_mimic, "record_list.csv"),
    (mimic_iv_ecg.DATASET, write_mimic, "machine_measurements.csv"),
    (ptbxl_plus.DATASET, write_ptbxl_plus, "ptb-xl/ptbxl_database.csv"),
    (ptbxl_plus.DATASET, write_ptbxl_plus, "ptb-xl-plus/features/12sl_features.csv"),
    (ptbxl_plus.DATASET, write_ptbxl_plus, "ptb-xl-plus/features/unig_features.csv"),
    (sph.DATASET, write_sph, "metadata.csv"),
]
assert ptbxl.METADATA in TABLES[4][2]


def scan(dataset: Dataset, folder: Path) -> int:
    return len(dataset.scan(folder, dataset.card.rates[0], {}).records)


@pytest.fixture(params=TABLES, ids=[f"{dataset.name}: {file}" for dataset, _, file in TABLES])
def released(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Dataset, Path, Path]:
    dataset, write, file = request.param
    folder = write(tmp_path / "source")
    return dataset, folder, folder / file


def test_a_table_that_ends_within_a_row_was_cut(released: tuple[Dataset, Path, Path]) -> None:
    dataset, folder, file = released
    whole = file.read_text().rstrip("\r\n")
    file.write_text(whole[: whole.rindex(",")])
    with pytest.raises(DataError, match=rf"{file.name} ends within row .*: the file was cut"):
        scan(dataset, folder)


def test_a_comma_too_many_moves_no_cell(released: tuple[Dataset, Path, Path]) -> None:
    dataset, folder, file = released
    lines = file.read_text().splitlines()
    lines[2] = lines[2].replace(",", ",,", 1)
    if lines[2].endswith(","):
        lines[2] += "x"
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=rf"{file.name}, row 2: \d+ cells; \d+ were expected"):
        scan(dataset, folder)


def test_a_pointer_of_git_lfs_is_called_one(released: tuple[Dataset, Path, Path]) -> None:
    dataset, folder, file = released
    file.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n")
    with pytest.raises(DataError, match=rf"{file.name} is a git-lfs pointer"):
        scan(dataset, folder)


def test_a_byte_order_mark_and_spaces_around_cells_change_nothing(released: tuple[Dataset, Path, Path]) -> None:
    dataset, folder, file = released
    before = dataset.scan(folder, dataset.card.rates[0], {})
    lines = file.read_text().splitlines()
    if '"' not in file.read_text():
        lines = [line.replace(",", " , ") for line in lines]
    file.write_text("\ufeff" + "\r\n".join(lines) + "\r\n\r\n", newline="")
    after = dataset.scan(folder, dataset.card.rates[0], {})
    assert list(after.records) == list(before.records)
    assert {name: dict(split) for name, split in after.splits.items()} == {
        name: dict(split) for name, split in before.splits.items()
    }
    for task, table in before.tasks.items():
        assert dict(after.tasks[task].positives) == dict(table.positives)
