"""`random-vit-middle-*`: untrained vision transformers, the other half of ecg-fix's random grid.

One entry for each sampling rate, because the table of positions has a row for every token. See `encoders.random_grid`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard, Parameter
from einthoven.encoders.contract import Encoder
from einthoven.encoders.random_grid import grid_presets
from einthoven.encoders.registry import EncoderEntry
from einthoven.encoders.released import initialised
from einthoven.signals.preprocessing import Preprocessing

if TYPE_CHECKING:
    from torch import nn

# One name for all rates: the weights, but for the positions, are then the same.
_STREAM = "random-vit-middle"


def _at_100_hz() -> type[nn.Module]:
    from einthoven.encoders.networks.vit_twelve_lead import VitMiddleOf1000

    return VitMiddleOf1000


def _at_250_hz() -> type[nn.Module]:
    from einthoven.encoders.networks.vit_twelve_lead import VitMiddleOf2500

    return VitMiddleOf2500


def _at_500_hz() -> type[nn.Module]:
    from einthoven.encoders.networks.vit_twelve_lead import VitMiddle

    return VitMiddle


def _entry(rate: int, network: Callable[[], type[nn.Module]]) -> EncoderEntry:
    card = EncoderCard(
        name=f"random-vit-middle-{rate}hz",
        title=f"Random ViT middle, {rate} Hz",
        summary="A 1-D vision transformer with its initial random weights: what an architecture gives without any "
        "training.",
        paper="Berger, Prakah-Asante, Guttag, Stultz (ICML 2026); network: Liu et al., MERL (ICML 2024)",
        code_licence="Apache-2.0",
        weights_licence="not applicable (drawn from a seed)",
        weights="none (random)",
        consumes="signal",
        preprocessings={
            "native": Preprocessing(name="native", rate=rate, seconds=10.0, resampling="polyphase"),
            **grid_presets(rate),
        },
        dimension=512,
        hidden_states=13,
        tokens="time steps",
        pretraining=(),
        floor=True,
        parameters={"seed": Parameter(kind="int", default=0, minimum=0, summary="of the initial weights")},
    )

    def build(*, seed: int) -> Encoder:
        from einthoven.encoders.torch_encoder import TorchEncoder

        kind = network()
        return TorchEncoder(card, {"seed": seed}, network=kind, make=lambda: initialised(kind, _STREAM, seed))

    return EncoderEntry(card=card, build=build)


ENCODER = (_entry(100, _at_100_hz), _entry(250, _at_250_hz), _entry(500, _at_500_hz))
