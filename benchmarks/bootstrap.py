"""Time of the bootstrap kernel against looping scikit-learn over resampled rows, on the size of PTB-XL's test fold.

    python benchmarks/bootstrap.py

The loop is timed on a sample of draws and scaled up; on that sample both give the same numbers. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from einthoven.statistics.bootstrap import BootstrapDraws, bootstrap_discrimination
from einthoven.statistics.resampling import draw_counts

_TOLERANCE = 1e-12


def synthetic_predictions(
    records: int, encoders: int, labels: int, *, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Targets of prevalence 0.5 down to 0.005, float32 scores with ties in a third of the labels, patient ids."""
    generator = np.random.default_rng(seed)
    prevalence = np.geomspace(0.5, 0.005, labels)
    target = (generator.random((records, labels)) < prevalence).astype(np.uint8)
    scores = (generator.normal(size=(encoders, records, labels)) + 1.2 * target).astype(np.float32)
    scores[:, :, ::3] = scores[:, :, ::3].round(1)
    patients = [f"patient {number}" for number in generator.integers(0, 5 * records, records)]
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


def main() -> None:
    """Measure, compare, print."""
    parser = argparse.ArgumentParser(description="Time of the bootstrap kernel against looping scikit-learn.")
    parser.add_argument("--records", type=int, default=2158)
    parser.add_argument("--encoders", type=int, default=3)
    parser.add_argument("--labels", type=int, default=59)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--sampled-draws", type=int, default=5, help="draws on which scikit-learn is timed")
    sizes = parser.parse_args()
    warnings.filterwarnings("ignore", message="Only one class is present")

    target, scores, patients = synthetic_predictions(sizes.records, sizes.encoders, sizes.labels)
    started = time.perf_counter()
    counts = draw_counts(patients, draws=sizes.draws, seed=1)
    drawing = time.perf_counter() - started

    started = time.perf_counter()
    bootstrap_discrimination(target[:50], scores[:, :50], counts=counts[:1, :50])
    compiling = time.perf_counter() - started

    seconds = {}
    draws = None
    for threads in (1, None):
        times = []
        for _ in range(3):
            started = time.perf_counter()
            draws = bootstrap_discrimination(target, scores, counts=counts, threads=threads)
            times.append(time.perf_counter() - started)
        seconds[threads] = min(times)
    assert draws is not None

    sample = np.linspace(0, sizes.draws - 1, min(sizes.sampled_draws, sizes.draws)).astype(int)
    started = time.perf_counter()
    expected = loop_scikit_learn(target, scores, counts[sample])
    looping = (time.perf_counter() - started) / len(sample) * sizes.draws
    found = BootstrapDraws(auroc=draws.auroc[sample], average_precision=draws.average_precision[sample])
    difference = largest_difference(found, expected)
    assert difference < _TOLERANCE, f"largest difference {difference} is not below {_TOLERANCE}"

    print(
        f"{sizes.draws} draws x {sizes.encoders} encoders x {sizes.labels} labels x {sizes.records} records, "
        "AUROC and average precision"
    )
    print(f"  draws of patients                      {drawing:9.3f} s")
    print(f"  compilation, once a process            {compiling:9.3f} s")
    print(f"  kernel, one thread                     {seconds[1]:9.3f} s")
    print(f"  kernel, all cores                      {seconds[None]:9.3f} s")
    print(f"  scikit-learn loop, from {len(sample):3d} draws      {looping:9.1f} s")
    print(f"  loop / kernel, one thread              {looping / seconds[1]:9.0f}")
    print(f"  loop / kernel, all cores               {looping / seconds[None]:9.0f}")
    print(f"  loop / (kernel and compilation)        {looping / (seconds[None] + compiling):9.0f}")
    print(f"  largest difference on these draws      {difference:9.1e}")
    print(
        json.dumps(
            {
                "ratio": looping / seconds[None],
                "ratio_one_thread": looping / seconds[1],
                "ratio_with_compilation": looping / (seconds[None] + compiling),
                "kernel_seconds": seconds[None],
                "kernel_seconds_one_thread": seconds[1],
                "compilation_seconds": compiling,
                "loop_seconds": looping,
                "largest_difference": difference,
                **vars(sizes),
            }
        )
    )


if __name__ == "__main__":
    main()
