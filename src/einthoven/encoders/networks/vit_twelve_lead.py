"""The 1-D vision transformers that MERL trained (Liu et al., ICML 2024) and ecg-fix uses untrained.

A patch is 50 samples of all twelve leads together, so tokens are time steps.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .observing import Observe
from .vit import Block

LEADS = 12
PATCH = 50
_BLOCKS = 12
_HEAD_WIDTH = 64


class VisionTransformer(nn.Module):
    """Patches with learned positions, twelve blocks; the embedding is the norm of the mean of the tokens.

    Args:
        width: of the tokens, 64 for each head.
        samples: of its input; the table of positions has a row for every 50.
    """

    def __init__(self, width: int, *, samples: int) -> None:
        super().__init__()
        self.patch = nn.Conv1d(LEADS, width, kernel_size=PATCH, stride=PATCH, bias=False)
        self.blocks = nn.ModuleList(
            Block(width, heads=width // _HEAD_WIDTH, head_width=_HEAD_WIDTH, hidden=4 * width, qkv_bias=True)
            for _ in range(_BLOCKS)
        )
        self.norm = nn.LayerNorm(width)
        # Drawn last, so that untrained networks of one seed differ between sampling rates in nothing but this.
        self.pos_embedding = nn.Parameter(torch.randn(1, samples // PATCH, width))

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, 12, samples) to the embedding (batch, width).

        State 0 is the patches with their positions, states 1 to 12 what leaves the blocks.
        """
        x = self.patch(x).transpose(1, 2) + self.pos_embedding
        if observe:
            observe(x)
        for block in self.blocks:
            x = block(x)
            if observe:
                observe(x)
        return self.norm(x.mean(dim=1))


class VitTiny(VisionTransformer):
    """Width 192, 5.5 million numbers, for 5000 samples."""

    def __init__(self) -> None:
        super().__init__(192, samples=5000)


class VitMiddle(VisionTransformer):
    """Width 512, 38 million numbers, for 5000 samples."""

    def __init__(self) -> None:
        super().__init__(512, samples=5000)


class VitBase(VisionTransformer):
    """Width 768, 86 million numbers, for 5000 samples."""

    def __init__(self) -> None:
        super().__init__(768, samples=5000)


class VitMiddleOf2500(VisionTransformer):
    """Width 512 for 2500 samples."""

    def __init__(self) -> None:
        super().__init__(512, samples=2500)


class VitMiddleOf1000(VisionTransformer):
    """Width 512 for 1000 samples."""

    def __init__(self) -> None:
        super().__init__(512, samples=1000)
