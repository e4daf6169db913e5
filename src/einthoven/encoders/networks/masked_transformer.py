"""The small masked transformer of Ribeiro's team for the CinC 2020 challenge.

Vaswani et al. (2017) as torch has it: norm after each sum, ReLU, sines and cosines for positions. A token is four
neighbouring samples of twelve leads. It was trained to give back its input while attention was barred from 15 % of the
tokens; here nothing is barred. Parameter names are the authors', so that their file loads.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .observing import Observe

LEADS = 12
SAMPLES = 4
"""Of each lead in one token."""
WIDTH = 10
_LONGEST = 10000


class MaskedTransformer(nn.Module):
    """Two layers of width 10 with two heads; the embedding is the mean over tokens of what leaves the last."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(LEADS * SAMPLES, WIDTH)
        self.pos_encoder = _Positions()
        layer = nn.TransformerEncoderLayer(WIDTH, nhead=2, dim_feedforward=WIDTH, dropout=0.2, batch_first=True)
        self.transformer_encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.decoder = nn.Linear(WIDTH, LEADS * SAMPLES)

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, 12, samples), mV, samples a multiple of 4, to the embedding (batch, 10).

        State 0 is what enters the first layer, states 1 and 2 what leaves the layers; tokens are time steps of 10 ms.
        """
        return self._tokens(x, observe).mean(dim=1)

    def reconstruct(self, x: Tensor) -> Tensor:
        """(batch, 12, samples), mV, as the network gives it back."""
        return self.decoder(self._tokens(x, None)).reshape(len(x), -1, LEADS).transpose(1, 2)

    def _tokens(self, x: Tensor, observe: Observe | None) -> Tensor:
        tokens = x.transpose(1, 2).reshape(len(x), -1, SAMPLES * LEADS)
        # The authors scale by the number of leads, not by the width.
        state = self.encoder(tokens) * math.sqrt(LEADS) + self.pos_encoder.pe[: tokens.shape[1]].transpose(0, 1)
        if observe is not None:
            observe(state)
        for layer in self.transformer_encoder.layers:
            state = layer(state)
            if observe is not None:
                observe(state)
        return state


class _Positions(nn.Module):
    """The table of positions, (10000, 1, width), which the authors' file holds too."""

    pe: Tensor

    def __init__(self) -> None:
        super().__init__()
        rates = torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(10000.0) / WIDTH))
        angles = torch.arange(_LONGEST)[:, None] * rates
        self.register_buffer("pe", torch.stack([angles.sin(), angles.cos()], dim=2).reshape(_LONGEST, 1, WIDTH))
