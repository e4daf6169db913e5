"""The cohort and embedding cells: what is on disk is what was prepared, or nothing is computed."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from einthoven.datasets.cohort import Cohort
from einthoven.embeddings.store import open_embeddings
from einthoven.studies.kinds.cohort import plan_cohort
from einthoven.studies.provenance import environment
from einthoven.studies.results import CohortResult


def _spoil_signals(cell) -> None:
    file = Cohort.open(cell.places["cohort"]).path / "signals.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def test_a_damaged_cohort_is_not_summarised_and_not_embedded(ran) -> None:
    _spoil_signals(ran.plan.cells[0])
    assert "signals changed since it was prepared" in ran.message(ran.cell("cohort"))
    assert "signals changed since it was prepared" in ran.message(ran.cell("embedding", "rr-features"))
    # It reads no signal, so nothing it says would be wrong.
    from einthoven.studies.work import run_cell

    assert run_cell(ran.cell("embedding", "age-sex"), ran.ledger.folder).message is None


def test_signals_that_were_replaced_after_planning_are_not_embedded(ran, ptbxl) -> None:
    from einthoven.datasets.building import prepare

    ptbxl.write_record(ptbxl.stem(4), ptbxl.samples(5))
    # A record of the same length looks the same to `prepare` until it is read again.
    shutil.rmtree(Cohort.open(ran.plan.cells[0].places["cohort"]).path)
    prepare("ptbxl", ptbxl.path)
    assert "prepared again after this study was planned" in ran.message(ran.cell("embedding", "rr-features"))


def test_the_result_holds_what_the_cohort_says_of_itself_and_no_time_or_place(ran, tmp_path) -> None:
    ran.run("cohort")
    key = ran.cell("cohort").key
    result = ran.ledger.result(key, CohortResult)
    cohort = Cohort.open("ptbxl-100hz")
    assert result.cohort.fingerprint == cohort.fingerprint
    text = (ran.ledger.path(key) / "result.json").read_text()
    assert cohort.manifest.created not in text
    assert str(tmp_path) not in text
    noted = ran.ledger.provenance(key)["cohort"]
    assert (noted["name"], noted["created"]) == ("ptbxl-100hz", cohort.manifest.created)
    row = list(cohort.record_ids).index(result.example_record)
    assert cohort.split()[row] == "test"
    np.testing.assert_array_equal(ran.ledger.arrays(key, "example")["signal"], cohort.signals(slice(row, row + 1))[0])


def test_provenance_of_embeddings_is_of_what_made_them(ran, another, monkeypatch) -> None:
    """A later study that finds them in the store must not claim to have made them with its own software."""
    ran.run("embedding")
    made_by = open_embeddings(ran.cell("embedding").inputs["embedding"]).manifest.made_by
    assert made_by["packages"] == environment()["packages"]
    assert made_by["threads"]
    monkeypatch.setattr("einthoven.studies.work.environment", lambda: {**environment(), "einthoven": "99.0"})
    later = another().run("cohort", "embedding")
    assert later.ledger.provenance(later.cell("cohort").key)["einthoven"] == "99.0"
    found = later.ledger.provenance(later.cell("embedding").key)
    assert found["einthoven"] == made_by["einthoven"] != "99.0"


@pytest.mark.parametrize("field", ["summary", "pretraining_note"])
def test_another_card_is_another_cell_but_the_same_embeddings(ran, another, monkeypatch, field) -> None:
    from dataclasses import replace

    from einthoven.encoders.registry import ENCODERS

    entry = ENCODERS.get("age-sex")
    card = entry.card.model_copy(update={field: "said anew"})

    def build() -> object:
        encoder = entry.build()
        encoder.card = card
        return encoder

    monkeypatch.setitem(ENCODERS._things, "age-sex", replace(entry, card=card, build=build))
    assert "prepared again" in ran.message(ran.cell("embedding", "age-sex"))
    other = another()
    assert other.cell("embedding", "age-sex").key != ran.cell("embedding", "age-sex").key
    assert {c.key for c in other.plan.of_kind("probe")} == {c.key for c in ran.plan.of_kind("probe")}


def test_no_record_is_kept_to_be_shown_unless_the_data_are_open_or_it_is_asked_for(ran, another) -> None:
    open_key = ran.run("cohort").cell("cohort").key
    assert ran.ledger.result(open_key, CohortResult).example_record is not None
    hidden = another(show_record=False).run("cohort")
    key = hidden.cell("cohort").key
    assert hidden.ledger.result(key, CohortResult).example_record is None
    assert not (hidden.ledger.path(key) / "example.npz").exists()
    cohort = Cohort.open("ptbxl-100hz")
    cohort.manifest = cohort.manifest.model_copy(update={"access": "private"})
    assert plan_cohort(cohort, place="p", rule="official").spec["show_record"] is False


def test_random_weights_claim_no_training_and_are_a_floor(another) -> None:
    """The architecture's card names what its released weights have seen; these have seen nothing."""
    random = {"name": "merl-resnet18", "parameters": {"weights": "random", "seed": 1}}
    ran = another(encoders=[random, "age-sex"])
    ran.run("cohort")
    cell = ran.cell("embedding", "merl-resnet18")
    from einthoven.studies.results import EmbeddingResult
    from einthoven.studies.work import run_cell

    assert run_cell(cell, ran.ledger.folder).message is None
    result = ran.ledger.result(cell.key, EmbeddingResult)
    assert result.pretraining == ()
    assert result.floor
    assert result.title == "MERL ResNet-18, untrained"
    assert result.licence == "not applicable (drawn from a seed)"
