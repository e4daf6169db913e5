from __future__ import annotations

from einthoven.reports.origins import kind_times, last_finished, origins
from einthoven.reports.reading import read_study


def test_one_commit_is_one_value(make_study):
    found = {origin.name: origin for origin in origins(read_study(make_study()))}
    assert found["commit"].values == ("abc123",)
    assert found["torch"].values == ("–",)
    assert not any(origin.differs for origin in found.values())


def test_cells_of_different_commits_are_told_with_their_numbers(make_study):
    found = {origin.name: origin for origin in origins(read_study(make_study(commits=("one", "two", "two"))))}
    assert found["commit"].differs
    assert found["commit"].values == ("one (4 cells)", "two (8 cells)")


def test_time_counts_finished_cells_only(make_study):
    rows, total = kind_times(read_study(make_study(missing=("compare on super",))))
    assert total == "16.5 s"
    comparison = next(row for row in rows if row.kind == "comparison")
    assert (comparison.finished, comparison.planned, comparison.time) == (1, 2, "1.5 s")


def test_nothing_finished_has_no_time(make_study, made):
    titles = (
        "cohort phantom",
        *(f"embed with {e}" for e in made().ids),
        *(f"compare on {t}" for t in ("super", "rhythm")),
    )
    probes = tuple(f"probe {e} on {t}" for e in made().ids for t in ("super", "rhythm"))
    study = read_study(make_study(missing=titles + probes))
    assert last_finished(study) == ""
    assert origins(study) == []
    assert kind_times(study)[1] == "0 s"
