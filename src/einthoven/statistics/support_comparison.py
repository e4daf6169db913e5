"""What labels of little support do to a macro average: with all defined labels, and without those of few positives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from einthoven.metrics.arguments import check_predictions
from einthoven.metrics.discrimination import METRICS, Discrimination, check_metric

from .bootstrap_protocols import Protocol, resample_discrimination
from .intervals import PairedDifference, paired_difference
from .macro import LabelSupport, judge_labels, macro_average, macro_draws
from .stratified import PaperEstimate, paper_estimate


@dataclass(frozen=True, eq=False)
class MacroColumn:
    """The macro average of every encoder over one set of labels.

    Attributes:
        judged: bool (labels,), the labels in the mean.
        labels: how many these are.
        of: how many labels there are.
        estimates: for each encoder, value, interval and mean of the draws.
        ranks: float64 (encoders,), by value and not by mean of draws: 1 the highest, equal values their mean rank; NaN
            where there is no value.
    """

    judged: np.ndarray
    labels: int
    of: int
    estimates: tuple[PaperEstimate, ...]
    ranks: np.ndarray


@dataclass(frozen=True, eq=False)
class SupportComparison:
    """Macro averages over all defined labels and over supported labels, in the same draws.

    Attributes:
        support: which labels are supported, with numbers of positives and negatives, and why not.
        original: over every label for which the metric is defined on the data (the paper's ORIG).
        clean: over the supported labels only (the paper's CLEAN).
        changes: for each encoder, clean minus original, with interval.
        reversals: pairs of encoders (a, b), a above b in `original` and below in `clean`.
        best_changes: whether another encoder is highest.
    """

    support: LabelSupport
    original: MacroColumn
    clean: MacroColumn
    changes: tuple[PairedDifference, ...]
    reversals: tuple[tuple[int, int], ...]
    best_changes: bool


def compare_support(
    target: ArrayLike,
    scores: ArrayLike,
    *,
    metric: Discrimination = "auroc",
    minimum_positives: int = 10,
    minimum_negatives: int = 10,
    units: Sequence[str] | Sequence[int] | np.ndarray | None = None,
    draws: int = 1000,
    seed: int,
    protocol: Protocol = "paper",
    confidence: float = 0.95,
    threads: int | None = None,
) -> SupportComparison:
    """The comparison of Tables 4 and 23 to 25 of Berger and others (ICML 2026), for every encoder.

    With protocol "paper" every draw holds positives of every label, as in those tables; its intervals are too narrow
    for labels of few positives (docs/intervals.md). With protocol "paired" a label of one positive is undefined in a
    third of the draws; the original column then has values and the reason why it has no limits.

    Args:
        target: (records, labels) of 0 and 1, of the test split.
        scores: (encoders, records, labels) finite numbers.
        metric: "auroc" or "average_precision".
        minimum_positives: fewest positives of a supported label.
        minimum_negatives: fewest negatives of a supported label.
        units: (records,) patient ids, for protocol "paired".
        draws: how many.
        seed: of the draws.
        protocol: "paper" or "paired", see `resample_discrimination`.
        confidence: of all intervals.
        threads: how many kernels run at once; the result does not depend on it.

    Raises:
        UsageError: shapes that do not fit, or a setting outside its range.
        DataError: a target that is neither 0 nor 1, a score that is not finite.

    Example:
        >>> target = [[0, 0], [1, 0], [0, 0], [1, 1]]
        >>> scores = [[[0.1, 0.2], [0.9, 0.3], [0.2, 0.4], [0.8, 0.1]]]
        >>> compared = compare_support(
        ...     target, scores, minimum_positives=2, minimum_negatives=2, seed=0, draws=20
        ... )
        >>> [(column.estimates[0].interval.point, column.labels) for column in (compared.original, compared.clean)]
        [(0.5, 2), (1.0, 1)]
    """
    check_metric(metric)
    present, values = check_predictions(target, scores)
    support = judge_labels(present, minimum_positives=minimum_positives, minimum_negatives=minimum_negatives)
    found = resample_discrimination(
        present, values, units=units, draws=draws, seed=seed, protocol=protocol, threads=threads
    )
    drawn = found.auroc if metric == "auroc" else found.average_precision
    points = np.array(
        [
            [METRICS[metric](present[:, label], scored[:, label]) for label in range(present.shape[1])]
            for scored in values
        ]
    ).reshape(values.shape[0], present.shape[1])
    # Average precision is 1 without negatives, whatever the scores: such a label is in neither mean.
    defined = (support.positives > 0) & (support.negatives > 0)
    original, original_draws = _column(points, drawn, defined, confidence)
    clean, clean_draws = _column(points, drawn, support.judged, confidence)
    before, after = _values(original), _values(clean)
    return SupportComparison(
        support=support,
        original=original,
        clean=clean,
        changes=tuple(
            paired_difference(
                clean_draws[:, encoder],
                original_draws[:, encoder],
                point_a=after[encoder],
                point_b=before[encoder],
                confidence=confidence,
            )
            for encoder in range(len(values))
        ),
        reversals=tuple(
            (a, b)
            for a in range(len(values))
            for b in range(len(values))
            if before[a] > before[b] and after[a] < after[b]
        ),
        best_changes=bool(
            len(values)
            and not np.isnan(after).any()
            and not np.isnan(before).any()
            and int(np.argmax(before)) != int(np.argmax(after))
        ),
    )


def _column(
    points: np.ndarray, drawn: np.ndarray, judged: np.ndarray, confidence: float
) -> tuple[MacroColumn, np.ndarray]:
    draws = macro_draws(drawn, judged=judged)
    averages = [macro_average(row, judged=judged).value for row in points]
    column = MacroColumn(
        judged=judged,
        labels=int(judged.sum()),
        of=len(judged),
        estimates=tuple(
            paper_estimate(value, draws[:, encoder], confidence=confidence) for encoder, value in enumerate(averages)
        ),
        ranks=_ranks(np.array(averages)),
    )
    return column, draws


def _values(column: MacroColumn) -> np.ndarray:
    return np.array([estimate.interval.point for estimate in column.estimates])


def _ranks(values: np.ndarray) -> np.ndarray:
    """1 for the highest; equal values share the mean of their ranks."""
    return rankdata(-values, nan_policy="omit")
