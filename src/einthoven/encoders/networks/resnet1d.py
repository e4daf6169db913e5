"""The 1-D ResNet-18 that MERL trained and ecg-fix uses untrained.

Differences from the image ResNet-18 (He et al., 2016): convolutions along time with kernels 7 and 3, and no max-pool
after the stem. Parameter names are those of the network of Liu et al. (MERL, ICML 2024), so that checkpoints load.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .observing import Observe, over_time

LEADS = 12
_WIDTHS = (64, 128, 256, 512)


class BasicBlock(nn.Module):
    """Two convolutions and a shortcut around them; the shortcut is a 1x1 convolution where the shape changes."""

    def __init__(self, width_in: int, width_out: int, *, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(width_in, width_out, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm1d(width_out)
        self.conv2 = nn.Conv1d(width_out, width_out, kernel_size=3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm1d(width_out)
        self.shortcut = nn.Sequential()
        if stride != 1 or width_in != width_out:
            self.shortcut = nn.Sequential(
                nn.Conv1d(width_in, width_out, kernel_size=1, stride=stride, bias=False), nn.BatchNorm1d(width_out)
            )

    def forward(self, x: Tensor) -> Tensor:
        """(batch, width_in, time) to (batch, width_out, time / stride)."""
        inner = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(inner)) + self.shortcut(x))


class ResNet18(nn.Module):
    """Stem and four stages of two blocks; 512 channels, one step for 16 samples.

    The embedding is the mean of the last stage over time. The classifier `linear` of the original is left out: it
    plays no part in the embedding.
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(LEADS, _WIDTHS[0], kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm1d(_WIDTHS[0])
        self.layer1 = _stage(_WIDTHS[0], _WIDTHS[0], stride=1)
        self.layer2 = _stage(_WIDTHS[0], _WIDTHS[1], stride=2)
        self.layer3 = _stage(_WIDTHS[1], _WIDTHS[2], stride=2)
        self.layer4 = _stage(_WIDTHS[2], _WIDTHS[3], stride=2)

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, 12, samples) to the embedding (batch, 512).

        State 0 is what leaves the stem's ReLU, states 1 to 4 what leaves the stages; tokens are time steps.
        """
        x = torch.relu(self.bn1(self.conv1(x)))
        if observe:
            observe(over_time(x))
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
            if observe:
                observe(over_time(x))
        return x.mean(dim=-1)


def _stage(width_in: int, width_out: int, *, stride: int) -> nn.Sequential:
    return nn.Sequential(BasicBlock(width_in, width_out, stride=stride), BasicBlock(width_out, width_out, stride=1))
