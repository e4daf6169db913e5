"""The encoder of ECG-JEPA (Kim, 2024): a vision transformer whose tokens see their own lead and their own time."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .observing import Observe
from .positions import sine_cosine_of_leads
from .vit import Block

LEADS = 8
PATCH = 50
_STEPS = 50
_WIDTH = 768
_BLOCKS = 12


class EcgJepa(nn.Module):
    """8 leads x 50 patches of 50 samples, 400 tokens lead by lead; the embedding is their mean after the last norm.

    Two things differ from an ordinary vision transformer: positions are added again before every block, and a token
    attends only to tokens of its lead or of its time step. The table of positions is part of released files and is
    read from them; untrained, it is the fixed one.
    """

    def __init__(self) -> None:
        super().__init__()
        table = torch.from_numpy(sine_cosine_of_leads(LEADS, _STEPS, _WIDTH)).float()
        self.pos_embed = nn.Parameter(table, requires_grad=False)
        self.W_P = nn.Linear(PATCH, _WIDTH)
        self.blocks = nn.ModuleList(
            Block(_WIDTH, heads=16, head_width=48, hidden=3072, qkv_bias=False) for _ in range(_BLOCKS)
        )
        self.norm = nn.LayerNorm(_WIDTH)
        self.register_buffer("sees", _same_lead_or_step(), persistent=False)

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, 8, 2500) to the embedding (batch, 768).

        State 0 is the embedded patches without their positions, states 1 to 12 what leaves the blocks.
        """
        x = self.W_P(x.reshape(len(x), LEADS * _STEPS, PATCH))
        if observe:
            observe(x)
        for block in self.blocks:
            x = block(x + self.pos_embed, self.sees)
            if observe:
                observe(x)
        return self.norm(x).mean(dim=1)


def _same_lead_or_step() -> Tensor:
    token = torch.arange(LEADS * _STEPS)
    lead, step = token // _STEPS, token % _STEPS
    return (lead[:, None] == lead) | (step[:, None] == step)
