"""HuBERT-ECG (Coppola et al., 2024), in three sizes: which cluster does a masked piece of ECG belong to?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.registry import EncoderEntry
from einthoven.encoders.released import PARAMETERS, released
from einthoven.signals.chain import Chain
from einthoven.signals.steps.filters import FirBandpass
from einthoven.signals.steps.lengths import Fit, JoinLeads
from einthoven.signals.steps.rates import Decimate, Resample
from einthoven.signals.steps.scales import Rescale, Standardise

if TYPE_CHECKING:
    from torch import nn

_PRESETS = {
    # The first 5 s. Decimation comes after the leads are joined, so its filter runs across the joints.
    "native": Chain(
        name="native",
        steps=(
            Fit(seconds=10),
            FirBandpass(low=0.05, high=47, seconds=0.3),
            Resample(rate=500, method="fft"),
            Rescale(over="lead", low=-1, high=1, eps=1e-8),
            Fit(seconds=5, crop="start"),
            JoinLeads(),
            Decimate(factor=5),
        ),
        shape=(1, 6000),
        rate=100,
    ),
    "interpbench": Chain(
        name="interpbench",
        steps=(Fit(seconds=10), Resample(rate=250, method="fft"), Standardise(over="lead", floor=1e-6), JoinLeads()),
        shape=(1, 30000),
        rate=250,
    ),
}


def _entry(size: str, *, width: int, layers: int, access: str) -> EncoderEntry:
    def network() -> type[nn.Module]:
        from einthoven.encoders.networks import hubert_ecg

        return {
            "small": hubert_ecg.HubertEcgSmall,
            "base": hubert_ecg.HubertEcgBase,
            "large": hubert_ecg.HubertEcgLarge,
        }[size]

    repository = f"Edoardo-BS/hubert-ecg-{size}"
    card = EncoderCard(
        name=f"hubert-ecg-{size}",
        title=f"HuBERT-ECG {size}",
        summary="HuBERT on the leads joined end to end, trained to tell which cluster a masked piece of ECG belongs "
        f"to; {layers} blocks.",
        paper="Coppola et al., HuBERT-ECG as a Self-Supervised Foundation Model for Broad and Scalable Cardiac "
        "Applications (medRxiv 2024.11.14.24317328)",
        code_licence="Apache-2.0 (the authors' code: CC BY-NC 4.0, of which nothing is here; parts of transformers: "
        "Apache-2.0)",
        weights_licence="CC BY-NC 4.0",
        weights=f"Hugging Face, {repository}",
        consumes="signal",
        checkpoint=CheckpointSource(
            where="huggingface",
            page=f"https://huggingface.co/{repository}",
            repository=repository,
            file="model.safetensors",
            access=access,
            non_commercial=True,
            rename=(
                (r"\.weight_g$", ".parametrizations.weight.original0"),
                (r"\.weight_v$", ".parametrizations.weight.original1"),
            ),
            unused=(r"masked_spec_embed", r"(final_proj|label_embedding)\..*"),
        ),
        preprocessings=_PRESETS,
        dimension=width,
        hidden_states=layers + 1,
        tokens="lead by lead, time steps; where two leads meet a token holds both",
        pretraining="unknown",
        pretraining_note="9.1 million ECGs of several public sets and countries. The authors fine-tune on PTB, PTB-XL, "
        "CPSC 2018, Georgia, Chapman-Shaoxing, Ningbo, SPH, CODE, SaMi-Trop and Hefei; which of their records were in "
        "pretraining was not found out",
        parameters=PARAMETERS,
    )
    return released(card, network=network)


ENCODER = (
    _entry("small", width=512, layers=8, access="open; about 122 MB"),
    _entry("base", width=768, layers=12, access="open"),
    _entry("large", width=960, layers=16, access="open"),
)
