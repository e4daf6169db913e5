"""Running: nothing lost, nothing done twice, nothing half-done taken for done."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from einthoven.datasets.building import prepare
from einthoven.foundation.errors import DataError, UnknownNameError, UsageError
from einthoven.foundation.publishing import BusyError, exclusive
from einthoven.studies.cells import Cell
from einthoven.studies.executors.executor import WorkerLost
from einthoven.studies.executors.local import LocalExecutor
from einthoven.studies.kind import KINDS
from einthoven.studies.ledger import Ledger
from einthoven.studies.plan import Plan, plan_representations
from einthoven.studies.results import ComparisonResult, ProbeResult
from einthoven.studies.running import read_plan, run_plan
from einthoven.studies.spec import parse_spec
from einthoven.studies.work import Outcome, run_cell


class InlineExecutor:
    """Runs cells in this process, one at a time, and remembers which."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def submit(self, cell: Cell, folder: Path) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        self.ran.append(cell.title)
        future.set_result(run_cell(cell, folder))
        return future

    def restart(self) -> None:
        raise AssertionError


def test_the_plan_declares_every_cell_in_a_workable_order(spec) -> None:
    plan = plan_representations(spec)
    assert plan.counts() == {"cohort": 1, "embedding": 2, "probe": 4, "comparison": 2}
    seen: set[str] = set()
    for cell in plan.cells:
        assert set(cell.needs) <= seen
        seen.add(cell.key)
    assert len(seen) == len(plan.cells)
    assert plan_representations(spec).keys == plan.keys


def test_keys_change_with_what_matters_and_not_with_where_things_lie(spec) -> None:
    keys = dict.fromkeys(plan_representations(spec).keys)
    reseeded = plan_representations(spec.model_copy(update={"seed": 1}))
    changed = [cell.kind for cell in reseeded.cells if cell.key not in keys]
    assert changed == ["comparison", "comparison"]
    cell = plan_representations(spec).cells[0]
    moved = replace(cell, places={"cohort": "elsewhere"}, title="another")
    assert moved.key == cell.key


def test_names_that_do_not_exist_are_refused_before_anything_runs(spec) -> None:
    for change, message in [
        ({"tasks": ("supper",)}, "Did you mean 'super'"),
        ({"split": "oficial"}, "Did you mean 'official'"),
        ({"cohort": "ptbxl"}, "Did you mean 'ptbxl-100hz'"),
    ]:
        with pytest.raises(UnknownNameError, match=message):
            plan_representations(spec.model_copy(update=change))
    with pytest.raises(UsageError, match="must be one of the study's encoders"):
        plan_representations(spec.model_copy(update={"baseline": "rr"}))
    bad = parse_spec({"name": "s", "cohort": "ptbxl-100hz", "encoders": ["age-sx"]}, where="t")
    with pytest.raises(UnknownNameError, match="Did you mean 'age-sex'"):
        plan_representations(bad)


def test_a_run_finishes_every_cell_and_a_second_run_does_nothing(spec, tmp_path) -> None:
    plan = plan_representations(spec)
    executor = InlineExecutor()
    summary = run_plan(plan, tmp_path / "run", executor)
    assert summary.complete
    assert (summary.done, summary.reused) == (9, 0)
    ledger = Ledger(tmp_path / "run")
    digest = ledger.digest(plan.keys)
    again = InlineExecutor()
    assert run_plan(plan, tmp_path / "run", again).reused == 9
    assert again.ran == []
    assert ledger.digest(plan.keys) == digest
    assert read_plan(tmp_path / "run") == plan
    comparison = ledger.result(plan.of_kind("comparison")[0].key, ComparisonResult)
    assert comparison.encoders == ("age-sex", "rr-features")
    assert comparison.records == 4


def test_a_changed_study_reuses_what_it_shares(spec, tmp_path) -> None:
    run_plan(plan_representations(spec), tmp_path / "run", InlineExecutor())
    wider = spec.model_copy(update={"tasks": ("super", "rhythm", "sub")})
    executor = InlineExecutor()
    summary = run_plan(plan_representations(wider), tmp_path / "run", executor)
    assert (summary.reused, summary.done) == (9, 3)
    assert all("sub" in title for title in executor.ran)


def test_a_failed_cell_is_said_blocks_only_what_needs_it_and_is_tried_again(spec, tmp_path, monkeypatch) -> None:
    plan = plan_representations(spec)
    probe = KINDS.get("probe")

    def fails_on_super(cell, context):
        if cell.spec["task"] == "super" and "age-sex" in cell.title:
            error = ValueError("the disk is on fire")
            error.add_note("record 17")
            raise error
        return probe.run(cell, context)

    monkeypatch.setitem(KINDS._things, "probe", replace(probe, run=fails_on_super))
    summary = run_plan(plan, tmp_path / "run", InlineExecutor())
    assert summary.failed == {"probe age-sex on super": "ValueError: the disk is on fire\nrecord 17"}
    assert summary.blocked == {"compare 2 encoders on super": "probe age-sex on super"}
    assert summary.done == 7
    ledger = Ledger(tmp_path / "run")
    assert [note["title"] for note in ledger.failures().values()] == ["probe age-sex on super"]
    assert not any(ledger.has(cell.key) for cell in plan.cells if "age-sex on super" in cell.title)

    monkeypatch.setitem(KINDS._things, "probe", probe)
    executor = InlineExecutor()
    assert run_plan(plan, tmp_path / "run", executor).complete
    assert executor.ran == ["probe age-sex on super", "compare 2 encoders on super"]
    assert ledger.failures() == {}


class FragileExecutor(InlineExecutor):
    """Loses its worker whenever it is given a cell of a certain title."""

    def __init__(self, deadly: str) -> None:
        super().__init__()
        self.deadly = deadly
        self.restarts = 0

    def submit(self, cell: Cell, folder: Path) -> Future[Outcome]:
        if self.deadly not in cell.title:
            return super().submit(cell, folder)
        future: Future[Outcome] = Future()
        future.set_exception(WorkerLost("a worker died"))
        return future

    def restart(self) -> None:
        self.restarts += 1


def test_a_cell_that_kills_its_worker_is_found_and_the_others_go_on(spec, tmp_path) -> None:
    executor = FragileExecutor("embed with rr-features")
    summary = run_plan(plan_representations(spec), tmp_path / "run", executor)
    assert list(summary.failed) == ["embed with rr-features"]
    assert summary.failed["embed with rr-features"] == "WorkerLost: a worker died"
    assert summary.done == 4  # the cohort, the other embedding and its two probes
    assert executor.restarts == 2


def test_a_cohort_prepared_again_is_noticed(spec, ptbxl, tmp_path) -> None:
    plan = plan_representations(spec)
    ptbxl.rows[5]["scp_codes"] = "{'IMI': 0.0}"
    ptbxl.write_metadata()
    prepare("ptbxl", ptbxl.path, replace=True)
    summary = run_plan(plan, tmp_path / "run", InlineExecutor())
    assert "prepared again after this study was planned" in summary.failed["cohort ptbxl-100hz"]


def test_two_runs_in_one_folder_are_refused(spec, tmp_path) -> None:
    plan = plan_representations(spec)
    with exclusive(tmp_path / "run" / "run"), pytest.raises(BusyError, match="running a study in"):
        run_plan(plan, tmp_path / "run", InlineExecutor())


def test_a_folder_that_holds_no_study_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="holds no study"):
        read_plan(tmp_path)


def test_a_result_of_another_schema_is_refused(spec, tmp_path, vouch) -> None:
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "run", InlineExecutor())
    ledger = Ledger(tmp_path / "run")
    key = plan.of_kind("probe")[0].key
    file = ledger.path(key) / "result.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "surprise": 1}))
    vouch(file.parent)
    with pytest.raises(DataError, match=r"cannot be read as ProbeResult .* at surprise\. Read it with that version"):
        ledger.result(key, ProbeResult)


def test_every_file_of_a_cell_is_vouched_for(spec, tmp_path) -> None:
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "run", InlineExecutor())
    ledger = Ledger(tmp_path / "run")
    for key in plan.keys:
        ledger.verify(key)
    key = plan.of_kind("probe")[0].key
    for name in ("predictions.parquet", "result.json", "provenance.json", "probe.npz", "spec.json"):
        file = ledger.path(key) / name
        content = file.read_bytes()
        file.write_bytes(content + b" ")
        with pytest.raises(DataError, match=f"changed after it was stored: {name}"):
            ledger.verify(key)
        file.write_bytes(content)
    (ledger.path(key) / "files.json").unlink()
    with pytest.raises(DataError, match=r"is damaged.*Delete the folder"):
        ledger.verify(key)


def test_a_cleared_embedding_store_is_filled_again(spec, home, tmp_path) -> None:
    run_plan(plan_representations(spec), tmp_path / "run", InlineExecutor())
    shutil.rmtree(home / "embeddings")
    wider = plan_representations(spec.model_copy(update={"tasks": ("super", "rhythm", "sub")}))
    assert run_plan(wider, tmp_path / "run", InlineExecutor()).complete
    assert len(list((home / "embeddings").glob("[0-9a-f]*"))) == 2


def test_worker_processes_give_the_same_ledger_as_this_one(spec, tmp_path) -> None:
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "inline", InlineExecutor())
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
def test_killed_at_any_point_it_ends_with_the_same_ledger(spec, tmp_path) -> None:
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

    run_plan(plan, tmp_path / "whole", InlineExecutor())
    assert ledger.digest(plan.keys) == Ledger(tmp_path / "whole").digest(plan.keys)


def test_the_plan_type_is_what_a_folder_gives_back(spec, tmp_path) -> None:
    plan = plan_representations(spec)
    assert isinstance(plan, Plan)
    for cell in plan.cells:
        assert Cell.from_json(json.loads(json.dumps(cell.to_json()))).key == cell.key


class UnsendableExecutor(InlineExecutor):
    """Cannot send one cell, as when something in it cannot be pickled."""

    def submit(self, cell: Cell, folder: Path) -> Future[Outcome]:
        if "age-sex on super" not in cell.title:
            return super().submit(cell, folder)
        future: Future[Outcome] = Future()
        future.set_exception(TypeError("cannot pickle"))
        return future


def test_a_cell_that_cannot_be_sent_is_one_failed_cell(spec, tmp_path) -> None:
    plan = plan_representations(spec)
    summary = run_plan(plan, tmp_path / "run", UnsendableExecutor())
    assert summary.failed == {"probe age-sex on super": "TypeError: cannot pickle"}
    assert summary.done == 7
    assert len(Ledger(tmp_path / "run").failures()) == 1


def test_a_failure_that_cannot_be_noted_does_not_end_the_run(spec, tmp_path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Ledger, "record_failure", full)
    summary = run_plan(plan_representations(spec), tmp_path / "run", UnsendableExecutor())
    assert summary.failed == {"probe age-sex on super": "TypeError: cannot pickle"}


def test_a_plan_of_another_version_is_refused_with_the_version(spec, tmp_path) -> None:
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "run", InlineExecutor())
    file = tmp_path / "run" / "plan.json"
    stored = json.loads(file.read_text())
    file.write_text(json.dumps({**stored, "schema_version": 99, "einthoven": "9.9"}))
    with pytest.raises(DataError, match=r"written by Einthoven 9\.9.*schema 99; 1 was expected.*Read it with that"):
        read_plan(tmp_path / "run")
    file.write_text(json.dumps({**stored, "einthoven": "0.0.1"}))
    study = tmp_path / "run" / "study.yaml"
    study.write_text(study.read_text() + "former_key: 1\n")
    with pytest.raises(DataError, match=r"(?s)written by Einthoven 0\.0\.1.*former_key.*run the study again"):
        read_plan(tmp_path / "run")
    file.write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        read_plan(tmp_path / "run")


def test_nothing_of_this_machine_is_in_the_plan_or_the_results(spec, home, ptbxl, tmp_path) -> None:
    folder = tmp_path / "run"
    run_plan(plan_representations(spec), folder, InlineExecutor())
    for file in [folder / "plan.json", folder / "study.yaml", *folder.glob("cells/*/*.json")]:
        assert str(tmp_path) not in file.read_text(), file


def test_the_same_data_prepared_elsewhere_and_later_give_the_same_ledger(spec, ptbxl, tmp_path, monkeypatch) -> None:
    run_plan(plan_representations(spec), tmp_path / "here", InlineExecutor())
    monkeypatch.setenv("EINTHOVEN_HOME", str(tmp_path / "another" / "home"))
    time.sleep(1.1)  # times are kept in whole seconds
    moved = shutil.copytree(ptbxl.path, tmp_path / "another" / "source")
    prepare("ptbxl", moved)
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "there", InlineExecutor())
    assert Ledger(tmp_path / "there").digest(plan.keys) == Ledger(tmp_path / "here").digest(plan.keys)
    assert all(Ledger(tmp_path / "here").has(key) for key in plan.keys)


def test_a_cell_folder_without_a_result_is_written_anew(spec, tmp_path) -> None:
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "run", InlineExecutor())
    ledger = Ledger(tmp_path / "run")
    (ledger.path(plan.keys[0]) / "result.json").unlink()
    summary = run_plan(plan, tmp_path / "run", InlineExecutor())
    assert (summary.done, summary.failed) == (1, {})
    ledger.verify(plan.keys[0])


def test_two_names_of_one_encoder_are_refused(spec) -> None:
    values = {"name": "s", "cohort": spec.cohort, "tasks": ["super"]}
    twice = [{"name": "random-resnet18"}, {"name": "random-resnet18", "parameters": {"seed": 0}}]
    with pytest.raises(UsageError, match=r"random-resnet18 and random-resnet18 \(seed=0\) give the same embeddings"):
        plan_representations(parse_spec({**values, "encoders": twice}, where="t"))


def test_a_folder_of_another_study_is_taken_only_when_told_to(spec, tmp_path) -> None:
    folder = tmp_path / "run"
    first = plan_representations(spec)
    run_plan(first, folder, InlineExecutor())
    stored = (folder / "plan.json").read_bytes()
    narrower = plan_representations(spec.model_copy(update={"tasks": ("super",)}))
    with pytest.raises(UsageError, match=r"holds another study: 3 of its finished cells .*--out.*--replace"):
        run_plan(narrower, folder, InlineExecutor())
    assert (folder / "plan.json").read_bytes() == stored
    assert run_plan(narrower, folder, InlineExecutor(), replace=True).reused == 6
    assert read_plan(folder) == narrower
    assert run_plan(first, folder, InlineExecutor()).reused == 9


@pytest.mark.parametrize("name", ["predictions.parquet", "probe.npz", "spec.json", "provenance.json", "files.json"])
def test_a_cell_that_lost_a_file_is_computed_again(spec, tmp_path, name) -> None:
    plan = plan_representations(spec)
    folder = tmp_path / "run"
    run_plan(plan, folder, InlineExecutor())
    digest = Ledger(folder).digest(plan.keys)
    probe = plan.of_kind("probe")[0]
    (Ledger(folder).path(probe.key) / name).unlink()
    executor = InlineExecutor()
    assert run_plan(plan, folder, executor).complete
    assert executor.ran == [probe.title]
    assert Ledger(folder).digest(plan.keys) == digest


def test_a_plan_or_study_that_was_edited_is_not_believed(spec, tmp_path) -> None:
    plan = plan_representations(spec)
    folder = tmp_path / "run"
    run_plan(plan, folder, InlineExecutor())
    file, study = folder / "plan.json", folder / "study.yaml"
    kept, words = file.read_text(), study.read_text()
    values = json.loads(kept)
    fewer = {**values, "cells": [cell for cell in values["cells"] if "rhythm" not in cell["title"]]}
    other = {**values, "cells": [{**cell, "spec": {**cell["spec"], "seed": 7}} for cell in values["cells"]]}
    for text in (fewer, other):
        file.write_text(json.dumps(text))
        with pytest.raises(DataError, match="was edited after the study was run"):
            read_plan(folder)
    file.write_text(kept)
    study.write_text(words.replace("minimum_positives: 1", "minimum_positives: 2"))
    with pytest.raises(DataError, match="was edited after the study was run"):
        read_plan(folder)
    study.write_bytes(b"name: \xff")
    with pytest.raises(DataError, match="cannot be read"):
        read_plan(folder)
    assert run_plan(plan, folder, InlineExecutor()).reused == 9
    assert read_plan(folder) == plan


def test_a_note_of_a_failure_that_cannot_be_read_stops_nothing(spec, tmp_path) -> None:
    plan = plan_representations(spec)
    (tmp_path / "run" / "failures").mkdir(parents=True)
    (tmp_path / "run" / "failures" / "abc.json").write_text("")
    assert run_plan(plan, tmp_path / "run", InlineExecutor()).complete
    assert Ledger(tmp_path / "run").failures() == {"abc": {"message": "the note of it cannot be read"}}


class BrokenListener:
    """Fails when it is told of a cell, as a terminal that went away does."""

    def started(self, cells: int, reused: int) -> None: ...

    def working(self, cells: object) -> None: ...

    def finished(self, cell: Cell, outcome: Outcome) -> None:
        raise BrokenPipeError("nobody listens")


def test_an_error_in_telling_is_not_taken_for_one_of_the_cell(spec, tmp_path) -> None:
    plan = plan_representations(spec)
    with pytest.raises(BrokenPipeError):
        run_plan(plan, tmp_path / "run", InlineExecutor(), listener=BrokenListener())
    ledger = Ledger(tmp_path / "run")
    assert ledger.has(plan.cells[0].key)
    assert ledger.failures() == {}
