"""Contrastive pretraining: what it reads, keeps, and goes on from."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from einthoven.datasets.building import prepare
from einthoven.datasets.cohort import Cohort
from einthoven.encoders.checkpoints.store import open_weights
from einthoven.encoders.registry import ENCODERS, build_encoder
from einthoven.encoders.torch_encoder import TorchEncoder
from einthoven.foundation.errors import DataError, UsageError
from einthoven.pretraining import clocs as room
from einthoven.pretraining.clocs import Pretrained, pretrain_clocs
from einthoven.pretraining.keeping import keep
from einthoven.pretraining.settings import ContrastiveSettings
from einthoven.pretraining.views import batches_of, view_batches

_SETTINGS = ContrastiveSettings(epochs=3, batch=32, learning_rate=3e-3)


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Cohort:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EINTHOVEN_HOME", str(tmp_path_factory.mktemp("home")))
        return prepare("phantom", options={"records": 150})


@pytest.fixture(scope="module")
def undisturbed(cohort: Cohort, tmp_path_factory: pytest.TempPathFactory) -> tuple[Pretrained, Path]:
    folder = tmp_path_factory.mktemp("undisturbed")
    return pretrain_clocs(cohort, folder, settings=_SETTINGS), folder


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return set(a) == set(b) and all(torch.equal(a[name], b[name]) for name in a)


def test_it_learns_and_keeps_the_best_epoch(undisturbed: tuple[Pretrained, Path], cohort: Cohort) -> None:
    done, folder = undisturbed
    assert [epoch.epoch for epoch in done.history] == [0, 1, 2, 3]
    assert math.isnan(done.history[0].train_loss)
    losses = [epoch.validation_loss for epoch in done.history]
    assert done.best.validation_loss == min(losses)
    assert min(losses) < losses[0]
    lines = (folder / "history.csv").read_text().splitlines()
    assert lines[0] == "epoch,train_loss,validation_loss,seconds"
    assert [float(line.split(",")[2]) for line in lines[1:]] == losses
    stated = json.loads((folder / "settings.json").read_text())
    assert (stated["batch"], stated["cohort"]) == (32, cohort.name)


def test_before_training_it_is_the_encoder_with_random_weights(
    undisturbed: tuple[Pretrained, Path], cohort: Cohort
) -> None:
    """So that "better than at initialisation" compares with exactly that."""
    encoder = build_encoder("clocs", weights="random", seed=_SETTINGS.seed)
    assert isinstance(encoder, TorchEncoder)
    val = np.flatnonzero(cohort.split(undisturbed[0].split) == "val")
    total, count = 0.0, 0
    for views in view_batches(cohort, encoder.card.preprocessings["native"], val, batch=32):
        with torch.inference_mode():
            loss = room.info_nce(encoder.module(views[:, 0]), encoder.module(views[:, 1]), temperature=0.1)
        total, count = total + float(loss) * len(views), count + len(views)
    assert undisturbed[0].history[0].validation_loss == pytest.approx(total / count, rel=1e-6)


@pytest.mark.parametrize("step", [1, 4, 7])
def test_killed_anywhere_it_ends_with_the_same_weights(
    step: int, undisturbed: tuple[Pretrained, Path], cohort: Cohort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_SAVE_SECONDS", -1.0)

    def stop(done: int, total: int, words: str) -> None:
        if done == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pretrain_clocs(cohort, tmp_path, settings=_SETTINGS, progress=stop)
    told: list[int] = []
    done = pretrain_clocs(cohort, tmp_path, settings=_SETTINGS, progress=lambda n, total, words: told.append(n))
    # The step that was being told of had not been saved.
    assert told[0] == step
    assert same(done.tensors, undisturbed[0].tensors)
    for found, expected in zip(done.history, undisturbed[0].history, strict=True):
        assert found.validation_loss == expected.validation_loss
        assert found.train_loss == expected.train_loss or math.isnan(expected.train_loss)


def test_a_finished_training_is_not_done_again(undisturbed: tuple[Pretrained, Path], cohort: Cohort) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("a step was made")

    done = pretrain_clocs(cohort, undisturbed[1], settings=_SETTINGS, progress=never)
    assert same(done.tensors, undisturbed[0].tensors)


def test_the_seed_decides_and_the_callers_random_numbers_are_left_alone(
    undisturbed: tuple[Pretrained, Path], cohort: Cohort, tmp_path: Path
) -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    other = pretrain_clocs(cohort, tmp_path, settings=_SETTINGS.model_copy(update={"seed": 1, "epochs": 1}))
    assert torch.equal(torch.get_rng_state(), before)
    assert not same(other.tensors, undisturbed[0].tensors)


def test_records_of_the_test_split_are_never_read(
    cohort: Cohort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    real = Cohort.signals

    def signals(self: Cohort, rows: Any) -> np.ndarray:
        read.extend(np.arange(len(self))[rows].tolist())
        return real(self, rows)

    monkeypatch.setattr(Cohort, "signals", signals)
    done = pretrain_clocs(cohort, tmp_path, settings=_SETTINGS.model_copy(update={"epochs": 1}))
    split = cohort.split(done.split)
    assert {split[row] for row in read} == {"train", "val"}


def test_another_training_in_the_folder_is_not_gone_on_with(
    undisturbed: tuple[Pretrained, Path], cohort: Cohort
) -> None:
    with pytest.raises(DataError, match="of another pretraining"):
        pretrain_clocs(cohort, undisturbed[1], settings=_SETTINGS.model_copy(update={"temperature": 0.5}))


def test_a_damaged_state_is_refused(cohort: Cohort, tmp_path: Path) -> None:
    (tmp_path / "state.pt").write_bytes(b"not a state")
    with pytest.raises(DataError, match=r"state\.pt cannot be read .* Delete it"):
        pretrain_clocs(cohort, tmp_path, settings=_SETTINGS)


def test_a_loss_that_is_not_finite_stops_it(cohort: Cohort, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"The loss of epoch 1, step \d+ is nan"):
        pretrain_clocs(cohort, tmp_path, settings=_SETTINGS.model_copy(update={"learning_rate": 1e30}))


def test_a_split_with_nothing_to_choose_on_is_refused(cohort: Cohort, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(Cohort, "split", lambda self, rule=None: np.full(len(self), "train"))
    with pytest.raises(UsageError, match=r"150 records to train on and 0 to choose"):
        pretrain_clocs(cohort, tmp_path, settings=_SETTINGS)


def test_kept_weights_are_those_of_an_encoder_that_says_what_it_has_seen(
    undisturbed: tuple[Pretrained, Path], cohort: Cohort, home: Path
) -> None:
    keep(undisturbed[0], cohort, _SETTINGS, tag="own")
    encoder = build_encoder("clocs", weights="own")
    assert isinstance(encoder, TorchEncoder)
    assert encoder.card.pretraining == ("phantom",)
    assert f"pretrained here on cohort {cohort.name}" in encoder.card.weights
    assert same(dict(encoder.module.state_dict()), undisturbed[0].tensors)
    x = encoder.card.preprocessings["native"].apply(cohort.signals(slice(0, 3)), cohort.leads, cohort.rate)
    random = build_encoder("clocs", weights="random")
    assert isinstance(random, TorchEncoder)
    assert random.card.pretraining == ()
    assert random.card.floor
    assert not np.allclose(encoder.embed(x), random.embed(x))
    assert ENCODERS.get("clocs").card.pretraining == ("mimic-iv-ecg",)
    with pytest.raises(UsageError, match="has weights called 'own' already"):
        keep(undisturbed[0], cohort, _SETTINGS, tag="own")
    stored = open_weights("clocs", "own")
    assert stored is not None
    assert stored.provenance.source_sha256 == undisturbed[0].identity


@pytest.mark.parametrize(
    ("records", "batch", "sizes"),
    [(10, 4, [4, 4, 2]), (9, 4, [4, 4]), (4, 4, [4]), (3, 4, [3]), (1, 4, [1]), (12, 4, [4, 4, 4])],
)
def test_small_last_batches_are_left_out(records: int, batch: int, sizes: list[int]) -> None:
    slices = batches_of(records, batch)
    assert [s.stop - s.start for s in slices] == sizes
    assert [s.start for s in slices] == [i * batch for i in range(len(sizes))]


def test_views_come_in_the_order_that_was_asked_for(cohort: Cohort) -> None:
    preparation = ENCODERS.get("clocs").card.preprocessings["native"]
    rows = np.array([5, 2, 9, 0, 7, 1])
    batches = list(view_batches(cohort, preparation, rows, batch=3))
    assert [tuple(b.shape) for b in batches] == [(3, 2, 12, 2500)] * 2
    for place, row in enumerate(rows):
        alone = preparation.apply(cohort.signal(int(row))[None], cohort.leads, cohort.rate)[0]
        np.testing.assert_array_equal(batches[place // 3][place % 3].numpy(), alone)
    assert len(list(view_batches(cohort, preparation, rows, batch=3, skip=1))) == 1
