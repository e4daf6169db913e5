"""A tiny masked transformer (Ribeiro's team, CinC 2020): real self-supervised weights that anybody may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.released import PARAMETERS, released
from einthoven.signals.chain import Chain
from einthoven.signals.steps.lengths import Fit
from einthoven.signals.steps.rates import Resample

if TYPE_CHECKING:
    from torch import nn

_PAGE = "https://github.com/antonior92/physionet-12ecg-classification"
_COMMIT = "4451a9a94e8eb3619cf227665348c54378ad99cb"
_FILE = "evaluation/exp1_pretrain_transformer/pretrain_model.pth"


def _network() -> type[nn.Module]:
    from einthoven.encoders.networks.masked_transformer import MaskedTransformer

    return MaskedTransformer


_CARD = EncoderCard(
    name="masked-ecg-tiny",
    title="Masked ECG transformer (tiny)",
    summary="A transformer of 2,418 learned numbers that was trained to give back ECGs it saw in part; it proves that "
    "everything is connected, and no results should be claimed with it.",
    paper="none; the repository of Ribeiro and colleagues for the PhysioNet/CinC Challenge 2020",
    code_licence="Apache-2.0 (the authors' code: MIT)",
    weights_licence="MIT",
    weights="the authors' repository",
    consumes="signal",
    checkpoint=CheckpointSource(
        where="url",
        page=_PAGE,
        file="pretrain_model.pth",
        url=f"https://raw.githubusercontent.com/antonior92/physionet-12ecg-classification/{_COMMIT}/{_FILE}",
        bytes=443_110,
        sha256="34ec824e7a73d21729236e5cd55cf004b62d7ca208c889ee494b32a7c974f182",
        access=f"it lies in the history of {_PAGE}, at commit {_COMMIT[:12]}",
        non_commercial=False,
        key="model",
    ),
    preprocessings={
        # The authors put 48 zeros before and after ten seconds; without them every token is one of the record.
        "native": Chain(
            name="native",
            steps=(Fit(seconds=10), Resample(rate=400, method="polyphase")),
            shape=(12, 4000),
            rate=400,
        )
    },
    dimension=10,
    hidden_states=3,
    tokens="time steps",
    pretraining=("cpsc2018",),
    pretraining_note="6,877 records of CPSC 2018 (training and validation); stopped after six epochs",
    parameters=PARAMETERS,
)

ENCODER = released(_CARD, network=_network)
