"""The plan: every cell before anything runs, and what a folder gives back of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from einthoven.datasets.building import prepare
from einthoven.foundation.errors import DataError, UnknownNameError, UsageError
from einthoven.studies.cells import Cell
from einthoven.studies.plan import Plan, plan_representations
from einthoven.studies.running import read_plan, run_plan
from einthoven.studies.spec import parse_spec


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


def test_a_folder_that_holds_no_study_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="holds no study"):
        read_plan(tmp_path)


def test_the_plan_type_is_what_a_folder_gives_back(spec, tmp_path) -> None:
    plan = plan_representations(spec)
    assert isinstance(plan, Plan)
    for cell in plan.cells:
        assert Cell.from_json(json.loads(json.dumps(cell.to_json()))).key == cell.key


def test_a_plan_of_another_version_is_refused_with_the_version(spec, tmp_path, inline) -> None:
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "run", inline())
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


def test_two_names_of_one_encoder_are_refused(spec) -> None:
    values = {"name": "s", "cohort": spec.cohort, "tasks": ["super"]}
    twice = [{"name": "random-resnet18"}, {"name": "random-resnet18", "parameters": {"seed": 0}}]
    with pytest.raises(UsageError, match=r"random-resnet18 and random-resnet18 \(seed=0\) give the same embeddings"):
        plan_representations(parse_spec({**values, "encoders": twice}, where="t"))


def test_a_plan_or_study_that_was_edited_is_not_believed(spec, tmp_path, inline) -> None:
    plan = plan_representations(spec)
    folder = tmp_path / "run"
    run_plan(plan, folder, inline())
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
    assert run_plan(plan, folder, inline()).reused == 9
    assert read_plan(folder) == plan


@pytest.mark.realdata
def test_leads_that_a_cohort_has_not_are_refused_before_anything_runs(real_data, home) -> None:
    prepare("cpsc2021", real_data / "cpsc2021", allow_missing=True)  # leads I and II
    values = {"study": "representations", "name": "m", "cohort": "cpsc2021-200hz", "tasks": ["af"], "baseline": None}

    def planned(*encoders: object) -> Plan:
        return plan_representations(parse_spec({**values, "encoders": list(encoders)}, where="m"))

    with pytest.raises(UsageError, match=r"rr-features takes the leads II, V5, I; cohort .* has I, II\. .* channels"):
        planned("rr-features")
    with pytest.raises(UsageError, match=r"has I, II\. Leave it out"):
        planned("random-resnet18")
    chosen = {"name": "rr-features", "preprocessing": "channels"}
    assert planned(chosen).counts()["embedding"] == 1
    with pytest.raises(UsageError, match=r"age-sex reads age and sex, and no record of cohort .* has any"):
        planned(chosen, "age-sex")
