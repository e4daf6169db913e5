"""ECG paper: true to scale, safe to embed, and honest about gaps."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib import rc_context, rcParams

from einthoven.foundation.errors import SignalError, UsageError
from einthoven.reports.ecg_paper import draw_ecg, ecg_png, ecg_svg
from einthoven.signals.leads import STANDARD_LEADS


def ecg(rate: float = 100.0, seconds: float = 10.0) -> np.ndarray:
    time = np.arange(round(rate * seconds)) / rate
    beat = np.exp(-(((time % 0.8) - 0.4) ** 2) / 0.0008)
    return np.array([(0.5 + 0.1 * lead) * beat for lead in range(12)], dtype=np.float32)


def strips(figure) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The traces (x and y in mm), by the lead name written over them; of two strips of a lead, the last."""
    (axes,) = figure.axes
    names = [text for text in axes.texts if text.get_text() in STANDARD_LEADS]
    traces = [line for line in axes.lines if line.get_linewidth() == 0.7]
    assert len(names) == len(traces)
    return {
        name.get_text(): (np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float))
        for name, line in zip(names, traces, strict=True)
    }


@pytest.mark.parametrize("rate", [100.0, 500.0])
def test_a_millivolt_is_ten_millimetres_and_a_second_twenty_five(rate: float) -> None:
    figure = draw_ecg(ecg(rate), rate)
    (axes,) = figure.axes
    width, height = figure.get_size_inches() * 25.4
    assert axes.get_xlim() == pytest.approx((0, width))
    assert axes.get_ylim() == pytest.approx((height, 0))
    x, y = strips(figure)["V6"]
    assert len(x) == 2.5 * rate
    assert x[-1] - x[0] == pytest.approx(25 * (2.5 - 1 / rate))
    assert np.max(y) - np.min(y) == pytest.approx(10 * 1.6, rel=0.01)
    x, _ = strips(figure)["II"]  # the last strip of that name is the rhythm strip
    assert len(x) == 10 * rate


def test_columns_show_successive_pieces_of_the_record() -> None:
    signal = np.tile(np.arange(1000, dtype=np.float32) / 1000, (12, 1))
    found = strips(draw_ecg(signal, 100.0))
    for column, lead in enumerate(("I", "aVR", "V1", "V4")):
        x, y = found[lead]
        np.testing.assert_allclose(np.diff(y), -0.01, atol=1e-6)
        assert x[0] == pytest.approx(15 + 62.5 * column)


def test_high_voltages_move_rows_apart() -> None:
    assert draw_ecg(3 * ecg(), 100.0).get_size_inches()[1] > draw_ecg(ecg(), 100.0).get_size_inches()[1]


def test_other_leads_and_lengths_are_drawn_in_rows() -> None:
    figure = draw_ecg(ecg(seconds=4.0)[:2], 100.0, leads=("II", "V5"))
    assert set(strips(figure)) == {"II", "V5"}
    x, _ = strips(figure)["II"]
    assert x[-1] - x[0] == pytest.approx(25 * 3.99)
    assert ecg_png(ecg(seconds=1.0), 100.0).startswith(b"\x89PNG")


def test_gaps_are_gaps_and_an_empty_lead_is_no_error() -> None:
    signal = ecg()
    signal[1, 200:300] = np.nan
    signal[8] = np.nan
    _, y = strips(draw_ecg(signal, 100.0))["II"]
    assert np.isnan(y[200:300]).all()
    assert np.isfinite(y[:200]).all()


def test_an_svg_stands_alone_and_beside_another() -> None:
    first = ecg_svg(ecg(), 100.0, title='a <b> & "c"')
    other = ecg_svg(2 * ecg(), 100.0, title="other")
    for svg in (first, other):
        root = ET.fromstring(svg)  # noqa: S314  # our own text, not a stranger's
        assert root.tag.endswith("svg")
        assert len(svg) < 300_000
        assert not re.search(r"<script|<style|<metadata|@import", svg)
        references = re.findall(r'(?:href="#|url\(#)([^")]+)', svg)
        ids = re.findall(r'\bid="([^"]+)"', svg)
        assert set(references) <= set(ids)
        assert not re.findall(r'href="(?!#)', svg)
    shared = set(re.findall(r'\bid="([^"]+)"', first)) & set(re.findall(r'\bid="([^"]+)"', other))
    assert not shared
    assert first == ecg_svg(ecg(), 100.0, title='a <b> & "c"')
    assert "a <b>" not in first


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("cost $x_1$ or $5$", "cost $x_1$ or $5$"),
        ("an unfinished $\\frac{", "an unfinished $\\frac{"),
        ('see id="7" and url(#a)', 'see id="7" and url(#a)'),
        ("one\x01two\nthree", "one two three"),
        ("<script> -- & more", "<script> -- & more"),
    ],
)
def test_a_title_is_shown_as_it_is_written(title: str, shown: str) -> None:
    root = ET.fromstring(ecg_svg(ecg(), 100.0, title=title))  # noqa: S314  # our own text, not a stranger's
    assert shown in [text.text for text in root.iter() if text.tag.endswith("text")]
    assert root.get("aria-label") == shown


def test_a_lead_name_never_hides_a_trace() -> None:
    (axes,) = draw_ecg(3 * ecg(), 100.0).axes
    traces = [line.get_zorder() for line in axes.lines if line.get_linewidth() == 0.7]
    names = [text.get_zorder() for text in axes.texts if text.get_text() in STANDARD_LEADS]
    assert len(names) == 13
    assert max(names) < min(traces)


def test_speed_and_gain_reach_the_file_and_its_ids() -> None:
    usual, fast = ecg_svg(ecg(), 100.0), ecg_svg(ecg(), 100.0, speed=50.0, gain=5.0)
    assert "50 mm/s   5 mm/mV   100 Hz" in fast

    def width(svg: str) -> float:
        found = re.search(r'\bwidth="([\d.]+)pt"', svg)
        assert found
        return float(found[1]) / 72 * 25.4

    assert width(usual) == pytest.approx(270, abs=0.01)  # 250 mm of trace, 10 of pulse, two margins of 5
    assert width(fast) == pytest.approx(520, abs=0.01)
    assert not set(re.findall(r'\bid="([^"]+)"', usual)) & set(re.findall(r'\bid="([^"]+)"', fast))


def test_a_matplotlibrc_changes_neither_the_drawing_nor_is_changed_by_it() -> None:
    expected = ecg_svg(ecg(), 100.0), ecg_png(ecg(), 100.0)
    with rc_context({"savefig.bbox": "tight", "lines.marker": "o", "font.size": 30.0, "savefig.facecolor": "black"}):
        assert (ecg_svg(ecg(), 100.0), ecg_png(ecg(), 100.0)) == expected
        assert (rcParams["savefig.bbox"], rcParams["lines.marker"], rcParams["font.size"]) == ("tight", "o", 30.0)


@pytest.mark.realdata
def test_a_real_record_is_drawn_whole(real_data) -> None:
    import wfdb

    record = wfdb.rdrecord(str(real_data / "ptbxl" / "records500" / "00000" / "00001_hr"))
    assert isinstance(record, wfdb.Record)
    svg = ecg_svg(np.asarray(record.p_signal).T, 500.0, leads=record.sig_name or [], title="PTB-XL record 1")
    assert len(svg) < 300_000
    assert all(f">{lead}<" in svg for lead in STANDARD_LEADS)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"signal": np.zeros((3, 10))}, SignalError, "with 12 leads"),
        ({"signal": np.zeros((12, 0))}, SignalError, "at least one sample"),
        ({"signal": np.zeros(10)}, SignalError, r"found \(10,\)"),
        ({"rate": 0.0}, UsageError, "rate: expected a positive number"),
        ({"layout": "6x2"}, UsageError, "layout: expected"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, error, message) -> None:
    given = {"signal": ecg(), "rate": 100.0, **arguments}
    with pytest.raises(error, match=message):
        draw_ecg(given.pop("signal"), given.pop("rate"), **given)


def test_channels_keep_their_own_names_and_a_far_baseline_is_taken_off() -> None:
    signal = np.stack([np.sin(np.arange(1000) / 20) - 6.0, 0.1 * np.sin(np.arange(1000) / 20) + 0.3])
    svg = ecg_svg(signal, 100.0, leads=("MLII", "ECG <2>"))
    assert ">MLII<" in svg
    assert ">ECG &lt;2&gt;<" in svg
    quiet = draw_ecg(signal + np.array([[6.0], [0.0]]), 100.0, leads=("MLII", "x"))
    far = draw_ecg(signal, 100.0, leads=("MLII", "x"))
    assert far.get_size_inches().tolist() == quiet.get_size_inches().tolist()
    with pytest.raises(SignalError, match="occurs twice"):
        draw_ecg(signal, 100.0, leads=("II", "Lead II"))
