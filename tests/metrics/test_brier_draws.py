"""The Brier scores of draws against those of counted rows."""

from __future__ import annotations

import numpy as np
import pytest

from einthoven.foundation.errors import UsageError
from einthoven.metrics.calibration.brier import brier_per_label, brier_sum_over_classes
from einthoven.metrics.calibration.brier_draws import brier_per_label_draws, brier_sum_over_classes_draws


@pytest.mark.parametrize("draws", [0, 1, 255, 256, 257, 600])
def test_every_draw_is_its_own_score_whatever_its_block(draws: int):
    generator = np.random.default_rng(draws)
    target, probability = generator.integers(0, 2, (25, 3)), generator.random((25, 3))
    classes, rows = generator.integers(0, 4, 25), generator.dirichlet(np.ones(4), 25)
    counts = generator.integers(0, 4, (draws, 25), dtype=np.int16)
    labels = brier_per_label_draws(target, probability, counts=counts)
    over_classes = brier_sum_over_classes_draws(classes, rows, counts=counts)
    assert (labels.shape, over_classes.shape) == ((draws, 3), (draws,))
    for draw in range(draws):
        expected = brier_per_label(target, probability, counts=counts[draw])
        assert labels[draw] == pytest.approx(expected, abs=1e-14)
        assert labels[draw].tolist() == brier_per_label_draws(target, probability, counts=counts[[draw]])[0].tolist()
        expected = brier_sum_over_classes(classes, rows, counts=counts[draw])
        assert over_classes[draw] == pytest.approx(expected, abs=1e-14)


def test_a_draw_without_a_record_has_no_score():
    assert np.isnan(brier_per_label_draws([0, 1], [0.5, 0.5], counts=[[0, 0], [1, 0]]))[:, 0].tolist() == [True, False]
    assert np.isnan(brier_per_label_draws(np.zeros((0, 2)), np.zeros((0, 2)), counts=np.zeros((3, 0), int))).all()
    assert np.isnan(brier_sum_over_classes_draws([0], [[0.5, 0.5]], counts=[[0]])).all()


def test_huge_counts_do_not_overflow():
    assert brier_per_label_draws([0, 1], [1.0, 1.0], counts=[[2**30, 2**30 - 1]])[0, 0] == pytest.approx(0.5, abs=1e-9)


def test_one_axis_of_counts_is_refused():
    with pytest.raises(UsageError, match="expected 2 axes, found 1"):
        brier_per_label_draws([0, 1], [0.5, 0.5], counts=[1, 1])
