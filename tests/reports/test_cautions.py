from __future__ import annotations

import pytest

from einthoven.reports.cautions import Caution, cautions
from einthoven.reports.reading import read_study


def find(found: list[Caution], words: str) -> Caution:
    hits = [caution for caution in found if words in caution.title]
    assert len(hits) == 1, [caution.title for caution in found]
    return hits[0]


def test_serious_things_come_first(make_study):
    levels = [caution.level for caution in cautions(read_study(make_study(promised_factor=10)))]
    assert levels == sorted(levels, key=["serious", "caution", "note"].index)
    assert levels[0] == "serious"


def test_synthetic_data_is_said_of_the_phantom_only(make_study):
    assert find(cautions(read_study(make_study())), "synthetic").level == "serious"


def test_real_data_is_not_called_synthetic(make_study):
    assert not any("synthetic" in caution.title for caution in cautions(read_study(make_study(dataset="ptbxl"))))


def test_missing_records_and_positives_are_counted(make_study):
    found = cautions(read_study(make_study(promised_factor=10)))
    records = find(found, "are in the cohort")
    assert records.title.replace("\u202f", "") == "2000 of 20000 records of Einthoven phantom are in the cohort (10 %)."
    assert records.items == (
        "7 records: signal file missing (first: 00001)",
        "2 records: flat in every lead (first: 00001)",
    )
    positives = find(found, "fewer test positives")
    assert positives.items[0].replace("\u202f", "") == "super: 505 of 5050 are here"


def test_a_whole_cohort_is_not_warned_of(make_study):
    titles = [caution.title for caution in cautions(read_study(make_study()))]
    assert not any("are in the cohort" in title or "fewer test positives" in title for title in titles)


def test_labels_that_are_not_judged_are_named_with_their_support(make_study):
    caution = find(cautions(read_study(make_study())), "not judged")
    assert caution.title == "6 of 20 labels are not judged."
    assert caution.items == ("rhythm, 6 of 15: SVARR (4), BIGU (2), AFLT (1), SVTAC (1), PSVT (0), TRIGU (0)",)


def test_probe_troubles_are_counted(make_study):
    found = cautions(read_study(make_study()))
    assert find(found, "no probe").items == ("rhythm, no positive record in train: PSVT, TRIGU",)
    assert find(found, "edge of the grid").title.startswith("6 of 54 probes")
    assert find(found, "did not converge").title == "6 probe fits did not converge."


def test_only_floors_and_a_floor_as_baseline_are_hinted_at(make_study):
    assert find(cautions(read_study(make_study())), "Every encoder here is a floor")


def test_a_baseline_that_is_a_floor_is_hinted_at(make_study):
    found = cautions(read_study(make_study(floors=(False, True, True), baseline="rr-features")))
    assert "least that can be asked" in find(found, "The baseline rr-features is a floor").detail


def test_unknown_pretraining_is_not_no_pretraining(make_study):
    assert find(cautions(read_study(make_study(pretraining="unknown"))), "is unknown").level == "caution"


def test_the_dataset_in_the_pretraining_is_said(make_study):
    found = cautions(read_study(make_study(dataset="ptbxl", pretraining=("code", "ptbxl"))))
    assert len(find(found, "had this dataset in pretraining").items) == 3


def test_without_a_cohort_cell_nothing_breaks(make_study):
    found = cautions(read_study(make_study(missing=("cohort phantom",))))
    assert find(found, "not judged")


@pytest.mark.parametrize(
    ("access", "shown"), [("open", True), ("synthetic", True), ("credentialed", False), ("private", False)]
)
def test_ids_and_records_of_data_that_are_not_open_are_not_shown(make_study, access, shown):
    from einthoven.reports.page import write_report

    record = "00042" if shown else None
    text = write_report(make_study(access=access, promised_factor=3, example_record=record)).read_text()
    assert ("(first: 00001)" in text) == shown
    assert (f"No single record is shown: access to the dataset is {access}" in text) == (not shown)


def test_intervals_without_width_are_said(make_study):
    assert not [c for c in cautions(read_study(make_study())) if "no width" in c.title]


def test_an_interval_without_width_is_named_with_its_encoder(make_study):
    found = find(cautions(read_study(make_study(label_half=0.0))), "no width")
    assert any("NORM (random-resnet18)" in item for item in found.items)
