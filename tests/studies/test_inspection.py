"""What is said of a study's folder without running anything."""

from __future__ import annotations

import shutil

import polars as pl
import pytest

from einthoven.datasets.building import prepare
from einthoven.embeddings.store import open_embeddings
from einthoven.foundation.errors import DataError
from einthoven.studies.inspection import study_status, verify_study
from einthoven.studies.ledger import Ledger
from einthoven.studies.plan import plan_representations
from einthoven.studies.running import write_plan
from einthoven.studies.work import run_cell


@pytest.fixture
def study(spec, tmp_path):
    plan, folder = plan_representations(spec), tmp_path / "run"
    write_plan(plan, folder)
    for cell in plan.cells:
        assert run_cell(cell, folder).message is None
    return plan, folder


def problems(folder) -> dict[tuple[str, str], str]:
    return {(check.of, check.what): check.problem for check in verify_study(folder) if check.problem}


def test_a_sound_study_with_all_it_was_made_from(study) -> None:
    plan, folder = study
    checks = list(verify_study(folder))
    assert [check for check in checks if check.problem or check.absent] == []
    assert [check.of for check in checks].count("cell") == len(plan.cells)
    assert {check.of for check in checks} == {"cell", "cohort", "embeddings"}


def test_every_kind_of_damage_is_named(study, home) -> None:
    plan, folder = study
    probe, embedding = plan.of_kind("probe")[0], plan.of_kind("embedding")[1]
    (folder / "cells" / probe.key / "probe.npz").write_bytes(b"")
    for file in (home / "cohorts" / "ptbxl-100hz" / "signals.npy",
                 open_embeddings(embedding.inputs["embedding"]).path / "embeddings.npy"):  # fmt: skip
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
    found = problems(folder)
    assert set(found) == {("cell", probe.title), ("cohort", "ptbxl-100hz"), ("embeddings", "rr-features")}
    assert "changed after it was stored: probe.npz" in found["cell", probe.title]
    assert "signals changed" in found["cohort", "ptbxl-100hz"]


def test_a_cohort_that_was_prepared_again_is_said(study, ptbxl) -> None:
    ptbxl.rows[0]["scp_codes"] = "{'NORM': 100.0}"
    ptbxl.write_metadata()
    prepare("ptbxl", ptbxl.path, replace=True)
    assert "prepared again since" in problems(study[1])["cohort", "ptbxl-100hz"]


def test_what_is_not_here_is_said_and_is_no_damage(study, home) -> None:
    shutil.rmtree(home)
    checks = list(verify_study(study[1]))
    assert not [check for check in checks if check.problem]
    assert sorted(check.of for check in checks if check.absent) == ["cohort", "embeddings", "embeddings"]


def test_status_tells_finished_failed_and_not_run(study) -> None:
    plan, folder = study
    ledger = Ledger(folder)
    probe, comparison = plan.of_kind("probe")[0], plan.of_kind("comparison")[0]
    shutil.rmtree(ledger.path(probe.key))
    shutil.rmtree(ledger.path(comparison.key))
    ledger.record_failure(probe, "ValueError: no", "trace")
    status = study_status(folder)
    states = {s.cell.key: (s.state, s.message) for s in status.cells}
    assert states[probe.key] == ("failed", "ValueError: no")
    assert states[comparison.key] == ("not run", "")
    assert status.finished == len(plan.cells) - 2
    assert status.digest == ledger.digest(plan.keys)


def test_a_folder_without_a_study_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="holds no study"):
        study_status(tmp_path)
    with pytest.raises(DataError, match="holds no study"):
        list(verify_study(tmp_path))


def test_a_cell_computed_from_what_is_no_longer_there_is_found(study, vouch) -> None:
    """Its own files are as they were; what it was computed from is not."""
    plan, folder = study
    ledger, probe, comparison = Ledger(folder), plan.of_kind("probe")[0], plan.of_kind("comparison")[0]
    file = ledger.path(probe.key) / "predictions.parquet"
    table = pl.read_parquet(file)
    table.with_columns(logit=table["logit"] + table["target"] * 10).write_parquet(file)
    vouch(file.parent)
    found = problems(folder)
    assert set(found) == {("cell", comparison.title)}
    assert "computed from another content of cell" in found["cell", comparison.title]


@pytest.mark.parametrize(
    "damage",
    [
        lambda cohort: (cohort / "signals.npy").write_bytes((cohort / "signals.npy").read_bytes()[:9000]),
        lambda cohort: (cohort / "manifest.json").write_text("{"),
        lambda cohort: (cohort / "records.parquet").unlink(),
    ],
)
def test_a_damaged_cohort_is_not_an_absent_one(study, home, damage) -> None:
    damage(home / "cohorts" / "ptbxl-100hz")
    assert ("cohort", "ptbxl-100hz") in problems(study[1])


@pytest.mark.parametrize("content", ["[]", "{", '"x"'])
def test_a_list_of_files_that_is_none_is_damage(study, content) -> None:
    plan, folder = study
    (Ledger(folder).path(plan.keys[0]) / "files.json").write_text(content)
    assert study_status(folder).cells[0].state == "not run"
    with pytest.raises(DataError, match=r"is damaged.*Delete the folder"):
        Ledger(folder).verify(plan.keys[0])


def test_a_folder_put_into_a_cell_is_damage(study) -> None:
    plan, folder = study
    (Ledger(folder).path(plan.keys[0]) / "extra").mkdir()
    assert "changed after it was stored: extra" in problems(folder)["cell", plan.cells[0].title]
    assert study_status(folder).finished == len(plan.cells)


def test_a_cell_under_another_key_is_damage_though_all_its_files_agree(study, vouch) -> None:
    """As when folders were exchanged, with everything in them."""
    plan, folder = study
    one, two = (Ledger(folder).path(cell.key) for cell in plan.of_kind("probe")[:2])
    aside = folder / "aside"
    one.rename(aside)
    two.rename(one)
    aside.rename(two)
    found = problems(folder)
    for cell in plan.of_kind("probe")[:2]:
        assert "holds another cell's specification" in found["cell", cell.title]


def test_a_cohort_named_by_a_folder_that_is_gone_is_absent(spec, home, tmp_path) -> None:
    place = str(home / "cohorts" / "ptbxl-100hz")
    plan = plan_representations(spec.model_copy(update={"cohort": place, "tasks": ("super",)}))
    folder = tmp_path / "run"
    write_plan(plan, folder)
    assert run_cell(plan.cells[0], folder).message is None
    assert [check.absent for check in verify_study(folder)] == [False, False]
    shutil.rmtree(place)
    assert [(check.of, check.problem, check.absent) for check in verify_study(folder)] == [
        ("cell", "", False), ("cohort", "", True),
    ]  # fmt: skip
