"""How stable the order of networks is from seed to seed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.stats import rankdata

from .direction import Better, oriented
from .kendall import kendall_matrix, smallest_attainable_p
from .repeated_runs import RunGrid


@dataclass(frozen=True)
class SeedAgreement:
    """Kendall's tau-b between the orders that every two seeds give, on one task.

    Attributes:
        task: its name.
        networks: those with a value for every seed; only they are in the orders.
        left_out: the other networks that ran on the task.
        seeds: how many.
        tau_mean: over the pairs of seeds; NaN where undefined.
        tau_min: the least.
        tau_max: the most.
        smallest_p: that an exact test of one tau could give.
        reason: why the taus are NaN, or None.
    """

    task: str
    networks: tuple[str, ...]
    left_out: tuple[str, ...]
    seeds: int
    tau_mean: float
    tau_min: float
    tau_max: float
    smallest_p: float
    reason: str | None


def seed_ranks(grid: RunGrid, *, better: Better) -> pl.DataFrame:
    """The rank of every network within every task and seed.

    Args:
        grid: the runs of one metric.
        better: whether higher or lower values are better.

    Returns:
        task, seed, network, value, rank (equal values share the best of their ranks), rank_average (they share the
        mean) and of (how many networks were ranked), without rows for runs that have no value.
    """
    ranks = {
        how: rankdata(-oriented(grid.values, better=better, dimensions=3), method=how, axis=1, nan_policy="omit")
        for how in ("min", "average")
    }
    task, seed, network = np.nonzero(~np.isnan(grid.values).swapaxes(1, 2))
    place = (task, network, seed)
    ranked = (~np.isnan(grid.values)).sum(axis=1)
    return pl.DataFrame(
        {
            "task": [grid.tasks[at] for at in task],
            "seed": [grid.seeds[at] for at in seed],
            "network": [grid.networks[at] for at in network],
            "value": grid.values[place],
            "rank": ranks["min"][place].astype(np.int64),
            "rank_average": ranks["average"][place],
            "of": ranked[task, seed],
        },
        schema_overrides={"task": pl.String, "seed": pl.Int64, "network": pl.String},
    )


def rank_distribution(grid: RunGrid, *, better: Better) -> pl.DataFrame:
    """How many seeds give a network each rank.

    A rank among fewer networks is another number: where `networks` differs from seed to seed, see `seed_ranks`.

    Args:
        grid: the runs of one metric.
        better: whether higher or lower values are better.

    Returns:
        task, network, seeds (with a value), networks (that ran on the task), counts (a list, of rank 1, 2, ...; equal
        values share the best of their ranks), mode_ranks (a list: every rank that is the most frequent), mode_share (of
        the seeds, each of them), first_share (of the seeds, rank 1), mean and sd of the values (sd is NaN with one
        seed).
    """
    ranks = seed_ranks(grid, better=better)
    return (
        ranks.with_columns(pl.col("network").n_unique().over("task").alias("networks"))
        .group_by("task", "network")
        .agg(
            pl.len().cast(pl.Int64).alias("seeds"),
            pl.col("networks").first().cast(pl.Int64),
            pl.col("rank"),
            pl.col("value").mean().alias("mean"),
            pl.col("value").std().fill_null(math.nan).alias("sd"),
        )
        .sort("task", "network")
        .with_columns(
            pl.struct("rank", "networks")
            .map_elements(
                lambda row: np.bincount(np.array(row["rank"]) - 1, minlength=row["networks"]).tolist(),
                return_dtype=pl.List(pl.Int64),
            )
            .alias("counts")
        )
        .with_columns(
            pl.col("counts")
            .list.eval(pl.arg_where(pl.element() == pl.element().max()) + 1)
            .cast(pl.List(pl.Int64))
            .alias("mode_ranks"),
            (pl.col("counts").list.max() / pl.col("seeds")).alias("mode_share"),
            (pl.col("counts").list.first() / pl.col("seeds")).alias("first_share"),
        )
        .select(
            "task", "network", "seeds", "networks", "counts", "mode_ranks", "mode_share", "first_share", "mean", "sd"
        )
    )


def seed_agreement(grid: RunGrid) -> tuple[SeedAgreement, ...]:
    """How far the orders of any two seeds agree, task by task.

    Args:
        grid: the runs of one metric; its seeds are those of the study. A network that lacks one of them is in no order.

    Returns:
        One for each task, in the order of the grid.
    """
    return tuple(_agreement(grid, task) for task in range(len(grid.tasks)))


def _agreement(grid: RunGrid, task: int) -> SeedAgreement:
    present = ~np.isnan(grid.values[task])
    complete = present.all(axis=1)
    taus = kendall_matrix(grid.values[task, complete])[np.triu_indices(len(grid.seeds), k=1)]
    reason = None
    if len(grid.seeds) < 2:
        reason = "one seed has no other to agree with"
    elif complete.sum() < 2:
        reason = f"{complete.sum()} networks have a value for all {len(grid.seeds)} seeds; 2 needed"
    elif np.isnan(taus).any():
        reason = f"all networks are equal in one of the seeds of {np.isnan(taus).sum()} of {len(taus)} pairs"
    mean, low, high = (math.nan,) * 3 if reason else (float(one) for one in (taus.mean(), taus.min(), taus.max()))
    return SeedAgreement(
        task=grid.tasks[task],
        networks=tuple(name for name, whole in zip(grid.networks, complete, strict=True) if whole),
        left_out=tuple(
            name
            for name, whole, ran in zip(grid.networks, complete, present.any(axis=1), strict=True)
            if ran and not whole
        ),
        seeds=len(grid.seeds),
        tau_mean=mean,
        tau_min=low,
        tau_max=high,
        smallest_p=smallest_attainable_p(int(complete.sum())),
        reason=reason,
    )
