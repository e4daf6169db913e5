"""The transformer block that all vision-transformer encoders of ECGs share.

Pre-norm, as Dosovitskiy et al. (ICLR 2021) have it: x + attention(norm1(x)), then x + mlp(norm2(x)), exact GELU.
One block serves five published encoders, some of whose attention is wider or narrower than their tokens, which
`torch.nn.TransformerEncoderLayer` cannot be; and it has no fast path that changes the last digits when somebody looks.
"""

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from torch import Tensor, nn


class Block(nn.Module):
    """One block; dropout, which acts in training only, is left out.

    Args:
        width: of the tokens.
        heads: of the attention.
        head_width: numbers a head; heads * head_width need not be `width`.
        hidden: width of the MLP between its two layers.
        qkv_bias: whether queries, keys and values have one.
        eps: of both norms.
    """

    def __init__(
        self, width: int, *, heads: int, head_width: int, hidden: int, qkv_bias: bool, eps: float = 1e-5
    ) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, eps=eps)
        self.qkv = nn.Linear(width, 3 * heads * head_width, bias=qkv_bias)
        self.proj = nn.Linear(heads * head_width, width)
        self.norm2 = nn.LayerNorm(width, eps=eps)
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, tokens, width) to the same; `mask` (tokens, tokens) is True where a token may look."""
        batch, tokens, _ = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], attn_mask=mask)
        x = x + self.proj(attended.transpose(1, 2).reshape(batch, tokens, -1))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))
