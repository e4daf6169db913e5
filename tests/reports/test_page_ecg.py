from __future__ import annotations

import re

from einthoven.reports.page import write_report


def test_the_example_ecg_stands_on_the_page_and_fetches_nothing(make_study):
    html = write_report(make_study()).read_text()
    figure = re.search(r'<figure class="ecg">.*?</figure>', html, re.DOTALL)
    assert figure
    assert "<svg" in figure[0]
    assert "aVR" in figure[0]
    assert not re.search(r"<script|<!DOCTYPE|<\?xml|(?:href|src)=\"(?!#)|url\((?!#)", figure[0])
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_a_record_name_on_the_paper_is_escaped(make_study):
    html = write_report(make_study(example_record='<script>alert(1)</script> $x_1$ & "q"')).read_text()
    assert "<script>alert" not in html
    assert "&lt;script" in html


def test_a_cohort_of_other_channels_shows_them_under_their_names(make_study, monkeypatch):
    from einthoven.studies.results import CohortResult

    folder = make_study()
    real = CohortResult.model_validate_json
    channels = tuple(f"channel {number}" for number in range(12))

    def of_channels(text, **more):
        found = real(text, **more)
        return found.model_copy(update={"cohort": found.cohort.model_copy(update={"leads": channels})})

    monkeypatch.setattr(CohortResult, "model_validate_json", of_channels)
    html = write_report(folder).read_text()
    assert "One ECG of the cohort" in html
    assert all(name in html for name in channels)
