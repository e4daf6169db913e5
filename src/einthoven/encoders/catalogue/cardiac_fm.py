"""CARDIAC-FM (Li et al., 2026): ECG-FM, trained on with cardiac MRI of the same people; the ECG side alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.checkpoints.fairseq import PRETRAINING_PARTS, WAV2VEC2_NAMES
from einthoven.encoders.released import PARAMETERS, released

# The authors' own preparation of records is not public: these presets are ECG-FM's, whose weights they began with.
from .ecg_fm import PRESETS, PRETRAINING, PRETRAINING_NOTE

if TYPE_CHECKING:
    from torch import nn


def _network() -> type[nn.Module]:
    from einthoven.encoders.networks.wav2vec2_ecg import CardiacFm

    return CardiacFm


_CARD = EncoderCard(
    name="cardiac-fm",
    title="CARDIAC-FM",
    summary="ECG-FM, trained on to tell which cardiac MRI belongs to an ECG; its preprocessing is assumed to be "
    "ECG-FM's.",
    paper="Li et al., CARDIAC-FM: A Multimodal Foundation Model for Cardiovascular Risk Prediction Using ECG and "
    "Cardiac MRI (medRxiv 2026.03.16.26348526)",
    code_licence="Apache-2.0 (the authors' code: MIT; parts of transformers: Apache-2.0)",
    weights_licence="MIT (the repository's); trained on UK Biobank, whose terms bind its users",
    weights="Hugging Face, lst627/CARDIAC-FM",
    consumes="signal",
    checkpoint=CheckpointSource(
        where="huggingface",
        page="https://huggingface.co/lst627/CARDIAC-FM",
        repository="lst627/CARDIAC-FM",
        file="model_epoch_8.pth",
        access="open; the file of the first release (code at 277b3eb), later ones hold another network",
        non_commercial=False,
        prefixes=("module.",),
        rename=(
            (r"^ecg_projection\.0\.", "shared_norm."),
            (r"^ecg_projection\.2\.", "shared_projection."),
            (r"^ecg_encoder\.", ""),
            *WAV2VEC2_NAMES,
        ),
        unused=(rf"ecg_encoder\.({PRETRAINING_PARTS})", r"mri_(encoder|projection)\..*"),
    ),
    preprocessings=PRESETS,
    dimension=512,
    hidden_states=13,
    tokens="time steps (of the first half, then of the second, under native)",
    pretraining=PRETRAINING,
    pretraining_note=f"begins with ECG-FM's weights: {PRETRAINING_NOTE}. Then UK Biobank, ECGs with cardiac MRI",
    parameters=PARAMETERS,
)

ENCODER = released(_CARD, network=_network)
