"""The loss of contrastive pretraining."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from torch import Tensor


def info_nce(first: Tensor, second: Tensor, *, temperature: float) -> Tensor:
    """Symmetric InfoNCE of two views of the same records (van den Oord et al., 2018), both directions.

    The cosine of every pair of views, divided by the temperature, is the logit of a classification among the batch:
    which second view belongs to a first one, and the other way round. The loss is the mean of the two cross-entropies;
    log(batch) is what guessing gives.

    Args:
        first: (batch, dimension), any scale.
        second: likewise; row i is the other view of record i.
        temperature: above 0.

    Returns:
        a scalar, natural logarithm.
    """
    if first.shape != second.shape or first.ndim != 2:
        raise ValueError(f"two tensors (batch, dimension) were expected, found {first.shape} and {second.shape}")
    # In float32 even where the network computed in less: a cosine of 0.99 at temperature 0.1 needs the digits.
    logits = F.normalize(first.float(), dim=1) @ F.normalize(second.float(), dim=1).T / temperature
    own = torch.arange(len(first), device=first.device)
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2
