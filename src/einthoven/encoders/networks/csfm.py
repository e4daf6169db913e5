"""The transformer of CSFM over patches of single leads: the signal side alone, for twelve leads.

Written from the published description: a patch of 25 samples of one lead is a token, to which an embedding of its lead
and one of its place in time are added. Embeddings of other channels (a photoplethysmogram) are kept, so that
checkpoints load, and not used.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .observing import Observe
from .vit import Block

LEADS = 12
SAMPLES = 2500
_CHANNELS = 13  # the twelve leads in their standard order, then a photoplethysmogram
_PATCH = 25
_HEAD_WIDTH = 64


class Csfm(nn.Module):
    """Patches, a class token in front, pre-norm blocks and a last norm; the embedding is the class token.

    Args:
        width: of the tokens.
        depth: blocks.
        heads: of each block's attention, 64 wide whatever the tokens' width.
        hidden: width of the MLPs.
    """

    def __init__(self, *, width: int, depth: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.class_token = nn.Parameter(torch.randn(1, 1, width))
        self.lead_embedding = nn.Parameter(torch.randn(1, _CHANNELS, width))
        self.time_embedding = nn.Parameter(torch.randn(1, SAMPLES // _PATCH, width))
        self.patch_embedding = nn.Sequential(nn.LayerNorm(_PATCH), nn.Linear(_PATCH, width), nn.LayerNorm(width))
        self.blocks = nn.ModuleList(
            Block(width, heads=heads, head_width=_HEAD_WIDTH, hidden=hidden, qkv_bias=False) for _ in range(depth)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, 12, 2500) to the embedding (batch, width).

        State 0 is what enters the first block, states 1 on what leaves the blocks; tokens are the class token, then
        leads x time.
        """
        batch = len(x)
        tokens = self.patch_embedding(x.reshape(batch, LEADS, -1, _PATCH))
        tokens = tokens + self.lead_embedding[:, :LEADS, None] + self.time_embedding[:, None]
        x = torch.cat([self.class_token.expand(batch, -1, -1), tokens.flatten(1, 2)], dim=1)
        if observe:
            observe(x)
        for block in self.blocks:
            x = block(x)
            if observe:
                observe(x)
        return self.norm(x[:, 0])


class CsfmTiny(Csfm):
    """19 million parameters."""

    def __init__(self) -> None:
        super().__init__(width=768, depth=6, heads=8, hidden=1024)


class CsfmBase(Csfm):
    """85 million parameters."""

    def __init__(self) -> None:
        super().__init__(width=768, depth=12, heads=12, hidden=3072)


class CsfmLarge(Csfm):
    """235 million parameters."""

    def __init__(self) -> None:
        super().__init__(width=1024, depth=16, heads=24, hidden=4096)
