"""ECGFounder (Li et al., NEJM AI 2025): a network that was taught 150 diagnoses on ten million ECGs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.registry import EncoderEntry
from einthoven.encoders.released import PARAMETERS, released
from einthoven.signals.chain import Chain
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.signals.steps.filters import Butterworth, MinusMedian, Notch
from einthoven.signals.steps.lengths import Fit
from einthoven.signals.steps.rates import Resample
from einthoven.signals.steps.scales import Standardise
from einthoven.signals.steps.step import Step

if TYPE_CHECKING:
    from torch import nn

_PAGE = "https://huggingface.co/PKUDigitalHealth/ECGFounder"
# The authors bring other rates to 5,000 samples by interpolation, or by leaving out every second sample.
_TEN_SECONDS = (Fit(seconds=10), Resample(rate=500, method="polyphase"))
_FILTERS = (
    Notch(frequency=50, quality=30),
    Butterworth(low=0.67, high=40, order=4, form="transfer-function"),
    MinusMedian(seconds=0.4),
)
_ONE_SCALE = Standardise(over="record", eps=1e-8)


def _chain(name: str, leads: tuple[str, ...], *steps: Step) -> Chain:
    return Chain.model_validate(
        {"name": name, "leads": leads, "steps": steps, "shape": (len(leads), 5000), "rate": 500}
    )


def _twelve_leads() -> type[nn.Module]:
    from einthoven.encoders.networks.net1d import EcgFounder

    return EcgFounder


def _one_lead() -> type[nn.Module]:
    from einthoven.encoders.networks.net1d import EcgFounderOneLead

    return EcgFounderOneLead


def _entry(
    name: str, title: str, file: str, leads: tuple[str, ...], network: Callable[[], type[nn.Module]]
) -> EncoderEntry:
    presets = (
        _chain("native", leads, *_TEN_SECONDS, *_FILTERS, _ONE_SCALE),
        # The authors' evaluation on PTB-XL does not filter, unlike their fine-tuning.
        _chain("ptbxl-evaluation", leads, *_TEN_SECONDS, _ONE_SCALE),
    )
    card = EncoderCard(
        name=name,
        title=title,
        summary="A convolutional network that was taught 150 diagnoses of cardiologists' reports.",
        paper="Li et al., An Electrocardiogram Foundation Model Built on over 10 Million Recordings (NEJM AI 2025)",
        code_licence="Apache-2.0 (the authors' code: MIT)",
        weights_licence="MIT",
        weights="PKUDigitalHealth/ECGFounder on Hugging Face",
        consumes="signal",
        checkpoint=CheckpointSource(
            where="huggingface",
            page=_PAGE,
            repository="PKUDigitalHealth/ECGFounder",
            file=file,
            access=f"download {file} from {_PAGE}",
            non_commercial=False,
            key="state_dict",
            # The classifier, and batch-norms that the network never calls.
            unused=(r"dense\..*", r"first_bn\..*", r"stage_list\.\d+\.block_list\.\d+\.bn[123]\..*"),
        ),
        preprocessings={chain.name: chain for chain in presets},
        dimension=1024,
        hidden_states=8,
        tokens="time steps",
        pretraining="unknown",
        pretraining_note="supervised on the Harvard-Emory ECG Database (HEEDB), which is not registered here; no "
        "overlap with the benchmarks' test sets is known",
        parameters=PARAMETERS,
    )
    return released(card, network=network)


ENCODER = (
    _entry("ecgfounder", "ECGFounder, 12 leads", "12_lead_ECGFounder.pth", STANDARD_LEADS, _twelve_leads),
    _entry("ecgfounder-1lead", "ECGFounder, lead I", "1_lead_ECGFounder.pth", ("I",), _one_lead),
)
