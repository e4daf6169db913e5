"""A forest plot as a Vega-Lite specification, and Vega-Lite specifications as SVG text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import vl_convert

from einthoven.studies.results import Estimate

from .colours import Look

# Pinned, so that another release of vl-convert draws the same picture.
_VEGA_LITE = "5.17"
_INK = "#222222"
_GREY = "#6b6b6b"
_NAME_LIMIT = 230  # px; longer names are cut with an ellipsis

Spec = dict[str, Any]


@dataclass(frozen=True)
class Mark:
    """One point with its interval; `row` is where it stands."""

    row: str
    encoder: str
    estimate: Estimate


@dataclass(frozen=True)
class Axis:
    """The horizontal axis of a panel; without a title its numbers are not drawn."""

    low: float
    high: float
    title: str | None

    def of(self, field: str) -> Spec:
        """The axis as the encoding of one field."""
        drawn = self.title is not None
        return {
            "field": field,
            "type": "quantitative",
            "title": self.title,
            "scale": {"domain": [self.low, self.high], "nice": False, "zero": False},
            "axis": {"tickCount": 6, "format": ".2~f", "labels": drawn, "ticks": drawn, "grid": True},
        }


def name_width(names: Sequence[str]) -> int:
    """Room for names beside a panel, px; reckoned and not measured, so that it does not depend on installed fonts."""
    return min(_NAME_LIMIT, max([40, *(round(6.4 * len(name)) + 8 for name in names)]))


def rows_axis(order: Sequence[str], *, room: int | None) -> Spec:
    """The vertical axis: one row for each name; `room` None leaves the names out."""
    axis: Spec = {"labels": False, "ticks": False, "domain": False, "grid": False}
    if room is not None:
        axis |= {
            "labels": True, "minExtent": room, "maxExtent": room, "labelLimit": _NAME_LIMIT, "labelPadding": 6
        }  # fmt: skip
    return {"field": "row", "type": "nominal", "title": None, "scale": {"domain": list(order)}, "axis": axis}


def reference_line(axis: Axis, at: float) -> Spec:
    """A dashed line over the whole height: chance, or zero."""
    return {
        "data": {"values": [{"at": at}]},
        "mark": {"type": "rule", "color": _GREY, "strokeDash": [4, 3], "aria": False},
        "encoding": {"x": axis.of("at")},
    }


def chance_ticks(axis: Axis, y: Spec, chances: Mapping[str, float], *, height: float) -> Spec:
    """A short line in each row at its own chance level."""
    return {
        "data": {"values": [{"row": row, "chance": round(value, 5)} for row, value in chances.items()]},
        "mark": {"type": "tick", "color": _GREY, "thickness": 1.2, "height": height, "aria": False},
        "encoding": {"x": axis.of("chance"), "y": y},
    }


def whiskers(
    marks: Sequence[Mark], looks: Mapping[str, Look], axis: Axis, y: Spec, *, size: int, offset: Spec | None = None
) -> list[Spec]:
    """Intervals as lines and points upon them; what is undefined is not drawn.

    Args:
        size: of the points, px squared.
        offset: how the encoders of one row lie above each other, if a row has several.
    """
    encoders = list(dict.fromkeys(mark.encoder for mark in marks))

    def channel(attribute: str) -> Spec:
        scale = {"domain": encoders, "range": [getattr(looks[name], attribute) for name in encoders]}
        return {"field": "encoder", "type": "nominal", "scale": scale, "legend": None}

    place: Spec = {"y": y} if offset is None else {"y": y, "yOffset": offset}
    rule = {"type": "rule", "strokeWidth": 2 if offset is None else 1.6, "aria": False}
    point = {"type": "point", "size": size, "strokeWidth": 1.8, "opacity": 1, "aria": False}
    return [
        {
            "data": {"values": [_values(m) for m in marks if m.estimate.low is not None]},
            "mark": rule,
            "encoding": {"x": axis.of("low"), "x2": {"field": "high"}, "color": channel("colour"), **place},
        },
        {
            "data": {"values": [_values(m) for m in marks if m.estimate.point is not None]},
            "mark": point,
            "encoding": {
                "x": axis.of("point"),
                "stroke": channel("colour"),
                "fill": channel("fill"),
                "shape": channel("shape"),
                **place,
            },
        },
    ]


def panel(layers: list[Spec], *, width: int, height: int, title: str = "") -> Spec:
    """Layers as one panel with its title above."""
    heading = {"text": title, "anchor": "start", "fontSize": 12, "color": _INK, "offset": 4, "limit": width}
    return {"width": width, "height": height, "layer": layers, **({"title": heading} if title else {})}


def to_svg(spec: Spec, *, words: str) -> str:
    """A specification as one `<svg>` element without ids, which says in `words` what it shows.

    Nothing is fetched: a specification with an address in it is refused by the converter.
    """
    config = {
        "font": "Arial, Helvetica, sans-serif",
        "padding": 4,
        "view": {"stroke": None},
        "axis": {
            "labelColor": _INK, "titleColor": _INK, "titleFontWeight": "normal", "labelFontSize": 11,
            "titleFontSize": 11, "gridColor": "#e6e6e6", "domainColor": "#999999", "tickColor": "#999999",
        },
    }  # fmt: skip
    text = vl_convert.vegalite_to_svg({**spec, "config": config}, vl_version=_VEGA_LITE, allowed_base_urls=[])
    return _lean(text).replace("<svg ", f'<svg role="img" aria-label="{escape(words, quote=True)}" ', 1)


def _lean(svg: str) -> str:
    """The same picture in fewer bytes. Only tags are touched: the text of the data stands between tags, escaped."""
    # One description of the whole serves a screen reader better than one for each group of marks.
    for attribute in (
        r'role="[^"]*"',
        r'aria-[a-z]+="[^"]*"',
        r'pointer-events="[^"]*"',
        r'opacity="1"',
        r'class="[^"]*"',
    ):
        svg = re.sub(rf" {attribute}(?=[^<>]*>)", "", svg)
    svg = re.sub(r'<path(?: d="(?:M0,0h0v0h0Z)?")?(?: display="none")?/>', "", svg)
    svg = re.sub(
        r"(?<=[(,\"\sa-zA-Z])(-?\d+\.\d{3,})(?=[^<>]*>)", lambda m: f"{float(m[1]):.2f}".rstrip("0").rstrip("."), svg
    )
    return svg


def _values(mark: Mark) -> Spec:
    def drawn(value: float | None) -> float | None:
        return None if value is None else round(value, 5)

    e = mark.estimate
    return {
        "row": mark.row, "encoder": mark.encoder, "point": drawn(e.point), "low": drawn(e.low), "high": drawn(e.high)
    }  # fmt: skip
