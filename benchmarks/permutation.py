"""Time of the swap test against calling scikit-learn in a loop on exchanged rows, on the size of PTB-XL's test fold.

    python benchmarks/permutation.py

All pairs of the encoders are tested. The loop is timed on a sample of swaps and scaled up; on that sample both give the
same numbers. The last line is JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import time

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from einthoven.metrics.discrimination import Discrimination
from einthoven.statistics.permutation import permutation_test
from einthoven.statistics.permutation_differences import swap_differences
from einthoven.statistics.permutation_swaps import draw_swaps

_TOLERANCE = 1e-12
METRICS: tuple[Discrimination, ...] = ("auroc", "average_precision")


def synthetic_predictions(
    records: int, encoders: int, labels: int, *, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets of prevalence 0.5 down to 0.005, float32 scores with ties in a third of the labels, patient numbers."""
    generator = np.random.default_rng(seed)
    prevalence = np.geomspace(0.5, 0.005, labels)
    target = (generator.random((records, labels)) < prevalence).astype(np.uint8)
    scores = (generator.normal(size=(encoders, records, labels)) + 1.2 * target).astype(np.float32)
    scores[:, :, ::3] = scores[:, :, ::3].round(1)
    # Numbered by first appearance, as the columns of swaps are.
    drawn = generator.integers(0, 5 * records, records).tolist()
    numbers = {patient: number for number, patient in enumerate(dict.fromkeys(drawn))}
    return target, scores, np.array([numbers[patient] for patient in drawn])


def loop_scikit_learn(
    target: np.ndarray, scores: np.ndarray, pairs: list[tuple[int, int]], swaps: np.ndarray
) -> dict[Discrimination, np.ndarray]:
    """The usual way: for every swap, pair and label, both metrics of both encoders on the exchanged rows."""
    shape = (len(swaps), len(pairs), target.shape[1])
    area, precision = np.empty(shape), np.empty(shape)
    for draw, swap in enumerate(swaps):
        for pair, (a, b) in enumerate(pairs):
            of_a = np.where(swap[:, None], scores[b], scores[a])
            of_b = np.where(swap[:, None], scores[a], scores[b])
            for label in range(shape[2]):
                y, place = target[:, label], (draw, pair, label)
                area[place] = roc_auc_score(y, of_a[:, label]) - roc_auc_score(y, of_b[:, label])
                precision[place] = average_precision_score(y, of_a[:, label]) - average_precision_score(
                    y, of_b[:, label]
                )
    return {"auroc": area, "average_precision": precision}


def peak_mebibytes() -> float:
    """Most memory the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure, compare, print."""
    parser = argparse.ArgumentParser(description="Time of the swap test against looping scikit-learn.")
    parser.add_argument("--records", type=int, default=2158)
    parser.add_argument("--encoders", type=int, default=6)
    parser.add_argument("--labels", type=int, default=23)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--sampled-draws", type=int, default=3, help="swaps on which scikit-learn is timed")
    sizes = parser.parse_args()

    target, scores, patients = synthetic_predictions(sizes.records, sizes.encoders, sizes.labels)
    pairs = list(itertools.combinations(range(sizes.encoders), 2))
    judged = np.ones(sizes.labels, dtype=bool)
    unit_count = int(patients.max()) + 1

    def test(draws: int, threads: int | None) -> float:
        started = time.perf_counter()
        settings = {"pairs": pairs, "judged": judged, "units": patients, "draws": draws, "seed": 1, "threads": threads}
        for metric in METRICS:
            permutation_test(target, scores, metric=metric, **settings)
        return time.perf_counter() - started

    first = test(sizes.draws, None)
    seconds = {threads: min(test(sizes.draws, threads) for _ in range(3)) for threads in (1, None)}
    compiling = first - seconds[None]
    before = peak_mebibytes()
    tenfold = test(10 * sizes.draws, None)
    growth = peak_mebibytes() - before

    sample = np.linspace(0, sizes.draws - 1, min(sizes.sampled_draws, sizes.draws)).astype(int)
    swaps = draw_swaps(unit_count, draws=sizes.draws, seed=1)[sample]
    started = time.perf_counter()
    expected = loop_scikit_learn(target, scores, pairs, swaps[:, patients])
    looping = (time.perf_counter() - started) / len(sample) * sizes.draws
    difference = max(
        float(
            np.abs(
                swap_differences(target, scores, metric=metric, pairs=pairs, units=patients, swaps=swaps) - theirs
            ).max()
        )
        for metric, theirs in expected.items()
    )
    assert difference < _TOLERANCE, f"largest difference {difference} is not below {_TOLERANCE}"

    print(
        f"{sizes.draws} swaps x {len(pairs)} pairs of {sizes.encoders} encoders x {sizes.labels} labels x "
        f"{sizes.records} records, AUROC and average precision"
    )
    print(f"  compilation, once a process            {compiling:9.3f} s")
    print(f"  test, one thread                       {seconds[1]:9.3f} s")
    print(f"  test, all cores                        {seconds[None]:9.3f} s")
    print(f"  test of ten times the swaps            {tenfold:9.3f} s")
    print(f"  memory it took beyond that of the test {growth:9.1f} MiB")
    print(f"  scikit-learn loop, from {len(sample):3d} swaps      {looping:9.1f} s")
    print(f"  loop / test, one thread                {looping / seconds[1]:9.0f}")
    print(f"  loop / test, all cores                 {looping / seconds[None]:9.0f}")
    print(f"  loop / (test and compilation)          {looping / first:9.0f}")
    print(f"  largest difference on these swaps      {difference:9.1e}")
    print(
        json.dumps(
            {
                "ratio": looping / seconds[None],
                "ratio_one_thread": looping / seconds[1],
                "ratio_with_compilation": looping / first,
                "test_seconds": seconds[None],
                "test_seconds_one_thread": seconds[1],
                "tenfold_seconds": tenfold,
                "tenfold_memory_growth_mib": growth,
                "peak_mib": peak_mebibytes(),
                "compilation_seconds": compiling,
                "loop_seconds": looping,
                "largest_difference": difference,
                **vars(sizes),
            }
        )
    )


if __name__ == "__main__":
    main()
