"""ECGs on paper: 25 mm/s and 10 mm/mV on a millimetre grid, true to scale in print."""

from __future__ import annotations

import hashlib
import io
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from einthoven.foundation.errors import SignalError, UsageError
from einthoven.signals.leads import STANDARD_LEADS, canonical_leads

Layout = Literal["3x4+rhythm", "rows"]

_INK = "#1b1b1b"
_PAPER = "#fffafa"
_FINE = "#f6d5d5"
_COARSE = "#e8a3a3"
_COLUMNS = (("I", "II", "III"), ("aVR", "aVL", "aVF"), ("V1", "V2", "V3"), ("V4", "V5", "V6"))
_RHYTHM_LEAD = "II"
_MARGIN = 5.0  # mm, left and right of the strips
_PULSE = 10.0  # mm of paper for the calibration pulse before a strip
_HEADER = 10.0
_FOOTER = 7.5
_LEAST_ROW = 20.0  # mm between baselines, so that quiet records are not cramped
_FAR_BASELINE = 0.5  # mV
_MOST_ROW = 70.0
_MM_PER_INCH = 25.4


@dataclass(frozen=True)
class _Strip:
    """One piece of one lead: where it starts (s) on the record and (mm) on the paper, and its values (mV)."""

    lead: str
    left: float
    values: np.ndarray


def draw_ecg(
    signal: np.ndarray,
    rate: float,
    *,
    leads: Sequence[str] = STANDARD_LEADS,
    title: str = "",
    layout: Layout = "3x4+rhythm",
    speed: float = 25.0,
    gain: float = 10.0,
) -> Figure:
    """Draw one record on ECG paper.

    The layout "3x4+rhythm" shows 2.5 s of each of the 12 standard leads and 10 s of lead II below, all on one time
    axis; a record that lacks a standard lead, or has channels of other names, is drawn as "rows", each lead over its
    whole length. Samples that are not finite are gaps. A lead whose median is more than half a mV from zero is drawn
    about its median. Rows move apart where high voltages would overlap.

    Args:
        signal: mV (leads, samples).
        rate: sampling rate, Hz.
        leads: names of the leads, in the order of `signal`.
        title: above the paper.
        layout: see above.
        speed: mm/s.
        gain: mm/mV.

    Returns:
        a matplotlib figure whose size in print is true: a large square is 5 mm.

    Raises:
        SignalError: a shape that does not fit `leads`, or no samples.
        UsageError: a rate, speed or gain that is not positive, or an unknown layout.
    """
    values = np.asarray(signal, dtype=np.float64)
    if values.ndim != 2 or len(values) != len(leads) or not values.size:
        raise SignalError(
            f"expected a signal of shape (leads, samples) with {len(leads)} leads and at least one sample; "
            f"found {values.shape}."
        )
    for name, number in (("rate", rate), ("speed", speed), ("gain", gain)):
        if not (number > 0 and math.isfinite(number)):
            raise UsageError(f"{name}: expected a positive number, found {number}.")
    if layout not in ("3x4+rhythm", "rows"):
        raise UsageError(f"layout: expected '3x4+rhythm' or 'rows', found {layout!r}.")
    by_lead = {name: _about_its_baseline(lead) for name, lead in zip(_names(leads), values, strict=True)}
    whole = layout == "3x4+rhythm" and set(STANDARD_LEADS) <= set(by_lead)
    rows = _standard_rows(by_lead, rate, speed) if whole else _full_rows(by_lead, rate)
    seconds = _seconds(rows, rate, speed)
    with _own_settings():
        return _paper(rows, rate, title=_printable(title), speed=speed, gain=gain, seconds=seconds)


def ecg_svg(
    signal: np.ndarray,
    rate: float,
    *,
    leads: Sequence[str] = STANDARD_LEADS,
    title: str = "",
    layout: Layout = "3x4+rhythm",
    speed: float = 25.0,
    gain: float = 10.0,
) -> str:
    """The drawing as an SVG element for a page: no script, no outside reference, the same bytes for the same input.

    Ids carry a digest of the content, so that several drawings can stand in one page. Arguments are those of
    `draw_ecg`.
    """
    asked = (np.asarray(signal).shape, float(rate), tuple(leads), title, layout, float(speed), float(gain))
    digest = hashlib.sha256(
        repr(asked).encode() + np.ascontiguousarray(signal, dtype=np.float64).tobytes()
    ).hexdigest()[:10]
    buffer = io.StringIO()
    figure = draw_ecg(signal, rate, leads=leads, title=title, layout=layout, speed=speed, gain=gain)
    with _own_settings(salt=digest):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    svg = text[text.index("<svg") :]
    # matplotlib's style element would apply to the whole page; attributes of the root go to the drawing alone.
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    # Inside tags only: a title may hold the same words.
    svg = re.sub(r"<[^>]+>", lambda tag: _with_own_ids(tag[0], f"e{digest}-"), svg)
    label = _attribute(_printable(title) or "ECG")
    root = f'<svg role="img" aria-label="{label}" stroke-linejoin="round" stroke-linecap="butt" '
    return svg.replace("<svg ", root, 1).strip()


def ecg_png(
    signal: np.ndarray,
    rate: float,
    *,
    leads: Sequence[str] = STANDARD_LEADS,
    title: str = "",
    layout: Layout = "3x4+rhythm",
    speed: float = 25.0,
    gain: float = 10.0,
    dots_per_inch: int = 150,
) -> bytes:
    """The drawing as a PNG file; arguments are those of `draw_ecg`."""
    buffer = io.BytesIO()
    figure = draw_ecg(signal, rate, leads=leads, title=title, layout=layout, speed=speed, gain=gain)
    with _own_settings():
        figure.savefig(buffer, format="png", dpi=dots_per_inch)
    return buffer.getvalue()


@contextmanager
def _own_settings(*, salt: str | None = None) -> Iterator[None]:
    """Matplotlib's defaults, since a user's matplotlibrc may crop, mark or restyle what is drawn to scale.

    Args:
        salt: of an SVG's ids; its text then stays text.
    """
    with rc_context():
        rcdefaults()
        if salt is not None:
            rcParams["svg.fonttype"] = "none"
            rcParams["svg.hashsalt"] = salt
            rcParams["path.simplify_threshold"] = 0.2
        yield


def _names(leads: Sequence[str]) -> tuple[str, ...]:
    """Standard names of standard leads; a recorder's own channels keep theirs."""
    try:
        return canonical_leads(leads)
    except SignalError:
        if len(set(leads)) < len(leads) or set(leads) & set(STANDARD_LEADS):
            raise  # a lead twice, or one of the standard leads under a wrong name
        return tuple(_printable(lead) for lead in leads)


def _about_its_baseline(lead: np.ndarray) -> np.ndarray:
    """A lead far from zero, as of a recorder that is coupled directly, moved to its baseline: paper has no zero."""
    finite = lead[np.isfinite(lead)]
    middle = float(np.median(finite)) if len(finite) else 0.0
    return lead - middle if abs(middle) > _FAR_BASELINE else lead


def _standard_rows(by_lead: dict[str, np.ndarray], rate: float, speed: float) -> list[list[_Strip]]:
    quarter = round(2.5 * rate)
    rows = []
    for row in range(3):
        strips = []
        for column, names in enumerate(_COLUMNS):
            piece = by_lead[names[row]][column * quarter : (column + 1) * quarter]
            strips.append(_Strip(lead=names[row], left=column * quarter / rate * speed, values=piece))
        rows.append(strips)
    rows.append([_Strip(lead=_RHYTHM_LEAD, left=0.0, values=by_lead[_RHYTHM_LEAD][: 4 * quarter])])
    return rows


def _full_rows(by_lead: dict[str, np.ndarray], rate: float) -> list[list[_Strip]]:
    return [[_Strip(lead=name, left=0.0, values=values)] for name, values in by_lead.items()]


def _seconds(rows: list[list[_Strip]], rate: float, speed: float) -> float:
    return max(strip.left / speed + len(strip.values) / rate for row in rows for strip in row)


def _paper(rows: list[list[_Strip]], rate: float, *, title: str, speed: float, gain: float, seconds: float) -> Figure:
    width = _five(2 * _MARGIN + _PULSE + seconds * speed)
    baselines, height = _baselines(rows, gain)
    figure = Figure(figsize=(width / _MM_PER_INCH, height / _MM_PER_INCH), facecolor=_PAPER)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    _grid(axes, width, height)
    for strips, baseline in zip(rows, baselines, strict=True):
        _calibration(axes, baseline, gain)
        for strip in strips:
            _trace(axes, strip, baseline, rate, speed=speed, gain=gain)
    text = {"family": ["DejaVu Sans", "sans-serif"], "color": _INK}
    axes.text(_MARGIN, 6.5, title, fontsize=9, weight="bold", parse_math=False, **text)
    footer = f"{speed:g} mm/s   {gain:g} mm/mV   {rate:g} Hz"
    axes.text(_MARGIN, height - 2.5, footer, fontsize=7.5, **text)
    return figure


def _baselines(rows: list[list[_Strip]], gain: float) -> tuple[list[float], float]:
    """Where each row's zero lies (mm from the top, on a heavy line), and the height of the paper."""
    reach = []
    for strips in rows:
        joined = np.concatenate([strip.values[np.isfinite(strip.values)] for strip in strips])
        up = max(1.0, float(joined.max()) if len(joined) else 0.0) * gain
        down = max(0.4, -float(joined.min()) if len(joined) else 0.0) * gain
        reach.append((min(up, _MOST_ROW), min(down, _MOST_ROW)))
    position = _five(_HEADER + reach[0][0] + 3)
    baselines = [position]
    for (_, below), (above, _) in itertools.pairwise(reach):
        position = _five(position + min(max(_LEAST_ROW, below + above + 3), _MOST_ROW))
        baselines.append(position)
    return baselines, _five(position + reach[-1][1] + _FOOTER)


def _five(millimetres: float) -> float:
    return 5.0 * math.ceil(millimetres / 5.0 - 1e-9)


def _grid(axes: Axes, width: float, height: float) -> None:
    for step, colour, line in ((1.0, _FINE, 0.25), (5.0, _COARSE, 0.5)):
        x, y = np.arange(0, width + step / 2, step), np.arange(0, height + step / 2, step)
        # One broken line for each grid keeps the file small.
        vertical = np.stack([np.repeat(x[:, None], 3, 1), np.tile([0, height, np.nan], (len(x), 1))], -1).reshape(-1, 2)
        across = np.stack([np.tile([0, width, np.nan], (len(y), 1)), np.repeat(y[:, None], 3, 1)], -1).reshape(-1, 2)
        lines = np.concatenate([vertical, across])
        axes.plot(lines[:, 0], lines[:, 1], color=colour, linewidth=line, solid_capstyle="butt", zorder=1)


def _calibration(axes: Axes, baseline: float, gain: float) -> None:
    x = _MARGIN + np.array([0, 2, 2, 7, 7, 9])
    y = baseline - gain * np.array([0, 0, 1, 1, 0, 0])
    axes.plot(x, y, color=_INK, linewidth=0.8, solid_joinstyle="miter", zorder=3)


def _trace(axes: Axes, strip: _Strip, baseline: float, rate: float, *, speed: float, gain: float) -> None:
    left = _MARGIN + _PULSE + strip.left
    x = left + np.arange(len(strip.values)) / rate * speed
    axes.plot(x, baseline - strip.values * gain, color=_INK, linewidth=0.7, solid_joinstyle="round", zorder=3)
    if strip.left:
        axes.plot([left, left], [baseline - 4, baseline + 4], color=_INK, linewidth=0.6, zorder=2)
    # Under the trace: a name must not hide what the heart did.
    name = axes.text(left + 1, baseline - 10.5, strip.lead, fontsize=8, weight="bold", color=_INK, zorder=2.5)
    name.set_bbox({"facecolor": _PAPER, "edgecolor": "none", "pad": 0.6, "alpha": 0.8})


def _with_own_ids(tag: str, prefix: str) -> str:
    tag = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', tag)
    return re.sub(r'(xlink:href="|href="|url\()#', rf"\1#{prefix}", tag)


def _printable(text: str) -> str:
    """The text on one line, without the control characters that XML cannot hold."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
