"""Running: nothing lost, nothing done twice, nothing half-done taken for done."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from einthoven.datasets.building import prepare
from einthoven.foundation.errors import UsageError
from einthoven.foundation.publishing import BusyError, exclusive
from einthoven.studies.cells import Cell
from einthoven.studies.executors.executor import WorkerLost
from einthoven.studies.executors.local import LocalExecutor
from einthoven.studies.kind import KINDS
from einthoven.studies.ledger import Ledger
from einthoven.studies.plan import plan_representations
from einthoven.studies.results import ComparisonResult
from einthoven.studies.running import read_plan, run_plan
from einthoven.studies.work import Outcome


def test_a_run_finishes_every_cell_and_a_second_run_does_nothing(spec, tmp_path, inline) -> None:
    plan = plan_representations(spec)
    executor = inline()
    summary = run_plan(plan, tmp_path / "run", executor)
    assert summary.complete
    assert (summary.done, summary.reused) == (9, 0)
    assert executor.restarts == 0
    ledger = Ledger(tmp_path / "run")
    digest = ledger.digest(plan.keys)
    again = inline()
    assert run_plan(plan, tmp_path / "run", again).reused == 9
    assert again.ran == []
    assert ledger.digest(plan.keys) == digest
    assert read_plan(tmp_path / "run") == plan
    comparison = ledger.result(plan.of_kind("comparison")[0].key, ComparisonResult)
    assert comparison.encoders == ("age-sex", "rr-features")
    assert comparison.records == 4


def test_a_changed_study_reuses_what_it_shares(spec, tmp_path, inline) -> None:
    run_plan(plan_representations(spec), tmp_path / "run", inline())
    wider = spec.model_copy(update={"tasks": ("super", "rhythm", "sub")})
    executor = inline()
    summary = run_plan(plan_representations(wider), tmp_path / "run", executor)
    assert (summary.reused, summary.done) == (9, 3)
    assert all("sub" in title for title in executor.ran)


def test_a_failed_cell_is_said_blocks_only_what_needs_it_and_is_tried_again(
    spec, tmp_path, monkeypatch, inline
) -> None:
    plan = plan_representations(spec)
    probe = KINDS.get("probe")

    def fails_on_super(cell, context):
        if cell.spec["task"] == "super" and "age-sex" in cell.title:
            error = ValueError("the disk is on fire")
            error.add_note("record 17")
            raise error
        return probe.run(cell, context)

    monkeypatch.setitem(KINDS._things, "probe", replace(probe, run=fails_on_super))
    summary = run_plan(plan, tmp_path / "run", inline())
    assert summary.failed == {"probe age-sex on super": "ValueError: the disk is on fire\nrecord 17"}
    assert summary.blocked == {"compare 2 encoders on super": "probe age-sex on super"}
    assert summary.done == 7
    ledger = Ledger(tmp_path / "run")
    assert [note["title"] for note in ledger.failures().values()] == ["probe age-sex on super"]
    assert not any(ledger.has(cell.key) for cell in plan.cells if "age-sex on super" in cell.title)

    monkeypatch.setitem(KINDS._things, "probe", probe)
    executor = inline()
    assert run_plan(plan, tmp_path / "run", executor).complete
    assert executor.ran == ["probe age-sex on super", "compare 2 encoders on super"]
    assert ledger.failures() == {}


def test_a_cell_that_kills_its_worker_is_found_and_the_others_go_on(spec, tmp_path, inline) -> None:
    executor = inline(refuse="embed with rr-features", by=WorkerLost("a worker died"))
    summary = run_plan(plan_representations(spec), tmp_path / "run", executor)
    assert list(summary.failed) == ["embed with rr-features"]
    assert summary.failed["embed with rr-features"] == "WorkerLost: a worker died"
    assert summary.done == 4  # the cohort, the other embedding and its two probes
    assert executor.restarts == 2


def test_a_cohort_prepared_again_is_noticed(spec, ptbxl, tmp_path, inline) -> None:
    plan = plan_representations(spec)
    ptbxl.rows[5]["scp_codes"] = "{'IMI': 0.0}"
    ptbxl.write_metadata()
    prepare("ptbxl", ptbxl.path, replace=True)
    summary = run_plan(plan, tmp_path / "run", inline())
    assert "prepared again after this study was planned" in summary.failed["cohort ptbxl-100hz"]


def test_two_runs_in_one_folder_are_refused(spec, tmp_path, inline) -> None:
    plan = plan_representations(spec)
    with exclusive(tmp_path / "run" / "run"), pytest.raises(BusyError, match="running a study in"):
        run_plan(plan, tmp_path / "run", inline())


def test_a_cleared_embedding_store_is_filled_again(spec, home, tmp_path, inline) -> None:
    run_plan(plan_representations(spec), tmp_path / "run", inline())
    shutil.rmtree(home / "embeddings")
    wider = plan_representations(spec.model_copy(update={"tasks": ("super", "rhythm", "sub")}))
    assert run_plan(wider, tmp_path / "run", inline()).complete
    assert len(list((home / "embeddings").glob("[0-9a-f]*"))) == 2


def test_worker_processes_give_the_same_ledger_as_this_one(spec, tmp_path, inline) -> None:
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "inline", inline())
    with LocalExecutor(workers=2) as executor:
        assert run_plan(plan, tmp_path / "pool", executor).complete
    assert Ledger(tmp_path / "pool").digest(plan.keys) == Ledger(tmp_path / "inline").digest(plan.keys)


_RUN = """
import sys
from pathlib import Path
from einthoven.studies.executors.executor import WorkerLost
from einthoven.studies.executors.local import LocalExecutor
from einthoven.studies.kind import KINDS
from einthoven.studies.plan import plan_representations
from einthoven.studies.loading import load_spec
from einthoven.studies.running import run_plan
if __name__ == "__main__":
    plan = plan_representations(load_spec(sys.argv[1]))
    with LocalExecutor(workers=2) as executor:
        run_plan(plan, Path(sys.argv[2]), executor)
"""


@pytest.mark.slow
def test_killed_at_any_point_it_ends_with_the_same_ledger(spec, tmp_path, inline) -> None:
    study, script, folder = tmp_path / "small.yaml", tmp_path / "run.py", tmp_path / "killed"
    study.write_text(json.dumps(spec.model_dump(mode="json")))
    script.write_text(_RUN)
    plan = plan_representations(spec)
    ledger = Ledger(folder)

    def finished() -> set[str]:
        return {key for key in plan.keys if ledger.has(key)}

    stamps: dict[str, int] = {}
    for kill_after in (1, 4, 7):
        process = subprocess.Popen([sys.executable, str(script), str(study), str(folder)])
        deadline = time.monotonic() + 90
        while len(finished()) < kill_after and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert len(finished()) >= kill_after
        for key, stamp in stamps.items():
            assert (ledger.path(key) / "result.json").stat().st_mtime_ns == stamp, "a finished cell was done again"
        stamps = {key: (ledger.path(key) / "result.json").stat().st_mtime_ns for key in finished()}
    assert subprocess.run([sys.executable, str(script), str(study), str(folder)], check=False).returncode == 0
    assert finished() == set(plan.keys)
    assert not list((folder / "cells").glob(".unfinished-*"))

    run_plan(plan, tmp_path / "whole", inline())
    assert ledger.digest(plan.keys) == Ledger(tmp_path / "whole").digest(plan.keys)


def test_a_cell_that_cannot_be_sent_is_one_failed_cell(spec, tmp_path, inline) -> None:
    plan = plan_representations(spec)
    executor = inline(refuse="age-sex on super", by=TypeError("cannot pickle"))
    summary = run_plan(plan, tmp_path / "run", executor)
    assert summary.failed == {"probe age-sex on super": "TypeError: cannot pickle"}
    assert summary.done == 7
    assert executor.restarts == 0
    assert len(Ledger(tmp_path / "run").failures()) == 1


def test_a_failure_that_cannot_be_noted_does_not_end_the_run(spec, tmp_path, monkeypatch, inline) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Ledger, "record_failure", full)
    summary = run_plan(
        plan_representations(spec), tmp_path / "run", inline(refuse="age-sex on super", by=TypeError("cannot pickle"))
    )
    assert summary.failed == {"probe age-sex on super": "TypeError: cannot pickle"}


def test_a_folder_of_another_study_is_taken_only_when_told_to(spec, tmp_path, inline) -> None:
    folder = tmp_path / "run"
    first = plan_representations(spec)
    run_plan(first, folder, inline())
    stored = (folder / "plan.json").read_bytes()
    narrower = plan_representations(spec.model_copy(update={"tasks": ("super",)}))
    with pytest.raises(UsageError, match=r"holds another study: 3 of its finished cells .*--out.*--replace"):
        run_plan(narrower, folder, inline())
    assert (folder / "plan.json").read_bytes() == stored
    assert run_plan(narrower, folder, inline(), replace=True).reused == 6
    assert read_plan(folder) == narrower
    assert run_plan(first, folder, inline()).reused == 9


class BrokenListener:
    """Fails when it is told of a cell, as a terminal that went away does."""

    def started(self, cells: int, reused: int) -> None: ...

    def working(self, cells: object) -> None: ...

    def finished(self, cell: Cell, outcome: Outcome) -> None:
        raise BrokenPipeError("nobody listens")


def test_an_error_in_telling_is_not_taken_for_one_of_the_cell(spec, tmp_path, inline) -> None:
    plan = plan_representations(spec)
    with pytest.raises(BrokenPipeError):
        run_plan(plan, tmp_path / "run", inline(), listener=BrokenListener())
    ledger = Ledger(tmp_path / "run")
    assert ledger.has(plan.cells[0].key)
    assert ledger.failures() == {}
