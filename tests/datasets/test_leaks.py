"""Leaks: every known copy is found, whatever was done to it, and nothing else."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from einthoven.datasets.building import prepare
from einthoven.datasets.cohort import Cohort
from einthoven.datasets.leaks import alike_pairs, course, find_duplicates, find_patient_leaks, lead_correlation
from einthoven.datasets.phantom.generator import generate_phantom
from einthoven.datasets.wfdb_files import read_wfdb
from einthoven.foundation.errors import UsageError
from einthoven.signals.filtering import bandpass
from einthoven.signals.resampling import resample


@pytest.fixture(scope="module")
def records() -> np.ndarray:
    return generate_phantom(records=80, seed=5, rate=500.0).signals(0, 80)


@pytest.mark.parametrize(
    ("change", "rate"),
    [
        (lambda x: resample(x, 500.0, 100.0), 100.0),
        (lambda x: resample(x, 500.0, 250.0), 250.0),
        (lambda x: 0.2 * x, 500.0),
        (lambda x: x[:, ::-1], 500.0),
        (lambda x: x + 0.3, 500.0),
        (lambda x: np.rint(x * 200) / 200, 500.0),
        (lambda x: x + np.random.default_rng(0).normal(scale=0.01, size=x.shape).astype(np.float32), 500.0),
    ],
    ids=["100 Hz", "250 Hz", "gain", "lead order", "offset", "coarse steps", "noise"],
)
def test_a_copy_is_the_most_alike_whatever_was_done_to_it(records, change, rate) -> None:
    copies = change(records)
    alike = course(records, 500.0) @ course(copies, rate).T
    assert (alike.argmax(axis=1) == np.arange(len(records))).all()
    assert alike.diagonal().min() > 0.95
    assert np.abs(alike - np.diag(alike.diagonal())).max() < 0.97
    for row in range(0, 80, 20):
        assert lead_correlation(records[row], 500.0, copies[row], rate) > 0.98
        assert lead_correlation(records[row], 500.0, copies[row - 1], rate) < 0.9


def test_blocks_do_not_matter(records, monkeypatch) -> None:
    courses = np.concatenate([course(records, 500.0), course(records[::-1], 500.0)])
    expected = {(i, 159 - i) for i in range(80)}
    for block in (7, 64, 2048):
        monkeypatch.setattr("einthoven.datasets.leaks._BLOCK", block)
        found = list(alike_pairs(courses))
        assert len(found) == len(set(found))
        assert set(found) == expected


def test_flat_and_short_records_are_like_nothing() -> None:
    flat = course(np.zeros((3, 12, 1000), dtype=np.float32), 100.0)
    assert not flat.any()
    assert list(alike_pairs(flat)) == []
    assert course(np.random.default_rng(0).normal(size=(1, 2, 300)), 100.0).shape == (1, 500)
    assert lead_correlation(np.zeros((2, 500)), 100.0, np.ones((2, 500)), 100.0) == 0.0


def test_copies_within_and_across_cohorts_are_found_with_their_splits(ptbxl, home) -> None:
    rng = np.random.default_rng(0)
    for index in range(40):
        # Each its own rhythm, as hearts have; record 38 (fold 10) is record 2 (fold 1) again.
        seed = 2 if index == 38 else index
        beats = np.cumsum(np.random.default_rng(seed).uniform(0.5, 1.2, 30))
        beat = sum(np.exp(-((np.arange(1000) / 100 - t) ** 2) / 0.0008) for t in beats)
        one, two = 700 * beat, 900 * beat
        limbs = [one, two, two - one, -(one + two) / 2, one - two / 2, two - one / 2]
        leads = [*limbs, *((200 + 150 * lead) * beat for lead in range(6))]
        noise = rng.normal(scale=2, size=(6, 1000))
        values = np.array(leads)
        values[6:] += noise
        ptbxl.write_record(ptbxl.stem(index), np.rint(values).astype("<i2"))
    cohort = prepare("ptbxl", ptbxl.path)
    found = find_duplicates([cohort])
    assert [(d.first.record_id, d.second.record_id, d.crosses_splits) for d in found] == [("3", "39", True)]
    assert (found[0].first.split, found[0].second.split) == ("train", "test")
    other = prepare("ptbxl", ptbxl.path, name="again")
    across = find_duplicates([cohort, other])
    assert sum(d.first.cohort != d.second.cohort for d in across) == 42
    # Record 3 of the one is record 39 of the other, and they are in train and test; the rest is itself.
    crossing = [{d.first.record_id, d.second.record_id} for d in across if d.crosses_splits]
    assert crossing == [{"3", "39"}] * 4
    with pytest.raises(UsageError, match="named twice"):
        find_duplicates([cohort, cohort])


def test_a_patient_in_two_splits_is_found_in_a_cohort_that_was_changed(ptbxl, home) -> None:
    cohort = prepare("ptbxl", ptbxl.path)
    assert find_patient_leaks(cohort) == []
    file = cohort.path / "splits" / "official.parquet"
    table = pl.read_parquet(file)
    table.with_columns(split=pl.when(pl.col("record_id") == "1").then(pl.lit("test")).otherwise("split")).write_parquet(
        file
    )
    leaks = find_patient_leaks(Cohort.open("ptbxl-100hz"))
    assert [(leak.rule, leak.patient_id, leak.splits) for leak in leaks] == [("official", "100", ("test", "train"))]


@pytest.mark.realdata
def test_all_known_copies_of_ptbxl_are_found_and_nothing_among_its_distinct_records(real_data, home) -> None:
    """Six pairs of which one record was dropped after version 1.0.1; four of them only nearly identical."""
    cohort = prepare("ptbxl", real_data / "ptbxl", rate=100, allow_missing=True)
    assert find_duplicates([cohort]) == []  # 1,987 distinct records: no false positive
    ids = [str(i) for i in cohort.record_ids]
    courses = [course(cohort.signals(slice(s, s + 64)), 100.0) for s in range(0, len(cohort), 64)]
    removed = {}
    for header in sorted((real_data / "ptbxl_removed_duplicates").rglob("*_lr.hea")):
        name = str(int(header.stem[:5]))
        removed[name] = read_wfdb(header.with_suffix(""), record_id=name, patient_id=name).signal
    everything = np.concatenate([*courses, course(np.stack(list(removed.values())), 100.0)])
    names = [*ids, *removed]
    found = {frozenset((names[i], names[j])) for i, j in alike_pairs(everything, at_least=0.95)}
    known = [("456", "457"), ("459", "460"), ("137", "138"), ("140", "1370"), ("143", "144"), ("145", "463")]
    assert {frozenset(pair) for pair in known} <= found
    assert all(pair & set(removed) for pair in found)


@pytest.mark.realdata
def test_the_same_recordings_at_500_hz_and_under_other_names_are_found_and_no_others(real_data, home) -> None:
    """PTB-XL's own 500 Hz files and the challenge's HR records, against all of the 100 Hz files that are here."""
    low = prepare("ptbxl", real_data / "ptbxl", rate=100, allow_missing=True)
    high = prepare("ptbxl", real_data / "ptbxl", rate=500, allow_missing=True)
    found = find_duplicates([low, high])
    assert len(found) == len(high) == 168
    for duplicate in found:
        assert (duplicate.first.cohort, duplicate.second.cohort) == (low.name, high.name)
        assert duplicate.first.record_id == duplicate.second.record_id
        assert duplicate.correlation > 0.9
    courses = np.concatenate([course(low.signals(slice(s, s + 64)), 100.0) for s in range(0, len(low), 64)])
    stems = sorted((real_data / "cinc2021_tuijalei" / "PTB_PTBXL").glob("HR*.hea"))
    assert len(stems) == 10
    for header in stems:
        signal = read_wfdb(header.with_suffix(""), record_id="x", patient_id="x").signal
        alike = course(signal[None], 500.0)[0] @ courses.T
        same = [
            r
            for r in np.flatnonzero(alike > 0.85).tolist()
            if lead_correlation(signal, 500.0, low.signal(r), 100.0) > 0.85
        ]
        assert [int(low.record_ids[row]) for row in same] == [int(header.stem[2:])]


def test_the_command_says_what_it_found_and_fails_on_a_leak(ptbxl, home, capsys) -> None:
    import typer

    from einthoven.cli.datasets import leaks

    prepare("ptbxl", ptbxl.path)
    with pytest.raises(typer.Exit) as ended:
        leaks(["ptbxl-100hz"], json=True)
    assert ended.value.exit_code == 1
    found = json.loads(capsys.readouterr().out)
    # The made-up records of this folder have one rhythm, so they are all the same recording.
    assert any(pair["crosses_splits"] for pair in found["duplicates"])
    assert found["patients"] == []


@pytest.mark.realdata
@pytest.mark.parametrize(("low", "high"), [(0.5, 40.0), (0.67, 25.0), (1.0, None)])
def test_a_copy_that_was_filtered_is_found(real_data, home, low, high) -> None:
    cohort = prepare("ptbxl", real_data / "ptbxl", rate=100, allow_missing=True)
    signals = cohort.signals(slice(0, 200))
    filtered = bandpass(signals, 100.0, low=low, high=high, order=3)
    alike = (course(signals, 100.0) * course(filtered, 100.0)).sum(axis=1)
    assert alike.min() > 0.99
    assert min(lead_correlation(a, 100.0, b, 100.0) for a, b in zip(signals, filtered, strict=True)) > 0.98
