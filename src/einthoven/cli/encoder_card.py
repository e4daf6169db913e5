"""The card of an encoder in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from einthoven.encoders.card import EncoderCard

_OVER = {"lead": "each lead", "record": "all leads together"}
_METHODS = {"fft": "by FFT", "polyphase": "by a polyphase filter", "linear": "by linear interpolation"}
_CROPS = {"centre": "its middle", "start": "its start", "end": "its end"}
_PADS = {"zero": "zeros", "edge": "its last sample", "repeat": "itself again"}


def card_rows(card: EncoderCard) -> Iterator[tuple[str, str]]:
    """What there is to know, as pairs of a word and a text."""
    from einthoven.encoders.availability import availability

    yield "what", card.summary
    yield "paper", card.paper
    yield "reads", "signals" if card.consumes == "signal" else "metadata of the record, no signal"
    yield "gives", f"{card.dimension} numbers a record" + (": " + ", ".join(card.features) if card.features else "")
    if card.hidden_states:
        yield "hidden states", f"{card.hidden_states}; tokens: {card.tokens}"
    if card.floor:
        yield "role", "a floor: a useful encoder beats it"
    yield "pretraining", pretraining_of(card) + (f" ({card.pretraining_note})" if card.pretraining_note else "")
    if overlap := _overlap(card):
        yield "overlap", overlap
    yield "code licence", card.code_licence
    yield "weights licence", card.weights_licence
    yield "weights", f"{card.weights} ({availability(card)})" if card.checkpoint else card.weights
    for name, parameter in card.parameters.items():
        yield f"parameter {name}", f"{parameter.kind}, default {parameter.default!r}: {parameter.summary}"


def pretraining_of(card: EncoderCard) -> str:
    """Names of datasets, "none" or "unknown"."""
    return "unknown" if card.pretraining == "unknown" else ", ".join(card.pretraining) or "none"


def weights_lines(card: EncoderCard) -> list[str]:
    """How the weights come, in lines that are to be copied."""
    from einthoven.encoders.availability import weights_here

    source = card.checkpoint
    if source is None:
        return []
    tags = weights_here(card)
    lines = [f"Weights here: {', '.join(tags)}."] if tags else []
    if "released" not in tags:
        accept = " --accept-licence" if source.non_commercial else ""
        size = f" ({source.bytes / 1e6:,.1f} MB)" if source.bytes else ""
        lines.append(f"The released weights{size} are not here: {source.access}.")
        if source.fetchable:
            lines += ["Fetch them:", f"  einthoven encoders fetch {card.name}{accept}"]
        lines += [f"With {source.file} at hand:", f"  einthoven encoders convert {card.name} FILE{accept}"]
    return [*lines, f"Page: {source.page}"]


def _overlap(card: EncoderCard) -> str:
    if card.pretraining == "unknown":
        return "unknown; test records may have been seen in pretraining"
    if not card.pretraining:
        return ""
    return (
        f"results on {', '.join(card.pretraining)} may be of records that it has seen; reports say so where the names "
        "are equal"
    )


def preset_steps(preset: Any) -> list[str]:
    """What a preset does to a record, one step a line, in its order."""
    from einthoven.signals.chain import Chain

    leads = "any channels, as they are" if preset.leads is None else f"leads {', '.join(preset.leads)}"
    steps = [_step(step) for step in preset.steps] if isinstance(preset, Chain) else list(_fixed(preset))
    return [leads, *steps, f"gives {shape_of(preset)}"]


def shape_of(preset: Any) -> str:
    """Of what the encoder takes of one record."""
    sizes = ["any" if size is None else f"{size:,}" for size in preset.shape]
    words = ("views", "leads", "samples")[-len(sizes) :]
    return " x ".join(f"{size} {word}" for size, word in zip(sizes, words, strict=True)) + f" at {preset.rate:g} Hz"


def _fixed(preset: Any) -> Iterator[str]:
    yield f"resampled to {preset.rate:g} Hz {_METHODS.get(preset.resampling, preset.resampling)}"
    if preset.filter is not None:
        yield f"Butterworth filter {_band(preset.filter)}, order {preset.filter.order}, both ways"
    if preset.normalisation != "none":
        yield f"normalised: {preset.normalisation}"
    if preset.seconds is not None:
        yield _fit(preset)


def _step(step: Any) -> str:
    match step.step:
        case "fit":
            return _fit(step)
        case "resample":
            return f"resampled to {step.rate:g} Hz {_METHODS.get(step.method, step.method)}"
        case "decimate":
            return f"every {step.factor}th sample, after a low-pass filter"
        case "butterworth":
            return f"Butterworth filter {_band(step)}, order {step.order}, both ways"
        case "notch":
            return f"notch filter at {step.frequency:g} Hz, quality {step.quality:g}"
        case "fir-bandpass":
            return f"FIR filter {_band(step)} of {step.seconds:g} s"
        case "minus-median":
            return f"minus its median over {step.seconds:g} s"
        case "neurokit-clean":
            return f"cleaned as neurokit2 does (0.5 Hz high-pass, mains at {step.powerline} Hz averaged)"
        case "standardise":
            return f"mean 0 and sd 1 over {_OVER[step.over]}"
        case "rescale":
            return f"scaled to {step.low:g} to {step.high:g} over {_OVER[step.over]}"
        case "shift":
            return f"minus {step.mean:g}, divided by {step.sd:g}"
        case "half-precision":
            return "rounded to 16-bit floats"
        case "join-leads":
            return "leads joined to one channel, one after the other"
        case "views":
            return f"windows of {step.seconds:g} s from {', '.join(f'{start:g}' for start in step.starts)} s"
    rest = ", ".join(f"{name} {value}" for name, value in step.model_dump(exclude={"step"}).items())
    return f"{step.step.replace('-', ' ')}" + (f" ({rest})" if rest else "")


def _fit(preset: Any) -> str:
    short = "shorter ones are refused"
    if preset.pad != "refuse":
        short = f"shorter ones followed by {_PADS.get(preset.pad, preset.pad)}"
    return f"{preset.seconds:g} s: {_CROPS.get(preset.crop, preset.crop)} of longer records, {short}"


def _band(step: Any) -> str:
    if step.low is None or step.high is None:
        return f"below {step.high:g} Hz" if step.low is None else f"above {step.low:g} Hz"
    return f"{step.low:g} to {step.high:g} Hz"
