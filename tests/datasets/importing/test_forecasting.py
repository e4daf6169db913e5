"""Who is positive, negative, prevalent, censored or unknown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from einthoven.datasets.importing.forecasting import (
    CENSORED,
    PREVALENT,
    UNKNOWN,
    UNTIMED,
    Course,
    forecasting_task,
    outcome,
)
from einthoven.datasets.importing.labels import ReadTask
from einthoven.datasets.importing.mapping import parse_plan
from einthoven.datasets.importing.preparing import import_table
from einthoven.datasets.importing.table import DAY, Table, Times
from einthoven.datasets.importing.task_mapping import ForecastingTask
from einthoven.foundation.errors import DataError, UsageError

from .ward import Ward, write_table

Cells = list[str | None]


def table(**columns: Cells) -> Table:
    columns = {name: [cell or None for cell in cells] for name, cells in columns.items()}
    return Table(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), name="t.csv", sha256="")


def task(**values: Any) -> ForecastingTask:
    return ForecastingTask.model_validate({"kind": "forecasting", "label": "ev", "horizon_days": 365, **values})


def read(task: ForecastingTask, table: Table, *, ecg: str | None = None, **more: Any) -> ReadTask:
    ids = [str(row) for row in range(len(table))]
    times = table.times(ecg) if ecg else None
    return forecasting_task(
        task, table, ids, patients=more.pop("patients", ids), ecg=times, outcomes=more.pop("outcomes", None)
    )


def verdicts(found: ReadTask) -> dict[str, bool]:
    return {record: bool(labels) for record, labels in found.table.positives.items()}


@pytest.mark.parametrize(
    ("course", "expected"),
    [
        (Course(None, 365), False),
        (Course(None, 364), CENSORED),
        (Course(None, None), UNKNOWN),
        (Course(1, None), True),
        (Course(365, None), True),
        (Course(366, None), False),
        (Course(366, 2), False),
        (Course(10, 2), True),
        (Course(0, None), PREVALENT),
        (Course(-5, 500), PREVALENT),
        (Course(None, -3), CENSORED),
        (Course(5, 500, timed=False), UNTIMED),
    ],
)
def test_the_definition_at_its_borders(course: Course, expected: bool | str) -> None:
    assert outcome(course, horizon=365, after=0, prevalent_is_positive=False) == expected


def test_prevalent_events_may_count_and_may_last_longer() -> None:
    assert outcome(Course(-5, None), horizon=365, after=0, prevalent_is_positive=True) is True
    assert outcome(Course(30, None), horizon=365, after=30, prevalent_is_positive=False) == PREVALENT
    assert outcome(Course(31, None), horizon=365, after=30, prevalent_is_positive=False) is True


def test_durations_in_years() -> None:
    found = read(
        task(horizon_days=None, horizon_years=1, event="death", time_to="timey", unit="years"),
        table(
            death=["1", "True", "0", "False", "", "0", ""],
            timey=["1", "1.01", "1", "0.99", "", "", "3"],
        ),
    )
    assert verdicts(found) == {"0": True, "1": False, "2": False}
    assert found.left_out == {CENSORED: 1, UNKNOWN: 3}


def test_an_event_without_its_time_is_refused() -> None:
    with pytest.raises(DataError, match=r"the time of the event, since death is true, was expected.* \(row 2\)"):
        read(task(event="death", time_to="t", unit="days"), table(death=["0", "1"], t=["3", None]))


def test_dates() -> None:
    found = read(
        task(event_time="dead", followed_until="seen"),
        table(
            ecg=["2020-01-01"] * 7 + [None],
            dead=["2020-12-31", "2021-01-01", "2019-12-31", "2020-01-01", None, None, None, "2020-05-05"],
            seen=[None, None, "2022-01-01", None, "2020-12-31", "2020-12-30", None, None],
        ),
        ecg="ecg",
    )
    assert verdicts(found) == {"0": True, "1": False, "4": False}
    assert found.left_out == {PREVALENT: 2, CENSORED: 1, UNKNOWN: 1, UNTIMED: 1}


def test_follow_up_that_ends_before_the_ecg_is_told() -> None:
    columns = {
        "when": ["2020-01-10", "2020-01-10", "2020-01-10"],
        "died": [None, "2020-03-01", None],
        "last": ["2020-01-01", "2020-01-01", "2022-01-01"],
    }
    found = read(task(event_time="died", followed_until="last"), table(**columns), ecg="when")
    assert any("the follow-up of 2 of 3 ECGs ends before the ECG" in note for note in found.notes)


def test_dates_with_and_without_a_zone_are_not_compared() -> None:
    with pytest.raises(DataError, match=r"column dead of t\.csv has a time zone"):
        read(
            task(event_time="dead", followed_until="seen"),
            table(ecg=["2020-01-01"], dead=["2020-12-31T00:00:00+00:00"], seen=[None]),
            ecg="ecg",
        )


MEASURED = {"rule": "< 40", "outcome_patient": "who", "outcome_time": "when", "outcome_value": "ef"}


def test_measurements() -> None:
    patients = ["low", "never", "late", "gone", "before", "unseen", "late-low", "at-horizon"]
    outcomes = [
        ("low", "2020-03-01", "55"),
        ("low", "2020-06-01", "39.9"),
        ("never", "2020-06-01", "40"),
        ("late", "2021-06-01", "55"),
        ("before", "2019-06-01", "30"),
        ("before", "2020-06-01", "55"),
        ("late-low", "2020-06-01", "55"),
        ("late-low", "2022-06-01", "20"),
        ("at-horizon", "2020-12-31", "10"),
        ("gone", "2020-06-01", ""),
        ("gone", "2019-01-01", "60"),
        ("stranger", "2020-06-01", "10"),
    ]
    measured = table(**{name: [row[i] or None for row in outcomes] for i, name in enumerate(("who", "when", "ef"))})
    found = read(task(**MEASURED), table(ecg=["2020-01-01"] * 8), ecg="ecg", patients=patients, outcomes=measured)
    assert {patients[int(row)]: positive for row, positive in verdicts(found).items()} == {
        "low": True,
        "never": False,
        "late-low": False,
        "at-horizon": True,
    }
    assert found.left_out == {CENSORED: 1, UNKNOWN: 2, PREVALENT: 1}


def test_follow_up_may_end_later_than_the_measurements() -> None:
    measured = table(who=["a"], when=["2021-06-01"], ef=["20"])
    rows = table(ecg=["2020-01-01"] * 2, seen=["2021-06-01", "2020-06-01"])
    found = read(task(**MEASURED, followed_until="seen"), rows, ecg="ecg", patients=["a", "b"], outcomes=measured)
    assert verdicts(found) == {"0": False}
    assert found.left_out == {CENSORED: 1}


def test_measurements_of_strangers_only() -> None:
    with pytest.raises(DataError, match="Are the ids written alike in both"):
        read(
            task(**MEASURED),
            table(ecg=["2020-01-01"]),
            ecg="ecg",
            patients=["1"],
            outcomes=table(who=["1.0"], when=["2020-02-01"], ef=["30"]),
        )


@given(
    ecg=st.lists(st.one_of(st.none(), st.integers(0, 40)), min_size=1, max_size=4),
    measured=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 80)), min_size=1, max_size=8),
    horizon=st.integers(2, 20),
    after=st.integers(0, 1),
    until=st.one_of(st.none(), st.integers(0, 60)),
)
def test_measurements_against_the_definition_word_by_word(
    ecg: list[int | None], measured: list[tuple[int, int]], horizon: int, after: int, until: int | None
) -> None:
    def day(number: int | None) -> str | None:
        return None if number is None else str(np.datetime64("2020-01-01") + np.timedelta64(number, "D"))

    rows = table(ecg=[day(number) for number in ecg], seen=[day(until)] * len(ecg))
    outcomes = table(
        who=["p"] * len(measured), when=[day(when) for when, _ in measured], ef=[str(value) for _, value in measured]
    )
    found = read(
        task(**MEASURED, horizon_days=horizon, after_days=after, followed_until="seen"),
        rows,
        ecg="ecg",
        patients=["p"] * len(ecg),
        outcomes=outcomes,
    )
    expected: dict[str, bool] = {}
    for row, start in enumerate(ecg):
        if start is None:
            continue
        low = [when - start for when, value in measured if value < 40]
        if any(when <= after for when in low):
            continue
        if any(after < when <= horizon for when in low):
            expected[str(row)] = True
        elif any(after < when - start <= horizon for when, _ in measured) or (
            until is not None and until - start >= horizon
        ):
            expected[str(row)] = False
    assert verdicts(found) == expected
    assert sum(found.left_out.values()) == len(ecg) - len(expected)


@given(
    rows=st.lists(
        st.tuples(st.one_of(st.none(), st.booleans()), st.one_of(st.none(), st.integers(-3, 12))), min_size=1
    ),
    horizon=st.integers(2, 9),
    after=st.integers(0, 1),
    prevalent=st.sampled_from(["exclude", "positive"]),
)
def test_durations_against_the_definition_word_by_word(
    rows: list[tuple[bool | None, int | None]], horizon: int, after: int, prevalent: str
) -> None:
    rows = [(event, 5 if event and time is None else time) for event, time in rows]
    found = read(
        task(event="e", time_to="t", unit="days", horizon_days=horizon, after_days=after, prevalent=prevalent),
        table(
            e=[None if event is None else str(event) for event, _ in rows],
            t=[None if time is None else str(time) for _, time in rows],
        ),
    )
    expected: dict[str, bool] = {}
    for row, (event, time) in enumerate(rows):
        if event is None or time is None:
            continue
        if event and time <= after:
            if prevalent == "positive":
                expected[str(row)] = True
        elif event:
            expected[str(row)] = time <= horizon
        elif time >= horizon:
            expected[str(row)] = False
    assert verdicts(found) == expected
    assert sum(found.left_out.values()) == len(rows) - len(expected)


HORIZONS = [("horizon_days", 1, DAY), ("horizon_days", 365, 365 * DAY), ("horizon_days", 0.1, DAY // 10)]
HORIZONS += [("horizon_years", 1, 31_557_600_000_000), ("horizon_years", 5, 5 * 31_557_600_000_000)]


@given(
    start=st.datetimes(datetime(1901, 1, 1), datetime(2190, 1, 1)),  # noqa: DTZ001
    horizon=st.sampled_from(HORIZONS),
    off=st.sampled_from([-1, 0, 1]),
)
def test_all_that_lies_at_the_horizon_is_exact_to_the_microsecond(
    start: datetime, horizon: tuple[str, float, int], off: int
) -> None:
    """In the three forms, for events, for the end of follow-up and for prevalent events."""
    key, value, wanted = horizon
    end = (start + timedelta(microseconds=wanted + off)).isoformat()
    # A second row with times of day, so that neither column is one of dates only.
    clock = ["2000-01-01T01:02:03"]
    cells = {"ecg": [start.isoformat(), *clock], "at": [end, *clock], "none": [None, None]}
    either = {"horizon_days": None, key: value}

    def verdict(**more: Any) -> bool | None:
        return verdicts(read(task(**{**either, **more}), table(**cells), ecg="ecg")).get("0")

    assert verdict(event_time="at", followed_until="none") is (off <= 0)
    assert verdict(event_time="none", followed_until="at") is (False if off >= 0 else None)
    later = {"horizon_days": 10_000, "horizon_years": None, "after_days": wanted / DAY}
    assert verdict(event_time="at", followed_until="none", **later) is (None if off <= 0 else True)
    measured = table(who=["0", "x"], when=cells["at"], ef=["30", "30"])
    found = read(task(**MEASURED, **either), table(**cells), ecg="ecg", outcomes=measured)
    assert verdicts(found).get("0") is (True if off <= 0 else None)


@given(
    microseconds=st.integers(-DAY, 20 * 31_557_600_000_000),
    horizon=st.sampled_from(HORIZONS),
    unit=st.sampled_from(["days", "years"]),
    is_event=st.booleans(),
)
def test_durations_are_exact_to_the_microsecond(
    microseconds: int, horizon: tuple[str, float, int], unit: str, is_event: bool
) -> None:
    key, value, wanted = horizon
    scale = DAY if unit == "days" else 31_557_600_000_000
    for at in (microseconds, wanted - 1, wanted, wanted + 1):
        cells = table(e=[str(is_event)], t=[str(at / scale)])
        found = read(task(**{"horizon_days": None, key: value}, event="e", time_to="t", unit=unit), cells)
        expected = (None if at <= 0 else at <= wanted) if is_event else (False if at >= wanted else None)
        assert verdicts(found).get("0") is expected


@pytest.mark.parametrize("form", ["dates", "measurements"])
def test_a_date_without_a_time_of_day_is_compared_by_whole_days(form: str) -> None:
    """An event on the ECG's own day is at day 0, and follow-up loses no part of a day."""
    rows = {
        "ecg": ["2020-01-01 13:00"] * 4,
        "dead": ["2020-01-01", "2020-01-02", "2020-12-31", None],
        "seen": [None, None, None, "2020-12-31"],
    }
    if form == "dates":
        found = read(task(event_time="dead", followed_until="seen", prevalent="positive"), table(**rows), ecg="ecg")
    else:
        measured = table(who=["0", "1", "2"], when=rows["dead"][:3], ef=["30"] * 3)
        plan = task(**MEASURED, followed_until="seen", prevalent="positive")
        found = read(plan, table(**rows), ecg="ecg", outcomes=measured)
    assert verdicts(found) == {"0": True, "1": True, "2": True, "3": False}
    assert len(found.notes) == 2
    assert "has dates without times of day, so whole days" in found.notes[0]
    assert found.rule.endswith("by whole days")
    exact = read(task(event_time="ecg", followed_until="ecg"), table(**rows), ecg="ecg")
    assert (exact.notes, exact.left_out) == ((), {PREVALENT: 4})


def test_ecgs_without_times_of_day() -> None:
    rows = table(ecg=["2020-01-01"] * 2, dead=["2020-12-31 23:59", "2021-01-01 00:01"], seen=[None, None])
    found = read(task(event_time="dead", followed_until="seen"), rows, ecg="ecg")
    assert verdicts(found) == {"0": True, "1": False}
    assert found.notes == (
        "the ECGs have dates without times of day, so whole days from the ECG to column dead of t.csv are counted.",
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "one of `event`, `event_time` and `rule`"),
        ({"event": "e"}, "`event` needs `time_to`, `unit`"),
        ({"event": "e", "time_to": "t", "unit": "days", "event_time": "x"}, "one of `event`, `event_time` and `rule`"),
        ({"event_time": "e", "followed_until": "f", "unit": "days"}, "`event_time` does not go with `unit`"),
        ({"event_time": "e", "followed_until": "f", "horizon_years": 1}, "one of the two"),
        ({**MEASURED, "rule": "below 40"}, "such as '< 40'"),
        ({**MEASURED, "rule": "< 1.2.3"}, "`rule` is '< 1.2.3'; a comparison and a number were expected"),
        ({**MEASURED, "rule": "< 1e999"}, "such as '< 40'"),
        ({"event_time": "e", "followed_until": "f", "after_days": 365}, "below the horizon"),
        ({"event_time": "e", "followed_until": "f", "horizon_days": 0}, "greater than 0"),
    ],
)
def test_mappings_that_contradict_themselves(values: Mapping[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        task(**values)


def test_a_table_of_measurements_through_the_whole_import(ward: Ward, home: Path) -> None:
    ward.write("npy")
    for row in ward.rows:
        row["when"] = "2020-01-01 08:00"
    patients = sorted({row["patient"] for row in ward.rows})
    outcomes = [{"who": p, "when": "2020-06-01", "ef": 30 + 2 * i} for i, p in enumerate(patients)]
    file = write_table(ward.path / "echo.csv", outcomes)
    plan = parse_plan(
        ward.plan(
            time="when", tasks={"lvef": {"kind": "forecasting", "label": "low", "horizon_days": 365, **MEASURED}}
        ),
        where="plan",
    )
    cohort = import_table(ward.table(), ward.signals, plan, outcomes=file)
    assert cohort.task("lvef").targets[:, 0].tolist() == [1] * 10 + [0] * 14
    assert cohort.manifest.families == {"lvef": "forecasting"}
    request = cohort.manifest.request
    outcomes[0]["ef"] = 60
    write_table(file, outcomes)
    with pytest.raises(UsageError, match="prepared from something else: outcomes"):
        import_table(ward.table(), ward.signals, plan, outcomes=file)
    assert (
        request["outcomes"]
        != import_table(ward.table(), ward.signals, plan, outcomes=file, replace=True).manifest.request["outcomes"]
    )
    with pytest.raises(UsageError, match="name it with --outcomes"):
        import_table(ward.table(), ward.signals, plan)


def test_times_of_one_kind() -> None:
    assert Times((None,), None).zoned is None


@pytest.mark.realdata
def test_code15_deaths(real_data: Path, home: Path) -> None:
    """Ten real records: one death after 1.2 years, six followed for 1.3 to 7.3 years, three of unknown fate."""
    forms = {"event": "death", "time_to": "timey", "unit": "years", "kind": "forecasting", "label": "death"}
    plan = parse_plan(
        {
            "name": "mycode",
            "record": "exam_id",
            "patient": "patient_id",
            "age": "age",
            "sex": {"column": "is_male", "codes": {True: "M", False: "F"}},
            "signals": {
                "file": "org/{save_file}",
                "key": "feats",
                "units": "mV",
                "rate": "sample_rate",
                "leads": "standard",
            },
            "tasks": {f"death-{years}y": {**forms, "horizon_years": years} for years in (1, 2, 7)},
            "splits": {"fold": {"kind": "folds", "folds": 3}},
        },
        where="plan",
    )
    folder = real_data / "code15"
    cohort = import_table(folder / "meta.csv", folder, plan)
    assert (len(cohort), cohort.rate, cohort.samples) == (10, 400, None)
    assert cohort.manifest.split_rules == ("fold-1", "fold-2", "fold-3")
    found = {name: cohort.task(f"death-{name}").targets[:, 0].tolist() for name in ("1y", "2y", "7y")}
    # timey: 3.85, 1.26, 2.48, death at 1.21, 6.41, 7.01, 7.26
    assert {name: (len(values), sum(values)) for name, values in found.items()} == {
        "1y": (7, 0),
        "2y": (6, 1),
        "7y": (3, 1),
    }
    assert cohort.manifest.notes[-1] == (
        "Task death-7y: 3 of 10 records are in it; left out: 4 (censored before the horizon), 3 (no follow-up known)."
    )


DATES = {"kind": "forecasting", "label": "x", "horizon_days": 365, "event_time": "dead", "followed_until": "seen"}


def test_dates_of_events_have_a_format_too(ward: Ward, home: Path) -> None:
    ward.write("npy")
    for index, row in enumerate(ward.rows):
        row |= {"when": "2020/31/05", "dead": "01.06.2020" if index == 3 else "", "seen": "31.05.2022"}
    task = {**DATES, "format": "%d.%m.%Y"}
    plan = ward.plan(time={"column": "when", "format": "%Y/%d/%m"}, tasks={"d": task})
    found = import_table(ward.table(), ward.signals, parse_plan(plan, where="plan")).task("d")
    assert found.targets.ravel().tolist() == [index == 3 for index in range(24)]
    for wrong, words in (({"format": "%d.%m"}, "`format` is '%d.%m'; year, month and day"),):
        with pytest.raises(UsageError, match=words):
            parse_plan({**plan, "tasks": {"d": {**task, **wrong}}}, where="plan")
    durations = {"kind": "forecasting", "label": "x", "horizon_days": 1, "event": "e", "time_to": "t", "unit": "days"}
    with pytest.raises(UsageError, match="`format` is of dates"):
        parse_plan({**plan, "tasks": {"d": {**durations, "format": "%d.%m.%Y"}}}, where="plan")


@pytest.mark.parametrize("event", [0, 1])
def test_days_that_are_called_years_are_refused(event: int, ward: Ward, home: Path) -> None:
    ward.write("npy")
    for row in ward.rows:
        row |= {"dead": event, "time": 200}
    task = {"kind": "forecasting", "label": "x", "horizon_years": 1, "event": "dead", "time_to": "time"}
    with pytest.raises(DataError, match=r"24 cells of column time .*at most 130 years from the ECG \(`unit: years`\)"):
        import_table(
            ward.table(),
            ward.signals,
            parse_plan(ward.plan(tasks={"d": {**task, "unit": "years"}}), where="plan"),
        )
    plan = parse_plan(ward.plan(tasks={"d": {**task, "unit": "days"}}), where="plan")
    if event:
        assert import_table(ward.table(), ward.signals, plan).task("d").targets.all()


@pytest.mark.parametrize("column", ["dead", "seen"])
def test_dates_more_than_a_life_away_are_refused(column: str, ward: Ward, home: Path) -> None:
    ward.write("npy")
    for row in ward.rows:
        row |= {"when": "2020-05-31", "dead": "", "seen": "2022-01-01"}
    ward.rows[4][column] = "2262-04-11"  # the last that pandas knows
    plan = parse_plan(ward.plan(time="when", tasks={"d": DATES}), where="plan")
    with pytest.raises(DataError, match=rf"1 cell of column {column} .*within 130 years of the ECG's was .*\(row 5\)"):
        import_table(ward.table(), ward.signals, plan)


def test_a_task_that_nobody_is_in_is_refused(ward: Ward, home: Path) -> None:
    ward.write("npy")
    for row in ward.rows:
        row |= {"when": "2020-05-31", "dead": "", "seen": "2020-06-01"}
    plan = parse_plan(ward.plan(time="when", tasks={"d": DATES}), where="plan")
    with pytest.raises(DataError, match=r"Task d has none of the 24 records; left out: 24 \(censored before"):
        import_table(ward.table(), ward.signals, plan)
