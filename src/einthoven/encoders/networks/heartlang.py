"""The transformer of HeartLang over beats: a sentence of 256 beats, all of the first lead first.

Written from the published description. Every token knows its place, the lead it was cut from and the second it
happened in. Attention is not masked: tokens without a beat take part, and the convolution over tokens is circular.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .observing import Observe
from .vit import Block

TOKENS = 256
SAMPLES = 96
WIDTH = 768
_DEPTH = 12
_IDS = 16  # leads and seconds are counted from 1; 0 is a token without a beat


class HeartLang(nn.Module):
    """A convolution over neighbouring tokens, a class token in front, twelve pre-norm blocks and a last norm.

    Where a record has lead and second ids the embedding is the class token. Where it has none (ids below 0, the
    protocol of ecg-fix) neither kind of embedding is added, and the embedding is the sum over the tokens that hold a
    beat, divided by 256; of a record without a beat it is 0.
    """

    def __init__(self) -> None:
        super().__init__()
        self.class_token = nn.Parameter(torch.randn(WIDTH))
        self.place_embedding = nn.Parameter(torch.randn(1, 1 + TOKENS, WIDTH))
        self.token_embedding = nn.Conv1d(SAMPLES, WIDTH, 3, padding=1, padding_mode="circular", bias=False)
        self.lead_embedding = nn.Embedding(_IDS, WIDTH)
        self.second_embedding = nn.Embedding(_IDS, WIDTH)
        self.blocks = nn.ModuleList(
            Block(WIDTH, heads=8, head_width=64, hidden=1024, qkv_bias=False) for _ in range(_DEPTH)
        )
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, 256, 98), rows [lead id, second id, 96 samples], to the embedding (batch, 768).

        State 0 is what enters the first block, states 1 to 12 what leaves the blocks; tokens are the class token, then
        the rows.
        """
        beats = x[..., 2:]
        with_ids = (x[:, :1, :1] >= 0).to(beats.dtype)
        ids = x[..., :2].clamp(min=0).long()
        known = self.lead_embedding(ids[..., 0]) + self.second_embedding(ids[..., 1])
        tokens = self.token_embedding(beats.transpose(1, 2)).transpose(1, 2) + with_ids * known
        x = torch.cat([self.class_token.expand(len(x), 1, -1), tokens], dim=1) + self.place_embedding
        if observe:
            observe(x)
        for block in self.blocks:
            x = block(x)
            if observe:
                observe(x)
        x = self.norm(x)
        holds_a_beat = (beats != 0).any(dim=-1, keepdim=True)
        mean = torch.where(holds_a_beat, x[:, 1:], 0.0).sum(dim=1) / TOKENS
        return torch.where(with_ids[:, 0] > 0, x[:, 0], mean)
