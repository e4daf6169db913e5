from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from einthoven.reports.colours import looks
from einthoven.reports.figures import label_forest, macro_forest, symbol
from einthoven.reports.forest import name_width

_TAG = "{http://www.w3.org/2000/svg}"


def drawn(maker) -> dict:
    return looks(maker.ids, frozenset(maker.ids))


def lines(svg: str, colour: str) -> list[tuple[float, float]]:
    """(start, length) of every interval of a colour, px within its panel."""
    found = []
    for line in ElementTree.fromstring(svg).iter(f"{_TAG}line"):  # noqa: S314  # written by us
        if line.get("stroke") == colour:
            start = re.match(r"translate\(([-\d.]+),", line.get("transform", ""))
            assert start
            found.append((float(start[1]), float(line.get("x2", "0"))))
    return found


def test_intervals_are_drawn_to_scale_from_chance_to_one(made):
    maker = made()
    svg = macro_forest([maker.comparison("super")], "auroc", drawn(maker), baseline=None)
    start, length = lines(svg, "#0072B2")[0]  # 0.80 to 0.86 on an axis from 0.5 to 1 over 440 px
    assert start == pytest.approx(440 * 0.6, abs=0.1)
    assert length == pytest.approx(440 * 0.12, abs=0.1)


def test_the_axis_reaches_below_chance_if_an_interval_does(made):
    maker = made(skill=(0.83, 0.82, 0.47))
    svg = macro_forest([maker.comparison("super")], "auroc", drawn(maker), baseline=None)
    start, _ = lines(svg, "#009E73")[0]  # from 0.44 on an axis from 0.40 to 1
    assert start == pytest.approx(440 * 0.04 / 0.6, abs=0.1)


def test_differences_are_drawn_against_the_baseline(made):
    maker = made(baseline="age-sex")
    svg = macro_forest([maker.comparison("super")], "auroc", drawn(maker), baseline="age-sex")
    assert "minus age-sex" in svg
    assert len(lines(svg, "#0072B2")) == 2
    assert len(lines(svg, "#009E73")) == 1


def test_undefined_estimates_are_not_drawn(made):
    maker = made(labels={"rare": {"A": 40, "B": 30}}, baseline="age-sex")
    comparison = maker.comparison("rare")
    hole = comparison.macro.auroc[1].model_copy(update={"point": None, "low": None, "high": None, "reason": "why"})
    macro = comparison.macro.model_copy(update={"auroc": (comparison.macro.auroc[0], hole, comparison.macro.auroc[2])})
    svg = macro_forest([comparison.model_copy(update={"macro": macro})], "auroc", drawn(maker), baseline="age-sex")
    assert len(lines(svg, "#D55E00")) == 1  # its difference only
    assert "rr-features –" in svg


def test_the_same_input_gives_the_same_bytes_without_ids_or_addresses(made):
    maker = made()
    comparison = maker.comparison("rhythm")
    judged = [scores for scores in comparison.labels if scores.judged]
    first = label_forest(comparison, judged, drawn(maker))
    assert first == label_forest(comparison, judged, drawn(maker))
    assert not re.search(r"\bid=|href=|url\(|<script|<style", first)
    assert set(re.findall(r"https?://[^\"]*", first)) == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_names_are_text_whatever_they_hold(made):
    evil = '<script>alert("x")</script> class="a" 1.23456 & co'
    maker = made(labels={evil: {evil: 40, "B": 30}})
    comparison = maker.comparison(evil)
    for svg in (
        macro_forest([comparison], "auroc", drawn(maker), baseline=None),
        label_forest(comparison, comparison.labels, drawn(maker)),
    ):
        root = ElementTree.fromstring(svg)  # noqa: S314  # written by us
        assert "<script" not in svg
        assert all(
            element.tag.removeprefix(_TAG) in {"svg", "g", "rect", "path", "line", "text"} for element in root.iter()
        )
        assert evil in root.get("aria-label", "")
    texts = [element.text or "" for element in root.iter(f"{_TAG}text")]
    assert any(text.startswith("<script>alert(") for text in texts)


def test_an_encoder_looks_the_same_in_every_figure_and_unlike_the_others():
    many = [f"e{i}" for i in range(35)]
    found = looks(many, frozenset({"e3"}))
    assert len({(look.colour, look.shape) for look in found.values()}) == 35
    assert found["e3"].fill == "#ffffff"
    assert found["e4"].fill == found["e4"].colour
    assert looks(many[:5], frozenset())["e2"] == looks(many, frozenset())["e2"]
    assert all(found[name].colour in symbol(found[name]) for name in many)


def test_room_for_names_does_not_grow_without_end():
    assert name_width(["ab"]) < name_width(["a much longer name"]) < name_width(["x" * 500]) == name_width(["x" * 900])
