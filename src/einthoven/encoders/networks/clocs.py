"""The small convolutional network of CLOCS (Kiyasseh et al., ICML 2021).

Three times convolution, batch-norm, ReLU, max-pool and dropout, then one linear layer: one view of 2,500 samples in,
256 numbers out. Parameter names are those of ecg-fix' twelve-lead version.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from .observing import Observe, over_time

SAMPLES = 2500
_WIDTHS = (4, 16, 32)
_LAST_STEPS = 10
_LAYERS = 5


class Clocs(nn.Module):
    """The twelve-lead network that ecg-fix trained: a ReLU follows the linear layer."""

    leads: ClassVar[int] = 12
    rectified: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width_in, width_out in zip((self.leads, *_WIDTHS[:-1]), _WIDTHS, strict=True):
            layers += [
                nn.Conv1d(width_in, width_out, kernel_size=7, stride=3),
                nn.BatchNorm1d(width_out),
                nn.ReLU(),
                nn.MaxPool1d(2),
                nn.Dropout(0.1),
            ]
        self.encoder = nn.Sequential(*layers)
        linear = nn.Linear(_WIDTHS[-1] * _LAST_STEPS, 256)
        self.fc = nn.Sequential(linear, nn.ReLU()) if self.rectified else nn.Sequential(linear)

    def forward(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """One view, (batch, leads, 2500), to its embedding (batch, 256).

        States 0 to 2 are what leaves the max-pools, tokens being time steps; state 3 is the embedding as one token.
        """
        for first in range(0, len(self.encoder), _LAYERS):
            x = self.encoder[first : first + _LAYERS](x)
            if observe:
                observe(over_time(x))
        x = self.fc(x.flatten(1))
        if observe:
            observe(x[:, None])
        return x


class ClocsSingleLead(Clocs):
    """The network as published: one lead, nothing after the linear layer."""

    leads = 1
    rectified = False
