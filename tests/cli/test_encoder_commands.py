"""`einthoven encoders`: what is written, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from einthoven.cli.encoder_card import card_rows, weights_lines
from einthoven.cli.encoders import app
from einthoven.encoders.registry import ENCODERS
from einthoven.foundation.errors import DataError, UsageError
from einthoven.signals.words import steps_in_words

runner = CliRunner()


def told(*arguments: str) -> str:
    done = runner.invoke(app, list(arguments), env={"COLUMNS": "80"}, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_the_list_fits_eighty_columns_and_says_how_weights_come(home: Path) -> None:
    lines = told("list").splitlines()
    assert lines[0].split() == ["encoder", "weights", "their", "licence", "numbers", "pretraining"]
    assert max(map(len, lines)) <= 80
    ways = {e["name"]: e["availability"] for e in json.loads(told("list", "--json"))}
    assert set(ways) == set(ENCODERS.names())
    assert ways["age-sex"] == "not needed"
    assert ways["clocs-single-lead"] == "never released"
    assert ways["merl-resnet18"] == "by hand"
    assert ways["masked-ecg-tiny"] == "fetch"
    assert any(line.startswith("merl-resnet18") and "by hand" in line for line in lines)


def test_every_card_can_be_shown(home: Path) -> None:
    for entry in ENCODERS:
        rows = dict(card_rows(entry.card))
        assert rows["weights licence"] == entry.card.weights_licence
        assert rows["pretraining"]
        for preset in entry.card.preprocessings.values():
            steps = steps_in_words(preset)
            assert len(steps) >= 3
            assert steps[-1].startswith("gives ")
            assert not any("=" in step or "{" in step for step in steps)
        source = entry.card.checkpoint
        if source is not None:
            lines = weights_lines(entry.card)
            assert any(f"einthoven encoders convert {entry.name} FILE" in line for line in lines)
            assert any(f"encoders fetch {entry.name}" in line for line in lines) == source.fetchable


def test_a_card_in_words(home: Path) -> None:
    text = told("show", "merl-resnet18")
    assert "scaled to 0 to 1 over all leads together" in text
    assert "\n  einthoven encoders convert merl-resnet18 FILE\n" in text
    assert max(map(len, text.splitlines()[:-6])) <= 80
    assert json.loads(told("show", "merl-resnet18", "--json"))["checkpoint"]["where"] == "by-hand"


def test_convert_says_what_matched(home: Path, real_data: Path) -> None:
    file = real_data / "checkpoints/ribeiro_physionet12_transformer_pretrain/pretrain_model.pth"
    text = told("convert", "masked-ecg-tiny", str(file))
    assert "29 of 29 tensors" in text
    assert "34ec824e7a73" in text
    mine = json.loads(told("convert", "masked-ecg-tiny", str(file), "--as", "mine", "--json"))
    assert (mine["matched"], mine["unused"], mine["tag"]) == (29, [], "mine")
    assert mine["weights_sha256"] in text
    assert json.loads(told("show", "masked-ecg-tiny", "--json"))["weights_here"] == ["released", "mine"]
    assert "Weights here: released, mine." in told("show", "masked-ecg-tiny")
    fetched = json.loads(told("fetch", "masked-ecg-tiny", "--json"))
    assert (fetched["fetched"], fetched["weights_sha256"]) == (False, mine["weights_sha256"])
    with pytest.raises(UsageError, match="--replace"):
        told("convert", "masked-ecg-tiny", str(file))


def test_what_cannot_be_brought_in(home: Path, tmp_path: Path) -> None:
    for command in (("convert", "age-sex", str(tmp_path)), ("fetch", "age-sex")):
        with pytest.raises(UsageError, match="has no weights to bring in"):
            told(*command)
    with pytest.raises(DataError, match="in a browser") as caught:
        told("fetch", "merl-resnet18")
    assert caught.value.exit_code == 1
