"""The curve of a training's loss, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .forest import Spec, to_svg

_TRAIN, _VALIDATION, _GREY = "#D55E00", "#0072B2", "#6b6b6b"


class LossPoint(NamedTuple):
    """The losses after an epoch; epoch 0 is before any training, and its training loss is NaN."""

    epoch: int
    train: float
    validation: float


def loss_curve(points: Sequence[LossPoint], *, best: int, guessing: float | None = None) -> str:
    """Training and validation loss over epochs, the chosen epoch marked, and what guessing gives as a dashed line.

    Args:
        points: in the order of their epochs.
        best: the epoch whose weights were kept.
        guessing: loss of a network that knows nothing, or None.

    Returns:
        An `<svg>` element.
    """
    rows = [
        {"epoch": point.epoch, "loss": value, "of": name}
        for point in points
        for name, value in (("training", point.train), ("validation", point.validation))
        if math.isfinite(value)
    ]
    chosen = next(point for point in points if point.epoch == best)
    values = [float(row["loss"]) for row in rows] + ([guessing] if guessing is not None else [])
    margin = 0.05 * ((max(values) - min(values)) or 1.0)
    y = {
        "type": "quantitative",
        "title": "loss (nats)",
        "scale": {"domain": [min(values) - margin, max(values) + margin], "nice": False, "zero": False},
    }
    x = {"type": "quantitative", "title": "epoch", "axis": {"tickMinStep": 1, "format": "d", "labelFlush": False}}
    layers: list[Spec] = [
        {
            "data": {"values": rows},
            "mark": {"type": "line", "point": {"size": 18}},
            "encoding": {
                "x": {"field": "epoch", **x},
                "y": {"field": "loss", **y},
                "color": {
                    "field": "of",
                    "type": "nominal",
                    "title": None,
                    "scale": {"domain": ["training", "validation"], "range": [_TRAIN, _VALIDATION]},
                },
            },
        },
        {
            "data": {"values": [{"epoch": chosen.epoch, "loss": chosen.validation, "text": f"kept: epoch {best}"}]},
            "encoding": {"x": {"field": "epoch", **x}, "y": {"field": "loss", **y}},
            "layer": [
                {"mark": {"type": "point", "size": 130, "color": _VALIDATION, "strokeWidth": 2}},
                {
                    "mark": {
                        "type": "text", "dy": -16, "color": _VALIDATION, "fontSize": 11,
                        "align": "right" if best > points[-1].epoch / 2 else "left",
                    },
                    "encoding": {"text": {"field": "text"}},
                },
            ],
        },
    ]  # fmt: skip
    if guessing is not None:
        layers.append(
            {
                "data": {"values": [{"loss": guessing, "text": "guessing"}]},
                "encoding": {"y": {"field": "loss", **y}},
                "layer": [
                    {"mark": {"type": "rule", "color": _GREY, "strokeDash": [4, 4]}},
                    {
                        "mark": {"type": "text", "color": _GREY, "align": "left", "x": 6, "dy": -7, "fontSize": 11},
                        "encoding": {"text": {"field": "text"}},
                    },
                ],
            }
        )
    words = (
        f"Loss over {points[-1].epoch} epochs: validation {points[0].validation:.3f} before training, "
        f"{chosen.validation:.3f} at the kept epoch {best}."
    )
    return to_svg({"width": 560, "height": 300, "layer": layers}, words=words)
