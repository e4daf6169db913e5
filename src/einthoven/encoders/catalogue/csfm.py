"""CSFM (Gu et al., 2025): cardiac signals and reports, masked and put back; the signal side alone, in three sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.registry import EncoderEntry
from einthoven.encoders.released import PARAMETERS, released
from einthoven.signals.chain import Chain
from einthoven.signals.steps.filters import NeurokitClean
from einthoven.signals.steps.lengths import Fit
from einthoven.signals.steps.rates import Resample
from einthoven.signals.steps.scales import Standardise

if TYPE_CHECKING:
    from torch import nn

_TO_250 = Resample(rate=250, method="fft")
_PRESETS = {
    "native": Chain(
        name="native",
        steps=(Fit(seconds=10), _TO_250, NeurokitClean(), Standardise(over="lead", eps=1e-8)),
        shape=(12, 2500),
        rate=250,
    ),
    "interpbench": Chain(
        name="interpbench",
        steps=(Fit(seconds=10), Standardise(over="lead", floor=1e-6), _TO_250),
        shape=(12, 2500),
        rate=250,
    ),
}
_PAGE = "https://github.com/guxiao0822/Cardiac-Sensing-FM"
_RENAME = (
    (r"^cls_token$", "class_token"),
    (r"^ts_channel_type_embedding$", "lead_embedding"),
    (r"^ts_pos_embedding$", "time_embedding"),
    (r"^ts_to_patch_embedding\.1\.", "patch_embedding.0."),
    (r"^ts_to_patch_embedding\.2\.", "patch_embedding.1."),
    (r"^ts_to_patch_embedding\.3\.", "patch_embedding.2."),
    (r"^transformer\.norm\.", "norm."),
    (r"^transformer\.layers\.(\d+)\.0\.norm\.", r"blocks.\1.norm1."),
    (r"^transformer\.layers\.(\d+)\.0\.to_qkv\.", r"blocks.\1.qkv."),
    (r"^transformer\.layers\.(\d+)\.0\.to_out\.0\.", r"blocks.\1.proj."),
    (r"^transformer\.layers\.(\d+)\.1\.net\.0\.", r"blocks.\1.norm2."),
    (r"^transformer\.layers\.(\d+)\.1\.net\.1\.", r"blocks.\1.fc1."),
    (r"^transformer\.layers\.(\d+)\.1\.net\.4\.", r"blocks.\1.fc2."),
)


def _tiny() -> type[nn.Module]:
    from einthoven.encoders.networks.csfm import CsfmTiny

    return CsfmTiny


def _base() -> type[nn.Module]:
    from einthoven.encoders.networks.csfm import CsfmBase

    return CsfmBase


def _large() -> type[nn.Module]:
    from einthoven.encoders.networks.csfm import CsfmLarge

    return CsfmLarge


def _card(size: str, *, parameters: str, blocks: int, width: int) -> EncoderCard:
    file = f"CSFM_{size}.pth"
    return EncoderCard(
        name=f"csfm-{size}",
        title=f"CSFM {size}",
        summary=f"A transformer over patches of single leads, {parameters} parameters, that was trained to fill in "
        "masked cardiac signals and reports.",
        paper="Gu et al., Sensing Cardiac Health Across Scenarios and Devices: A Multi-Modal Foundation Model "
        "Pretrained on Heterogeneous Data from 1.7 Million Individuals (2025), arXiv:2507.01045",
        code_licence="Apache-2.0 (the authors' code: none stated)",
        weights_licence="none stated; under the academic access agreement that is signed for them",
        weights="from the authors, on signed request",
        consumes="signal",
        checkpoint=CheckpointSource(
            where="on-request",
            page=_PAGE,
            file=file,
            access=f"ask the authors ({_PAGE}) for the academic access agreement, sign it, and they give {file}",
            # An agreement for academic use: not seen here, so the narrower reading is taken.
            non_commercial=True,
            prefixes=("encoder.",),
            rename=_RENAME,
            unused=(r"text_.*", r"mlp_head\..*"),
        ),
        preprocessings=_PRESETS,
        dimension=width,
        hidden_states=1 + blocks,
        tokens="class token, then leads x time (12 x 100)",
        pretraining=("mimic-iv-ecg", "code15"),
        pretraining_note="MIMIC-III waveforms, MIMIC-IV-ECG and CODE, with their reports, as the abstract names them "
        "(`including`, so there may be more); CODE-15 is a part of CODE, so its records may have been seen",
        parameters=PARAMETERS,
    )


ENCODER: tuple[EncoderEntry, ...] = (
    released(_card("tiny", parameters="19 million", blocks=6, width=768), network=_tiny),
    released(_card("base", parameters="85 million", blocks=12, width=768), network=_base),
    released(_card("large", parameters="235 million", blocks=16, width=1024), network=_large),
)
