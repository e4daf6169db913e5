"""Label by label, no label is left out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from einthoven.foundation.errors import UsageError
from einthoven.metrics.discrimination import Discrimination
from einthoven.metrics.per_label import discriminate_labels
from einthoven.statistics.macro import macro_average


@pytest.mark.parametrize("name", ["eval_raw", "eval_rounded2", "fit_raw", "fit_rounded2"])
@pytest.mark.parametrize("metric", ["auroc", "average_precision"])
def test_golden_values(golden: Path, name: str, metric: Discrimination):
    inputs = np.load(golden / "statistics" / "inputs.npz")
    expected = json.loads((golden / "statistics" / "point_metrics.json").read_text())["sets"][name]
    split, rounding = name.split("_")
    scores = inputs[f"{split}_prob"].astype(np.float64)
    scores = np.round(scores, 2) if rounding == "rounded2" else scores
    for model, score in zip(inputs["models"], scores, strict=True):
        found = discriminate_labels(inputs[f"{split}_y"], score, metric=metric)
        assert found.reasons == (None,) * 5
        values = [label[metric] for label in expected[model]["per_label"]]
        assert found.values.tolist() == pytest.approx(values, abs=1e-12)
        mean = macro_average(found.values, judged=np.ones(5, dtype=bool))
        assert mean.value == pytest.approx(expected[model][f"macro_{metric}"], abs=1e-12)
        assert (mean.labels, mean.of) == (5, 5)


def test_a_label_without_a_value_keeps_its_place():
    found = discriminate_labels([[0, 0, 1], [1, 0, 1]], [[0.1, 0.1, 0.1], [0.2, 0.2, 0.2]])
    np.testing.assert_array_equal(found.values, [1.0, math.nan, math.nan])
    assert found.reasons == (None, "no positive in 2 test records", "no negative in 2 test records")
    mean = macro_average(found.values, judged=np.ones(3, dtype=bool), names=["NORM", "WPW", "SR"])
    assert math.isnan(mean.value)
    assert mean.reason == "undefined for 2 of 3 judged labels: WPW, SR"
    drawn = discriminate_labels(
        [[0, 0, 1], [1, 0, 1]], [[0.1] * 3, [0.2] * 3], counts=[2, 0], metric="average_precision"
    )
    np.testing.assert_array_equal(drawn.values, [math.nan, math.nan, 1.0])
    assert drawn.reasons[0] == "no positive in 2 test records"


def test_no_label_gives_no_value():
    assert discriminate_labels(np.zeros((4, 0)), np.zeros((4, 0))).values.shape == (0,)


def test_bad_input_is_refused():
    with pytest.raises(UsageError, match=r"the same shape, found \(2, 1\) and \(1, 2\)"):
        discriminate_labels([[0], [1]], [[0.1, 0.2]])
    with pytest.raises(UsageError, match="metric: expected one of auroc, average_precision, found 'auprc'"):
        discriminate_labels([[0], [1]], [[0.1], [0.2]], metric="auprc")  # type: ignore[arg-type]
