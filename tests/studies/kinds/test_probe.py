"""The probe cell: fitted on train, chosen on validation, and on nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl

from einthoven.datasets.cohort import Cohort
from einthoven.embeddings.store import open_embeddings
from einthoven.probing.grid import ProbeGrid
from einthoven.probing.logistic import fit_probes
from einthoven.studies.results import EmbeddingResult, ProbeResult


def parts(ran, cell):
    cohort = Cohort.open(cell.places["cohort"])
    task = cohort.task(cell.spec["task"])
    split = cohort.split(cell.spec["split"])[task.rows]
    array = open_embeddings(cell.inputs["embedding"]).array
    return {name: (array[task.rows[split == name]], task.targets[split == name]) for name in ("train", "val", "test")}


def test_weights_are_those_of_a_fit_on_the_training_records_chosen_on_validation(ran) -> None:
    ran.run()
    for cell in ran.plan.of_kind("probe"):
        of = parts(ran, cell)
        again = fit_probes(of["train"], of["val"], grid=ProbeGrid.model_validate(cell.spec["probe"]))
        stored = ran.ledger.arrays(cell.key, "probe")
        for name in ("weights", "intercepts", "validation_loss", "chosen"):
            np.testing.assert_array_equal(stored[name], getattr(again, name))
        table = ran.ledger.table(cell.key, "predictions")
        for split in ("val", "test"):
            rows = table.filter(pl.col("split") == split)
            logits = again.logits(of[split][0])
            np.testing.assert_array_equal(rows["logit"].to_numpy().reshape(logits.shape), logits)
            np.testing.assert_array_equal(rows["target"].to_numpy().reshape(logits.shape), of[split][1])
        assert set(table["split"]) == {"val", "test"}


def test_neither_labels_nor_records_of_test_reach_the_weights(ran, another, ptbxl) -> None:
    from einthoven.datasets.building import prepare

    ran.run("cohort", "embedding", "probe")
    for row in ptbxl.rows:
        if row["strat_fold"] == 10:
            row["scp_codes"] = "{'NORM': 0.0, 'IMI': 0.0, 'SR': 0.0, 'AFIB': 0.0}"
            row["age"] = 17.0
    ptbxl.write_metadata()
    prepare("ptbxl", ptbxl.path, replace=True)
    other = another().run("cohort", "embedding", "probe")
    for before, after in zip(ran.plan.of_kind("probe"), other.plan.of_kind("probe"), strict=True):
        assert before.key != after.key
        first, second = ran.ledger.arrays(before.key, "probe"), other.ledger.arrays(after.key, "probe")
        np.testing.assert_array_equal(first["weights"], second["weights"])
        np.testing.assert_array_equal(first["chosen"], second["chosen"])
        result = other.ledger.result(after.key, ProbeResult)
        assert all(label.test_positives == result.test_records for label in result.labels)


def test_embeddings_other_than_those_recorded_are_refused(ran, vouch) -> None:
    ran.run("cohort", "embedding")
    cell = ran.cell("probe", "age-sex on super")
    recorded = ran.ledger.path(cell.needs[0]) / "result.json"
    values = json.loads(recorded.read_text())
    recorded.write_text(json.dumps({**values, "sha256": "0" * 64}))
    vouch(recorded.parent)
    assert "not those this study recorded: sha256 000000000000 was recorded" in ran.message(cell)


def test_embeddings_that_changed_on_disk_are_refused(ran) -> None:
    ran.run("cohort", "embedding")
    cell = ran.cell("probe", "age-sex on super")
    file = open_embeddings(cell.inputs["embedding"]).path / "embeddings.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert "It changed after it was written" in ran.message(cell)


def test_labels_splits_and_ids_that_changed_on_disk_are_refused(ran) -> None:
    ran.run("cohort", "embedding")
    cell = ran.cell("probe", "age-sex on super")
    folder = Cohort.open(cell.places["cohort"]).path
    for name, column in (("labels/super", "NORM"), ("splits/official", "split"), ("records", "patient_id")):
        file = folder / f"{name}.parquet"
        content = file.read_bytes()
        table = pl.read_parquet(file)
        table.with_columns(table[column].reverse()).write_parquet(file)
        assert "is not what its manifest says" in ran.message(cell)
        file.write_bytes(content)


def test_a_cell_of_another_version_or_kind_is_refused(ran) -> None:
    ran.run("cohort", "embedding")
    cell = ran.cell("probe")
    assert "planned with version 99 of kind probe; this is version" in ran.message(replace(cell, version=99))
    assert "Unknown kind of cell 'prob'" in ran.message(replace(cell, kind="prob"))


def test_the_result_under_a_key_must_be_of_that_key(ran, vouch) -> None:
    ran.run("cohort", "embedding")
    cell = ran.cell("probe", "age-sex on super")
    file = ran.ledger.path(cell.needs[0]) / "spec.json"
    file.write_text(file.read_text().replace("age-sex", "sex-age"))
    vouch(file.parent)
    assert "holds another cell's specification" in ran.message(cell)


def test_another_task_or_split_in_the_cohort_leaves_the_probe_as_it_is(ran, another, ptbxl) -> None:
    """What a probe does not read is not in its key."""
    from einthoven.datasets.building import prepare

    statements = ptbxl.path / "scp_statements.csv"
    statements.write_text(statements.read_text() + "LBBB,block,1.0,,,CD,CLBBB\n")
    ptbxl.rows[3]["scp_codes"] = "{'NORM': 100.0, 'SR': 0.0, 'PVC': 0.0}"
    ptbxl.write_metadata()
    prepare("ptbxl", ptbxl.path, replace=True)
    other = another()
    kept = {cell.title for cell in other.plan.cells if cell.key in ran.plan.keys}
    assert kept == {
        "embed with age-sex", "embed with rr-features", "probe age-sex on rhythm", "probe rr-features on rhythm",
        "compare 2 encoders on rhythm",
    }  # fmt: skip


def test_embedding_results_say_what_was_stored(ran) -> None:
    ran.run("cohort", "embedding")
    for cell in ran.plan.of_kind("embedding"):
        result = ran.ledger.result(cell.key, EmbeddingResult)
        stored = open_embeddings(cell.inputs["embedding"], verify=True)
        assert (result.sha256, result.embedding_key) == (stored.sha256, stored.key)
        assert result.encoder_fingerprint == stored.manifest.encoder_fingerprint


def test_a_result_that_was_edited_is_not_used(ran) -> None:
    ran.run("cohort", "embedding")
    cell = ran.cell("probe", "age-sex on super")
    file = ran.ledger.path(cell.needs[0]) / "result.json"
    file.write_text(file.read_text().replace("age-sex", "age-sx"))
    assert "changed after it was stored: result.json" in ran.message(cell)
