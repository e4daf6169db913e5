"""The figures of the page: forest plots of means, differences and labels, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from einthoven.studies.results import ComparisonResult, Estimate, LabelScores, Metric

from .colours import Look
from .forest import Axis, Mark, Spec, chance_ticks, name_width, panel, reference_line, rows_axis, to_svg, whiskers
from .formatting import number
from .pairs import METRIC_NAMES, best_macro, estimates_of, find_difference

_ROW = 22  # px for one encoder of a macro plot
_STEP, _GAP = 9, 8  # px for one encoder of a label, and between labels


def macro_forest(
    comparisons: Sequence[ComparisonResult], metric: Metric, looks: Mapping[str, Look], *, baseline: str | None
) -> str:
    """Macro means of every task and encoder, and beside them the paired differences from a reference.

    Args:
        comparisons: one a task, drawn from top to bottom; each has a defined macro mean.
        looks: how each encoder is drawn.
        baseline: the reference of the differences; None is the highest of each task.

    Returns:
        An `<svg>` element. The left axis reaches from the chance level (AUROC 0.5, or lower if an interval does;
        AUPRC 0) to 1, and the right one is symmetric about zero, so that no difference looks larger than it is.
    """
    name = METRIC_NAMES[metric]
    low = _start([e for c in comparisons for e in estimates_of(c.macro, metric)], metric)
    spread = _spread(comparisons, metric, baseline)
    room = name_width([encoder for c in comparisons for encoder in c.encoders])
    rows = []
    for comparison in comparisons:
        last = comparison is comparisons[-1]
        order, height = comparison.encoders, _ROW * len(comparison.encoders)
        means = [Mark(e, e, x) for e, x in zip(order, estimates_of(comparison.macro, metric), strict=True)]
        levels = Axis(low, 1.0, f"macro {name}" if last else None)
        chance = 0.5 if metric == "auroc" else _mean_prevalence(comparison)
        judged = f"{comparison.task} ({len(comparison.macro.labels)} of {comparison.macro.of} labels)"
        reference, differences = _differences(comparison, metric, baseline)
        across = Axis(-spread, spread, f"difference in macro {name}" if last else None)
        rows.append(
            {
                "spacing": 22,
                "hconcat": [
                    panel(
                        [
                            reference_line(levels, chance),
                            *whiskers(means, looks, levels, rows_axis(order, room=room), size=60),
                        ],
                        width=440, height=height, title=judged,
                    ),
                    panel(
                        [
                            reference_line(across, 0.0),
                            *whiskers(differences, looks, across, rows_axis(order, room=None), size=60),
                        ],
                        width=320, height=height, title=f"minus {reference}",
                    ),
                ],
            }
        )  # fmt: skip
    return to_svg({"spacing": 14, "vconcat": rows}, words=_in_words(comparisons, metric))


def label_forest(comparison: ComparisonResult, labels: Sequence[LabelScores], looks: Mapping[str, Look]) -> str:
    """AUROC and AUPRC of every encoder for each of `labels`, side by side, one block of rows a label.

    Returns:
        An `<svg>` element. The grey tick of each label is its chance level: 0.5 for AUROC, the prevalence for AUPRC.
    """
    order = [scores.label for scores in labels]
    block = _STEP * len(comparison.encoders) + _GAP
    panels: list[Spec] = []
    for metric in METRIC_NAMES:
        marks = [
            Mark(scores.label, encoder, estimate)
            for scores in labels
            for encoder, estimate in zip(comparison.encoders, estimates_of(scores, metric), strict=True)
        ]
        axis = Axis(_start([mark.estimate for mark in marks], metric), 1.0, METRIC_NAMES[metric])
        y = rows_axis(order, room=name_width(order) if metric == "auroc" else None)
        y["scale"] |= {"paddingInner": _GAP / block, "paddingOuter": _GAP / 2 / block}
        offset = {
            "field": "encoder", "type": "nominal", "scale": {"domain": list(comparison.encoders), "paddingOuter": 0.5}
        }  # fmt: skip
        chances = {s.label: 0.5 if metric == "auroc" else _prevalence(s) for s in labels}
        layers = [
            chance_ticks(axis, y, chances, height=block - _GAP + 2),
            *whiskers(marks, looks, axis, y, size=26, offset=offset),
        ]
        panels.append(panel(layers, width=430, height=block * len(order), title=METRIC_NAMES[metric]))
    words = (
        f"AUROC and AUPRC with intervals of {len(comparison.encoders)} encoders for {len(labels)} labels of "
        f"{comparison.task}; the table holds the numbers."
    )
    return to_svg({"spacing": 24, "hconcat": panels}, words=words)


def symbol(look: Look) -> str:
    """An encoder's mark as a small inline `<svg>`, for legends."""
    shapes = {
        "circle": '<circle cx="7" cy="7" r="4.5"',
        "square": '<path d="M3 3h8v8h-8z"',
        "diamond": '<path d="M7 1.5L12.5 7L7 12.5L1.5 7z"',
        "triangle-up": '<path d="M7 2L12.5 11.5H1.5z"',
        "triangle-down": '<path d="M7 12L1.5 2.5H12.5z"',
    }
    return (
        '<svg class="key" width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">'
        f'{shapes[look.shape]} fill="{look.fill}" stroke="{look.colour}" stroke-width="2"/></svg>'
    )


def _differences(comparison: ComparisonResult, metric: Metric, baseline: str | None) -> tuple[str, list[Mark]]:
    """The reference, and every other encoder minus it."""
    best = best_macro(comparison, metric) or comparison.encoders[0]
    reference = baseline if baseline is not None and baseline in comparison.encoders else best
    marks = []
    for encoder in comparison.encoders:
        found = find_difference(comparison.macro.differences.get(metric, ()), encoder, reference)
        if found is not None:
            marks.append(Mark(encoder, encoder, found.estimate))
    return reference, marks


def _spread(comparisons: Sequence[ComparisonResult], metric: Metric, baseline: str | None) -> float:
    ends = [0.02]
    for comparison in comparisons:
        for mark in _differences(comparison, metric, baseline)[1]:
            e = mark.estimate
            ends += [abs(value) for value in (e.point, e.low, e.high) if value is not None]
    return math.ceil(max(ends) * 1.05 / 0.02) * 0.02


def _start(estimates: Sequence[Estimate], metric: Metric) -> float:
    if metric != "auroc":
        return 0.0
    values = [v for e in estimates for v in (e.point, e.low) if v is not None]
    return min(0.5, math.floor(min(values, default=0.5) * 20) / 20)


def _prevalence(scores: LabelScores) -> float:
    return scores.positives / max(1, scores.positives + scores.negatives)


def _mean_prevalence(comparison: ComparisonResult) -> float:
    judged = set(comparison.macro.labels)
    shares = [_prevalence(scores) for scores in comparison.labels if scores.label in judged]
    return sum(shares) / max(1, len(shares))


def _in_words(comparisons: Sequence[ComparisonResult], metric: Metric) -> str:
    told = []
    for comparison in comparisons:
        values = ", ".join(
            f"{name} {number(estimate.point)}"
            for name, estimate in zip(comparison.encoders, estimates_of(comparison.macro, metric), strict=True)
        )
        told.append(f"{comparison.task}: {values}")
    return f"Forest plot of macro {METRIC_NAMES[metric]} with intervals. " + ". ".join(told) + "."
