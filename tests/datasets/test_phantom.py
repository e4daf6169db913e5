"""The phantom's truth is true: measured again, independently, from signals without noise."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_features__
from scipy.signal import find_peaks

from einthoven.datasets.building import prepare
from einthoven.datasets.phantom.conditions import FORM
from einthoven.datasets.phantom.dipole import EDGE, LEAD_VECTORS, Part, extent
from einthoven.datasets.phantom.generator import generate_phantom
from einthoven.datasets.phantom.population import RHYTHM
from einthoven.datasets.phantom.rendering import beats_of, clean_leads, shapes_of
from einthoven.datasets.phantom.truth import UNITS
from einthoven.foundation.errors import UsageError
from einthoven.signals.leads import STANDARD_LEADS

RATE = 1000.0
LEAD = {name: index for index, name in enumerate(STANDARD_LEADS)}


@pytest.fixture(scope="module")
def phantom():
    return generate_phantom(records=2000, seed=0)


def clean(phantom, index: int) -> np.ndarray:
    return clean_leads(phantom.rendering.plans[index], seed=phantom.rendering.seed, rate=RATE, seconds=10.0)


def some(phantom, condition, count: int = 12) -> list[int]:
    found = [plan.index for plan in phantom.rendering.plans if condition(plan)][:count]
    assert len(found) >= 3
    return found


def test_the_lead_vectors_obey_the_limb_lead_laws() -> None:
    one, two, three, avr, avl, avf = LEAD_VECTORS[:6]
    np.testing.assert_allclose(one + three, two, atol=1e-12)
    np.testing.assert_allclose(avr + avl + avf, 0, atol=1e-12)
    np.testing.assert_allclose(avf, (two + three) / 2, atol=1e-12)


def test_rr_is_what_a_peak_picker_finds(phantom) -> None:
    for index in some(phantom, lambda p: p.form in ({"NORM"}, {"1AVB"}), 25):
        peaks, _ = find_peaks(np.abs(np.gradient(clean(phantom, index)[LEAD["V5"]])), height=0.02, distance=250)
        intervals = np.diff(peaks) * 1000 / RATE
        # Complexes cut by an edge of the record may be counted by one and not by the other.
        assert abs(np.median(intervals) - np.median(np.diff(_peaks(phantom, index)) * 1000)) < 15
        truth = phantom.truth["rr_mean"][index]
        # The truth is kept to six decimals.
        assert abs(np.diff(_peaks(phantom, index)).mean() * 1000 - truth) < 1e-6
        assert abs(phantom.truth["heart_rate"][index] - 60000 / truth) < 1e-6


def _peaks(phantom, index: int) -> np.ndarray:
    return beats_of(phantom.rendering.plans[index], seed=phantom.rendering.seed, seconds=10.0).within(10.0).times


def test_st_and_r_amplitudes_are_on_the_signal(phantom) -> None:
    chosen = some(phantom, lambda p: p.rhythm == "SR" and "PVC" not in p.form and p.heart_rate < 80, 30)
    chosen += some(
        phantom, lambda p: "STE" in p.form and p.rhythm == "SR" and "PVC" not in p.form and p.heart_rate < 80, 6
    )
    for index in chosen:
        signal = clean(phantom, index)
        beat, _ = shapes_of(phantom.rendering.plans[index])
        begin, end = extent(beat, Part.QRS)  # type: ignore[misc]  # every beat has a QRS
        peak = _peaks(phantom, index)[3]
        at = round((peak + end + 0.060) * RATE)
        window = signal[:, round((peak + begin) * RATE) : round((peak + end) * RATE)]
        for lead, row in LEAD.items():
            assert abs(signal[row, at] - phantom.truth[f"st_{lead}"][index]) < 0.02
            assert abs(max(window[row].max(), 0) - phantom.truth[f"r_{lead}"][index]) < 0.03


def test_the_axis_is_that_of_the_net_qrs_area(phantom) -> None:
    for index in some(phantom, lambda p: p.form == {"NORM"} and p.rhythm == "SR" and p.heart_rate < 80, 20):
        beat, _ = shapes_of(phantom.rendering.plans[index])
        begin, end = extent(beat, Part.QRS)  # type: ignore[misc]  # every beat has a QRS
        peak = _peaks(phantom, index)[3]
        area = clean(phantom, index)[:, round((peak + begin) * RATE) : round((peak + end) * RATE)].sum(axis=1)
        found = np.degrees(np.arctan2(2 * area[LEAD["aVF"]] / np.sqrt(3), area[LEAD["I"]]))
        assert abs(found - phantom.truth["axis"][index]) < 4


def test_intervals_follow_their_conditions(phantom) -> None:
    for plan in phantom.rendering.plans:
        pr, qrs = phantom.truth["pr"][plan.index], phantom.truth["qrs"][plan.index]
        assert ("1AVB" in plan.form) == (pr > 200)
        assert (pr < 120) == ("WPW" in plan.form)
        assert np.isnan(pr) == (plan.rhythm == "AFIB") == (phantom.truth["p_present"][plan.index] == 0)
        assert (qrs >= 120) == bool(plan.form & {"LBBB", "RBBB", "WPW"}), plan.form
    assert (phantom.truth["qt"] > phantom.truth["qrs"] + 120).all()


def test_rhythm_labels_are_decided_by_the_planted_rate(phantom) -> None:
    rate = phantom.truth["heart_rate"]
    for plan in phantom.rendering.plans:
        if plan.rhythm != "AFIB":
            expected = "SBRAD" if rate[plan.index] < 60 else "STACH" if rate[plan.index] > 100 else "SR"
            assert plan.rhythm == expected
    labels, targets = phantom.tasks["rhythm"]
    assert labels == RHYTHM
    assert (targets.sum(axis=1) == 1).all()
    fibrillates = np.array([plan.rhythm == "AFIB" for plan in phantom.rendering.plans])
    steady = np.array([not plan.premature for plan in phantom.rendering.plans])
    variation = phantom.truth["rr_sd"] / phantom.truth["rr_mean"]
    assert np.median(variation[fibrillates]) > 4 * np.median(variation[~fibrillates & steady])


def test_a_normal_record_has_no_other_form_label(phantom) -> None:
    labels, targets = phantom.tasks["form"]
    assert labels == FORM
    normal = targets[:, labels.index("NORM")] == 1
    assert (targets[normal].sum(axis=1) == 1).all()
    assert (phantom.truth["premature_beats"] > 0).tolist() == (targets[:, labels.index("PVC")] == 1).tolist()


def test_shapes_are_the_textbooks(phantom) -> None:
    def mean_r(condition, lead: str) -> float:
        return float(np.mean([phantom.truth[f"r_{lead}"][i] for i in some(phantom, condition, 40)]))

    def normal(p) -> bool:
        return p.form == {"NORM"}

    assert mean_r(normal, "V1") < mean_r(normal, "V3") < mean_r(normal, "V5")
    assert mean_r(lambda p: p.form == {"RBBB"} and p.severity > 0.5, "V1") > 2 * mean_r(normal, "V1")
    assert mean_r(lambda p: p.form == {"LVH"}, "V5") > 1.6 * mean_r(normal, "V5")

    def marked(label: str, territory: str) -> list[int]:
        return some(phantom, lambda p: p.form == {label} and p.severity > 0.5 and p.territory == territory, 20)

    truth = phantom.truth
    assert all(truth["st_III"][i] > 0.05 and truth["st_aVL"][i] < 0 for i in marked("STE", "inferior"))
    assert all(truth["st_V2"][i] > 0.1 for i in marked("STE", "anterior"))
    assert all(truth["st_V5"][i] < 0 for i in marked("STD", "anterior"))


def test_stored_signals_obey_einthovens_law_and_are_the_size_of_ecgs(phantom) -> None:
    signals = phantom.signals(0, 200)
    assert (signals.dtype, signals.shape) == (np.float32, (200, 12, 1000))
    np.testing.assert_allclose(signals[:, 0] + signals[:, 2], signals[:, 1], atol=1e-5)
    np.testing.assert_allclose(signals[:, 3:6].sum(axis=1), 0, atol=1e-5)
    height = np.ptp(signals, axis=2)
    assert 0.8 < np.median(height) < 3
    assert height.max() < 15


def test_a_record_depends_on_the_seed_and_on_nothing_else(phantom) -> None:
    fewer = generate_phantom(records=50, seed=0)
    np.testing.assert_array_equal(fewer.signals(40, 50), phantom.signals(30, 60)[10:20])
    assert tuple(fewer.rendering.plans) == phantom.rendering.plans[:50]
    for concept, values in phantom.rendering.truth(30, 60).items():
        np.testing.assert_array_equal(values[10:20], fewer.truth[concept][40:])
    other = generate_phantom(records=50, seed=1)
    assert not np.array_equal(other.signals(0, 1), fewer.signals(0, 1))
    fast = clean_leads(phantom.rendering.plans[7], seed=0, rate=500.0, seconds=10.0)
    np.testing.assert_allclose(
        fast[:, ::5], clean_leads(phantom.rendering.plans[7], seed=0, rate=100.0, seconds=10.0), atol=1e-9
    )


def test_patients_keep_to_one_split_and_have_one_to_four_records(phantom) -> None:
    counts: dict[str, int] = {}
    splits: dict[str, set[str]] = {}
    for plan in phantom.rendering.plans:
        counts[plan.patient.patient_id] = counts.get(plan.patient.patient_id, 0) + 1
        splits.setdefault(plan.patient.patient_id, set()).add(plan.patient.split)
    assert set(counts.values()) == {1, 2, 3, 4}
    assert all(len(found) == 1 for found in splits.values())
    share = np.mean([plan.patient.split == "train" for plan in phantom.rendering.plans])
    assert 0.65 < share < 0.75


def test_every_label_is_in_every_split_and_one_is_rare_on_purpose(phantom) -> None:
    split = np.array([plan.patient.split for plan in phantom.rendering.plans])
    for labels, targets in phantom.tasks.values():
        for index, label in enumerate(labels):
            positives = [int(targets[split == name, index].sum()) for name in ("train", "val", "test")]
            assert min(positives) >= 1, (label, positives)
            assert (1 <= positives[2] < 10) == (label == "WPW"), (label, positives)


def test_age_and_sex_tell_something(phantom) -> None:
    age = np.array([plan.patient.age for plan in phantom.rendering.plans])
    fibrillates = np.array([plan.rhythm == "AFIB" for plan in phantom.rendering.plans])
    assert age[fibrillates].mean() > age[~fibrillates].mean() + 5


def test_every_concept_has_a_unit_and_only_pr_can_be_undefined(phantom) -> None:
    assert set(phantom.truth) == set(UNITS)
    undefined = {name for name, values in phantom.truth.items() if np.isnan(values).any()}
    assert undefined == {"pr"}


def test_the_edge_of_a_wave_is_where_it_has_faded() -> None:
    assert np.exp(-0.5 * EDGE**2) < 0.05


@pytest.mark.parametrize("change", [{"records": 0}, {"seed": -1}, {"rate": 10.0}, {"seconds": 1.0}])
def test_impossible_requests_are_refused(change) -> None:
    with pytest.raises(UsageError, match=next(iter(change))):
        generate_phantom(**{"records": 3, **change})


def test_it_is_prepared_like_any_dataset(home) -> None:
    cohort = prepare("phantom", rate=100.0, options={"records": 300, "seed": 5})
    phantom = generate_phantom(records=300, seed=5)
    np.testing.assert_allclose(cohort.signals(slice(128, 140)), phantom.signals(128, 140), atol=0.00051)
    assert cohort.task("form").labels == FORM
    assert len(cohort.task("form").rows) == 300
    truth = cohort.concepts("truth")
    assert truth["record_id"].to_list() == cohort.records["record_id"].to_list()
    np.testing.assert_allclose(truth["qrs"].to_numpy(), phantom.truth["qrs"])
    assert cohort.manifest.flagged == {"flat_leads": 0, "clipped_leads": 0}
    assert (
        prepare("phantom", rate=100.0, options={"records": 300, "seed": 5}, name="again").fingerprint
        == cohort.fingerprint
    )
    with pytest.raises(UsageError, match="leave --source out"):
        prepare("phantom", home, name="x")


_FINGERPRINT = """
import os, sys
os.environ["EINTHOVEN_HOME"] = sys.argv[1]
from einthoven.datasets.building import prepare
if __name__ == "__main__":
    print(prepare("phantom", rate=100, options={"records": 150}).fingerprint)
"""


@pytest.mark.slow
def test_the_fingerprint_does_not_depend_on_what_the_processor_can(tmp_path) -> None:
    """numpy takes other instructions on other processors, with other last bits."""
    script = tmp_path / "fingerprint.py"
    script.write_text(_FINGERPRINT)
    found = set()
    for name, disabled in (("all", ""), ("few", "X86_V3 X86_V4 AVX512_ICL AVX512F AVX512_SKX AVX2 FMA3")):
        known = " ".join(feature for feature in disabled.split() if __cpu_features__.get(feature))
        environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": known}
        ended = subprocess.run(
            [sys.executable, str(script), str(tmp_path / name)],
            env=environment, capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
        found.add(ended.stdout.strip().splitlines()[-1])
    assert len(found) == 1
