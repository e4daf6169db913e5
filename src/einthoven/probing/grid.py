"""The probe settings that are tried: the grid of 16 of the representation study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

ClassWeight = Literal["none", "balanced"]
Strength = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class ProbeSetting(BaseModel):
    """One setting of the logistic probe.

    Attributes:
        scale: standardise each embedding dimension with the training split's mean and standard deviation.
        C: inverse strength of the L2 penalty, as in scikit-learn: the objective is |w|^2 / 2 + C * sum of losses.
        class_weight: "balanced" weighs a row by n / (2 * rows of its class).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scale: bool
    C: Strength
    class_weight: ClassWeight


class ProbeGrid(BaseModel):
    """All combinations of the three settings, scale outermost (Berger et al. 2026, arXiv 2602.17531, section 5.3)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scale: tuple[bool, ...] = (True, False)
    C: tuple[Strength, ...] = (0.01, 0.1, 1.0, 10.0)
    class_weight: tuple[ClassWeight, ...] = ("none", "balanced")

    @field_validator("scale", "C", "class_weight")
    @classmethod
    def _some_and_distinct(cls, values: tuple) -> tuple:
        if not values or len(set(values)) != len(values):
            raise ValueError(f"expected one or more distinct values, found {values!r}")
        return values

    def __iter__(self) -> Iterator[ProbeSetting]:  # type: ignore[override]  # a grid is its settings, not its fields
        for scale in self.scale:
            for strength in self.C:
                for weight in self.class_weight:
                    yield ProbeSetting(scale=scale, C=strength, class_weight=weight)

    def __len__(self) -> int:
        return len(self.scale) * len(self.C) * len(self.class_weight)
