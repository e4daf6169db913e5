"""The 36 untrained encoders of ecg-fix (Berger et al., ICML 2026): one network's seed, many preparations."""

from __future__ import annotations

from itertools import product
from typing import Literal, NamedTuple

from einthoven.foundation.errors import UsageError
from einthoven.signals.chain import AnyStep, Chain
from einthoven.signals.steps.filters import Butterworth
from einthoven.signals.steps.lengths import Fit
from einthoven.signals.steps.rates import Resample
from einthoven.signals.steps.scales import HalfPrecision, Shift, Standardise

from .card import ParameterValue

Scale = Literal["none", "dataset", "sample"]
RATES = (100, 250, 500)
_SECONDS = 10
_LEADS = 12
# Added to every sd by ecg-fix.
_EPS = 1e-8
_SCALES: tuple[Scale, ...] = ("none", "dataset", "sample")


class GridEncoder(NamedTuple):
    """One cell of the grid.

    Attributes:
        encoder: a registered name.
        parameters: for `build_encoder`.
        preparation: how records are prepared; its name is that of the cell, "100hz-bp-sample".
    """

    encoder: str
    parameters: dict[str, ParameterValue]
    preparation: Chain


def random_grid(*, mean: float, sd: float, seed: int = 0) -> list[GridEncoder]:
    """All 36 cells: 100, 250 or 500 Hz; unfiltered or 0.5 to 40 Hz; no, dataset or sample scale; ResNet-18 or ViT.

    Twelve cells need the mean and sd of a cohort's training split, and so the whole grid is asked for by cohort. The
    other 24 are presets of the encoders' cards and can be named in studies; wiring all 36 into studies was left to the
    representation study.

    The networks of one seed share their weights over all cells (ViTs of different rates: all but their positions), so
    the spread of the grid is that of preparations. Ask for it with several seeds to see the spread of networks.

    Args:
        mean: of all samples of all leads of the training records, mV, before any filter.
        sd: likewise.
        seed: of the initial weights.

    Returns:
        the cells: ResNet-18 first, then by rate, filter and scale.
    """
    return [
        GridEncoder(
            encoder="random-resnet18" if network == "resnet18" else f"random-vit-middle-{rate}hz",
            parameters={"seed": seed},
            preparation=grid_preparation(rate, bandpass=bandpass, scale=scale, mean=mean, sd=sd),
        )
        for network, rate, bandpass, scale in product(("resnet18", "vit"), RATES, (False, True), _SCALES)
    ]


def grid_presets(*rates: int) -> dict[str, Chain]:
    """The preparations of the grid at some rates that need no numbers of a cohort, by name."""
    chains = [
        grid_preparation(rate, bandpass=bandpass, scale=scale)
        for rate, bandpass, scale in product(rates, (False, True), ("none", "sample"))
    ]
    return {chain.name: chain for chain in chains}


def grid_preparation(
    rate: int, *, bandpass: bool, scale: Scale, mean: float | None = None, sd: float | None = None
) -> Chain:
    """The preparation of one cell.

    In the order of ecg-fix: rounded to float16, as its files are; linear interpolation; the filter, in float32; and the
    scale. (`Preprocessing` has no rounding to float16, so this is a `Chain`.)

    Args:
        rate: Hz.
        bandpass: whether the Butterworth filter of order 5, 0.5 to 40 Hz, is run forwards and backwards.
        scale: "none"; "dataset": less `mean`, over `sd`; "sample": z of each lead of each record, unbiased sd.
        mean: mV, for "dataset".
        sd: mV, for "dataset".

    Raises:
        UsageError: "dataset" without its two numbers, or an sd that is not above 0.
    """
    steps: list[AnyStep] = [Fit(seconds=_SECONDS), HalfPrecision(), Resample(rate=rate, method="linear")]
    if bandpass:
        steps.append(Butterworth(low=0.5, high=40, order=5, precision="float32"))
    if scale == "dataset":
        if mean is None or sd is None or not sd > 0:
            raise UsageError(
                f"Scale 'dataset' needs the mean and the sd (above 0) of the training split, in mV; found mean={mean}, "
                f"sd={sd}."
            )
        steps.append(Shift(mean=mean, sd=sd + _EPS))
    elif scale == "sample":
        steps.append(Standardise(over="lead", ddof=1, eps=_EPS))
    return Chain(
        name=f"{rate}hz-{'bp' if bandpass else 'nobp'}-{scale}",
        steps=tuple(steps),
        shape=(_LEADS, _SECONDS * rate),
        rate=rate,
    )
