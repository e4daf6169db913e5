"""The stack that wav2vec 2.0 and HuBERT share, of the pieces of `transformers`.

Baevski et al. (NeurIPS 2020), Hsu et al. (TASLP 2021): strided convolutions, a projection to the tokens' width, a
grouped convolution that adds their places, a norm, and transformer blocks that normalise after each half ("post-norm").
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from einthoven.foundation.errors import EinthovenError

from .observing import Observe

# "sdpa" is torch's own attention. Left open, transformers takes whatever fast attention is installed on the machine,
# and the last digits with it.
CONFIGURATION: dict[str, Any] = {
    "attn_implementation": "sdpa",
    "conv_bias": False,
    "feat_extract_norm": "group",
    "feat_extract_activation": "gelu",
    "do_stable_layer_norm": False,
    "num_conv_pos_embeddings": 128,
    "num_conv_pos_embedding_groups": 16,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-5,
    "apply_spec_augment": False,
    "layerdrop": 0.0,
}
"""What all released encoders of this kind have in common."""


class Wav2Vec2Stack(nn.Module):
    """The parts of a `transformers` model that make tokens, under the names they have there.

    What a model has beside them (a mask's embedding, adapters) serves training and is left out.

    Args:
        model: a `Wav2Vec2Model` or a `HubertModel`.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        # The names of the parts are those of the tensors in released files, so they will stay.
        self.feature_extractor: Any = model.feature_extractor
        self.feature_projection: Any = model.feature_projection
        self.encoder: Any = model.encoder

    def tokens(self, x: Tensor, observe: Observe | None, *, first: Tensor | None = None) -> Tensor:
        """(batch, channels, samples) to the tokens after the last block, (batch, tokens, width).

        State 0 is what enters the first block, after the norm; state i what leaves block i.

        Args:
            x: as many channels as the first convolution takes.
            observe: told every state.
            first: (width,), a token put before the others; it has no place among them.
        """
        for convolution in self.feature_extractor.conv_layers:
            x = convolution(x)
        x = self.feature_projection.projection(self.feature_projection.layer_norm(x.transpose(1, 2)))
        x = x + self.encoder.pos_conv_embed(x)
        if first is not None:
            x = torch.cat([first.expand(len(x), 1, -1), x], dim=1)
        x = self.encoder.layer_norm(x)
        if observe:
            observe(x)
        for block in self.encoder.layers:
            shown = block(x)
            # Until 4.5x a block gave a tuple with its attention, which nobody asked for here.
            x = shown[0] if isinstance(shown, tuple) else shown
            if observe:
                observe(x)
        return x


def transformers() -> Any:
    """The package, whose classes are imported when they are first named.

    Raises:
        EinthovenError: it is not installed; with what to install.
    """
    try:
        import transformers
    except ImportError as error:
        raise EinthovenError(
            f"This encoder is made of parts of the package transformers, which cannot be imported ({error}). "
            "Install it: `pip install 'einthoven[encoders]'`."
        ) from error
    return transformers
