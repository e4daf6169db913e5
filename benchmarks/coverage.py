"""How often intervals of AUROC and average precision hold the truth, over simulated test sets with known truth.

    python benchmarks/coverage.py --quick
    python benchmarks/coverage.py --output coverage.json

Each cell is an AUROC, an expected number of positives among 1,000 records, one or 1-5 records a patient, and a shape of
scores. Patients are carriers of a label by chance; records of a patient share half of the variance of their scores.
The numbers are those of docs/intervals.md; they depend on the seed only. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np
from scipy import integrate
from scipy.stats import norm

from einthoven.statistics.bca import bca_interval
from einthoven.statistics.bootstrap import bootstrap_discrimination
from einthoven.statistics.bootstrap_protocols import resample_discrimination
from einthoven.statistics.delong import Scale, auroc_covariance, auroc_intervals
from einthoven.statistics.intervals import percentile_interval
from einthoven.statistics.jackknife import jackknife_discrimination
from einthoven.statistics.jackknife_interval import jackknife_interval

METRICS = ("auroc", "average_precision")
RECORDS = 1000
LABELS, ENCODERS = 12, 4
SHARED_WITHIN_PATIENT = 0.5
SHARED_BETWEEN_ENCODERS = 0.5
POSITIVE_OF_CARRIER = 0.7
MISSED = 0.05


@dataclass(frozen=True)
class Setting:
    """One cell of the simulation.

    Attributes:
        auroc: the truth.
        positives: expected number of positive records.
        records_per_patient: "1" or "1-5".
        shape: "normal", or "missed": a twentieth of the positives score as negatives do.
    """

    auroc: float
    positives: int
    records_per_patient: str
    shape: str

    def shift(self) -> float:
        """Of the positives' mean score; all scores have variance 1."""
        missed = MISSED if self.shape == "missed" else 0.0
        return math.sqrt(2) * float(norm.ppf((self.auroc - missed / 2) / (1 - missed)))

    def average_precision(self) -> float:
        """The truth at this prevalence: the mean of precision over the positives' scores."""
        shift, prevalence = self.shift(), self.positives / RECORDS
        missed = MISSED if self.shape == "missed" else 0.0

        def density(score: float) -> float:
            return float((1 - missed) * norm.pdf(score, shift) + missed * norm.pdf(score))

        def term(score: float) -> float:
            above = prevalence * float((1 - missed) * norm.sf(score, shift) + missed * norm.sf(score))
            return density(score) * above / (above + (1 - prevalence) * float(norm.sf(score)))

        return float(integrate.quad(term, -8, 8 + shift, limit=200, epsabs=1e-9)[0])


def settings(quick: bool) -> list[Setting]:
    """All cells, or a few."""
    if quick:
        return [Setting(0.85, positives, records, "normal") for positives in (10, 50) for records in ("1", "1-5")]
    plain = [
        Setting(a, m, r, "normal") for a, m, r in product((0.75, 0.85, 0.95), (5, 10, 20, 50, 100, 200), ("1", "1-5"))
    ]
    return plain + [Setting(a, m, r, "missed") for a, m, r in product((0.75, 0.85, 0.95), (20, 50, 200), ("1", "1-5"))]


def simulate(setting: Setting, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets (records, labels), scores (encoders, records, labels) and patients (records,) of one test set.

    Encoders 0 and 1, and 2 and 3, share half of their noise: their differences are of equal, correlated encoders.
    """
    if setting.records_per_patient == "1":
        patients, positive = np.arange(RECORDS), 1.0
    else:
        sizes = generator.integers(1, 6, RECORDS)
        patients, positive = np.repeat(np.arange(RECORDS), sizes)[:RECORDS], POSITIVE_OF_CARRIER
    carrier = generator.random((patients[-1] + 1, LABELS)) < setting.positives / RECORDS / positive
    target = carrier[patients] & (generator.random((RECORDS, LABELS)) < positive)

    def noise(sets: int) -> np.ndarray:
        own = generator.normal(size=(sets, RECORDS, LABELS))
        if setting.records_per_patient == "1":
            return own
        shared = generator.normal(size=(sets, patients[-1] + 1, LABELS))[:, patients]
        return math.sqrt(SHARED_WITHIN_PATIENT) * shared + math.sqrt(1 - SHARED_WITHIN_PATIENT) * own

    common = np.repeat(noise(ENCODERS // 2), 2, axis=0)
    scores = math.sqrt(SHARED_BETWEEN_ENCODERS) * common + math.sqrt(1 - SHARED_BETWEEN_ENCODERS) * noise(ENCODERS)
    shifted = target
    if setting.shape == "missed":
        shifted = target & (generator.random(scores.shape) >= MISSED)
    return target.astype(np.uint8), scores + setting.shift() * shifted, patients


def limits(
    target: np.ndarray, scores: np.ndarray, patients: np.ndarray, *, draws: int, seed: int
) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """Metric, interval type, lows and highs (encoders, labels), of each label with at least two positives."""
    enough = target.sum(axis=0, dtype=int) >= 2
    target, scores = target[:, enough], scores[:, :, enough]
    point = bootstrap_discrimination(target, scores, counts=np.ones((1, RECORDS), dtype=int), threads=1)
    records = np.arange(RECORDS)
    drawn = {
        "patient": resample_discrimination(target, scores, units=patients, draws=draws, seed=seed, threads=1),
        "record": resample_discrimination(target, scores, units=records, draws=draws, seed=seed, threads=1),
        "paper": resample_discrimination(target, scores, draws=draws, seed=seed, protocol="paper", threads=1),
    }
    left_out = jackknife_discrimination(target, scores, units=patients, threads=1)
    for metric in METRICS:
        points, without = getattr(point, metric)[0], getattr(left_out, metric)
        values = {name: getattr(found, metric) for name, found in drawn.items()}
        found: dict[str, list[tuple[float, float]]] = defaultdict(list)
        differences: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for place in np.ndindex(points.shape):
            at, here = points[place], (slice(None), *place)
            intervals = {
                "percentile, patients": percentile_interval(at, values["patient"][here]),
                "percentile, records": percentile_interval(at, values["record"][here]),
                "paper": percentile_interval(at, values["paper"][here]),
                "BCa, patients": bca_interval(at, values["patient"][here], jackknife=without[here]),
                "jackknife logit, patients": jackknife_interval(at, without[here]),
            }
            for name, interval in intervals.items():
                found[name].append((interval.low, interval.high))
        for encoder, label in product(range(0, ENCODERS, 2), range(points.shape[1])):
            at = points[encoder, label] - points[encoder + 1, label]
            draw = values["patient"][:, encoder, label] - values["patient"][:, encoder + 1, label]
            out = without[:, encoder, label] - without[:, encoder + 1, label]
            intervals = {
                "percentile, patients": percentile_interval(at, draw),
                "BCa, patients": bca_interval(at, draw, jackknife=out),
                "jackknife, patients": jackknife_interval(at, out, scale="identity"),
            }
            for name, interval in intervals.items():
                differences[name].append((interval.low, interval.high))
        for suffix, rows in (("", found), (" difference", differences)):
            for name, pairs in rows.items():
                lows, highs = np.array(pairs).reshape(-1, 2).T
                yield metric + suffix, name, lows, highs
    delong: tuple[tuple[str, np.ndarray | None, Scale], ...] = (
        ("DeLong, normal", None, "normal"),
        ("DeLong, logit", None, "logit"),
        ("DeLong-Obuchowski, logit", patients, "logit"),
    )
    for name, units, scale in delong:
        interval = auroc_intervals(auroc_covariance(target, scores, units=units), scale=scale)
        yield "auroc", name, interval.low.ravel(), interval.high.ravel()


def cover(work: tuple[Setting, int, int, int]) -> list[dict[str, object]]:
    """One cell: coverage, its standard error over test sets, width and both tails of each interval type."""
    setting, batches, draws, seed = work
    truth = {"auroc": setting.auroc, "average_precision": setting.average_precision()}
    sums: dict[tuple[str, str], list[tuple[float, float, float, float, float]]] = defaultdict(list)
    for batch in range(batches):
        generator = np.random.default_rng([seed, batch])
        target, scores, patients = simulate(setting, generator)
        for metric, name, low, high in limits(target, scores, patients, draws=draws, seed=1000 * seed + batch):
            at = truth.get(metric, 0.0)
            defined = ~np.isnan(low)
            low, high = low[defined], high[defined]
            sums[metric, name].append(
                (len(low), (low > at).sum(), (high < at).sum(), (high - low).sum(), (~defined).sum())
            )
    rows = []
    for (metric, name), counted in sums.items():
        table = np.array(counted, dtype=float)
        intervals, too_high, too_low, width, undefined = table.sum(axis=0)
        row: dict[str, object] = {**asdict(setting), "metric": metric, "interval": name}
        row["undefined"] = undefined / (intervals + undefined) if intervals + undefined else math.nan
        if intervals:
            missed = table[:, 1] + table[:, 2]
            share = missed.sum() / intervals
            # Test sets are independent; labels and encoders of one share its patients.
            error = math.sqrt(((missed - share * table[:, 0]) ** 2).sum()) / intervals
            row |= {"coverage": 1 - share, "standard_error": error, "width": width / intervals}
            row |= {"truth_below": too_high / intervals, "truth_above": too_low / intervals}
        rows.append(row)
    return rows


def report(rows: list[dict[str, object]], quick: bool) -> dict[str, object]:
    """Print tables by metric; give back, for each metric and type, the extreme coverages at 20 positives or more."""
    summary: dict[str, object] = {}
    keys = list(dict.fromkeys((str(row["metric"]), str(row["interval"])) for row in rows))
    for metric in dict.fromkeys(metric for metric, _ in keys):
        names = [name for found, name in keys if found == metric]
        print(f"\n### {metric}: coverage in % (truth below / truth above), mean width\n")
        print("| shape | records a patient | AUROC | positives | " + " | ".join(names) + " |")
        print("|---|---|---|---|" + "---|" * len(names))
        cells: dict[tuple[object, ...], dict[str, dict[str, object]]] = defaultdict(dict)
        for row in rows:
            if row["metric"] == metric:
                key = (row["shape"], row["records_per_patient"], row["auroc"], row["positives"])
                cells[key][str(row["interval"])] = row
        for key, found in cells.items():
            print(
                "| " + " | ".join(str(part) for part in key) + " | " + " | ".join(_cell(found[n]) for n in names) + " |"
            )
    for metric, name in keys:
        at = [
            float(str(row["coverage"]))
            for row in rows
            if (row["metric"], row["interval"]) == (metric, name) and int(str(row["positives"])) >= 20
        ]
        if at:
            within = sum(0.93 <= share <= 0.97 for share in at)
            summary[f"{metric}: {name}"] = {
                "lowest": min(at),
                "mean": sum(at) / len(at),
                "highest": max(at),
                "within_2": within,
                "cells": len(at),
            }
    summary["quick"] = quick
    return summary


def _cell(row: dict[str, object]) -> str:
    if "coverage" not in row:
        return "none"
    numbers = {name: float(str(row[name])) for name in ("coverage", "truth_below", "truth_above", "width", "undefined")}
    text = (
        f"{100 * numbers['coverage']:.1f} ({100 * numbers['truth_below']:.1f} / {100 * numbers['truth_above']:.1f}), "
        f"{numbers['width']:.3f}"
    )
    return text + (f", {100 * numbers['undefined']:.0f} % none" if numbers["undefined"] >= 0.005 else "")


def main() -> None:
    """Simulate, print, save."""
    parser = argparse.ArgumentParser(description="Coverage of interval types over simulated test sets.")
    parser.add_argument("--quick", action="store_true", help="four cells of few test sets, in seconds")
    parser.add_argument("--batches", type=int, help="test sets a cell, of 48 intervals each")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="processes; the numbers do not depend on it")
    parser.add_argument("--output", type=Path, help="where every row goes, as JSON")
    options = parser.parse_args()
    chosen = settings(options.quick)
    batches = options.batches or (4 if options.quick else 24)
    started = time.perf_counter()
    work = [(setting, batches, options.draws, 1000 * options.seed + i) for i, setting in enumerate(chosen)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=options.workers, mp_context=context) as pool:
        rows = [row for found in pool.map(cover, work) for row in found]
    summary = report(rows, options.quick)
    summary["seconds"] = round(time.perf_counter() - started, 1)
    summary["intervals_a_cell"] = batches * LABELS * ENCODERS
    if options.output:
        options.output.write_text(json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n")
    print()
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
