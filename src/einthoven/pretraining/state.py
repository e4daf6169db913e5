"""Where a pretraining stands, on disk: enough to go on exactly as if it had not stopped."""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from einthoven.foundation.errors import DataError

_FILE = "state.pt"
_SCHEMA = 1


@dataclass
class Epoch:
    """What became of one epoch.

    Attributes:
        epoch: from 1; 0 is the network before any training, whose training loss is not known (NaN).
        train_loss: mean over its steps, dropout on.
        validation_loss: mean over the validation batches, dropout off.
        seconds: training and validation.
    """

    epoch: int
    train_loss: float
    validation_loss: float
    seconds: float


@dataclass
class TrainingState:
    """Everything that a step changes.

    Attributes:
        identity: key of settings, cohort and network: a state of another pretraining is refused.
        epoch: finished epochs.
        step: finished steps of the epoch that is going on.
        loss_sum: over those steps.
        seconds: spent on them.
        history: of the finished epochs.
        best: the network's tensors at the lowest validation loss.
    """

    identity: str
    network: nn.Module
    optimiser: torch.optim.Optimizer
    epoch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    seconds: float = 0.0
    history: list[Epoch] = field(default_factory=list)
    best: dict[str, torch.Tensor] = field(default_factory=dict)

    @property
    def best_epoch(self) -> Epoch:
        """The finished epoch of the lowest validation loss; the first of equals."""
        return min(self.history, key=lambda epoch: epoch.validation_loss)

    def save(self, folder: Path) -> None:
        """Write the state, whole or not at all."""
        content = {
            "schema": _SCHEMA,
            "identity": self.identity,
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "random": torch.get_rng_state(),
            "epoch": self.epoch,
            "step": self.step,
            "loss_sum": self.loss_sum,
            "seconds": self.seconds,
            "history": [vars(epoch) for epoch in self.history],
            "best": self.best,
        }
        if torch.cuda.is_available():
            content["random_cuda"] = torch.cuda.get_rng_state_all()
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f".unfinished-{_FILE}"
        with unfinished.open("wb") as stream:
            torch.save(content, stream)
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(folder / _FILE)

    def restore(self, folder: Path) -> bool:
        """Take up the state that was saved in a folder, random numbers included; False where there is none.

        Raises:
            DataError: it is damaged, or of another pretraining.
        """
        file = folder / _FILE
        if not file.is_file():
            return False
        try:
            content: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
            identity, schema = content["identity"], content["schema"]
        except Exception as error:  # torch, pickle and zipfile raise what they like about a file that is not whole
            raise DataError(
                f"{file} cannot be read ({type(error).__name__}). Delete it to begin anew, or the whole folder."
            ) from error
        if schema != _SCHEMA or identity != self.identity:
            raise DataError(
                f"{file} is of another pretraining: other settings, another cohort or another version of the network. "
                "Name another folder (--out), or delete this one to begin anew."
            )
        self.network.load_state_dict(content["network"])
        self.optimiser.load_state_dict(content["optimiser"])
        torch.set_rng_state(content["random"])
        if "random_cuda" in content and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(content["random_cuda"])
        self.epoch, self.step = content["epoch"], content["step"]
        self.loss_sum, self.seconds = content["loss_sum"], content["seconds"]
        self.history = [Epoch(**epoch) for epoch in content["history"]]
        self.best = content["best"]
        return True

    def finish_epoch(self, train_loss: float, validation_loss: float) -> None:
        """Note an epoch, and keep the network where it is the best so far."""
        self.history.append(Epoch(len(self.history), train_loss, validation_loss, round(self.seconds, 3)))
        if self.best_epoch is self.history[-1]:
            self.best = {name: copy.deepcopy(tensor.cpu()) for name, tensor in self.network.state_dict().items()}
        self.step, self.loss_sum, self.seconds = 0, 0.0, 0.0
