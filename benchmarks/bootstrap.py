"""Time of the bootstrap kernel against looping scikit-learn over resampled rows, on the sizes of two test sets.

    python benchmarks/bootstrap.py
    python benchmarks/bootstrap.py --sizes 2158x23x3

The loop is timed on a sample of draws and scaled up; on that sample both give the same numbers. The last line is JSON;
its `ratio` is the smallest over sizes.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from einthoven.statistics.bootstrap import BootstrapDraws, bootstrap_discrimination
from einthoven.statistics.resampling import draw_counts

_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Size:
    """How much there is to count."""

    records: int
    labels: int
    encoders: int


# PTB-XL's test fold with its subclasses, and the test set of CSN (Chapman, Shaoxing, Ningbo).
DEFAULT_SIZES = (Size(2158, 23, 1), Size(6380, 48, 1))


def synthetic_predictions(size: Size, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Targets of prevalence 0.5 down to 0.005, float32 scores with ties in a third of the labels, patient ids."""
    generator = np.random.default_rng(seed)
    prevalence = np.geomspace(0.5, 0.005, size.labels)
    target = (generator.random((size.records, size.labels)) < prevalence).astype(np.uint8)
    scores = generator.normal(size=(size.encoders, size.records, size.labels)) + 1.2 * target
    scores = scores.astype(np.float32)
    scores[:, :, ::3] = scores[:, :, ::3].round(1)
    patients = [f"patient {number}" for number in generator.integers(0, 5 * size.records, size.records)]
    return target, scores, patients


def loop_scikit_learn(target: np.ndarray, scores: np.ndarray, counts: np.ndarray) -> BootstrapDraws:
    """The usual way: for every draw, encoder and label, both metrics on the resampled rows."""
    shape = (len(counts), len(scores), target.shape[1])
    area, precision = np.full(shape, np.nan), np.full(shape, np.nan)
    for draw, count in enumerate(counts):
        rows = np.repeat(np.arange(len(target)), count)
        for encoder in range(shape[1]):
            for label in range(shape[2]):
                y, s = target[rows, label], scores[encoder, rows, label]
                area[draw, encoder, label] = roc_auc_score(y, s)
                # scikit-learn says 0 where there is no positive.
                precision[draw, encoder, label] = average_precision_score(y, s) if y.any() else np.nan
    return BootstrapDraws(auroc=area, average_precision=precision)


def largest_difference(a: BootstrapDraws, b: BootstrapDraws) -> float:
    """Over both metrics; undefined draws must be the same."""
    largest = 0.0
    for ours, theirs in ((a.auroc, b.auroc), (a.average_precision, b.average_precision)):
        assert (np.isnan(ours) == np.isnan(theirs)).all(), "undefined draws differ"
        largest = max(largest, float(np.nanmax(np.abs(ours - theirs))))
    return largest


def compare(size: Size, *, draws: int, sampled_draws: int, compiling: float) -> dict[str, float]:
    """Time one size, compare, print."""
    target, scores, patients = synthetic_predictions(size)
    started = time.perf_counter()
    counts = draw_counts(patients, draws=draws, seed=1)
    drawing = time.perf_counter() - started

    seconds = {}
    found = None
    for threads in (1, None):
        times = []
        for _ in range(3):
            started = time.perf_counter()
            found = bootstrap_discrimination(target, scores, counts=counts, threads=threads)
            times.append(time.perf_counter() - started)
        seconds[threads] = min(times)
    assert found is not None

    sample = np.linspace(0, draws - 1, min(sampled_draws, draws)).astype(int)
    started = time.perf_counter()
    expected = loop_scikit_learn(target, scores, counts[sample])
    looping = (time.perf_counter() - started) / len(sample) * draws
    same = BootstrapDraws(auroc=found.auroc[sample], average_precision=found.average_precision[sample])
    difference = largest_difference(same, expected)
    assert difference < _TOLERANCE, f"largest difference {difference} is not below {_TOLERANCE}"

    print(
        f"{draws} draws x {size.encoders} encoders x {size.labels} labels x {size.records} records, "
        "AUROC and average precision"
    )
    print(f"  draws of patients                      {drawing:9.3f} s")
    print(f"  compilation, once a process            {compiling:9.3f} s")
    print(f"  kernel, one thread                     {seconds[1]:9.3f} s")
    print(f"  kernel, all cores                      {seconds[None]:9.3f} s")
    print(f"  scikit-learn loop, from {len(sample):3d} draws      {looping:9.1f} s")
    print(f"  loop / kernel, one thread              {looping / seconds[1]:9.0f}")
    print(f"  loop / kernel, all cores               {looping / seconds[None]:9.0f}")
    print(f"  loop / (kernel, draws and compilation) {looping / (seconds[None] + drawing + compiling):9.0f}")
    print(f"  largest difference on these draws      {difference:9.1e}")
    return {
        "ratio": looping / seconds[None],
        "ratio_one_thread": looping / seconds[1],
        "ratio_with_compilation": looping / (seconds[None] + compiling),
        "kernel_seconds": seconds[None],
        "kernel_seconds_one_thread": seconds[1],
        "drawing_seconds": drawing,
        "loop_seconds": looping,
        "largest_difference": difference,
    }


def _size(text: str) -> Size:
    records, labels, encoders = (int(number) for number in text.split("x"))
    return Size(records, labels, encoders)


def main() -> None:
    """Measure every size."""
    parser = argparse.ArgumentParser(description="Time of the bootstrap kernel against looping scikit-learn.")
    parser.add_argument("--sizes", type=_size, nargs="+", default=DEFAULT_SIZES, help="RECORDSxLABELSxENCODERS")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--sampled-draws", type=int, default=5, help="draws on which scikit-learn is timed")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Only one class is present")

    started = time.perf_counter()
    bootstrap_discrimination([[0], [1]], [[[0.1], [0.2]]], counts=[[1, 1]])
    target, scores, patients = synthetic_predictions(Size(50, 3, 1))
    bootstrap_discrimination(target, scores, counts=draw_counts(patients, draws=2, seed=0))
    compiling = time.perf_counter() - started
    found = [
        asdict(size) | compare(size, draws=options.draws, sampled_draws=options.sampled_draws, compiling=compiling)
        for size in options.sizes
    ]
    print(
        json.dumps(
            {
                "ratio": min(one["ratio"] for one in found),
                "ratio_one_thread": min(one["ratio_one_thread"] for one in found),
                "compilation_seconds": compiling,
                "largest_difference": max(one["largest_difference"] for one in found),
                "draws": options.draws,
                "sampled_draws": options.sampled_draws,
                "sizes": found,
            }
        )
    )


if __name__ == "__main__":
    main()
