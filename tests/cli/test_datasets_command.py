"""`einthoven datasets show`, `prepare` and `leaks`: what they say to people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from einthoven.cli.main import app
from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue import csn
from einthoven.datasets.coverage import empty_splits
from einthoven.datasets.registry import DATASETS
from einthoven.foundation.errors import DataError


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["datasets", *arguments], env={"COLUMNS": "400"})


@pytest.mark.parametrize("name", DATASETS.names())
def test_a_card_says_how_to_get_the_files(name: str, home: Path) -> None:
    dataset = DATASETS.get(name)
    if dataset.card.needs_source:
        shown = run("show", name, "--json")
        assert shown.exit_code == 0
        assert json.loads(shown.stdout)["how"] == dataset.how_to_get
    if dataset.release is not None:
        assert dataset.how_to_get.startswith(f"einthoven datasets download {name}")
        assert ("login" in dataset.how_to_get) == dataset.release.login
    elif dataset.card.needs_source:
        assert dataset.card.how
        assert dataset.how_to_get.startswith("`einthoven datasets download` cannot fetch it.")
        assert dataset.how_to_get.endswith(f"einthoven datasets prepare {name} --source FOLDER")
        assert str(run("download", name).exception) == f"{name}: {dataset.how_to_get}"


def test_a_cohort_says_its_split_rules_in_words(ptbxl, home: Path) -> None:
    cohort = prepare("ptbxl", ptbxl.path)
    rule = DATASETS.get("ptbxl").card.split_rules["official"]
    assert cohort.manifest.split_summaries["official"] == rule
    assert rule in run("show", "ptbxl-100hz").stdout
    # One that was prepared before the words were kept.
    manifest = cohort.path / "manifest.json"
    values = json.loads(manifest.read_text())
    del values["split_summaries"]
    manifest.write_text(json.dumps(values))
    assert rule in run("show", "ptbxl-100hz").stdout


def test_only_pairs_in_two_splits_are_listed_and_the_others_counted(ptbxl, home: Path) -> None:
    for name in ("one", "two"):
        prepare("ptbxl", ptbxl.path, name=name)
    usual, every = run("leaks", "one", "two"), run("leaks", "one", "two", "--all")
    assert usual.exit_code == every.exit_code == 1
    pairs = json.loads(run("leaks", "one", "two", "--json").stdout)["duplicates"]
    crossing = [pair for pair in pairs if pair["crosses_splits"]]
    assert 0 < len(crossing) < len(pairs)
    lines = {"usual": usual.stdout.splitlines(), "every": every.stdout.splitlines()}
    assert sum("(CROSSES)" in line for line in lines["usual"]) == len(crossing)
    assert len(lines["every"]) - len(lines["usual"]) == len(pairs) - len(crossing)
    told = [line for line in usual.stderr.splitlines() if "see --all" in line]
    assert sum(int(line.split()[0]) for line in told) == len(pairs) - len(crossing)
    assert any("between one and two" in line for line in told)
    assert "see --all" not in every.stderr


@pytest.mark.realdata
def test_a_copy_of_few_patients_is_told_that_no_fold_can_be_used(real_data: Path, home: Path) -> None:
    done = run("prepare", "mitdb", "--source", str(real_data / "mitdb"), "--allow-missing")
    assert done.exit_code == 0
    assert "no split rule has records in train, val and test (fold-1: none in val" in done.stderr
    assert "the 3 patients that are here" in done.stderr


def test_rules_that_leave_a_split_empty_are_found(ptbxl, home: Path) -> None:
    assert empty_splits(prepare("ptbxl", ptbxl.path)) == {}


def test_a_folder_without_headers_is_told_by_example_not_by_pattern(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no header of csn \(files such as JS00001\.hea\) below"):
        csn.scan(tmp_path, 500.0, {})


def test_help_says_the_default_rate_and_how_to_name_a_mirror() -> None:
    assert "default the dataset's first" in " ".join(run("prepare", "--help").stdout.split())
    assert "--mirror https://HOST/" in " ".join(run("download", "--help").stdout.split())
