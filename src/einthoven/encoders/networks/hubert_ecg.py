"""HuBERT-ECG (Coppola et al., 2024): HuBERT on the leads of an ECG, joined end to end as if they were one sound.

Parameter names are those of `transformers.HubertModel`, and of the released files.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from .observing import Observe
from .wav2vec2_stack import CONFIGURATION, Wav2Vec2Stack, transformers

_CHANNELS = 512


class HubertEcg(Wav2Vec2Stack):
    """Five convolutions and post-norm blocks; one token for 64 samples. The embedding is the mean of the last tokens.

    Sizes are subclasses.
    """

    width: ClassVar[int]
    layers: ClassVar[int]
    heads: ClassVar[int]

    def __init__(self) -> None:
        library = transformers()
        kernels, strides = [10, 3, 3, 2, 2], [4, 2, 2, 2, 2]
        configuration = library.HubertConfig(
            **CONFIGURATION,
            feat_proj_layer_norm=True,
            hidden_size=self.width,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=4 * self.width,
            conv_dim=[_CHANNELS] * len(kernels),
            conv_kernel=kernels,
            conv_stride=strides,
        )
        super().__init__(library.HubertModel(configuration))

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, 1, samples), the leads one after the other, to the embedding (batch, width)."""
        return self.tokens(x, observe).mean(dim=1)


class HubertEcgSmall(HubertEcg):
    """8 blocks of 8 heads, 512 numbers a token."""

    width, layers, heads = 512, 8, 8


class HubertEcgBase(HubertEcg):
    """12 blocks of 12 heads, 768 numbers a token."""

    width, layers, heads = 768, 12, 12


class HubertEcgLarge(HubertEcg):
    """16 blocks of 12 heads, 960 numbers a token."""

    width, layers, heads = 960, 16, 12
