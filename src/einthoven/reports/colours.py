"""One colour and one shape an encoder, the same in every figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Okabe & Ito, "Color Universal Design" (2008): told apart with any common colour vision. Its yellow is left out: it
# is too pale for a thin line on white paper.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down")


@dataclass(frozen=True)
class Look:
    """How an encoder is drawn.

    Attributes:
        colour: #RRGGBB.
        shape: a Vega shape; with more encoders than colours, the shape tells those of one colour apart.
        hollow: floors are drawn hollow, so that they are known on a black-and-white print.
    """

    colour: str
    shape: str
    hollow: bool

    @property
    def fill(self) -> str:
        """Colour of the inside."""
        return "#ffffff" if self.hollow else self.colour


def looks(encoders: Sequence[str], floors: frozenset[str]) -> dict[str, Look]:
    """How each encoder is drawn; depends on its position in the study alone.

    Colours repeat after 7 encoders and shapes after 5, so that the pairs of the two repeat after 35.
    """
    return {
        name: Look(_COLOURS[i % len(_COLOURS)], _SHAPES[i % len(_SHAPES)], hollow=name in floors)
        for i, name in enumerate(encoders)
    }
