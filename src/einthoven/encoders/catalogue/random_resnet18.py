"""`random-resnet18`: an untrained network, the control of ecg-fix (Berger et al., 2026)."""

from __future__ import annotations

from einthoven.encoders.card import EncoderCard, Parameter
from einthoven.encoders.contract import Encoder
from einthoven.encoders.random_grid import RATES, grid_presets
from einthoven.encoders.registry import EncoderEntry
from einthoven.encoders.released import initialised
from einthoven.signals.preprocessing import Preprocessing

_CARD = EncoderCard(
    name="random-resnet18",
    title="Random ResNet-18",
    summary="A 1-D ResNet-18 with its initial random weights: what an architecture gives without any training.",
    paper="Berger, Prakah-Asante, Guttag, Stultz (ICML 2026); network: Liu et al., MERL (ICML 2024)",
    code_licence="Apache-2.0",
    weights_licence="not applicable (drawn from a seed)",
    weights="none (random)",
    consumes="signal",
    preprocessings={
        "native": Preprocessing(name="native", rate=100.0, seconds=10.0, resampling="polyphase"),
        "ecgfix": Preprocessing(name="ecgfix", rate=500.0, seconds=10.0, resampling="linear"),
        **grid_presets(*RATES),
    },
    dimension=512,
    hidden_states=5,
    tokens="time steps",
    pretraining=(),
    floor=True,
    parameters={"seed": Parameter(kind="int", default=0, minimum=0, summary="of the initial weights")},
)


def build(*, seed: int) -> Encoder:
    """The network with PyTorch's default initialisation; batch-norm statistics are 0 and 1.

    Args:
        seed: of the stream "init"; other seeds give other, equally untrained, networks.
    """
    from einthoven.encoders.networks.resnet1d import ResNet18
    from einthoven.encoders.torch_encoder import TorchEncoder

    return TorchEncoder(_CARD, {"seed": seed}, network=ResNet18, make=lambda: initialised(ResNet18, _CARD.name, seed))


ENCODER = EncoderEntry(card=_CARD, build=build)
