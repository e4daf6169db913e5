"""`einthoven compare` and `power`: what they print can be read by people and by programs, and errors say what to do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from .test_cli import einthoven


def write(file: Path, *, better: float) -> Path:
    rng = np.random.default_rng(0)
    target = (np.arange(160) % 4 == 0).astype(int)
    rows = {
        "record_id": np.repeat([f"r{i}" for i in range(160)], 2),
        "patient_id": np.repeat([f"p{i // 2}" for i in range(160)], 2),
        "label": np.tile(["AFIB", "[red]rare"], 160),
        "target": np.stack([target, np.arange(160) < 3], axis=1).ravel(),
        "probability": (np.stack([target, target], axis=1) * better + rng.random((160, 2))).ravel(),
    }
    pl.DataFrame(rows).write_csv(file)
    return file


def test_tables_of_other_programs_are_compared(tmp_path: Path) -> None:
    good, poor = write(tmp_path / "good.csv", better=0.8), write(tmp_path / "poor.csv", better=0.1)
    done = einthoven("compare", str(good), str(poor), "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["a"], found["b"], found["unit"], found["family"]) == ("good", "poor", "patient", 1)
    first, rare = found["labels"]
    assert first["compared"]["verdict"] == "a higher"
    assert rare["compared"]["p"] is None
    assert rare["compared"]["reason"] == "3 positives in 160 test records; at least 10 needed"
    assert found["macro"]["difference"]["low"] > 0

    shown = einthoven("compare", str(good), str(poor), "--test", "delong", home=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "a > b" in shown.stdout
    assert "[red]rare" in shown.stdout
    assert "160 test records of 80 patients" in shown.stderr
    assert "[red]rare: 3 positives" in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "a", "b"), "Which study? One below runs/ was expected, found none. Name its folder with --study."),
        (("compare", "a", "b", "--metric", "f1"), "--metric: expected one of auroc, average_precision, found 'f1'"),
        (("compare", "a", "b", "--test", "t"), "--test: expected one of permutation, bootstrap, delong, found 't'"),
        (("compare", "a", "b", "--adjust", "x"), "--adjust: expected one of holm, bonferroni, bh, by, none"),
        (("compare", "a.csv", "b.csv", "--task", "x"), "leave --task and --study out"),
        (("power",), "Name one of: a prepared cohort"),
        (("power", "x", "--positives", "3"), "Name one of: a prepared cohort"),
        (("power", "--positives", "3"), "Give both --positives and --negatives"),
        (("power", "--positives", "0", "--negatives", "3"), "expected numbers above 0, found 0.0 and 3.0"),
        (
            ("power", "--positives", "9", "--negatives", "9", "--auroc", "2"),
            "auroc: expected a number between 0.5 and 1",
        ),
        (("power", "--positives", "9", "--negatives", "9", "--difference", "0.5"), "at most 0.15"),
    ],
)
def test_wrong_usage_says_what_was_expected(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = einthoven(*arguments, home=tmp_path, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_study_that_is_none_is_named(tmp_path: Path) -> None:
    for arguments in (("power", "--study", str(tmp_path)), ("compare", "a", "b", "--study", str(tmp_path))):
        done = einthoven(*arguments, home=tmp_path)
        assert done.returncode == 1
        assert "holds no study" in done.stderr


def test_a_plan_by_numbers(tmp_path: Path) -> None:
    done = einthoven(
        "power", "--positives", "50", "--negatives", "2000", "--difference", "0.05", "--json", home=tmp_path
    )
    found = json.loads(done.stdout)
    assert found["smallest_difference"] == pytest.approx(0.0672, abs=1e-4)
    assert found["needed_positives"] > 50
    assert found["power"] < 0.8
    assert found["assumed"]["auroc"] == 0.85
    shown = einthoven("power", "--positives", "1", "--negatives", "20", home=tmp_path)
    assert "not even an AUROC of 1 could be told from 0.85" in shown.stdout


def test_a_phantom_is_planned_before_anything_runs(tmp_path: Path) -> None:
    made = einthoven("datasets", "prepare", "phantom", "--option", "records=300", "--name", "ph", home=tmp_path)
    assert made.returncode == 0, made.stderr
    done = einthoven("power", "ph", "--tasks", "rhythm", "--json", home=tmp_path)
    found = json.loads(done.stdout)
    assert [row["label"] for row in found["labels"]] == ["AFIB", "SBRAD", "SR", "STACH"]
    assert all(row["smallest_difference"] or row["reason"] for row in found["labels"])
    wrong = einthoven("power", "ph", "--tasks", "rythm", home=tmp_path)
    assert wrong.returncode == 2
    assert "Did you mean 'rhythm'" in wrong.stderr
