"""CLOCS (Kiyasseh et al., ICML 2021): the two halves of one record, told from the halves of all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.released import PARAMETERS, released
from einthoven.signals.chain import Chain
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.signals.steps.lengths import Fit, Views
from einthoven.signals.steps.rates import Resample
from einthoven.signals.steps.scales import HalfPrecision

if TYPE_CHECKING:
    from torch import nn

_PAPER = "Kiyasseh et al., CLOCS: Contrastive Learning of Cardiac Signals Across Space, Time, and Patients (ICML 2021)"
_HALVES = Views(seconds=5, starts=(0, 5))
_ECGFIX = (Fit(seconds=10), Resample(rate=500, method="linear"), HalfPrecision(), _HALVES)


def _chain(name: str) -> Chain:
    # The weights are ecg-fix' own, so that its protocol is the native one.
    return Chain(name=name, leads=STANDARD_LEADS, steps=_ECGFIX, shape=(2, 12, 2500), rate=500)


def _network() -> type[nn.Module]:
    from einthoven.encoders.networks.clocs import Clocs

    return Clocs


def _single_lead_network() -> type[nn.Module]:
    from einthoven.encoders.networks.clocs import ClocsSingleLead

    return ClocsSingleLead


_TWELVE = EncoderCard(
    name="clocs",
    title="CLOCS, 12 leads (ecg-fix)",
    summary="A small CNN that was trained to bring the two halves of a record together (CMSC).",
    paper=f"{_PAPER}; trained again on 12 leads by the authors of ecg-fix",
    code_licence="Apache-2.0 (the authors' code: CC BY-NC-SA 4.0; ecg-fix: none stated)",
    weights_licence="no stated licence (the CLOCS code they were trained with is CC BY-NC-SA 4.0)",
    weights="doprakah/ecg-fix-weights on Hugging Face, after logging in",
    consumes="signal",
    checkpoint=CheckpointSource(
        where="huggingface",
        page="https://huggingface.co/doprakah/ecg-fix-weights",
        repository="doprakah/ecg-fix-weights",
        file="best_weights_clocs",
        # As a third-party runner of ecg-fix records it.
        sha256="039975cf563e76dd25a7975abfe1b74ff37308bd1e9fb24aaf6282f4ffdc5805",
        access="log in to Hugging Face, open the page and accept its conditions",
        non_commercial=True,
        prefixes=("_orig_mod.",),
    ),
    preprocessings={"native": _chain("native"), "ecgfix": _chain("ecgfix")},
    views="concatenate",
    dimension=512,
    hidden_states=4,
    tokens="time steps of the first half, then of the second; the last state has one token a half",
    pretraining=("mimic-iv-ecg",),
    pretraining_note="MIMIC-IV-ECG without labels. ecg-fix takes each half for a row of its own in probing and "
    "averages the halves' probabilities; here the halves' embeddings follow each other",
    parameters=PARAMETERS,
)
_SINGLE = EncoderCard(
    name="clocs-single-lead",
    title="CLOCS, one lead",
    summary="The network as published, for one lead; its weights were never released.",
    paper=_PAPER,
    code_licence="Apache-2.0 (the authors' code: CC BY-NC-SA 4.0)",
    weights_licence="none: never released",
    weights="never released",
    consumes="signal",
    checkpoint=CheckpointSource(
        where="unreleased",
        page="https://github.com/danikiyasseh/CLOCS",
        file="encoder_weight",
        access="the authors released code only; train it with that and bring your own weights in, or train the 12-lead "
        "network here with `einthoven pretrain clocs`",
        non_commercial=False,
        rename=((r"^view_modules\.0\.", "encoder."), (r"^view_linear_modules\.0\.", "fc.0.")),
    ),
    preprocessings={
        "native": Chain(
            name="native",
            leads=("II",),
            steps=(Fit(seconds=10), Resample(rate=500, method="polyphase"), _HALVES),
            shape=(2, 1, 2500),
            rate=500,
        )
    },
    views="concatenate",
    dimension=512,
    hidden_states=4,
    tokens="time steps of the first half, then of the second; the last state has one token a half",
    pretraining="unknown",
    pretraining_note="whatever the user's weights were trained on; mV of lead II, as the original's preparation of "
    "signals was not published",
    parameters=PARAMETERS,
)

ENCODER = (released(_TWELVE, network=_network), released(_SINGLE, network=_single_lead_network))
