"""Log-loss against exact arithmetic, scikit-learn, and at extreme logits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import log_loss as sklearn_log_loss

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.log_loss import log_loss


def test_value_worked_by_hand():
    # p = 3/4 and 1/4 by log-odds of ln 3 and -ln 3.
    loss = log_loss([[1], [1]], [[math.log(3)], [-math.log(3)]])
    assert loss[0] == pytest.approx((math.log(4 / 3) + math.log(4)) / 2, abs=1e-15)


def test_equal_to_scikit_learn_label_by_label():
    generator = np.random.default_rng(0)
    target = generator.integers(0, 2, (50, 4))
    logit = generator.normal(size=(50, 4)) * 3
    expected = [sklearn_log_loss(target[:, k], 1 / (1 + np.exp(-logit[:, k])), labels=[0, 1]) for k in range(4)]
    assert log_loss(target, logit) == pytest.approx(np.array(expected), abs=1e-12)


def test_confident_errors_cost_their_logit_and_confident_hits_nearly_nothing():
    assert log_loss([[1, 0]], [[-1e5, 1e5]]).tolist() == [1e5, 1e5]
    assert log_loss([[1, 0]], [[1e5, -1e5]]).tolist() == [0.0, 0.0]
    assert log_loss([[1]], [[50.0]])[0] == pytest.approx(math.exp(-50), rel=1e-12)
    assert log_loss(np.array([[1]], dtype=np.uint8), np.array([[-3e38]], dtype=np.float32))[0] == pytest.approx(3e38)


def test_flipping_target_and_sign_changes_nothing():
    generator = np.random.default_rng(1)
    target, logit = generator.integers(0, 2, (20, 3)), generator.normal(size=(20, 3))
    assert log_loss(target, logit).tolist() == log_loss(1 - target, -logit).tolist()


@pytest.mark.parametrize(
    ("target", "logit", "error", "message"),
    [
        ([[0], [1]], [[0.0], [math.nan]], DataError, r"logit: .* found nan at \[1, 0\]"),
        ([[0], [3]], [[0.0], [0.0]], DataError, r"target: .* found 3 at \[1, 0\]"),
        ([[0, 1]], [[0.0]], UsageError, r"same shape, found \(1, 2\) and \(1, 1\)"),
        ([0, 1], [0.0, 1.0], UsageError, "target: expected 2 axes, found 1"),
        (np.zeros((0, 2)), np.zeros((0, 2)), UsageError, "at least one record, found none"),
    ],
)
def test_bad_input_is_refused(target, logit, error, message):
    with pytest.raises(error, match=message):
        log_loss(target, logit)
