"""What decides the outcome of a pretraining."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ContrastiveSettings(BaseModel):
    """Settings of contrastive pretraining; the defaults are those ecg-fix retrained CLOCS with.

    Attributes:
        epochs: passes over the training records.
        batch: records a step; each is two views, and the other records of the batch are what it is told from.
        learning_rate: of Adam.
        temperature: of the loss.
        seed: of the streams "init", "order" and "dropout".
        split: the split rule whose "train" records are trained on and whose "val" records choose the epoch; None for
            the first of the cohort's. Test records are never read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    epochs: int = Field(default=50, ge=1)
    batch: int = Field(default=256, ge=2)
    learning_rate: float = Field(default=1e-4, gt=0, allow_inf_nan=False)
    temperature: float = Field(default=0.1, gt=0, allow_inf_nan=False)
    seed: int = Field(default=0, ge=0)
    split: str | None = None
