"""The convolutional network of ECGFounder (Li et al., NEJM AI 2025).

A bottleneck network with grouped convolutions (RegNet, Radosavovic et al., CVPR 2020) and squeeze-and-excitation (Hu
et al., CVPR 2018) along time. Every convolution keeps ceil(time / stride) steps, padding one more to the right where
the padding is odd; shortcuts are widened with channels of zeros. The original has batch-norms that it never calls:
they are left out.
"""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from torch import Tensor, nn

from .observing import Observe, over_time

_FIRST = 64
_KERNEL = 16
_GROUP_WIDTH = 16
# Width, number of blocks; the first block of every stage halves the time.
_STAGES = ((64, 2), (160, 2), (160, 2), (400, 3), (400, 3), (1024, 4), (1024, 4))


class SameConv1d(nn.Module):
    """A convolution that gives ceil(time / stride) steps."""

    def __init__(self, width_in: int, width_out: int, kernel: int, *, stride: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.kernel, self.stride = kernel, stride
        self.conv = nn.Conv1d(width_in, width_out, kernel, stride=stride, groups=groups)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, width_in, time) to (batch, width_out, ceil(time / stride))."""
        return self.conv(_padded(x, self.kernel, self.stride))


class Net1dBlock(nn.Module):
    """Swish before each of three convolutions, channels weighed by squeeze-and-excitation, and a shortcut.

    Args:
        opening: the network's first block, whose input has had its Swish.
    """

    def __init__(self, width_in: int, width_out: int, *, stride: int, opening: bool = False) -> None:
        super().__init__()
        self.stride, self.opening, self.widening = stride, opening, width_out - width_in
        self.conv1 = SameConv1d(width_in, width_out, 1)
        self.conv2 = SameConv1d(width_out, width_out, _KERNEL, stride=stride, groups=width_out // _GROUP_WIDTH)
        self.conv3 = SameConv1d(width_out, width_out, 1)
        self.se_fc1 = nn.Linear(width_out, width_out // 2)
        self.se_fc2 = nn.Linear(width_out // 2, width_out)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, width_in, time) to (batch, width_out, ceil(time / stride))."""
        inner = self.conv1(x if self.opening else F.silu(x))
        inner = self.conv3(F.silu(self.conv2(F.silu(inner))))
        weights = torch.sigmoid(self.se_fc2(F.silu(self.se_fc1(inner.mean(dim=-1)))))
        return inner * weights[..., None] + self._shortcut(x)

    def _shortcut(self, x: Tensor) -> Tensor:
        if self.stride > 1:
            # An odd time is padded with a zero, which takes part in the maximum.
            x = F.max_pool1d(_padded(x, self.stride, self.stride), self.stride)
        before = self.widening // 2
        return F.pad(x, (0, 0, before, self.widening - before)) if self.widening else x


class Net1dStage(nn.Module):
    """Blocks of one width; the first halves the time."""

    def __init__(self, width_in: int, width_out: int, *, blocks: int, opening: bool) -> None:
        super().__init__()
        first = Net1dBlock(width_in, width_out, stride=2, opening=opening)
        rest = (Net1dBlock(width_out, width_out, stride=1) for _ in range(blocks - 1))
        self.block_list = nn.ModuleList([first, *rest])

    def forward(self, x: Tensor) -> Tensor:
        """(batch, width_in, time) to (batch, width_out, ceil(time / 2))."""
        for block in self.block_list:
            x = block(x)
        return x


class EcgFounder(nn.Module):
    """First convolution and seven stages; 1,024 channels, one step for 256 samples, whose mean is the embedding."""

    leads: ClassVar[int] = 12

    def __init__(self) -> None:
        super().__init__()
        self.first_conv = SameConv1d(self.leads, _FIRST, _KERNEL, stride=2)
        befores = (_FIRST, *(width for width, _ in _STAGES[:-1]))
        self.stage_list = nn.ModuleList(
            Net1dStage(before, width, blocks=blocks, opening=index == 0)
            for index, (before, (width, blocks)) in enumerate(zip(befores, _STAGES, strict=True))
        )

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, leads, samples) to the embedding (batch, 1024).

        State 0 is the first convolution after its Swish, states 1 to 7 what leaves the stages; tokens are time steps.
        """
        x = F.silu(self.first_conv(x))
        if observe:
            observe(over_time(x))
        for stage in self.stage_list:
            x = stage(x)
            if observe:
                observe(over_time(x))
        return x.mean(dim=-1)


class EcgFounderOneLead(EcgFounder):
    """The same for one lead."""

    leads = 1


def _padded(x: Tensor, kernel: int, stride: int) -> Tensor:
    steps = -(-x.shape[-1] // stride)
    missing = max((steps - 1) * stride + kernel - x.shape[-1], 0)
    return F.pad(x, (missing // 2, missing - missing // 2))
