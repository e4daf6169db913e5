"""The ledger: what is in it is what was stored, wherever and whenever that was."""

from __future__ import annotations

import json
import shutil
import time

import pytest

from einthoven.datasets.building import prepare
from einthoven.foundation.errors import DataError
from einthoven.studies.ledger import Ledger
from einthoven.studies.plan import plan_representations
from einthoven.studies.results import ProbeResult
from einthoven.studies.running import run_plan


def test_a_result_of_another_schema_is_refused(spec, tmp_path, vouch, inline) -> None:
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "run", inline())
    ledger = Ledger(tmp_path / "run")
    key = plan.of_kind("probe")[0].key
    file = ledger.path(key) / "result.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "surprise": 1}))
    vouch(file.parent)
    with pytest.raises(DataError, match=r"cannot be read as ProbeResult .* at surprise\. Read it with that version"):
        ledger.result(key, ProbeResult)


def test_every_file_of_a_cell_is_vouched_for(spec, tmp_path, inline) -> None:
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "run", inline())
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


def test_nothing_of_this_machine_is_in_the_plan_or_the_results(spec, home, ptbxl, tmp_path, inline) -> None:
    folder = tmp_path / "run"
    run_plan(plan_representations(spec), folder, inline())
    for file in [folder / "plan.json", folder / "study.yaml", *folder.glob("cells/*/*.json")]:
        assert str(tmp_path) not in file.read_text(), file


def test_the_same_data_prepared_elsewhere_and_later_give_the_same_ledger(
    spec, ptbxl, tmp_path, monkeypatch, inline
) -> None:
    run_plan(plan_representations(spec), tmp_path / "here", inline())
    monkeypatch.setenv("EINTHOVEN_HOME", str(tmp_path / "another" / "home"))
    time.sleep(1.1)  # times are kept in whole seconds
    moved = shutil.copytree(ptbxl.path, tmp_path / "another" / "source")
    prepare("ptbxl", moved)
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "there", inline())
    assert Ledger(tmp_path / "there").digest(plan.keys) == Ledger(tmp_path / "here").digest(plan.keys)
    assert all(Ledger(tmp_path / "here").has(key) for key in plan.keys)


def test_a_cell_folder_without_a_result_is_written_anew(spec, tmp_path, inline) -> None:
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "run", inline())
    ledger = Ledger(tmp_path / "run")
    (ledger.path(plan.keys[0]) / "result.json").unlink()
    summary = run_plan(plan, tmp_path / "run", inline())
    assert (summary.done, summary.failed) == (1, {})
    ledger.verify(plan.keys[0])


@pytest.mark.parametrize("name", ["predictions.parquet", "probe.npz", "spec.json", "provenance.json", "files.json"])
def test_a_cell_that_lost_a_file_is_computed_again(spec, tmp_path, name, inline) -> None:
    plan = plan_representations(spec)
    folder = tmp_path / "run"
    run_plan(plan, folder, inline())
    digest = Ledger(folder).digest(plan.keys)
    probe = plan.of_kind("probe")[0]
    (Ledger(folder).path(probe.key) / name).unlink()
    executor = inline()
    assert run_plan(plan, folder, executor).complete
    assert executor.ran == [probe.title]
    assert Ledger(folder).digest(plan.keys) == digest


def test_a_note_of_a_failure_that_cannot_be_read_stops_nothing(spec, tmp_path, inline) -> None:
    plan = plan_representations(spec)
    (tmp_path / "run" / "failures").mkdir(parents=True)
    (tmp_path / "run" / "failures" / "abc.json").write_text("")
    assert run_plan(plan, tmp_path / "run", inline()).complete
    assert Ledger(tmp_path / "run").failures() == {"abc": {"message": "the note of it cannot be read"}}
