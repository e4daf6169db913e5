"""ST-MEM (Na et al., ICLR 2024): masked patches of all twelve leads, put back from those that are seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.checkpoints.vit_names import BLOCK_NAMES
from einthoven.encoders.released import PARAMETERS, released
from einthoven.signals.chain import Chain
from einthoven.signals.steps.filters import Butterworth
from einthoven.signals.steps.lengths import Fit, Views
from einthoven.signals.steps.rates import Resample
from einthoven.signals.steps.scales import Standardise

if TYPE_CHECKING:
    from torch import nn

_TO_250_HZ = Resample(rate=250, method="fft")
_PRESETS = {
    # The authors average what their classifier says of the three windows. A linear probe of the mean embedding says the
    # mean of what it would say of each.
    "native": Chain(
        name="native",
        steps=(
            Fit(seconds=10),
            _TO_250_HZ,
            Views(seconds=9, starts=(0.0, 0.5, 1.0)),
            Butterworth(low=0.67, high=None, order=5),
            Butterworth(low=None, high=40, order=5),
            Standardise(over="record"),
        ),
        shape=(3, 12, 2250),
        rate=250,
    ),
    "interpbench": Chain(
        name="interpbench",
        steps=(Fit(seconds=10), Standardise(over="lead", floor=1e-6), _TO_250_HZ, Fit(seconds=9)),
        shape=(12, 2250),
        rate=250,
    ),
}
_PAGE = "https://github.com/bakqui/ST-MEM"


def _network() -> type[nn.Module]:
    from einthoven.encoders.networks.st_mem import StMem

    return StMem


_CARD = EncoderCard(
    name="st-mem",
    title="ST-MEM",
    summary="A vision transformer on twelve leads that was trained to put back masked patches.",
    paper="Na et al., Guiding Masked Representation Learning to Capture Spatio-Temporal Relationship of "
    "Electrocardiogram (ICLR 2024)",
    code_licence="Apache-2.0 (the authors' code: CC BY-NC 4.0, with the notice of VUNO)",
    weights_licence="CC BY-NC 4.0, with the notice of VUNO",
    weights="the authors' Google Drive file encoder.pth",
    consumes="signal",
    checkpoint=CheckpointSource(
        where="by-hand",
        page=_PAGE,
        file="encoder.pth",
        access=f"the README of {_PAGE} links Google Drive; download encoder.pth, not the full model, in a browser",
        non_commercial=True,
        key="model",
        rename=(
            *BLOCK_NAMES,
            (r"^to_patch_embedding\.1\.", "patch_norm."),
            (r"^to_patch_embedding\.2\.", "patch."),
            (r"^to_patch_embedding\.3\.", "token_norm."),
        ),
    ),
    preprocessings=_PRESETS,
    dimension=768,
    hidden_states=13,
    tokens="lead by lead (12): separator, time (30), separator; of several views one after the other",
    pretraining=("csn", "code15"),
    pretraining_note="no labels were used. Chapman and Ningbo, which are CSN together, and CODE-15, as the paper says; "
    "test records of CSN, and of collections that took records from it, were seen",
    parameters=PARAMETERS,
)

ENCODER = released(_CARD, network=_network)
