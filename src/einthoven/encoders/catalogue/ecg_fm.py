"""ECG-FM (McKeen et al., 2024): wav2vec 2.0 with contrast between the halves of a record and randomly masked leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.checkpoints.fairseq import PRETRAINING_PARTS, WAV2VEC2_NAMES
from einthoven.encoders.released import PARAMETERS, released
from einthoven.signals.chain import Chain
from einthoven.signals.steps.lengths import Fit, Views
from einthoven.signals.steps.rates import Resample
from einthoven.signals.steps.scales import Standardise

if TYPE_CHECKING:
    from torch import nn

PRESETS = {
    # Each lead on the scale of the whole record, then two halves: what the authors' data look like.
    "native": Chain(
        name="native",
        steps=(
            Fit(seconds=10),
            Resample(rate=500, method="linear"),
            Standardise(over="lead"),
            Views(seconds=5, starts=(0, 5)),
        ),
        shape=(2, 12, 2500),
        rate=500,
    ),
    "interpbench": Chain(
        name="interpbench",
        steps=(Fit(seconds=10), Resample(rate=500, method="fft"), Standardise(over="lead", floor=1e-6)),
        shape=(12, 5000),
        rate=500,
    ),
}
# PTB-XL+ is the records of PTB-XL under a name of its own.
PRETRAINING = ("mimic-iv-ecg", "cpsc2018", "csn", "georgia", "ptb", "ptbxl", "ptbxl-plus")
PRETRAINING_NOTE = (
    "MIMIC-IV-ECG 1.0 and PhysioNet Challenge 2021 1.0.3, which holds PTB-XL, PTB, CPSC 2018, Georgia, "
    "Chapman-Shaoxing with Ningbo (CSN) and INCART, test folds of benchmarks among them; without labels. Whether the "
    "authors left out parts of the Challenge's data was not checked"
)


def _network() -> type[nn.Module]:
    from einthoven.encoders.networks.wav2vec2_ecg import EcgFm

    return EcgFm


_CARD = EncoderCard(
    name="ecg-fm",
    title="ECG-FM",
    summary="A wav2vec 2.0 of 12 leads that was trained to fill in masked parts of ECGs and to know which belong "
    "together.",
    paper="McKeen et al., ECG-FM: An Open Electrocardiogram Foundation Model (arXiv:2408.05178); training: Oh et al., "
    "Lead-agnostic Self-supervised Learning for Local and Global Representations of Electrocardiogram (CHIL 2022)",
    code_licence="Apache-2.0 (the authors' code: MIT; parts of transformers: Apache-2.0)",
    weights_licence="MIT",
    weights="Hugging Face, wanglab/ecg-fm",
    consumes="signal",
    checkpoint=CheckpointSource(
        where="huggingface",
        page="https://huggingface.co/wanglab/ecg-fm",
        repository="wanglab/ecg-fm",
        file="mimic_iv_ecg_physionet_pretrained.pt",
        access="open; 1.09 GB, of which the encoder is a third",
        non_commercial=False,
        key="model",
        rename=WAV2VEC2_NAMES,
        unused=(PRETRAINING_PARTS,),
    ),
    preprocessings=PRESETS,
    dimension=768,
    hidden_states=13,
    tokens="time steps (of the first half, then of the second, under native)",
    pretraining=PRETRAINING,
    pretraining_note=PRETRAINING_NOTE,
    parameters=PARAMETERS,
)

ENCODER = released(_CARD, network=_network)
