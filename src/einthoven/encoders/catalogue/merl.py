"""MERL (Liu et al., ICML 2024): ECGs and their reports, contrasted; the ECG side alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.checkpoints.vit_names import BLOCK_NAMES
from einthoven.encoders.registry import EncoderEntry
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


_PAPER = (
    "Liu et al., Zero-Shot ECG Classification with Multimodal Learning and Test-time Clinical Knowledge "
    "Enhancement (ICML 2024)"
)
_CODE_LICENCE = "Apache-2.0 (the authors' code: MIT)"
_PRETRAINING_NOTE = "MIMIC-IV-ECG with its machine-made reports"


def _resnet18() -> type[nn.Module]:
    from einthoven.encoders.networks.resnet1d import ResNet18

    return ResNet18


_RESNET18 = EncoderCard(
    name="merl-resnet18",
    title="MERL ResNet-18",
    summary="A 1-D ResNet-18 that was trained to tell which report belongs to an ECG.",
    paper=_PAPER,
    code_licence=_CODE_LICENCE,
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
    pretraining_note=_PRETRAINING_NOTE,
    parameters=PARAMETERS,
)


def _tiny() -> type[nn.Module]:
    from einthoven.encoders.networks.vit_twelve_lead import VitTiny

    return VitTiny


def _middle() -> type[nn.Module]:
    from einthoven.encoders.networks.vit_twelve_lead import VitMiddle

    return VitMiddle


def _base() -> type[nn.Module]:
    from einthoven.encoders.networks.vit_twelve_lead import VitBase

    return VitBase


def _vit(size: str, *, width: int, network: Callable[[], type[nn.Module]]) -> EncoderEntry:
    card = EncoderCard(
        name=f"merl-vit-{size}",
        title=f"MERL ViT {size}",
        summary="A 1-D vision transformer that was trained to tell which report belongs to an ECG.",
        paper=_PAPER,
        code_licence=_CODE_LICENCE,
        weights_licence="MIT",
        weights="the authors' Google Drive folder",
        consumes="signal",
        checkpoint=CheckpointSource(
            where="by-hand",
            page=_PAGE,
            file=f"vit_{size}_best_encoder.pth",
            access=f"the README of {_PAGE} links a Google Drive folder with ResNet and ViT weights; download the file "
            f"of vit_{size} whose name ends in _encoder.pth, if it is among them, in a browser",
            non_commercial=False,
            rename=(*BLOCK_NAMES, (r"^to_patch_embedding\.", "patch.")),
        ),
        preprocessings={"native": _PRESETS["native"]},
        dimension=width,
        hidden_states=13,
        tokens="time steps",
        pretraining=("mimic-iv-ecg",),
        pretraining_note=_PRETRAINING_NOTE,
        parameters=PARAMETERS,
    )
    return released(card, network=network)


ENCODER = (
    released(_RESNET18, network=_resnet18),
    _vit("tiny", width=192, network=_tiny),
    _vit("middle", width=512, network=_middle),
    _vit("base", width=768, network=_base),
)
