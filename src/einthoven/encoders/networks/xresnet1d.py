"""The 1-D xresnet-101 of KED (Tian et al., 2024).

A bottleneck ResNet (He et al., 2016) with the changes of He et al., "Bag of Tricks" (CVPR 2019): three small
convolutions for a stem, the stride in the middle convolution of a block, and a shortcut that averages before its 1x1
convolution. Kernels have 5 samples, and the stages are narrower than an image network's.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .observing import Observe, over_time

LEADS = 12
_STEM = ((32, 2), (32, 1), (64, 1))
# Width between the 1x1 convolutions, number of blocks, stride.
_STAGES = ((64, 3, 1), (128, 4, 2), (128, 23, 2), (192, 3, 2))
_EXPANSION = 4


class Bottleneck(nn.Module):
    """1x1, k5 and 1x1 convolutions, added to a shortcut; ReLU after the sum."""

    def __init__(self, width_in: int, width: int, *, stride: int) -> None:
        super().__init__()
        width_out = _EXPANSION * width
        self.convs = nn.Sequential(
            _layer(width_in, width, kernel=1),
            _layer(width, width, kernel=5, stride=stride),
            # Untrained, every block begins as its shortcut.
            _layer(width, width_out, kernel=1, rectified=False, gain=0.0),
        )
        shortcut: list[nn.Module] = []
        if stride != 1:
            shortcut.append(nn.AvgPool1d(stride, ceil_mode=True))
        if width_in != width_out:
            shortcut.append(_layer(width_in, width_out, kernel=1, rectified=False))
        self.idpath = nn.Sequential(*shortcut)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, width_in, time) to (batch, 4 * width, ceil(time / stride))."""
        return torch.relu(self.convs(x) + self.idpath(x))


class XResNet101(nn.Module):
    """Stem, max-pool and four stages; 768 channels, one step for 32 samples, whose mean is the embedding."""

    def __init__(self) -> None:
        super().__init__()
        stem: list[nn.Module] = []
        before = LEADS
        for width, stride in _STEM:
            stem.append(_layer(before, width, kernel=5, stride=stride))
            before = width
        self.stem = nn.Sequential(*stem)
        self.pool = nn.MaxPool1d(3, stride=2, padding=1)
        stages: list[nn.Module] = []
        for width, blocks, stride in _STAGES:
            stages.append(_stage(before, width, blocks=blocks, stride=stride))
            before = _EXPANSION * width
        self.stages = nn.ModuleList(stages)

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, 12, samples) to the embedding (batch, 768).

        State 0 is what leaves the stem, before its max-pool, states 1 to 4 what leaves the stages; tokens are time
        steps.
        """
        x = self.stem(x)
        if observe:
            observe(over_time(x))
        x = self.pool(x)
        for stage in self.stages:
            x = stage(x)
            if observe:
                observe(over_time(x))
        return x.mean(dim=-1)


def _stage(width_in: int, width: int, *, blocks: int, stride: int) -> nn.Sequential:
    first = Bottleneck(width_in, width, stride=stride)
    return nn.Sequential(first, *(Bottleneck(_EXPANSION * width, width, stride=1) for _ in range(blocks - 1)))


def _layer(
    width_in: int, width_out: int, *, kernel: int, stride: int = 1, rectified: bool = True, gain: float = 1.0
) -> nn.Sequential:
    convolution = nn.Conv1d(width_in, width_out, kernel, stride=stride, padding=kernel // 2, bias=False)
    nn.init.kaiming_normal_(convolution.weight)
    norm = nn.BatchNorm1d(width_out)
    nn.init.constant_(norm.weight, gain)
    return nn.Sequential(convolution, norm, *([nn.ReLU()] if rectified else []))
