"""Calibration against values of seven independent programs: no value of the file is passed over unsaid.

Every key is either compared or named among the quantities that are other ones by the file's own account (right-closed
bins, averages over bins, quantile edges, float32 arithmetic on edges).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, softmax

from einthoven.metrics.calibration.adaptive_error import adaptive_calibration_error
from einthoven.metrics.calibration.brier import brier_per_label, brier_sum_over_classes
from einthoven.metrics.calibration.expected_error import expected_calibration_error, maximum_calibration_error
from einthoven.metrics.calibration.log_loss import (
    categorical_log_loss,
    categorical_log_loss_of_probabilities,
    log_loss_of_probabilities,
)
from einthoven.metrics.calibration.reliability import reliability_bins
from einthoven.metrics.calibration.streams import (
    CalibrationStreams,
    binary_top_label_streams,
    classwise_streams,
    positive_class_streams,
    top_label_streams,
)
from einthoven.metrics.log_loss import log_loss
from einthoven.metrics.temperature.fit import fit_sigmoid_temperature, fit_softmax_temperature
from einthoven.metrics.temperature.probabilities import sigmoid_at_temperature, softmax_at_temperature

BINS = "reliability_bins_left_closed (bin,count,mean_conf,accuracy)"
ROOT = "exact_T (root of d NLL/d beta, brentq)"

# Our definition, computed by others; the float32 ones are compared where no score is on an edge.
LEFT_CLOSED = ("ece_left_closed", "ece_int_p_times_M", "ece_linspace_left_closed", "netcal_ECE")
# Equal to ours where no record changes its bin.
OTHER_EDGES = {
    "ece_right_closed": "right vs left closed",
    "mce_right_closed": "right vs left closed",
    "ece_sklearn_calibration_curve_bins": "right vs left closed",
    "uncertainty_calibration_ECE": "right vs left closed",
    "ece_exact_rational_left_closed": "exact rational vs left closed",
    "ece_exact_rational_right_closed": "exact rational vs left closed",
    # linspace edges in float32 tell these two apart too.
    "torchmetrics_ECE": "right vs left closed",
    "torchmetrics_MCE": "right vs left closed",
}
OTHER_QUANTITIES = {
    "netcal_ACE_average_NOT_adaptive": "an average over bins",
    "netcal_ECE_equal_mass(quantile edges)": "interpolated quantile edges",
}
# Equal to ours without ties.
ROW_ORDER = ("adaptive_ece_equal_mass", "adaptive_ece_equal_mass_rows_reversed")


class Comparison:
    """Values side by side, counted by quantity."""

    def __init__(self) -> None:
        self.compared: Counter[str] = Counter()

    def close(self, quantity: str, found: Any, expected: Any, tolerance: float) -> None:
        found, expected = float(np.squeeze(found)), float(expected)
        assert found == pytest.approx(expected, abs=tolerance, nan_ok=False), quantity
        self.compared[quantity] += 1

    def stream(self, streams: CalibrationStreams, expected: dict[str, Any]) -> None:
        """One stream with everything that the file says of it."""
        assert streams.streams == 1
        ece, mce = expected_calibration_error(streams), maximum_calibration_error(streams)
        adaptive = adaptive_calibration_error(streams)
        tied = len(np.unique(streams.confidence)) < streams.records
        moved = expected.get("n_samples_with_different_bin", {})
        for key, value in expected.items():
            if key in LEFT_CLOSED:
                self.close("ece", ece, value, 1e-12)
            elif key in ("mce_left_closed", "netcal_MCE"):
                self.close("mce", mce, value, 1e-12)
            elif key in OTHER_EDGES:
                if moved[OTHER_EDGES[key]] == 0 and not (key.startswith("torchmetrics") and near_edge(streams)):
                    quantity, found = ("mce", mce) if "mce" in key.lower() else ("ece", ece)
                    self.close(quantity, found, value, 1e-12)
            elif key in ROW_ORDER or key == "uncertainty_calibration_ECE_equal_mass(edges)":
                if not tied:
                    self.close("adaptive ece", adaptive, value, 1e-12)
            elif key == "adaptive_ece_equal_mass_tie_averaged":
                self.close("adaptive ece with ties", adaptive, value, 1e-12)
            elif key in ("brier_binary_0_1", "sklearn_brier_score_loss"):
                self.close("brier", brier_per_label(streams.outcome, streams.confidence), value, 1e-12)
            elif key == BINS:
                self.bins(streams, value)
            else:
                assert key in OTHER_QUANTITIES or key == "n_samples_with_different_bin", key

    def bins(self, streams: CalibrationStreams, expected: list[list[float]]) -> None:
        table = reliability_bins(streams)
        held = {int(row[0]): row for row in expected}
        for place in range(15):
            if place not in held:
                assert table.count[0, place] == 0
                assert math.isnan(table.mean_confidence[0, place])
                assert math.isnan(table.share[0, place])
                continue
            _, count, confidence, share = held[place]
            assert table.count[0, place] == count
            self.close("bins", table.mean_confidence[0, place], confidence, 1e-12)
            self.close("bins", table.share[0, place], share, 1e-12)

    def multilabel(self, target: np.ndarray, probability: np.ndarray, expected: dict[str, Any]) -> None:
        streams = positive_class_streams(target, probability)
        ece, mce = expected_calibration_error(streams), maximum_calibration_error(streams)
        adaptive, brier = adaptive_calibration_error(streams), brier_per_label(target, probability)
        tied = any(len(np.unique(column)) < len(column) for column in streams.confidence.T)
        other = expected["deepecgkit"]
        for quantity, values, key in (
            ("ece", ece, "per_class_ece"),
            ("mce", mce, "per_class_mce"),
            ("brier", brier, "per_class_brier"),
        ):
            for value, stated in zip(values, other[key], strict=True):
                self.close(quantity, value, stated, 1e-12)
        for value in (other["ece"], expected["macro_ece_left_closed"]):
            self.close("ece", ece.mean(), value, 1e-12)
        for value in (other["mce"], expected["mce_max_over_classes"]):
            self.close("mce", mce.max(), value, 1e-12)
        for value in (other["brier"], expected["brier_mean_over_classes_0_1"]):
            self.close("brier", brier.mean(), value, 1e-12)
        if not tied:
            for value in (other["adaptive_ece"], expected["macro_adaptive_ece"]):
                self.close("adaptive ece", adaptive.mean(), value, 1e-12)
        for label, one in enumerate(expected["per_class"]):
            self.stream(positive_class_streams(target[:, label], probability[:, label]), one)

    def binary(self, target: np.ndarray, probability: np.ndarray, expected: dict[str, Any]) -> None:
        positive = positive_class_streams(target, probability)
        top = binary_top_label_streams(target, probability)
        self.stream(positive, expected["positive_class_stream"])
        self.stream(top, expected["top_label_stream"])
        other = expected["deepecgkit_binary_task(top label of [1-p,p])"]
        self.close("ece", expected_calibration_error(top), other["ece"], 1e-12)
        self.close("mce", maximum_calibration_error(top), other["mce"], 1e-12)
        if len(np.unique(top.confidence)) == top.records:
            self.close("adaptive ece", adaptive_calibration_error(top), other["adaptive_ece"], 1e-12)
        # The same program counts both answers.
        self.close("brier", 2 * brier_per_label(target, probability), other["brier"], 1e-12)
        found = log_loss_of_probabilities(target, probability)[0]
        if math.isfinite(found):
            self.close("log loss", found, expected["log_loss_sklearn"], 1e-10)
        else:
            assert math.isfinite(expected["log_loss_sklearn"]), "scikit-learn clips"

    def multiclass(self, target: np.ndarray, probability: np.ndarray, expected: dict[str, Any]) -> None:
        top = top_label_streams(target, probability)
        self.stream(top, expected["top_label"])
        ece, mce = expected_calibration_error(top), maximum_calibration_error(top)
        classwise = expected_calibration_error(classwise_streams(target, probability)).mean()
        brier, classes = brier_sum_over_classes(target, probability), probability.shape[1]
        other, moved = expected["deepecgkit"], expected["top_label"]["n_samples_with_different_bin"]
        edges = moved["right vs left closed"] > 0
        for value in (other["ece"], expected["netcal_ECE_2d"]):
            self.close("ece", ece, value, 1e-12)
        for value in (other["mce"], expected["netcal_MCE_2d"]):
            self.close("mce", mce, value, 1e-12)
        if len(np.unique(top.confidence)) == top.records:
            self.close("adaptive ece", adaptive_calibration_error(top), other["adaptive_ece"], 1e-12)
        self.close("classwise ece", classwise, expected["classwise_ece_mean_left_closed"], 1e-12)
        if not edges:
            self.close("classwise ece", classwise, expected["uncertainty_calibration_classwise_ECE"], 1e-12)
            self.close("ece", ece, expected["uncertainty_calibration_top_label_ECE"], 1e-12)
            self.close("ece in float32", ece, expected["torchmetrics_multiclass_ECE"], 2e-6)
            self.close("mce in float32", mce, expected["torchmetrics_multiclass_MCE"], 2e-6)
        else:
            assert expected["torchmetrics_multiclass_ECE"] != pytest.approx(ece[0], abs=1e-3), "its phantom bin is gone"
        for key in ("brier_sum_0_2", "sklearn_brier_scale_by_half_False", "sklearn_brier_auto"):
            self.close("brier", brier, expected[key], 1e-12)
        for key in ("brier_half_0_1", "sklearn_brier_scale_by_half_True"):
            self.close("brier", brier / 2, expected[key], 1e-12)
        self.close("brier", brier, other["brier"], 1e-12)
        self.close("brier", brier / classes, expected["brier_mean_over_classes"], 1e-12)
        found = categorical_log_loss_of_probabilities(target, probability)
        self.close("log loss", found, expected["log_loss_unclipped"], 1e-10)
        if math.isfinite(found):
            self.close("log loss", found, expected["log_loss_sklearn"], 1e-10)
        tied = (probability == probability.max(axis=1, keepdims=True)).sum(axis=1) > 1
        assert tied.sum() == expected["top_label_argmax_ties"]


@pytest.fixture(scope="module")
def expected(golden: Path) -> dict[str, Any]:
    return json.loads((golden / "calibration" / "calibration.json").read_text())


@pytest.fixture(scope="module")
def inputs(golden: Path) -> dict[str, np.ndarray]:
    return {
        **np.load(golden / "statistics" / "inputs.npz"),
        **np.load(golden / "calibration" / "inputs.npz"),
    }


@pytest.fixture
def comparison() -> Comparison:
    return Comparison()


def near_edge(streams: CalibrationStreams) -> bool:
    """Whether float32 edges could move a record."""
    in_bins = streams.confidence * 15
    return bool((np.abs(in_bins - np.rint(in_bins)) < 1e-5).any())


def after(task: str, target: np.ndarray, probability: np.ndarray) -> dict[str, float]:
    """The four numbers that the file states before and after scaling, in its conventions."""
    if task == "multilabel":
        streams, brier = positive_class_streams(target, probability), brier_per_label(target, probability).mean()
    elif task == "binary_first_label":
        streams, brier = binary_top_label_streams(target, probability), 2 * brier_per_label(target, probability)[0]
    else:
        streams, brier = top_label_streams(target, probability), brier_sum_over_classes(target, probability)
    numbers = {
        "ece": expected_calibration_error(streams).mean(),
        "mce": maximum_calibration_error(streams).max(),
        "brier": brier,
    }
    if all(len(np.unique(column)) == len(column) for column in streams.confidence.T):
        numbers["adaptive_ece"] = adaptive_calibration_error(streams).mean()
    return numbers


def test_the_file_holds_what_is_compared_here(expected: dict[str, Any]):
    assert expected["n_bins"] == 15
    assert sorted(expected["real"]) == ["fair_concat", "structured"]
    assert sorted(expected["adversarial"]) == [
        "absent_class_multiclass", "absent_label_multilabel (label 1 has no positive, label 2 no negative)",
        "edges_binary_float32", "edges_binary_float64", "edges_multiclass", "zero_one_binary", "zero_one_multiclass",
    ]  # fmt: skip


@pytest.mark.parametrize("model", ["fair_concat", "structured"])
def test_a_real_model(model: str, expected: dict[str, Any], inputs: dict[str, np.ndarray], comparison: Comparison):
    values = expected["real"][model]
    place = inputs["models"].tolist().index(model)
    probability, target = inputs["eval_prob"][place], inputs["eval_y"]
    comparison.multilabel(target, probability, values["multilabel"])
    comparison.binary(target[:, 0], probability[:, 0], values["binary_first_label"])
    classes = inputs[f"{model}_eval_class"]
    logits = inputs[f"{model}_eval_logits"].astype(np.float64)
    comparison.multiclass(classes, softmax(logits, axis=1), values["multiclass_single_superclass_rows"])

    curve = values["sklearn_calibration_curve_uniform_first_label"]
    table = reliability_bins(positive_class_streams(target[:, 0], probability[:, 0]))
    held = table.count[0] > 0
    assert table.share[0, held] == pytest.approx(np.array(curve["prob_true"]), abs=1e-12)
    assert table.mean_confidence[0, held] == pytest.approx(np.array(curve["prob_pred"]), abs=1e-12)
    assert sum(comparison.compared.values()) > 250


@pytest.mark.parametrize("model", ["fair_concat", "structured"])
@pytest.mark.parametrize("task", ["multiclass", "multilabel", "binary_first_label"])
def test_temperature(
    model: str, task: str, expected: dict[str, Any], inputs: dict[str, np.ndarray], comparison: Comparison
):
    values = expected["real"][model][f"temperature_{task}"]
    place = inputs["models"].tolist().index(model)
    if task == "multiclass":
        fit_target, fit_logit = inputs[f"{model}_fit_class"], inputs[f"{model}_fit_logits"]
        target, logit = inputs[f"{model}_eval_class"], inputs[f"{model}_eval_logits"].astype(np.float64)
        fit, scaled = fit_softmax_temperature(fit_target, fit_logit), softmax_at_temperature
        before = categorical_log_loss(target, logit)
    else:
        columns = slice(None) if task == "multilabel" else slice(1)
        odds = [inputs[f"{part}_prob"][place][:, columns].astype(np.float64) for part in ("fit", "eval")]
        fit_logit, logit = (np.log(p) - np.log1p(-p) for p in odds)
        fit_target, target = inputs["fit_y"][:, columns], inputs["eval_y"][:, columns]
        fit, scaled = fit_sigmoid_temperature(fit_target, fit_logit), sigmoid_at_temperature
        before = log_loss(target, logit).mean()
    comparison.close("temperature", fit.temperature, values[ROOT], 1e-6)
    comparison.close("temperature of scikit-learn", fit.temperature, values["sklearn_T"], 1e-6)
    comparison.close("temperature of deepecgkit", fit.temperature, values["deepecgkit_T"], 1e-4)
    comparison.close("temperature of netcal", fit.temperature, 1 / values["netcal_raw_parameter"][0], 2e-4)
    if task == "binary_first_label":
        doubled = values["sklearn_T_from_1d_decision_function"]
        comparison.close("temperature of scikit-learn", 2 * fit.temperature, doubled, 1e-6)
    comparison.close("loss", fit.loss_before, values["nll_fit_at_T=1"], 1e-10)
    comparison.close("loss", before, values["nll_eval_at_T=1"], 1e-10)
    comparison.close("loss after", fit.loss_after, values["nll_fit_at_T=deepecgkit_T"], 1e-10)
    assert fit.reason is None

    other = values["deepecgkit_T"]
    after_other = (
        categorical_log_loss(target, logit / other) if task == "multiclass" else log_loss(target, logit / other).mean()
    )
    comparison.close("loss", after_other, values["nll_eval_at_T=deepecgkit_T"], 1e-10)
    for temperature, stated, tolerance in (
        (1.0, "before", 1e-12),
        (fit.temperature, "after_exact_T", 1e-10),
        (other, "after_deepecgkit_T", 1e-5),
    ):
        for name, number in after(task, target, scaled(logit, temperature)).items():
            comparison.close(f"{name} at a temperature", number, values[stated][name], tolerance)

    report = expected["real"][model]["deepecgkit_calibration_report_multiclass"]
    if task == "multiclass":
        comparison.close("temperature of deepecgkit", fit.temperature, report["temperature"], 1e-4)
        for name, number in after(task, target, softmax_at_temperature(logit, fit.temperature)).items():
            comparison.close("deepecgkit's report", number, report[f"{name}_temp"], 1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_scores_on_the_edges_of_bins(
    dtype: str, expected: dict[str, Any], inputs: dict[str, np.ndarray], comparison: Comparison
):
    values = expected["adversarial"][f"edges_binary_{dtype}"]
    comparison.binary(inputs["edges_binary_y"], inputs["edges_binary_p64"].astype(dtype), values)


def test_classes_with_scores_on_the_edges_of_bins(
    expected: dict[str, Any], inputs: dict[str, np.ndarray], comparison: Comparison
):
    target, probability = inputs["edges_multiclass_y"], inputs["edges_multiclass_p"]
    comparison.multiclass(target, probability, expected["adversarial"]["edges_multiclass"])


def test_probabilities_of_exactly_0_and_1(
    expected: dict[str, Any], inputs: dict[str, np.ndarray], comparison: Comparison
):
    values = expected["adversarial"]["zero_one_binary"]
    target, probability = inputs["zero_one_binary_y"], inputs["zero_one_binary_p"]
    comparison.binary(target, probability, values)
    lowest, middle, highest = values["deepecgkit_probabilities_to_logits_unique"]
    logits = np.select([probability == 0, probability == 1], [lowest, highest], middle)
    fit = fit_sigmoid_temperature(target, logits)
    comparison.close("temperature", fit.temperature, values["exact_T"], 1e-6)
    comparison.close("temperature of deepecgkit", fit.temperature, values["deepecgkit_T_fit_on_itself"], 1e-4)
    assert expit(highest) == pytest.approx(1 - 1e-7, abs=1e-12)

    target, probability = inputs["zero_one_multiclass_y"], inputs["zero_one_multiclass_p"]
    comparison.multiclass(target, probability, expected["adversarial"]["zero_one_multiclass"])


def test_an_absent_class(expected: dict[str, Any], inputs: dict[str, np.ndarray], comparison: Comparison):
    values = expected["adversarial"]["absent_class_multiclass"]
    target, logit = inputs["absent_multiclass_y"], inputs["absent_multiclass_logits"].astype(np.float64)
    assert len(np.unique(target)) < logit.shape[1]
    comparison.multiclass(target, softmax(logit, axis=1), values)
    # Fitted on the first half, applied to the second.
    stated, half = values["temperature"], len(target) // 2
    fit = fit_softmax_temperature(target[:half], logit[:half])
    comparison.close("temperature", fit.temperature, stated[ROOT], 1e-6)
    comparison.close("temperature of scikit-learn", fit.temperature, stated["sklearn_T"], 1e-6)
    comparison.close("temperature of deepecgkit", fit.temperature, stated["deepecgkit_T"], 1e-4)
    comparison.close("temperature of netcal", fit.temperature, 1 / stated["netcal_raw_parameter"][0], 2e-4)
    comparison.close("loss", fit.loss_before, stated["nll_fit_at_T=1"], 1e-10)
    comparison.close("loss after", fit.loss_after, stated["nll_fit_at_T=deepecgkit_T"], 1e-10)
    later = target[half:], logit[half:]
    comparison.close("loss", categorical_log_loss(*later), stated["nll_eval_at_T=1"], 1e-10)
    for temperature, when, tolerance in (
        (1.0, "before", 1e-12),
        (fit.temperature, "after_exact_T", 1e-10),
        (stated["deepecgkit_T"], "after_deepecgkit_T", 1e-5),
    ):
        for name, number in after("multiclass", later[0], softmax_at_temperature(later[1], temperature)).items():
            comparison.close(f"{name} at a temperature", number, stated[when][name], tolerance)


def test_a_label_without_positives_and_one_without_negatives(
    expected: dict[str, Any], inputs: dict[str, np.ndarray], comparison: Comparison
):
    key = next(name for name in expected["adversarial"] if name.startswith("absent_label_multilabel"))
    target, probability = inputs["absent_multilabel_y"], inputs["absent_multilabel_p"]
    assert target.sum(axis=0)[1:].tolist() == [0, len(target)]
    comparison.multilabel(target, probability, expected["adversarial"][key])
