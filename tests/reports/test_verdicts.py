from __future__ import annotations

import pytest

from einthoven.reports.reading import read_study
from einthoven.reports.verdicts import task_verdict
from einthoven.studies.spec import EncoderChoice


def test_different_and_not_shown_to_be_different_are_told_apart(make_study):
    study = read_study(make_study(skill=(0.83, 0.82, 0.68), difference_half=0.02))
    verdict = task_verdict(study, "super")
    assert verdict.basis == "5 of 5 labels judged; 400 test records of 377 patients"
    assert verdict.headline == "random-resnet18 (a floor) has the highest macro AUROC, 0.830 [0.800, 0.860]."
    assert "No difference from it can be shown for rr-features (difference −0.010 [−0.030, 0.010])." in verdict.clauses
    assert "Lower: age-sex by 0.150 [0.130, 0.170]." in verdict.clauses


def test_equality_is_never_claimed(make_study):
    study = read_study(make_study(skill=(0.8, 0.8, 0.8)))
    text = " ".join(task_verdict(study, "super").clauses)
    assert "No difference from it can be shown for rr-features" in text
    for claim in ("equal", "same", "equivalent", "as good as", "identical"):
        assert claim not in text


def test_labels_that_are_not_judged_are_not_counted_as_judged(make_study):
    assert task_verdict(read_study(make_study()), "rhythm").basis.startswith("9 of 15 labels judged")


def test_the_baseline_is_named_where_it_is_not_the_best(make_study):
    study = read_study(make_study(baseline="rr-features"))
    assert (
        "Against the baseline rr-features: age-sex lower (−0.140 [−0.160, −0.120])."
        in task_verdict(study, "super").clauses
    )


def test_no_judged_label_gives_no_finding_but_a_reason(make_study):
    verdict = task_verdict(read_study(make_study(labels={"rare": {"A": 2, "B": 0}})), "rare")
    assert not verdict.defined
    assert verdict.headline == "No macro AUROC is defined: no label is judged."


def test_a_task_without_a_comparison_says_which_cell_is_missing(make_study):
    folder = make_study(failed={"probe age-sex on super": "MemoryError: no"}, missing=("compare on super",))
    verdict = task_verdict(read_study(folder), "super")
    assert not verdict.defined
    assert "'compare on super' has not run: it needs 'probe age-sex on super', which failed" in verdict.headline


def test_one_encoder_has_nothing_to_be_compared_with(make_study):
    study = read_study(make_study(encoders=(EncoderChoice(name="alone"),), skill=(0.8,), floors=(False,)))
    assert "nothing to compare it with" in task_verdict(study, "super").headline


@pytest.mark.parametrize("half", [0.001, 1.0])
def test_every_other_encoder_is_mentioned_once_among_many(make_study, half):
    names = [f"encoder-{i:02d}" for i in range(9)]
    study = read_study(
        make_study(
            encoders=tuple(EncoderChoice(name=n) for n in names), skill=tuple(0.9 - 0.02 * i for i in range(9)),
            floors=(False,) * 9, difference_half=half,
        )
    )  # fmt: skip
    standing = task_verdict(study, "super").clauses[0]
    assert all(standing.count(name) == 1 for name in names[1:])
    if half < 0.01:
        assert standing.startswith("8 are lower, by 0.020 to 0.160:")
    else:
        assert standing.startswith("No difference from it can be shown for")


def test_the_other_metric_may_have_another_leader(make_study, made):
    study = read_study(make_study())
    maker = made()
    comparison = maker.comparison("super")
    precision = comparison.macro.average_precision
    swapped = comparison.macro.model_copy(
        update={
            "average_precision": (precision[1], precision[0], precision[2]),
            "differences": {**comparison.macro.differences, "average_precision": ()},
        }
    )
    study.comparisons["super"] = comparison.model_copy(update={"macro": swapped})
    last = task_verdict(study, "super").clauses[-1]
    assert (
        last
        == "By macro AUPRC the highest is rr-features, 0.480 [0.450, 0.510], and was not compared with random-resnet18."
    )
