"""What is held against what: a probability against whether it came true.

Calibration of a binary model is two different quantities. The positive-class stream pairs the probability of the label
with the label; the top-label stream pairs the probability of the more probable answer with whether that answer is
right, and so never falls below one half. Their errors differ, and each result says by `kind` which one it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_targets

from .arguments import check_class_probabilities, check_classes, check_probabilities

StreamKind = Literal["positive_class", "top_label"]


@dataclass(frozen=True, eq=False)
class CalibrationStreams:
    """Probabilities and what came of them; each column is measured by itself.

    Attributes:
        kind: "positive_class" or "top_label".
        confidence: float64 (records, streams), each in [0, 1].
        outcome: uint8 (records, streams), 1 where what the confidence speaks for came true.
    """

    kind: StreamKind
    confidence: np.ndarray
    outcome: np.ndarray

    @property
    def records(self) -> int:
        """How many records."""
        return self.confidence.shape[0]

    @property
    def streams(self) -> int:
        """How many columns."""
        return self.confidence.shape[1]


def positive_class_streams(target: ArrayLike, probability: ArrayLike) -> CalibrationStreams:
    """A stream for each label: its probability against its presence.

    A label without positives (or without negatives) has a stream like any other: its calibration is defined.

    Args:
        target: (records, labels) of 0 and 1; (records,) is one label.
        probability: of the same shape, in [0, 1]; float32 is cast to float64 without change.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a target that is neither 0 nor 1, a probability outside [0, 1].

    Example:
        >>> positive_class_streams([0, 1], [0.25, 0.375]).confidence.tolist()
        [[0.25], [0.375]]
    """
    present, probabilities = _labels(target, probability)
    return CalibrationStreams(kind="positive_class", confidence=probabilities, outcome=present)


def binary_top_label_streams(target: ArrayLike, probability: ArrayLike) -> CalibrationStreams:
    """A stream for each label: max(p, 1 - p) against whether the more probable of present and absent is right.

    At p = 0.5 the answer is "absent", as it is for argmax over [1 - p, p].

    Args:
        target: (records, labels) of 0 and 1; (records,) is one label.
        probability: of the same shape, in [0, 1]; float32 is cast to float64 without change, before 1 - p is taken.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a target that is neither 0 nor 1, a probability outside [0, 1].

    Example:
        >>> streams = binary_top_label_streams([0, 1], [0.25, 0.375])
        >>> streams.confidence.tolist(), streams.outcome.tolist()
        ([[0.75], [0.625]], [[1], [0]])
    """
    present, probabilities = _labels(target, probability)
    answered = probabilities > 0.5
    return CalibrationStreams(
        kind="top_label",
        confidence=np.maximum(probabilities, 1 - probabilities),
        outcome=(answered == (present == 1)).astype(np.uint8),
    )


def top_label_streams(target: ArrayLike, probability: ArrayLike) -> CalibrationStreams:
    """One stream: the highest of a record's class probabilities against whether that class is right.

    This is the confidence of Guo et al. (ICML 2017, section 2). Of equally probable classes the first is the answer. A
    class that no record has changes nothing.

    Args:
        target: (records,) integers, the number of each record's class.
        probability: (records, classes) in [0, 1], rows that sum to 1; float32 is cast to float64 without change.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a number that is no class, a probability outside [0, 1], a row that does not sum to 1.

    Example:
        >>> streams = top_label_streams([2, 0], [[0.25, 0.25, 0.5], [0.25, 0.625, 0.125]])
        >>> streams.confidence.tolist(), streams.outcome.tolist()
        ([[0.5], [0.625]], [[1], [0]])
    """
    probabilities = check_class_probabilities(probability)
    records, classes = probabilities.shape
    truth = check_classes(target, records=records, classes=classes)
    answer = probabilities.argmax(axis=1)
    return CalibrationStreams(
        kind="top_label",
        confidence=probabilities.max(axis=1, keepdims=True),
        outcome=(answer == truth).astype(np.uint8)[:, None],
    )


def classwise_streams(target: ArrayLike, probability: ArrayLike) -> CalibrationStreams:
    """A stream for each class: its probability against whether it is the record's class.

    The mean over classes of their expected calibration errors is the classwise error (Kull et al., NeurIPS 2019, eq.
    4). A class that no record has is measured too: its share is 0 in every bin.

    Args:
        target: (records,) integers, the number of each record's class.
        probability: (records, classes) in [0, 1], rows that sum to 1; float32 is cast to float64 without change.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a number that is no class, a probability outside [0, 1], a row that does not sum to 1.

    Example:
        >>> classwise_streams([1, 0], [[0.25, 0.75], [0.5, 0.5]]).outcome.tolist()
        [[0, 1], [1, 0]]
    """
    probabilities = check_class_probabilities(probability)
    records, classes = probabilities.shape
    truth = check_classes(target, records=records, classes=classes)
    outcome = (truth[:, None] == np.arange(classes)).astype(np.uint8)
    return CalibrationStreams(kind="positive_class", confidence=probabilities, outcome=outcome)


def _labels(target: ArrayLike, probability: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Targets and probabilities, both (records, labels)."""
    dimensions = 1 if np.ndim(target) == 1 else 2
    present = check_targets(target, dimensions=dimensions)
    probabilities = check_probabilities(probability, dimensions=dimensions)
    if present.shape != probabilities.shape:
        raise UsageError(
            f"target and probability: expected the same shape, found {present.shape} and {probabilities.shape}."
        )
    if dimensions == 1:
        return present[:, None], probabilities[:, None]
    return present, probabilities
