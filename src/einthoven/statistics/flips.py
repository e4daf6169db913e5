"""Flip tests: does the order of two networks turn round between two tasks?

Every pair of networks is compared on every pair of tasks, by paired differences over the seeds that both networks ran.
A flip is two intervals that exclude zero on opposite sides: an intersection-union test, of which p is the larger of the
two two-sided p-values. The verdicts are those of deepecgkit 0.3.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import polars as pl

from einthoven.foundation.errors import UsageError

from .multiplicity import Method, adjust_p
from .repeated_runs import RunGrid
from .resampled_t import LargestGap, ResampledT, has_no_reason, largest_gap, resampled_t

FlipVerdict = Literal[
    "supported", "suggestive", "unresolved", "not_reproduced", "contradicted", "bimodal", "untestable"
]
Correction = Literal["nadeau-bengio", "none"]


@dataclass(frozen=True)
class FlipRules:
    """What makes a comparison testable.

    Attributes:
        minimum_units: fewest independent test units (patients, recordings) of a testable task.
        minimum_runs: fewest seeds that both networks share.
        supporting_runs: with fewer than these a flip is only suggestive.
        bimodal_gap: see `largest_gap`.
    """

    minimum_units: int = 10
    minimum_runs: int = 3
    supporting_runs: int = 5
    bimodal_gap: float = 0.10


@dataclass(frozen=True, eq=False)
class FlipTests:
    """Every flip test of a grid.

    Attributes:
        table: one row for each two tasks and two networks that ran on both. Columns: task_1, task_2, network_a,
            network_b; of the difference a - b on each task mean_, low_, high_, wins_ and runs_ with 1 or 2; runs (the
            fewer of the two), verdict, p, p_adjusted (both NaN where untestable or bimodal), reason (null if
            supported).
        metric: its name.
        tasks: of the grid.
        networks: of the grid.
        method: how p was adjusted.
        tested: how many tests were adjusted together: all that have a p, whatever they show.
        undefined: how many more there are.
    """

    table: pl.DataFrame
    metric: str
    tasks: tuple[str, ...]
    networks: tuple[str, ...]
    method: Method
    tested: int
    undefined: int


def flip_tests(
    grid: RunGrid,
    *,
    correction: Correction = "nadeau-bengio",
    method: Method = "by",
    confidence: float = 0.95,
    rules: FlipRules | None = None,
) -> FlipTests:
    """Test every pair of networks on every pair of tasks for a flip.

    The verdict rests on the two intervals alone and knows nothing of the other tests; `p_adjusted` does:

    - `untestable`: too few test units or shared seeds, zero variance, or sizes that are not known;
    - `bimodal`: a network's seeds fall into two groups, which no t interval describes;
    - `supported`: opposite signs, both intervals exclude zero (`suggestive`: with fewer than the supporting runs);
    - `unresolved`: opposite signs, an interval holds zero;
    - `contradicted`: the same sign, both intervals exclude zero;
    - `not_reproduced`: the means do not reverse.

    p is small when both differences are far from zero, also when they have the same sign: a small p is a flip only
    with the verdict. Tasks that share records (a pooled task and its parts) are not independent, and nothing here
    accounts for it.

    Args:
        grid: the runs of one metric, with train_records, test_records and test_units.
        correction: of the variance for training sets that overlap, see `resampled_t`.
        method: of adjustment. The family is every test that has a p; a family of those with some outcome would be
            chosen after the fact, and is not offered.
        confidence: of the intervals.
        rules: what is testable; None for the defaults.

    Raises:
        UsageError: a setting outside its range.

    Example:
        >>> runs = pl.DataFrame(
        ...     [
        ...         (task, network, seed, "f1", base + seed / 100 * (1 if network == "x" else 2), 900, 100, 50)
        ...         for task, network, base in [("t", "x", 0.8), ("t", "y", 0.6), ("u", "x", 0.5), ("u", "y", 0.7)]
        ...         for seed in range(5)
        ...     ],
        ...     schema=("task network seed metric value train_records test_records test_units").split(),
        ...     orient="row",
        ... )
        >>> from einthoven.statistics.repeated_runs import run_grid
        >>> flip_tests(run_grid(runs, metric="f1")).table["verdict"].to_list()
        ['supported']
    """
    settings = rules or FlipRules()
    if correction not in ("nadeau-bengio", "none"):
        raise UsageError(f"correction: expected 'nadeau-bengio' or 'none', found {correction!r}.")
    sides = _compare_pairs(grid, correction=correction, confidence=confidence, rules=settings)
    pairs = list(combinations(grid.networks, 2))
    first, second = (
        np.array(places, dtype=np.int64)
        for places in (zip(*combinations(range(len(grid.tasks)), 2), strict=True) if len(grid.tasks) > 1 else ([], []))
    )
    one, two = sides.at(first), sides.at(second)
    p = np.where(one.testable & two.testable & ~one.split & ~two.split, np.maximum(one.t.p, two.t.p), np.nan)
    verdict, reason = _judge(one, two, settings)
    # Row by row, tasks outermost, and only networks that ran on both tasks.
    kept = np.nonzero((one.ran & two.ran).ravel())[0]
    adjusted = adjust_p(p.ravel()[kept], method=method)
    columns: dict[str, object] = {
        "task_1": [grid.tasks[first[at // len(pairs)]] for at in kept],
        "task_2": [grid.tasks[second[at // len(pairs)]] for at in kept],
        "network_a": [pairs[at % len(pairs)][0] for at in kept],
        "network_b": [pairs[at % len(pairs)][1] for at in kept],
    }
    for side, found in (("1", one.t), ("2", two.t)):
        for name in ("mean", "low", "high", "wins", "runs"):
            columns[f"{name}_{side}"] = getattr(found, name).ravel()[kept]
    columns["runs"] = np.minimum(one.t.runs, two.t.runs).ravel()[kept]
    columns["verdict"] = verdict.ravel()[kept].tolist()
    columns["p"] = p.ravel()[kept]
    columns["p_adjusted"] = adjusted.p
    columns["reason"] = reason.ravel()[kept].tolist()
    texts = ("task_1", "task_2", "network_a", "network_b", "verdict", "reason")
    return FlipTests(
        table=pl.DataFrame(columns, schema_overrides=dict.fromkeys(texts, pl.String)),
        metric=grid.metric,
        tasks=grid.tasks,
        networks=grid.networks,
        method=method,
        tested=adjusted.tested,
        undefined=adjusted.undefined,
    )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Every pair of networks on some tasks; arrays (tasks, pairs)."""

    t: ResampledT
    ran: np.ndarray
    testable: np.ndarray
    split: np.ndarray
    reason: np.ndarray

    def at(self, tasks: np.ndarray) -> _Pairs:
        chosen = ResampledT(**{name: value[tasks] for name, value in vars(self.t).items()})
        return _Pairs(chosen, self.ran[tasks], self.testable[tasks], self.split[tasks], self.reason[tasks])


def _compare_pairs(grid: RunGrid, *, correction: Correction, confidence: float, rules: FlipRules) -> _Pairs:
    a, b = np.triu_indices(len(grid.networks), k=1)
    shared = ~np.isnan(grid.values[:, a]) & ~np.isnan(grid.values[:, b])
    values = [np.where(shared, grid.values[:, side], np.nan) for side in (a, b)]
    units = np.where(shared, np.minimum(grid.test_units[:, a], grid.test_units[:, b]), np.inf).min(
        axis=-1, initial=np.inf
    )
    ratio = np.zeros(shared.shape[:-1])
    if correction == "nadeau-bengio":
        both = np.where(shared, (grid.ratio[:, a] + grid.ratio[:, b]) / 2, 0.0).sum(axis=-1)
        ratio = np.divide(both, shared.sum(axis=-1), out=np.full(both.shape, np.nan), where=shared.any(axis=-1))
    found = resampled_t(
        values[0] - values[1],
        test_train_ratio=ratio,
        confidence=confidence,
        scale=np.where(shared, np.maximum(np.abs(values[0]), np.abs(values[1])), 0.0).max(axis=-1, initial=0.0),
    )
    gaps = [largest_gap(side, smallest=rules.bimodal_gap) for side in values]
    ran = np.any(~np.isnan(grid.values), axis=-1)
    # Later lines outrank earlier ones.
    reason = np.full(ratio.shape, None, dtype=object)
    for side, gap in zip((b, a), reversed(gaps), strict=True):
        for at in zip(*np.nonzero(gap.bimodal), strict=True):
            reason[at] = _split_reason(grid.networks[side[at[1]]], gap, at)
    untestable = ~has_no_reason(found.reason)
    reason[untestable] = found.reason[untestable]
    few_units = units < rules.minimum_units
    for at in zip(*np.nonzero(few_units), strict=True):
        reason[at] = f"{units[at]:.0f} independent test units; at least {rules.minimum_units} needed"
    unknown = np.isnan(units)
    reason[unknown] = "the number of independent test units is unknown"
    few_runs = found.runs < rules.minimum_runs
    for at in zip(*np.nonzero(few_runs), strict=True):
        reason[at] = f"{found.runs[at]} shared seeds; at least {rules.minimum_runs} needed"
    return _Pairs(
        t=found,
        ran=ran[:, a] & ran[:, b],
        testable=~(untestable | few_units | unknown | few_runs),
        split=gaps[0].bimodal | gaps[1].bimodal,
        reason=reason,
    )


def _split_reason(network: str, gap: LargestGap, at: tuple) -> str:
    return f"{network}: {gap.below[at]} seeds are {gap.gap[at]:.3f} below the other {gap.above[at]}"


def _judge(one: _Pairs, two: _Pairs, rules: FlipRules) -> tuple[np.ndarray, np.ndarray]:
    testable = one.testable & two.testable
    split = one.split | two.split
    reversed_means = one.t.mean * two.t.mean < 0
    excluded = np.abs(one.t.mean) > one.t.half_width
    excluded &= np.abs(two.t.mean) > two.t.half_width
    runs = np.minimum(one.t.runs, two.t.runs)
    cases = [
        (~testable, "untestable", np.where(one.testable, two.reason, one.reason)),
        (split, "bimodal", np.where(one.split, one.reason, two.reason)),
        (reversed_means & ~excluded, "unresolved", "the order reverses, but an interval holds zero"),
        (reversed_means & (runs < rules.supporting_runs), "suggestive", None),
        (reversed_means, "supported", None),
        (excluded, "contradicted", "both differences have the same sign and exclude zero"),
    ]
    conditions = [condition for condition, _, _ in cases]
    verdict = np.select(conditions, [np.full(runs.shape, word, dtype=object) for _, word, _ in cases], "not_reproduced")
    reasons = [np.broadcast_to(np.asarray(text, dtype=object), runs.shape) for _, _, text in cases]
    reason = np.select(conditions, reasons, "the order of the means does not reverse")
    for at in zip(*np.nonzero(verdict == "suggestive"), strict=True):
        reason[at] = f"{runs[at]} shared seeds; {rules.supporting_runs} needed to support a flip"
    return verdict, reason
