"""The crossed design bootstrap and the area over log E: ECG-InterpBench's own numbers, and slow means."""

from __future__ import annotations

import csv
import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc

from einthoven.foundation.errors import DataError, UsageError
from einthoven.statistics.crossed_design import (
    CrossedDraws,
    crossed_means,
    draw_crossed,
    log_scale_weights,
    scale_area,
)
from einthoven.statistics.intervals import paired_difference, percentile_interval
from einthoven.statistics.kendall import kendall_matrix
from einthoven.statistics.multiplicity import adjust_p

SCALES = (1, 4, 8, 16, 32)


def read_table(golden: Path, metric: str, models: list[str]) -> np.ndarray:
    """(models, depths, seeds, E)."""
    with (golden / "statistics" / "crossed_design_table.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    depths = sorted({float(row["relative_depth"]) for row in rows})
    seeds = sorted({int(row["seed"]) for row in rows})
    cells = np.full((len(models), len(depths), len(seeds), len(SCALES)), np.nan)
    for row in rows:
        place = (
            models.index(row["model"]),
            depths.index(float(row["relative_depth"])),
            seeds.index(int(row["seed"])),
            SCALES.index(int(row["expansion_E"])),
        )
        cells[place] = float(row[metric])
    return cells


@pytest.mark.parametrize("metric", ["test_recon_R2", "test_dead_fraction"])
def test_golden_design(golden: Path, metric: str):
    document = json.loads((golden / "statistics" / "crossed_design.json").read_text())
    expected = document["metrics"][metric]
    arrays = np.load(golden / "statistics" / "crossed_design.npz")
    models = list(expected["profiles"])
    cells = read_table(golden, metric, models)
    units = scale_area(cells, SCALES)
    np.testing.assert_allclose(units, arrays[f"auc_units_{metric}"], rtol=0, atol=1e-12)

    draws = draw_crossed(5, 3, draws=300, seed=20260714)
    np.testing.assert_array_equal(draws.rows, arrays["depth_index"])
    np.testing.assert_array_equal(draws.columns, arrays["seed_index"])
    means = crossed_means(units, draws)
    np.testing.assert_allclose(means.T, arrays[f"boot_{metric}"], rtol=0, atol=1e-12)

    for place, model in enumerate(models):
        profile = expected["profiles"][model]
        interval = percentile_interval(float(units[place].mean()), means[:, place])
        found = (interval.point, interval.low, interval.high)
        assert found == pytest.approx((profile["observed_auc"], profile["ci_low"], profile["ci_high"]), abs=1e-12)

    p = []
    for a, b in combinations(range(len(models)), 2):
        pair = expected["pairs"][f"{models[a]}|{models[b]}"]
        points = {"point_a": float(units[a].mean()), "point_b": float(units[b].mean())}
        difference = paired_difference(means[:, a], means[:, b], **points)
        assert difference.interval.point == pytest.approx(pair["diff"], abs=1e-12)
        assert difference.p == pytest.approx(pair["p_two_sided"], abs=1e-12)
        p.append(difference.p)
    q = [pair["q_bh"] for pair in expected["pairs"].values()]
    np.testing.assert_allclose(adjust_p(p, method="bh").p, q, rtol=0, atol=1e-12)

    # Orders at each E, and how far they agree; no two means are equal here.
    by_scale = cells.mean(axis=(1, 2)) * (1 if metric == "test_recon_R2" else -1)
    ranks = (-by_scale).argsort(axis=0).argsort(axis=0) + 1
    for column, scale in enumerate(SCALES):
        assert dict(zip(models, ranks[:, column].tolist(), strict=True)) == expected["ranks_by_E"][str(scale)]
    taus = kendall_matrix(by_scale)
    for pair, tau in expected["kendall_tau_between_E"].items():
        one, two = (SCALES.index(int(scale)) for scale in pair.split("|"))
        assert taus[one, two] == pytest.approx(tau, abs=1e-12)


def test_golden_weights(golden: Path):
    document = json.loads((golden / "statistics" / "crossed_design.json").read_text())
    np.testing.assert_allclose(log_scale_weights(SCALES), list(document["auc_E_weights"].values()), rtol=0, atol=1e-12)


def test_means_counted_slowly():
    generator = np.random.default_rng(5)
    cells = generator.random((3, 4, 2))
    draws = draw_crossed(4, 2, draws=20, seed=1)
    found = crossed_means(cells, draws)
    for draw in range(20):
        for encoder in range(3):
            grid = [cells[encoder, row, column] for row in draws.rows[draw] for column in draws.columns[draw]]
            assert found[draw, encoder] == pytest.approx(sum(grid) / 8)


def test_the_first_draws_do_not_depend_on_how_many_are_asked_for():
    few, many = draw_crossed(5, 3, draws=7, seed=4), draw_crossed(5, 3, draws=20, seed=4)
    np.testing.assert_array_equal(few.rows, many.rows[:7])
    np.testing.assert_array_equal(few.columns, many.columns[:7])


@settings(deadline=None)
@given(st.lists(st.floats(0.5, 1e4), min_size=2, max_size=8, unique=True), st.data())
def test_area_is_the_trapezoid_in_log_scale(scales: list[float], data):
    scales.sort()
    if min(np.diff(np.log(scales))) < 1e-6:
        return
    values = data.draw(st.lists(st.floats(-1, 1), min_size=len(scales), max_size=len(scales)))
    expected = auc(np.log(scales), values) / math.log(scales[-1] / scales[0])
    assert scale_area(values, scales) == pytest.approx(expected, abs=1e-9)
    assert scale_area([1.0] * len(scales), scales) == pytest.approx(1)


def test_area_along_any_axis_and_nan_where_a_scale_is_missing():
    values = np.random.default_rng(0).random((5, 2))
    values[3, 1] = np.nan
    found = scale_area(values, SCALES, axis=0)
    assert found[0] == pytest.approx(values[:, 0] @ [0.2, 0.3, 0.2, 0.2, 0.1])
    assert math.isnan(found[1])


def test_a_missing_cell_is_refused_not_averaged_over():
    cells = np.ones((2, 5, 3))
    cells[1, 4, 2] = np.nan
    with pytest.raises(DataError, match=r"found 1 of 30 missing or not finite, the first at \[1, 4, 2\]"):
        crossed_means(cells, draw_crossed(5, 3, draws=2, seed=0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: draw_crossed(1, 3, seed=0), "rows: expected at least 2 levels"),
        (lambda: draw_crossed(5, 1, seed=0), "columns: expected at least 2 levels"),
        (lambda: draw_crossed(5, 3, draws=0, seed=0), "draws: expected at least 1"),
        (lambda: draw_crossed(5, 3, seed=-1), "seed: expected 0 or more"),
        (
            lambda: crossed_means(np.ones((2, 3, 5)), CrossedDraws(np.zeros((1, 5), int), np.zeros((1, 3), int))),
            r"expected \(encoders, 5, 3\) as the draws have it, found \(2, 3, 5\)",
        ),
        (lambda: log_scale_weights([4]), "at least two"),
        (lambda: log_scale_weights([4, 1]), "positive, rising numbers"),
        (lambda: log_scale_weights([0, 1]), "positive, rising numbers"),
        (lambda: scale_area([1, 2, 3], [1, 2]), "expected 2 scales on axis -1, found 3"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()
