"""The curve of a training's loss."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

import pytest

from einthoven.reports.loss_curve import LossPoint, loss_curve

_POINTS = [
    LossPoint(0, math.nan, 5.5),
    LossPoint(1, 4.0, 3.9),
    LossPoint(2, 3.0, 3.5),
    LossPoint(3, 2.0, 3.7),
]


def test_it_says_which_epoch_was_kept_and_what_guessing_gives() -> None:
    svg = loss_curve(_POINTS, best=2, guessing=math.log(256))
    ET.fromstring(svg)  # noqa: S314  # our own
    assert "kept: epoch 2" in svg
    assert ">guessing<" in svg
    assert "validation 5.500 before training, 3.500 at the kept epoch 2" in svg
    assert "NaN" not in svg
    assert "guessing" not in loss_curve(_POINTS, best=2)


def test_one_epoch_and_a_constant_loss_are_drawn() -> None:
    svg = loss_curve([LossPoint(0, math.nan, 1.0)], best=0)
    assert "kept: epoch 0" in svg
    assert "NaN" not in svg


def test_an_epoch_that_is_not_there_is_an_error() -> None:
    with pytest.raises(StopIteration):
        loss_curve(_POINTS, best=9)
