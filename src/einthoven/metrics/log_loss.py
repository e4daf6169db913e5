"""Binary cross-entropy from logits: what probes are chosen by."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError

from .arguments import check_scores, check_targets


def log_loss(target: ArrayLike, logit: ArrayLike) -> np.ndarray:
    """Mean of -log p(target) over records, label by label.

    Computed from log-odds as log(1 + exp(-logit)) for a positive and log(1 + exp(logit)) for a negative, so a confident
    error costs what it should and is neither clipped nor infinite.

    Args:
        target: (records, labels) of 0 and 1.
        logit: (records, labels) finite log-odds.

    Returns:
        float64 (labels,), in nats.

    Raises:
        UsageError: shapes that do not fit, or no record.
        DataError: a target that is neither 0 nor 1, a logit that is not finite.

    Example:
        >>> log_loss([[1], [0]], [[0.0], [-1000.0]]).round(4).tolist()
        [0.3466]
    """
    present = check_targets(target, dimensions=2)
    logits = check_scores(logit, dimensions=2, name="logit")
    if present.shape != logits.shape:
        raise UsageError(f"target and logit: expected the same shape, found {present.shape} and {logits.shape}.")
    if len(present) == 0:
        raise UsageError("target: expected at least one record, found none; a mean loss over nothing chooses nothing.")
    against = np.where(present == 1, -1.0, 1.0) * logits
    return np.logaddexp(0.0, against).mean(axis=0)
