"""`einthoven compare` and `power`: what they print can be read by people and by programs, and errors say what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

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
        "probability": (np.stack([target, target], axis=1) * better + rng.random((160, 2))).ravel() / 2,
    }
    pl.DataFrame(rows).write_csv(file)
    return file


def test_tables_of_other_programs_are_compared(tmp_path: Path) -> None:
    good, poor = write(tmp_path / "good.csv", better=0.8), write(tmp_path / "poor.csv", better=0.1)
    done = einthoven("compare", str(good), str(poor), "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["a"], found["b"], found["unit"], found["family"]) == ("good", "poor", "patient", 1)
    assert (found["test"], found["exchange"], found["interval"], found["alpha"]) == (
        "permutation", "ranks", "percentile", 0.05,
    )  # fmt: skip
    assert found["test_name"] == "whole-row swap permutation of ranks"
    assert found["interval_name"] == "paired bootstrap, percentile"
    first, rare = found["labels"]
    assert first["compared"]["verdict"] == "a higher"
    assert rare["compared"]["p"] is None
    assert rare["compared"]["reason"] == "3 positives in 160 test records; at least 10 needed"
    assert found["macro"]["difference"]["low"] > 0

    shown = einthoven("compare", str(good), str(poor), "--test", "delong", home=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "a > b" in shown.stdout
    assert "[red]rare" in shown.stdout
    assert "160 test records of 80 patients" in shown.stdout
    assert "[red]rare: 3 positives" in shown.stdout
    assert "1 judged label of this task" in shown.stdout
    assert "take the permutation or the bootstrap test" in shown.stdout
    assert shown.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "a", "b"), "Which study? One below runs/ was expected, found none. Name its folder with --study."),
        (("compare", "a", "b", "--metric", "f1"), "--metric: expected one of auroc, average_precision, found 'f1'"),
        (("compare", "a", "b", "--test", "t"), "--test: expected one of permutation, bootstrap, delong, found 't'"),
        (("compare", "a", "b", "--adjust", "x"), "--adjust: expected one of holm, bonferroni, bh, by, none"),
        (("compare", "a", "b", "--interval", "jackknife-logit"), "take jackknife"),
        (("compare", "a", "b", "--exchange", "x"), "--exchange: expected one of ranks, scores, found 'x'"),
        (("compare", "a", "b", "--test", "delong", "--exchange", "ranks"), "--exchange is of the permutation test"),
        (("power", "--tables", "a.csv", "b.csv", "--auroc", "0.9"), "--auroc is of a cohort or numbers, not of tables"),
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
        (("power", "--positives", "9", "--negatives", "9", "--difference", "nan"), "difference: expected above 0"),
        (("power", "--positives", "9", "--negatives", "9", "--comparisons", "0"), "--comparisons"),
        (("power", "--positives", "9", "--negatives", "9", "--alike", "0"), "--alike is of a cohort, not of numbers"),
        (("power", "x", "--by-label"), "--by-label is of a study, not of a cohort"),
        (("power", "--study", "x", "--difference", "0.1"), "--difference is of a cohort or numbers, not of a study"),
        (("compare", "a.csv", "b"), "two tables of predictions (.csv, .parquet) were expected, found one of each"),
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
    # A task named twice is one.
    done = einthoven("power", "ph", "--tasks", "rhythm, rhythm", "--json", home=tmp_path)
    found = json.loads(done.stdout)
    assert [row["label"] for row in found["labels"]] == ["AFIB", "SBRAD", "SR", "STACH"]
    assert all(row["smallest_difference"] or row["reason"] for row in found["labels"])
    wrong = einthoven("power", "ph", "--tasks", "rythm", home=tmp_path)
    assert wrong.returncode == 2
    assert "Did you mean 'rhythm'" in wrong.stderr


def test_words_of_a_comparison_are_true(tmp_path: Path) -> None:
    for seed, name in enumerate(("a.csv", "b.CSV")):
        rng = np.random.default_rng(seed)
        rows = {
            "record_id": np.repeat([f"r{i}" for i in range(60)], 2),
            "label": ["macro of 2", "other"] * 60,
            "target": np.repeat(np.arange(60) % 3 == 0, 2).astype(int),
            "score": rng.random(120),
        }
        pl.DataFrame(rows).write_csv(tmp_path / name)
    few = einthoven("compare", "a.csv", "b.CSV", "--alpha", "0.001", "--draws", "100", home=tmp_path, cwd=tmp_path)
    assert few.returncode == 0, few.stderr
    assert "99.9%" in few.stdout
    label = next(line for line in few.stdout.splitlines() if line.startswith("macro of 2 20"))
    # Name, positives, a, b, difference, limits, both p-values, verdict.
    assert len(label.split()) == 3 + 1 + 2 + 1 + 2 + 2 + 2
    assert re.search(r"\[[+-]0\.\d{3}, [+-]0\.\d{3}\]", label)
    assert "60 test records of 60 records" in few.stdout
    assert "100 draws are too few to show a difference of any label" in few.stdout
    assert "Take --draws 1999 or more." in few.stdout
    delong = einthoven("compare", "a.csv", "b.CSV", "--test", "delong", home=tmp_path, cwd=tmp_path)
    assert "p: DeLong, clustered, adjusted by Holm" in delong.stdout
    assert "paired bootstrap, percentile, 1000 draws of whole records" in delong.stdout
    patients = einthoven("compare", "a.csv", "b.CSV", "--unit", "patient", home=tmp_path, cwd=tmp_path)
    assert patients.returncode == 2
    assert "the tables were expected to have a column patient_id" in patients.stderr


def test_what_a_plan_cannot_say_it_says(tmp_path: Path) -> None:
    numbers = ("power", "--positives", "50", "--negatives", "2000")
    far = (*numbers, "--difference", "0.0000001")
    found = json.loads(einthoven(*far, "--json", home=tmp_path).stdout)
    assert (found["needed_positives"], found["needed_reason"]) == (None, "more than a billion positives")
    shown = einthoven(*far, home=tmp_path).stdout
    assert "more than a billion positives" in shown
    assert "1e-07" in shown
    large = einthoven("power", "--positives", "1234567", "--negatives", "2000000", home=tmp_path)
    assert "1,234,567" in large.stdout
    assert "--alike" not in large.stdout


def test_a_pair_that_no_number_of_patients_tells_apart_has_a_reason_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from einthoven.cli.main import app
    from einthoven.statistics.separability import separability
    from einthoven.studies import comparing
    from einthoven.studies import study_separability as studied

    draws = np.random.default_rng(0).random((50, 2))
    pairs = separability([0.5, 0.5], draws, encoders=["a", "b"])
    entry = studied.TaskSeparability("t", "auroc", None, pairs, None)
    monkeypatch.setattr(comparing, "StudyPredictions", lambda _: SimpleNamespace(partial=lambda: None))
    monkeypatch.setattr(studied, "study_separability", lambda *_, **__: (entry,))
    done = CliRunner().invoke(app, ["power", "--study", "x", "--json"])
    told = json.loads(done.stdout)
    assert (told["alpha"], told["power"], told["comparisons"], told["adjust"]) == (0.05, 0.8, 1, "bonferroni")
    (pair,) = told["tasks"][0]["pairs"]
    assert (pair["times"], pair["reason"]) == (None, None)
    assert pair["times_reason"] == "no difference was observed, which no number of patients shows"


def test_tables_are_planned_from_their_own_draws(tmp_path: Path) -> None:
    good, poor = write(tmp_path / "good.csv", better=0.8), write(tmp_path / "poor.csv", better=0.1)
    found = json.loads(einthoven("power", "--tables", str(good), str(poor), "--json", home=tmp_path).stdout)
    assert found["family"] == "1 comparison (all pairs of tables)"
    assert [(entry["metric"], entry["label"]) for entry in found["tasks"]] == [
        (metric, label) for metric in ("auroc", "average_precision") for label in (None, "AFIB")
    ]
    (pair,) = found["tasks"][0]["pairs"]
    assert 0 < pair["smallest"] < pair["difference"]


def test_the_least_p_and_other_intervals_are_shown_as_what_they_are(tmp_path: Path) -> None:
    good, poor = write(tmp_path / "good.csv", better=0.8), write(tmp_path / "poor.csv", better=0.1)
    shown = einthoven("compare", str(good), str(poor), "--metric", "auprc", "--interval", "jackknife", home=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "AUPRC on the tables" in shown.stdout
    assert "<=0.001" in shown.stdout
    assert "Intervals: jackknife, not adjusted." in shown.stdout


def test_scores_of_two_scales_are_exchanged_by_rank(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one.csv", better=0.2), write(tmp_path / "two.csv", better=0.1)
    table = pl.read_csv(other)
    bent = table.select(
        "record_id", "patient_id", "label", "target", (pl.col("probability") ** 3 * 7 - 2).alias("logit")
    )
    bent.write_csv(tmp_path / "bent.csv")
    runs = [
        json.loads(einthoven("compare", str(one), str(file), "--json", home=tmp_path).stdout)["labels"]
        for file in (other, tmp_path / "bent.csv")
    ]
    assert runs[0] == runs[1]
    refused = einthoven("compare", str(one), str(tmp_path / "bent.csv"), "--exchange", "scores", home=tmp_path)
    assert refused.returncode == 2
    assert "found probability in" in refused.stderr
    assert "Exchange ranks (the default of tables), or take --test bootstrap" in refused.stderr
