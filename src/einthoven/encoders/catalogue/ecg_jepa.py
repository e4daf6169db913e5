"""ECG-JEPA (Kim, 2024): the representation of hidden patches, predicted from the patches that are seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.released import PARAMETERS, released
from einthoven.signals.chain import Chain
from einthoven.signals.steps.lengths import Fit
from einthoven.signals.steps.rates import Resample
from einthoven.signals.steps.scales import Standardise

if TYPE_CHECKING:
    from torch import nn

# The other four limb leads follow from I and II; the authors leave them out.
_LEADS = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6")
_SHAPE = (8, 2500)
_TEN_SECONDS = (Fit(seconds=10), Resample(rate=250, method="fft"))
_PRESETS = {
    "native": Chain(name="native", leads=_LEADS, steps=_TEN_SECONDS, shape=_SHAPE, rate=250),
    "interpbench": Chain(
        name="interpbench",
        leads=_LEADS,
        steps=(*_TEN_SECONDS, Standardise(over="lead", floor=1e-6)),
        shape=_SHAPE,
        rate=250,
    ),
}
_PAGE = "https://github.com/sehunfromdaegu/ECG_JEPA"
_DRIVE = "https://drive.google.com/file/d/1gMOT4xjQQg0GZkY1iE6NuDzua4ALw00l"


def _network() -> type[nn.Module]:
    from einthoven.encoders.networks.ecg_jepa import EcgJepa

    return EcgJepa


_CARD = EncoderCard(
    name="ecg-jepa",
    title="ECG-JEPA",
    summary="A vision transformer on eight leads that was trained to predict the representation of hidden patches.",
    paper="Kim, Learning General Representation of 12-Lead Electrocardiogram with a Joint-Embedding Predictive "
    "Architecture (2024)",
    code_licence="Apache-2.0 (the authors' code: MIT)",
    weights_licence="MIT",
    weights="the author's Google Drive file multiblock_epoch100.pth (multi-block masking)",
    consumes="signal",
    checkpoint=CheckpointSource(
        where="by-hand",
        page=_PAGE,
        file="multiblock_epoch100.pth",
        access=f"download multiblock_epoch100.pth from {_DRIVE} in a browser",
        non_commercial=False,
        key="encoder",
        rename=(
            (r"^encoder_blocks\.", ""),
            (r"\.attn\.(qkv|proj)\.", r".\1."),
            (r"\.mlp\.(fc1|fc2)\.", r".\1."),
        ),
    ),
    preprocessings=_PRESETS,
    dimension=768,
    hidden_states=13,
    tokens="leads x time, lead by lead (8 x 50)",
    pretraining=("csn", "code15"),
    pretraining_note="no labels were used. All of CSN (PhysioNet ecg-arrhythmia 1.0.0), so test records of that "
    "dataset, and of collections that took records from it, were seen",
    parameters=PARAMETERS,
)

ENCODER = released(_CARD, network=_network)
