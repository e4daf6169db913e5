"""Both protocols in chunks: the same numbers as all draws at once, in bounded memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from einthoven.foundation.errors import UsageError
from einthoven.statistics import bootstrap_protocols
from einthoven.statistics.bootstrap import bootstrap_discrimination
from einthoven.statistics.bootstrap_protocols import draws_at_a_time, resample_discrimination
from einthoven.statistics.resampling import count_chunks, draw_counts
from einthoven.statistics.stratified import stratified_counts

METRICS = ("auroc", "average_precision")


def _predictions(records: int, labels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    target = (generator.random((records, labels)) < 0.2).astype(np.uint8)
    return target, generator.normal(size=(2, records, labels)).round(1), generator.integers(0, records // 2, records)


def test_chunks_are_the_draws_in_sequence():
    units = [f"patient {i // 3}" for i in range(50)]
    whole = draw_counts(units, draws=20, seed=4)
    for chunk in (1, 7, 20, 100):
        np.testing.assert_array_equal(np.concatenate(list(count_chunks(units, draws=20, seed=4, chunk=chunk))), whole)
    with pytest.raises(UsageError, match="chunk: expected at least 1, found 0"):
        next(count_chunks(units, seed=4, chunk=0))


@pytest.mark.parametrize("threads", [1, 3])
def test_equal_to_all_draws_at_once(monkeypatch: pytest.MonkeyPatch, threads: int):
    target, scores, patients = _predictions(60, 3)
    monkeypatch.setattr(bootstrap_protocols, "_CHUNK_BYTES", 1)
    assert draws_at_a_time(60) == 256
    paired = resample_discrimination(target, scores, units=patients, draws=600, seed=9, threads=threads)
    expected = bootstrap_discrimination(target, scores, counts=draw_counts(patients, draws=600, seed=9))
    paper = resample_discrimination(target, scores, draws=600, seed=9, protocol="paper", threads=threads)
    for metric in METRICS:
        np.testing.assert_array_equal(getattr(paired, metric), getattr(expected, metric))
        for label in range(3):
            counts = next(stratified_counts(target[:, label], draws=600, seed=9, label=label))
            alone = bootstrap_discrimination(target[:, [label]], scores[:, :, [label]], counts=counts)
            np.testing.assert_array_equal(getattr(paper, metric)[:, :, label], getattr(alone, metric)[:, :, 0])


def test_draws_without_a_positive_are_kept_when_patients_are_drawn_and_do_not_occur_in_the_paper():
    target, scores, patients = _predictions(40, 1)
    target[:] = 0
    target[3] = 1
    paired = resample_discrimination(target, scores, units=patients, draws=400, seed=1)
    share = np.isnan(paired.auroc[:, 0, 0]).mean()
    assert share == pytest.approx(np.exp(-1), abs=0.1)
    paper = resample_discrimination(target, scores, draws=400, seed=1, protocol="paper")
    assert not np.isnan(paper.auroc).any()


def test_units_renamed_give_the_same():
    target, scores, patients = _predictions(50, 2)
    a = resample_discrimination(target, scores, units=patients, draws=50, seed=2)
    b = resample_discrimination(target, scores, units=[f"p{7 * u}" for u in patients], draws=50, seed=2)
    np.testing.assert_array_equal(a.auroc, b.auroc)


@pytest.mark.parametrize("protocol", ["paired", "paper"])
def test_memory_does_not_grow_with_draws(monkeypatch: pytest.MonkeyPatch, protocol):
    target, scores, patients = _predictions(4000, 1)
    units = patients if protocol == "paired" else None
    monkeypatch.setattr(bootstrap_protocols, "_CHUNK_BYTES", 1)
    peaks = []
    for draws in (256, 4096):
        tracemalloc.start()
        resample_discrimination(target, scores, units=units, draws=draws, seed=0, protocol=protocol, threads=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # All counts of the larger run are 32 MB.
    assert peaks[1] < peaks[0] + 2**20


def test_bad_input_is_refused():
    target, scores, patients = _predictions(10, 1)
    with pytest.raises(UsageError, match="protocol: expected one of paired, paper, found 'x'"):
        resample_discrimination(target, scores, seed=0, protocol="x")  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="Found protocol 'paired' and no units"):
        resample_discrimination(target, scores, seed=0)
    with pytest.raises(UsageError, match="Found protocol 'paper' and 10 units"):
        resample_discrimination(target, scores, units=patients, seed=0, protocol="paper")
    with pytest.raises(UsageError, match="draws: expected at least 1, found 0"):
        resample_discrimination(target, scores, units=patients, seed=0, draws=0)
    with pytest.raises(UsageError, match=r"scores: expected \(encoders, 10, 1\)"):
        resample_discrimination(target, scores[:, :9], units=patients, seed=0)
    with pytest.raises(UsageError, match="units: expected one for each of 10 records, found 9"):
        resample_discrimination(target, scores, units=patients[:9], seed=0)
