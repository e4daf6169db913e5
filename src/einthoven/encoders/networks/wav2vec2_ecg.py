"""The wav2vec 2.0 of 12-lead ECGs (Oh et al., CHIL 2022) that ECG-FM, CARDIAC-FM and D-BETA are trainings of.

All leads enter the first convolution together; one token stands for 16 samples. Parameter names are those of
`transformers.Wav2Vec2Model`; `checkpoints.fairseq` has them for the released files.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from .observing import Observe
from .wav2vec2_stack import CONFIGURATION, Wav2Vec2Stack, transformers

LEADS = 12
WIDTH = 768
_CONVOLUTIONS = 4
_CHANNELS = 256


class Wav2Vec2Ecg(Wav2Vec2Stack):
    """Four convolutions of kernel and stride 2, and `layers` blocks of 12 heads."""

    layers: ClassVar[int] = 12

    def __init__(self) -> None:
        library = transformers()
        configuration = library.Wav2Vec2Config(
            **CONFIGURATION,
            hidden_size=WIDTH,
            num_hidden_layers=self.layers,
            num_attention_heads=12,
            intermediate_size=4 * WIDTH,
            conv_dim=[_CHANNELS] * _CONVOLUTIONS,
            conv_kernel=[2] * _CONVOLUTIONS,
            conv_stride=[2] * _CONVOLUTIONS,
        )
        super().__init__(library.Wav2Vec2Model(configuration))
        # Sound has one channel. The new convolution begins as transformers begins the one it replaces.
        first = nn.Conv1d(LEADS, _CHANNELS, kernel_size=2, stride=2, bias=False)
        nn.init.kaiming_normal_(first.weight)
        self.feature_extractor.conv_layers[0].conv = first


class EcgFm(Wav2Vec2Ecg):
    """The embedding is the mean of the last tokens."""

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, 12, samples) to the embedding (batch, 768)."""
        return self.tokens(x, observe).mean(dim=1)


class CardiacFm(Wav2Vec2Ecg):
    """The mean of the last tokens, projected into the space that is shared with cardiac MRI."""

    def __init__(self) -> None:
        super().__init__()
        self.shared_norm = nn.LayerNorm(WIDTH)
        self.shared_projection = nn.Linear(WIDTH, 512)

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, 12, samples) to the embedding (batch, 512)."""
        return self.shared_projection(self.shared_norm(self.tokens(x, observe).mean(dim=1)))


class DBeta(Wav2Vec2Ecg):
    """Eight blocks behind a class token; the embedding is made of that token by two linear maps and a tanh."""

    layers: ClassVar[int] = 8

    def __init__(self) -> None:
        super().__init__()
        self.class_embedding = nn.Parameter(torch.zeros(WIDTH).normal_(std=0.02))
        self.projection = nn.Linear(WIDTH, WIDTH)
        self.pooler = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, 12, samples) to the embedding (batch, 768); tokens are the class token, then time steps."""
        tokens = self.tokens(x, observe, first=self.class_embedding)
        return torch.tanh(self.pooler(self.projection(tokens[:, 0])))
