"""MERL (Liu et al., ICML 2024): ECGs and their reports, contrasted; the ECG side alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.released import PARAMETERS, released
from einthoven.signals.chain import Chain
from einthoven.signals.steps.lengths import Fit
from einthoven.signals.steps.rates import Resample
from einthoven.signals.steps.scales import HalfPrecision, Rescale

if TYPE_CHECKING:
    from torch import nn

# The authors exchange aVL and aVF, and so do the records they trained on (MIMIC-IV-ECG names them in that order).
_LEADS = ("I", "II", "III", "aVR", "aVF", "aVL", "V1", "V2", "V3", "V4", "V5", "V6")
_TEN_SECONDS = (Fit(seconds=10), Resample(rate=500, method="polyphase"))
_PRESETS = {
    "native": Chain(
        name="native",
        leads=_LEADS,
        steps=(*_TEN_SECONDS, Rescale(over="record", low=0, high=1, eps=1e-8)),
        shape=(12, 5000),
        rate=500,
    ),
    "ecgfix": Chain(
        name="ecgfix",
        steps=(Fit(seconds=10), Resample(rate=500, method="linear"), HalfPrecision()),
        shape=(12, 5000),
        rate=500,
    ),
}
_PAGE = "https://github.com/cheliu-computation/MERL-ICML2024"


def _network() -> type[nn.Module]:
    from einthoven.encoders.networks.resnet1d import ResNet18

    return ResNet18


_CARD = EncoderCard(
    name="merl-resnet18",
    title="MERL ResNet-18",
    summary="A 1-D ResNet-18 that was trained to tell which report belongs to an ECG.",
    paper="Liu et al., Zero-Shot ECG Classification with Multimodal Learning and Test-time Clinical Knowledge "
    "Enhancement (ICML 2024)",
    code_licence="Apache-2.0 (the authors' code: MIT)",
    weights_licence="MIT",
    weights="the authors' Google Drive folder",
    consumes="signal",
    checkpoint=CheckpointSource(
        where="by-hand",
        page=_PAGE,
        file="res18_best_encoder.pth",
        access=f"the README of {_PAGE} links a Google Drive folder; download res18_best_encoder.pth in a browser",
        non_commercial=False,
        unused=(r"linear\..*",),
    ),
    preprocessings=_PRESETS,
    dimension=512,
    hidden_states=5,
    tokens="time steps",
    pretraining=("mimic-iv-ecg",),
    pretraining_note="MIMIC-IV-ECG with its machine-made reports",
    parameters=PARAMETERS,
)

ENCODER = released(_CARD, network=_network)
