"""D-BETA (Pham et al., ICML 2025): ECGs and their reports, masked and contrasted; the ECG side alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.checkpoints.fairseq import PRETRAINING_PARTS, WAV2VEC2_NAMES
from einthoven.encoders.released import PARAMETERS, released
from einthoven.signals.chain import Chain
from einthoven.signals.steps.lengths import Fit
from einthoven.signals.steps.rates import Resample
from einthoven.signals.steps.scales import HalfPrecision

if TYPE_CHECKING:
    from torch import nn

_PRESETS = {
    "native": Chain(
        name="native",
        steps=(Fit(seconds=10), Resample(rate=500, method="polyphase")),
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
_PAGE = "https://huggingface.co/Manhph2211/D-BETA"


def _network() -> type[nn.Module]:
    from einthoven.encoders.networks.wav2vec2_ecg import DBeta

    return DBeta


_CARD = EncoderCard(
    name="d-beta",
    title="D-BETA",
    summary="A wav2vec 2.0 of 12 leads that was trained to fill in masked ECGs and reports and to tell which belong "
    "together.",
    paper="Pham, Saeed, Ma, Boosting Masked ECG-Text Auto-Encoders as Discriminative Learners (ICML 2025)",
    code_licence="Apache-2.0 (the authors' code: CC BY-NC 4.0, of which nothing is here; parts of transformers: "
    "Apache-2.0)",
    weights_licence="CC BY-NC 4.0 (the authors' repository); the card on Hugging Face says Apache-2.0. Taken as "
    "non-commercial until the authors say which",
    weights="Hugging Face, Manhph2211/D-BETA",
    consumes="signal",
    checkpoint=CheckpointSource(
        where="by-hand",
        page=_PAGE,
        file="sample.pt",
        access=f"log in at {_PAGE}, ask for access if the page wants it, and download the .pt file (sample.pt in the "
        "authors' example)",
        non_commercial=True,
        key="model",
        rename=(
            (r"^multi_modal_ecg_proj\.", "projection."),
            (r"^unimodal_ecg_pooler\.dense\.", "pooler."),
            (r"^ecg_encoder\.", ""),
            *WAV2VEC2_NAMES,
        ),
        # The text tower, the layers across both and the decoders have many names; the ECG side has four.
        unused=(
            rf"ecg_encoder\.({PRETRAINING_PARTS})",
            r"(?!class_embedding$|ecg_encoder\.|multi_modal_ecg_proj\.|unimodal_ecg_pooler\.).*",
        ),
    ),
    preprocessings=_PRESETS,
    dimension=768,
    hidden_states=9,
    tokens="class token, then time steps",
    pretraining=("mimic-iv-ecg",),
    pretraining_note="MIMIC-IV-ECG with its machine-made reports",
    parameters=PARAMETERS,
)

ENCODER = released(_CARD, network=_network)
