"""CLOCS, contrasting segments of one record (CMSC): Kiyasseh, Zhu and Clifton (ICML 2021), as ecg-fix retrained it.

Two five-second views of a record are told from those of the other records of the batch. ecg-fix (Berger et al., ICML
2026) trained so on MIMIC-IV-ECG: 12 leads, symmetric InfoNCE at temperature 0.1, batches of 256, Adam at 1e-4, 50
epochs, the epoch of the lowest validation loss.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from einthoven.encoders.card import SignalPreparation
from einthoven.encoders.registry import ENCODERS
from einthoven.encoders.released import initialised
from einthoven.foundation.code_identity import code_identity
from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.identity import content_key
from einthoven.foundation.publishing import exclusive, write_json, write_text
from einthoven.foundation.seeds import seed_for

from .contrastive import info_nce
from .settings import ContrastiveSettings
from .state import Epoch, TrainingState
from .views import batches_of, guessing, view_batches

if TYPE_CHECKING:
    from einthoven.datasets.cohort import Cohort

ENCODER = "clocs"
Progress = Callable[[int, int, str], None]
# A kill costs no more work than this.
_SAVE_SECONDS = 60.0


@dataclass(frozen=True)
class Pretrained:
    """A finished pretraining.

    Attributes:
        tensors: of the network, at the epoch of the lowest validation loss.
        history: every epoch, beginning with the network as it was drawn.
        best: the epoch the tensors are of.
        train, validation: records.
        split: the rule that said which.
        guessing: validation loss of a network that knows nothing.
        identity: see `training_identity`.
    """

    tensors: dict[str, torch.Tensor]
    history: list[Epoch]
    best: Epoch
    train: int
    validation: int
    split: str
    guessing: float
    identity: str


def pretrain_clocs(
    cohort: Cohort,
    folder: Path,
    *,
    settings: ContrastiveSettings | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Pretrained:
    """Train the network of the encoder `clocs` on a cohort's training records, or go on where it was stopped.

    The folder gets `state.pt`, from which a stopped training goes on and ends with the same weights on the same
    machine, `history.csv` and `settings.json`. Memory does not grow with the cohort.

    Args:
        folder: of this training; another one's is refused.
        device: "cpu", "cuda", ...
        progress: told (steps done, steps in all, what to say) after each step and epoch; nothing to say is "".

    Raises:
        UsageError: the split rule has too few records to train or to choose on, or the cohort lacks leads.
        DataError: the loss is not finite; or the folder holds the state of another training.
    """
    chosen = settings or ContrastiveSettings()
    identity = training_identity(cohort, chosen)
    kind, preparation = _network(), ENCODERS.get(ENCODER).card.preprocessings["native"]
    rule = _rule(cohort, chosen)
    train, validation = _rows(cohort, rule)
    with exclusive(folder, doing="pretraining in"), torch.random.fork_rng():
        network = initialised(kind, ENCODER, chosen.seed).to(device)
        optimiser = torch.optim.Adam(network.parameters(), lr=chosen.learning_rate)
        state = TrainingState(identity, network, optimiser)
        loop = _Loop(cohort, preparation, chosen, state, folder, train, validation, device, progress)
        if not state.restore(folder):
            write_json(
                folder / "settings.json", {**chosen.model_dump(mode="json"), "cohort": cohort.name, "split": rule}
            )
            loop.begin()
        while state.epoch < chosen.epochs:
            loop.run_epoch()
    return Pretrained(
        tensors=state.best,
        history=state.history,
        best=state.best_epoch,
        train=len(train),
        validation=len(validation),
        split=rule,
        guessing=guessing(len(validation), chosen.batch),
        identity=identity,
    )


def training_identity(cohort: Cohort, settings: ContrastiveSettings) -> str:
    """Key of everything that decides the weights: settings, signals, which records, preparation, code.

    Raises:
        UsageError: the split rule has too few records to train or to choose on, or the cohort lacks leads.
    """
    preparation = ENCODERS.get(ENCODER).card.preprocessings["native"]
    if not preparation.takes(cohort.leads):
        raise UsageError(
            f"CLOCS takes the leads {', '.join(preparation.leads or ())}; cohort {cohort.name} has "
            f"{', '.join(cohort.leads)}."
        )
    train, validation = _rows(cohort, _rule(cohort, settings))
    return content_key(
        {
            "settings": settings.model_dump(mode="json"),
            "signals": cohort.signals_fingerprint,
            "train": content_key(train.tolist()),
            "validation": content_key(validation.tolist()),
            "preparation": preparation.identity(),
            "code": [code_identity(thing, within="einthoven.pretraining") for thing in (_network(), pretrain_clocs)],
        }
    )


def _network() -> type[nn.Module]:
    network = ENCODERS.get(ENCODER).network
    assert network is not None  # noqa: S101  # of a released encoder; for the type checker
    return network()


def _rule(cohort: Cohort, settings: ContrastiveSettings) -> str:
    return settings.split or cohort.manifest.split_rules[0]


class _Loop:
    def __init__(
        self,
        cohort: Cohort,
        preparation: SignalPreparation,
        settings: ContrastiveSettings,
        state: TrainingState,
        folder: Path,
        train: np.ndarray,
        validation: np.ndarray,
        device: str,
        progress: Progress | None,
    ) -> None:
        self._cohort, self._preparation, self._settings, self._state = cohort, preparation, settings, state
        self._folder, self._train, self._validation = folder, train, validation
        self._device, self._progress = device, progress
        self._steps = len(batches_of(len(train), settings.batch))

    def begin(self) -> None:
        """The network as it was drawn is epoch 0: what training adds is seen against it."""
        started = time.perf_counter()
        loss = self._validation_loss()
        self._state.seconds = time.perf_counter() - started
        self._finish(math.nan, loss)
        self._tell_epoch()
        torch.manual_seed(seed_for("dropout", ENCODER, self._settings.seed))
        self._state.save(self._folder)

    def run_epoch(self) -> None:
        """The rest of the epoch the state is in, and its validation."""
        state, settings = self._state, self._settings
        order = np.random.default_rng(seed_for("order", ENCODER, settings.seed, state.epoch))
        rows = self._train[order.permutation(len(self._train))]
        state.network.train()
        before, saved, started = state.seconds, time.monotonic(), time.perf_counter()
        for views in view_batches(self._cohort, self._preparation, rows, batch=settings.batch, skip=state.step):
            loss = self._loss(views)
            state.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            state.optimiser.step()
            state.step += 1
            state.loss_sum += self._finite(loss)
            state.seconds = before + time.perf_counter() - started
            self._tell()
            if time.monotonic() - saved > _SAVE_SECONDS:
                state.save(self._folder)
                saved = time.monotonic()
        train_loss = state.loss_sum / state.step
        validation_loss = self._validation_loss()
        state.seconds = before + time.perf_counter() - started
        state.epoch += 1
        self._finish(train_loss, validation_loss)
        state.save(self._folder)
        self._tell_epoch()

    def _validation_loss(self) -> float:
        self._state.network.eval()
        total, records = 0.0, 0
        with torch.inference_mode():
            batches = view_batches(self._cohort, self._preparation, self._validation, batch=self._settings.batch)
            for views in batches:
                total += self._finite(self._loss(views)) * len(views)
                records += len(views)
        return total / records

    def _loss(self, views: torch.Tensor) -> torch.Tensor:
        views = views.to(self._device)
        first, second = self._state.network(views[:, 0]), self._state.network(views[:, 1])
        return info_nce(first, second, temperature=self._settings.temperature)

    def _finite(self, loss: torch.Tensor) -> float:
        value = float(loss.detach())
        if not math.isfinite(value):
            raise DataError(
                f"The loss of epoch {self._state.epoch + 1}, step {self._state.step} is {value}. Try a lower "
                f"learning rate (now {self._settings.learning_rate:g}). The last saved state is kept."
            )
        return value

    def _finish(self, train_loss: float, validation_loss: float) -> None:
        self._state.finish_epoch(train_loss, validation_loss)
        lines = ["epoch,train_loss,validation_loss,seconds"]
        for epoch in self._state.history:
            train = "" if math.isnan(epoch.train_loss) else f"{epoch.train_loss!r}"
            lines.append(f"{epoch.epoch},{train},{epoch.validation_loss!r},{epoch.seconds}")
        write_text(self._folder / "history.csv", "\n".join(lines) + "\n")

    def _tell(self) -> None:
        if self._progress:
            state = self._state
            self._progress(state.epoch * self._steps + state.step, self._settings.epochs * self._steps, "")

    def _tell_epoch(self) -> None:
        """What the epoch that is over came to, each loss beside what a network that knows nothing has."""
        if not self._progress:
            return
        state, batch = self._state, self._settings.batch
        last = state.history[-1]
        validation = (
            f"validation loss {last.validation_loss:.3f} (guessing {guessing(len(self._validation), batch):.3f})"
        )
        if last.epoch == 0:
            words = f"before training: {validation}"
        else:
            training = f"training loss {last.train_loss:.3f} (guessing {guessing(len(self._train), batch):.3f})"
            lowest = ", lowest so far" if state.best_epoch == last else ""
            words = f"epoch {last.epoch} of {self._settings.epochs}: {training}, {validation}{lowest}"
        self._progress(state.epoch * self._steps, self._settings.epochs * self._steps, words)


def _rows(cohort: Cohort, rule: str) -> tuple[np.ndarray, np.ndarray]:
    split = cohort.split(rule)
    train, validation = np.flatnonzero(split == "train"), np.flatnonzero(split == "val")
    if len(train) < 2 or len(validation) < 2:
        raise UsageError(
            f"Split {rule!r} of cohort {cohort.name} has {len(train)} records to train on and {len(validation)} to "
            "choose the epoch on; at least 2 of each are needed, and some hundreds to learn anything. Choose another "
            "(--split)."
        )
    return train, validation
