"""KED (Tian et al., 2024): ECGs and reports enriched with knowledge of diseases; the ECG side alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.released import PARAMETERS, released
from einthoven.signals.chain import Chain
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.signals.steps.lengths import Fit
from einthoven.signals.steps.rates import Resample
from einthoven.signals.steps.scales import HalfPrecision, Shift
from einthoven.signals.steps.step import Step

if TYPE_CHECKING:
    from torch import nn

_TEN_SECONDS = (Fit(seconds=10), Resample(rate=100, method="fft"))


def _chain(name: str, *steps: Step) -> Chain:
    return Chain.model_validate(
        {"name": name, "leads": STANDARD_LEADS, "steps": steps, "shape": (12, 1000), "rate": 100}
    )


_PRESETS = {
    "native": _chain("native", *_TEN_SECONDS),
    # The authors' evaluation on PTB-XL reads its 100 Hz files. Their mean and sd, of all leads of the training split,
    # are not published: these two are stand-ins for them, close to what PTB-XL has.
    "ptbxl-evaluation": _chain("ptbxl-evaluation", *_TEN_SECONDS, Shift(mean=-0.0008, sd=0.2365)),
    "ecgfix": _chain(
        "ecgfix",
        Fit(seconds=10),
        # ecg-fix stores records at 500 Hz, rounded, before the encoder's own rate.
        Resample(rate=500, method="linear"),
        HalfPrecision(),
        Resample(rate=100, method="linear"),
    ),
}


def _network() -> type[nn.Module]:
    from einthoven.encoders.networks.xresnet1d import XResNet101

    return XResNet101


_CARD = EncoderCard(
    name="ked",
    title="KED",
    summary="A 1-D xresnet-101 that was trained to tell which report, with what is known of its diseases, belongs to "
    "an ECG.",
    paper="Tian et al., Foundation model of ECG diagnosis: Diagnostics and explanations of any form and rhythm on ECG "
    "(Cell Reports Medicine 2024)",
    code_licence="Apache-2.0 (the authors' code: none stated)",
    weights_licence="the terms of Zenodo record 14881564; none stated with the code",
    weights="Zenodo record 14881564",
    consumes="signal",
    checkpoint=CheckpointSource(
        where="url",
        page="https://zenodo.org/records/14881564",
        file="best_valid_all_increase_with_augment_epoch_3.pt",
        url="https://zenodo.org/records/14881564/files/best_valid_all_increase_with_augment_epoch_3.pt",
        access="open the page, read the record's terms and download the file",
        non_commercial=False,
        key="ecg_model",
        rename=(
            (r"^([012])\.", r"stem.\1."),
            (r"^4\.", "stages.0."),
            (r"^5\.", "stages.1."),
            (r"^6\.", "stages.2."),
            (r"^7\.", "stages.3."),
            (r"\.convpath\.0\.", ".convs."),
        ),
        second_names=(r"[4567]\.\d+\.convpath\.0\..*",),
    ),
    preprocessings=_PRESETS,
    dimension=768,
    hidden_states=5,
    tokens="time steps",
    pretraining=("mimic-iv-ecg",),
    pretraining_note="MIMIC-IV-ECG with its reports, in MIMIC's order of leads (aVF before aVL); the authors' own "
    "tests, and so the presets here, give leads in the standard order",
    parameters=PARAMETERS,
)

ENCODER = released(_CARD, network=_network)
