"""What is said of a study's folder without running anything."""

from __future__ import annotations

import shutil

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
