"""Kind `comparison`: every encoder on one task, over the same draws of the test patients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from einthoven.foundation.seeds import seed_for
from einthoven.metrics.discrimination import auroc, average_precision
from einthoven.statistics.bootstrap import bootstrap_discrimination
from einthoven.statistics.intervals import Interval, paired_difference, percentile_interval
from einthoven.statistics.macro import judge_labels, macro_average, macro_draws
from einthoven.statistics.resampling import draw_counts
from einthoven.studies.cells import Cell
from einthoven.studies.kind import Context, Kind, Output
from einthoven.studies.predictions import Predictions, read_predictions
from einthoven.studies.results import (
    METRICS,
    ComparisonResult,
    Difference,
    Estimate,
    LabelScores,
    MacroScores,
    Metric,
)
from einthoven.studies.spec import RepresentationsSpec

_METRIC = {"auroc": auroc, "average_precision": average_precision}


@dataclass(frozen=True)
class _Scores:
    """One metric: points (E, L) and draws (B, E, L); NaN where undefined."""

    points: np.ndarray
    draws: np.ndarray


def plan_comparison(spec: RepresentationsSpec, task: str, *, probes: Sequence[Cell]) -> Cell:
    """The cell that compares all encoders of a study on one task."""
    return Cell(
        kind=KIND.name,
        title=f"compare {len(probes)} encoders on {task}",
        spec={
            "task": task,
            "encoders": [choice.id for choice in spec.encoders],
            "bootstrap": spec.bootstrap.model_dump(mode="json"),
            "support": spec.support.model_dump(mode="json"),
            "seed": spec.seed,
        },
        inputs={f"probe:{index}": probe.key for index, probe in enumerate(probes)},
        needs=tuple(probe.key for probe in probes),
        version=KIND.version,
    )


def run(cell: Cell, context: Context) -> Output:
    """Point estimates, intervals and paired differences, for each label and for the mean over the judged ones."""
    spec, bootstrap = cell.spec, cell.spec["bootstrap"]
    encoders: list[str] = list(spec["encoders"])
    found = read_predictions(context.ledger, cell.needs)
    units = found.units(bootstrap["unit"])
    counts = draw_counts(units, draws=bootstrap["draws"], seed=seed_for("bootstrap", spec["seed"]))
    minimum = spec["support"]["minimum_positives"]
    support = judge_labels(found.targets, minimum_positives=minimum, minimum_negatives=minimum)
    reasons = tuple(probe or few for probe, few in zip(found.reasons, support.reasons, strict=True))
    judged = np.array([reason is None for reason in reasons], dtype=bool)
    scores = _scores(found, counts)
    confidence = bootstrap["confidence"]

    result = ComparisonResult(
        task=spec["task"],
        encoders=tuple(encoders),
        records=len(found.targets),
        units=len(set(units)),
        unit=bootstrap["unit"],
        draws=len(counts),
        confidence=confidence,
        minimum_positives=minimum,
        macro=_macro(scores, found.labels, judged, encoders, confidence),
        labels=tuple(
            LabelScores(
                label=label,
                positives=int(support.positives[index]),
                negatives=int(support.negatives[index]),
                judged=bool(judged[index]),
                reason=reasons[index],
                auroc=_estimates(scores["auroc"], index, reasons[index], confidence),
                average_precision=_estimates(scores["average_precision"], index, reasons[index], confidence),
                best={m: _best(scores[m].points[:, index], encoders) if judged[index] else None for m in METRICS},
                against_best={
                    m: _against_best(scores[m].points[:, index], scores[m].draws[:, :, index], encoders, confidence)
                    if judged[index]
                    else ()
                    for m in METRICS
                },
            )
            for index, label in enumerate(found.labels)
        ),
    )
    return Output(result, arrays={"draws": {metric: scores[metric].draws for metric in METRICS}})


def _scores(found: Predictions, counts: np.ndarray) -> dict[Metric, _Scores]:
    encoders, _, labels = found.scores.shape
    defined = np.array([reason is None for reason in found.reasons], dtype=bool)
    draws = {metric: np.full((len(counts), encoders, labels), np.nan) for metric in METRICS}
    points = {metric: np.full((encoders, labels), np.nan) for metric in METRICS}
    if defined.any():
        # Cells run side by side, one core each; the kernel's own threads would only compete with them.
        drawn = bootstrap_discrimination(
            found.targets[:, defined], found.scores[:, :, defined], counts=counts, threads=1
        )
        draws["auroc"][:, :, defined] = drawn.auroc
        draws["average_precision"][:, :, defined] = drawn.average_precision
        for metric, function in _METRIC.items():
            for encoder in range(encoders):
                for label in np.flatnonzero(defined):
                    points[metric][encoder, label] = function(found.targets[:, label], found.scores[encoder, :, label])
    return {metric: _Scores(points=points[metric], draws=draws[metric]) for metric in METRICS}


def _macro(
    scores: dict[Metric, _Scores], labels: tuple[str, ...], judged: np.ndarray, encoders: list[str], confidence: float
) -> MacroScores:
    estimates: dict[Metric, tuple[Estimate, ...]] = {}
    differences: dict[Metric, tuple[Difference, ...]] = {}
    for metric, found in scores.items():
        averages = [macro_average(points, judged=judged, names=labels) for points in found.points]
        draws = macro_draws(found.draws, judged=judged)
        points = np.array([average.value for average in averages])
        estimates[metric] = tuple(
            _estimate(percentile_interval(average.value, draws[:, index], confidence=confidence), average.reason)
            for index, average in enumerate(averages)
        )
        differences[metric] = tuple(
            _difference(encoders, a, b, points, draws, confidence)
            for a in range(len(encoders))
            for b in range(a + 1, len(encoders))
        )
    return MacroScores(
        labels=tuple(label for label, hit in zip(labels, judged, strict=True) if hit),
        of=len(labels),
        auroc=estimates["auroc"],
        average_precision=estimates["average_precision"],
        differences=differences,
    )


def _estimates(found: _Scores, label: int, reason: str | None, confidence: float) -> tuple[Estimate, ...]:
    return tuple(
        _estimate(percentile_interval(point, found.draws[:, encoder, label], confidence=confidence), reason)
        for encoder, point in enumerate(found.points[:, label].tolist())
    )


def _best(points: np.ndarray, encoders: list[str]) -> str | None:
    return None if np.isnan(points).any() else encoders[int(points.argmax())]


def _against_best(
    points: np.ndarray, draws: np.ndarray, encoders: list[str], confidence: float
) -> tuple[Difference, ...]:
    if np.isnan(points).any():
        return ()
    best = int(points.argmax())
    return tuple(
        _difference(encoders, best, other, points, draws, confidence) for other in range(len(encoders)) if other != best
    )


def _difference(
    encoders: list[str], a: int, b: int, points: np.ndarray, draws: np.ndarray, confidence: float
) -> Difference:
    paired = paired_difference(
        draws[:, a], draws[:, b], point_a=float(points[a]), point_b=float(points[b]), confidence=confidence
    )
    return Difference(a=encoders[a], b=encoders[b], estimate=_estimate(paired.interval, None), p=_or_none(paired.p))


def _estimate(interval: Interval, reason: str | None) -> Estimate:
    """An interval as stored. A reason that explains an undefined point goes before the one about its interval."""
    undefined = interval.reason if not (math.isnan(interval.point) and reason) else reason
    return Estimate(
        point=_or_none(interval.point),
        low=_or_none(interval.low),
        high=_or_none(interval.high),
        draws=interval.draws,
        undefined_draws=interval.undefined_draws,
        reason=undefined,
    )


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


KIND = Kind(name="comparison", version=2, result=ComparisonResult, run=run)
