"""The encoder of ST-MEM (Na et al., ICLR 2024): one vision transformer over the patches of all twelve leads."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from .observing import Observe
from .positions import sine_cosine
from .vit import Block

LEADS = 12
PATCH = 75
_STEPS = 30
_WIDTH = 768
_BLOCKS = 12


class StMem(nn.Module):
    """12 leads x (separator, 30 patches of 75 samples, separator), 384 tokens lead by lead.

    The embedding is the norm of the mean of the patches, separators left out: the mean comes first.
    """

    def __init__(self) -> None:
        super().__init__()
        # Released files hold a fixed table between two rows of zeros; untrained, it is the same.
        table = np.pad(sine_cosine(np.arange(_STEPS), _WIDTH), ((1, 1), (0, 0)))
        self.pos_embedding = nn.Parameter(torch.from_numpy(table[None]).float(), requires_grad=False)
        self.sep_embedding = nn.Parameter(0.02 * torch.randn(_WIDTH))
        self.patch_norm = nn.LayerNorm(PATCH)
        self.patch = nn.Linear(PATCH, _WIDTH)
        self.token_norm = nn.LayerNorm(_WIDTH)
        self.lead_embeddings = nn.ParameterList([0.02 * torch.randn(_WIDTH) for _ in range(LEADS)])
        self.blocks = nn.ModuleList(
            Block(_WIDTH, heads=12, head_width=64, hidden=3072, qkv_bias=True) for _ in range(_BLOCKS)
        )
        self.norm = nn.LayerNorm(_WIDTH)

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, 12, 2250) to the embedding (batch, 768).

        State 0 is what enters the first block, states 1 to 12 what leaves the blocks; separators are among the tokens.
        """
        batch = len(x)
        patches = self.token_norm(self.patch(self.patch_norm(x.reshape(batch, LEADS, _STEPS, PATCH))))
        separator = self.sep_embedding.to(patches.dtype).expand(batch, LEADS, 1, _WIDTH)
        x = torch.cat([separator, patches, separator], dim=2) + self.pos_embedding
        x = (x + torch.stack(list(self.lead_embeddings))[:, None]).flatten(1, 2)
        if observe:
            observe(x)
        for block in self.blocks:
            x = block(x)
            if observe:
                observe(x)
        of_patches = x.unflatten(1, (LEADS, _STEPS + 2))[:, :, 1:-1].flatten(1, 2)
        return self.norm(of_patches.mean(dim=1))
