"""Re-test of a claim such as "this network is the best on task A and the worst on task B".

The claim is taken apart into one flip test for each opponent: better than it on A and worse on B. All must hold, so p
is the largest of theirs, and needs no adjustment for their number (an intersection-union test).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from einthoven.foundation.errors import UsageError, unknown_name

from .direction import Better
from .flips import FlipTests, FlipVerdict

# Worst first: the claim has the first of these that one of its parts has. What was tested and failed comes before what
# could not be tested, so that an untestable opponent never hides a contradicted one; and what could not be tested
# comes before support, as the claim is about all of them.
_WORST_FIRST: tuple[FlipVerdict, ...] = (
    "contradicted",
    "not_reproduced",
    "unresolved",
    "untestable",
    "bimodal",
    "suggestive",
    "supported",
)


@dataclass(frozen=True)
class ClaimPart:
    """What a claim says about one opponent.

    Attributes:
        opponent: its name.
        verdict: that of the flip test; a flip the other way round contradicts the claim.
        as_claimed: whether both means lie as claimed, whatever the test says.
        p: of the flip test; NaN where there is none.
        reason: that of the flip test, or that the order reverses the other way round; None if supported.
    """

    opponent: str
    verdict: FlipVerdict
    as_claimed: bool
    p: float
    reason: str | None


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim.

    Attributes:
        network: whom it is about.
        best_task: where it is said to be better than its opponents.
        worst_task: where it is said to be worse than its opponents.
        verdict: the worst of its parts.
        p: the largest of the parts that have one; NaN if none has.
        parts: one for each opponent.
        without_runs: networks that lack runs on one of the tasks and are in no part; empty when opponents were named.
        reason: why the verdict is not "supported", or None.
    """

    network: str
    best_task: str
    worst_task: str
    verdict: FlipVerdict
    p: float
    parts: tuple[ClaimPart, ...]
    without_runs: tuple[str, ...]
    reason: str | None


def retest_claim(
    flips: FlipTests,
    *,
    network: str,
    best_task: str,
    worst_task: str,
    better: Better,
    opponents: Sequence[str] | None = None,
) -> ClaimVerdict:
    """Whether a network is better than its opponents on one task and worse than them on another.

    Args:
        flips: every flip test of the grid.
        network: whom the claim is about.
        best_task: where it is said to be better.
        worst_task: where it is said to be worse.
        better: whether higher or lower values of the metric are better.
        opponents: named ones; None for all that ran on both tasks. An opponent without runs there is untestable.

    Raises:
        UsageError: an unknown network or task, the same task twice, an opponent twice or equal to the network.
    """
    for name in (network, *(opponents or ())):
        if name not in flips.networks:
            raise unknown_name("network", name, flips.networks, where="the flip tests")
    for name in (best_task, worst_task):
        if name not in flips.tasks:
            raise unknown_name("task", name, flips.tasks, where="the flip tests")
    if best_task == worst_task:
        raise UsageError(f"best_task and worst_task: expected two tasks, found {best_task!r} twice.")
    if opponents is not None and (network in opponents or len(set(opponents)) != len(opponents)):
        raise UsageError(f"opponents: expected other networks than {network!r}, each once, found {list(opponents)}.")
    if better not in ("higher", "lower"):
        raise UsageError(f"better: expected 'higher' or 'lower', found {better!r}.")
    tested = _parts(flips.table, network, best_task, worst_task, better)
    chosen = sorted(tested) if opponents is None else list(opponents)
    parts = tuple(
        tested.get(name) or ClaimPart(name, "untestable", False, math.nan, "no runs on both tasks") for name in chosen
    )
    verdict, reason = _worst(parts)
    return ClaimVerdict(
        network=network,
        best_task=best_task,
        worst_task=worst_task,
        verdict=verdict,
        p=max((part.p for part in parts if not math.isnan(part.p)), default=math.nan),
        parts=parts,
        without_runs=tuple(n for n in flips.networks if n != network and n not in tested) if opponents is None else (),
        reason=reason,
    )


def _parts(table: pl.DataFrame, network: str, best: str, worst: str, better: Better) -> dict[str, ClaimPart]:
    rows = table.filter(
        pl.struct("task_1", "task_2").is_in([{"task_1": a, "task_2": b} for a, b in ((best, worst), (worst, best))])
        & ((pl.col("network_a") == network) | (pl.col("network_b") == network))
    )
    parts = {}
    for row in rows.iter_rows(named=True):
        own = 1 if row["network_a"] == network else -1
        opponent = row["network_b"] if own == 1 else row["network_a"]
        # How much the network is ahead on (task_1, task_2), then on (best, worst).
        ahead = np.array([row["mean_1"], row["mean_2"]]) * own * (1 if better == "higher" else -1)
        on_best, on_worst = ahead if row["task_1"] == best else ahead[::-1]
        as_claimed = bool(on_best > 0 > on_worst)
        verdict, reason = row["verdict"], row["reason"]
        if verdict in ("supported", "suggestive") and not as_claimed:
            verdict, reason = "contradicted", "the order reverses the other way round"
        parts[opponent] = ClaimPart(opponent, verdict, as_claimed, row["p"], reason)
    return parts


def _worst(parts: Sequence[ClaimPart]) -> tuple[FlipVerdict, str | None]:
    if not parts:
        return "untestable", "there is no opponent to compare with"
    verdict: FlipVerdict = next(word for word in _WORST_FIRST if any(part.verdict == word for part in parts))
    if verdict == "supported":
        return "supported", None
    which = [part for part in parts if part.verdict == verdict]
    names = ", ".join(part.opponent for part in which)
    return verdict, f"{verdict} for {len(which)} of {len(parts)} opponents ({names}): {which[0].reason}"
