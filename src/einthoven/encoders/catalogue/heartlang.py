"""HeartLang (Jin et al., ICLR 2025): beats as words, masked and put back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.released import PARAMETERS, released
from einthoven.signals.chain import Chain
from einthoven.signals.steps.beats import Beats
from einthoven.signals.steps.filters import Butterworth
from einthoven.signals.steps.lengths import Fit
from einthoven.signals.steps.rates import Resample
from einthoven.signals.steps.scales import HalfPrecision, Rescale, Shift

if TYPE_CHECKING:
    from torch import nn

_TO_100 = Resample(rate=100, method="fft")
_SHAPE = (256, 98)
_PRESETS = {
    "native": Chain(
        name="native",
        steps=(
            Fit(seconds=10),
            _TO_100,
            Butterworth(low=0.67, high=40, order=5, form="transfer-function"),
            Beats(),
        ),
        shape=_SHAPE,
        rate=100,
    ),
    # The authors' evaluation on PTB-XL scales all samples with the mean and sd of its training split, which nobody
    # published: these two numbers stand in for them.
    "ptbxl": Chain(
        name="ptbxl",
        steps=(Fit(seconds=10), _TO_100, Shift(mean=-0.0008, sd=0.2365), Beats()),
        shape=_SHAPE,
        rate=100,
    ),
    "ecgfix": Chain(
        name="ecgfix",
        steps=(
            Fit(seconds=10),
            Resample(rate=500, method="linear"),
            HalfPrecision(),
            Rescale(over="record", low=-3, high=3, eps=1e-6),
            Resample(rate=100, method="linear"),
            Beats(ids="none"),
        ),
        shape=_SHAPE,
        rate=100,
    ),
}
_REPOSITORY = "PKUDigitalHealth/HeartLang"


def _network() -> type[nn.Module]:
    from einthoven.encoders.networks.heartlang import HeartLang

    return HeartLang


_CARD = EncoderCard(
    name="heartlang",
    title="HeartLang",
    summary="A transformer over the beats of an ECG that was trained to fill in masked beats.",
    paper="Jin et al., Reading Your Heart: Learning ECG Words and Sentences via Pre-training ECG Language Model "
    "(ICLR 2025)",
    code_licence="Apache-2.0 (the authors' code: MIT)",
    weights_licence="MIT",
    weights=f"Hugging Face, {_REPOSITORY}",
    consumes="signal",
    checkpoint=CheckpointSource(
        where="huggingface",
        page=f"https://huggingface.co/{_REPOSITORY}",
        repository=_REPOSITORY,
        file="checkpoint-200.pth",
        access="free download",
        non_commercial=False,
        key="model",
        rename=(
            (r"^cls_token$", "class_token"),
            (r"^pos_embed$", "place_embedding"),
            (r"^token_embed\.tokenConv\.", "token_embedding."),
            (r"^spa_embed\.embed\.", "lead_embedding."),
            (r"^tem_embed\.embed\.", "second_embedding."),
            (r"^norm_layer\.", "norm."),
            (r"^transformer\.layers\.(\d+)\.0\.norm\.", r"blocks.\1.norm1."),
            (r"^transformer\.layers\.(\d+)\.0\.to_qkv\.", r"blocks.\1.qkv."),
            (r"^transformer\.layers\.(\d+)\.0\.to_out\.0\.", r"blocks.\1.proj."),
            (r"^transformer\.layers\.(\d+)\.1\.net\.0\.", r"blocks.\1.norm2."),
            (r"^transformer\.layers\.(\d+)\.1\.net\.1\.", r"blocks.\1.fc1."),
            (r"^transformer\.layers\.(\d+)\.1\.net\.4\.", r"blocks.\1.fc2."),
        ),
        unused=(r"mask_token", r"lm_head\..*"),
        globals=("argparse.Namespace",),
    ),
    preprocessings=_PRESETS,
    dimension=768,
    hidden_states=13,
    tokens="class token, then beats: leads x beats, 256 at most, the rest without a beat",
    pretraining=("mimic-iv-ecg",),
    pretraining_note="MIMIC-IV-ECG, signals only",
    parameters=PARAMETERS,
)

ENCODER = released(_CARD, network=_network)
