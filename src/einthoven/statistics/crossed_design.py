"""Bootstrap of a crossed design, such as depths by seeds, and the area over a logarithmic scale.

ECG-InterpBench measures every encoder at 5 depths, with 3 seeds and at dictionary sizes of 1, 4, 8, 16 and 32 times the
width. Depths and seeds are drawn each by itself, with replacement, and every encoder is averaged over the same drawn
grid; the percentile interval, paired p-value and ranks of these means are those of any other draws (`intervals`,
`ranks`). With 3 seeds there are only 10 different samples of seeds: such an interval is a description of the design.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import DataError, UsageError


@dataclass(frozen=True, eq=False)
class CrossedDraws:
    """Draws of two crossed factors.

    Attributes:
        rows: int64 (draws, rows), which levels of the first factor are in each draw.
        columns: int64 (draws, columns), which levels of the second factor are in each draw.
    """

    rows: np.ndarray
    columns: np.ndarray


def draw_crossed(rows: int, columns: int, *, draws: int = 10_000, seed: int) -> CrossedDraws:
    """Draw the levels of two factors with replacement, each by itself, as many as there are.

    Args:
        rows: levels of the first factor, such as depths.
        columns: levels of the second factor, such as seeds.
        draws: how many.
        seed: of the draws. With 20260714 they are those of ECG-InterpBench (5 depths, 3 seeds); the first k draws are
            the same however many are asked for.

    Raises:
        UsageError: a factor with fewer than two levels, no draw asked for, a negative seed.

    Example:
        >>> draw_crossed(5, 3, draws=2, seed=0).columns.tolist()
        [[0, 0, 0], [1, 2, 2]]
    """
    for name, levels in (("rows", rows), ("columns", columns)):
        if levels < 2:
            raise UsageError(f"{name}: expected at least 2 levels to draw from, found {levels}.")
    if draws < 1:
        raise UsageError(f"draws: expected at least 1, found {draws}.")
    if seed < 0:
        raise UsageError(f"seed: expected 0 or more, found {seed}.")
    generator = np.random.default_rng(seed)
    drawn_rows = np.empty((draws, rows), dtype=np.int64)
    drawn_columns = np.empty((draws, columns), dtype=np.int64)
    for draw in range(draws):
        drawn_rows[draw] = generator.integers(0, rows, size=rows)
        drawn_columns[draw] = generator.integers(0, columns, size=columns)
    return CrossedDraws(rows=drawn_rows, columns=drawn_columns)


def crossed_means(values: ArrayLike, draws: CrossedDraws) -> np.ndarray:
    """The mean over the drawn grid, for every encoder and draw.

    Args:
        values: (encoders, rows, columns) values; every cell of the design.
        draws: of the same rows and columns; all encoders are averaged over the same ones.

    Returns:
        float64 (draws, encoders).

    Raises:
        UsageError: shapes that do not fit.
        DataError: a cell that is missing or not finite; the message has its position.
    """
    cells = np.asarray(values, dtype=np.float64)
    if cells.ndim != 3 or cells.shape[1:] != (draws.rows.shape[1], draws.columns.shape[1]):
        raise UsageError(
            f"values: expected (encoders, {draws.rows.shape[1]}, {draws.columns.shape[1]}) as the draws have it, "
            f"found {cells.shape}."
        )
    missing = np.argwhere(~np.isfinite(cells))
    if len(missing):
        raise DataError(
            f"values: expected every cell of the design, found {len(missing)} of {cells.size} missing or not finite, "
            f"the first at {missing[0].tolist()}. Run them, or leave the whole level out for every encoder."
        )
    row_weights = _shares(draws.rows, cells.shape[1])
    column_weights = _shares(draws.columns, cells.shape[2])
    return np.einsum("br,erc,bc->be", row_weights, cells, column_weights, optimize=True)


def log_scale_weights(scales: ArrayLike) -> np.ndarray:
    """Weights whose sum with values is the mean of the values over the logarithm of the scale.

    The trapezoid rule in ln(scale), over ln(last / first): 0.2, 0.3, 0.2, 0.2 and 0.1 for 1, 4, 8, 16 and 32
    (ECG-InterpBench's area over E).

    Args:
        scales: (scales,) positive, rising numbers; at least two.

    Returns:
        float64 (scales,), of sum 1.

    Raises:
        UsageError: fewer than two, not positive, or not rising.

    Example:
        >>> log_scale_weights([1, 4, 8, 16, 32]).round(12).tolist()
        [0.2, 0.3, 0.2, 0.2, 0.1]
    """
    numbers = np.asarray(scales, dtype=np.float64)
    if numbers.ndim != 1 or len(numbers) < 2:
        raise UsageError(f"scales: expected at least two in a list, found shape {numbers.shape}.")
    if not (np.isfinite(numbers).all() and numbers[0] > 0 and (np.diff(numbers) > 0).all()):
        raise UsageError(f"scales: expected positive, rising numbers, found {numbers.tolist()}.")
    # 0 at the ends: each scale has half of the steps on its two sides.
    steps = np.concatenate([[0.0], np.diff(np.log(numbers)), [0.0]])
    return (steps[:-1] + steps[1:]) / (2 * np.log(numbers[-1] / numbers[0]))


def scale_area(values: ArrayLike, scales: ArrayLike, *, axis: int = -1) -> np.ndarray:
    """The mean of values over the logarithm of a scale; NaN where a value of any scale is.

    Args:
        values: (..., scales) values.
        scales: (scales,) as `log_scale_weights` takes them.
        axis: where the scales are.

    Returns:
        float64, `values` without the axis of scales.

    Raises:
        UsageError: shapes that do not fit, or scales that are not rising.
    """
    weights = log_scale_weights(scales)
    numbers = np.moveaxis(np.asarray(values, dtype=np.float64), axis, -1)
    if numbers.shape[-1] != len(weights):
        raise UsageError(f"values: expected {len(weights)} scales on axis {axis}, found {numbers.shape[-1]}.")
    return numbers @ weights


def _shares(drawn: np.ndarray, levels: int) -> np.ndarray:
    """How much each level weighs in each draw: float64 (draws, levels), rows of sum 1."""
    return (drawn[:, :, None] == np.arange(levels)).sum(axis=1) / drawn.shape[1]
