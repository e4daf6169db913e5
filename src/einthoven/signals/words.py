"""A preparation of signals in words, one step a line: for cards and reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from einthoven.foundation.words import some

from .chain import Chain
from .preprocessing import Preprocessing

_NAMES_SHOWN = 3
_OVER = {"lead": "each lead", "record": "all leads together"}
_METHODS = {"fft": "by FFT", "polyphase": "by a polyphase filter", "linear": "by linear interpolation"}
_CROPS = {"centre": "its middle", "start": "its start", "end": "its end"}
_PADS = {"zero": "zeros", "edge": "its last sample", "repeat": "itself again"}


def steps_in_words(preset: Preprocessing | Chain) -> list[str]:
    """What a preset does to a record, one step a line, in its order."""
    leads = "any channels, as they are" if preset.leads is None else f"leads {', '.join(preset.leads)}"
    steps = [_step(step) for step in preset.steps] if isinstance(preset, Chain) else list(_fixed(preset))
    return [leads, *steps, f"gives {input_in_words(preset)}"]


def described(identity: Mapping[str, Any]) -> list[str]:
    """The same of what `identity()` of a preset gave, which is what a ledger holds; empty where no signal is read.

    What another version wrote and this one cannot read is told as it stands.
    """
    if identity.get("signal") == "unused" or not identity:
        return []
    kind = Chain if "steps" in identity else Preprocessing
    try:
        return steps_in_words(kind.model_validate({"name": "native", **identity}))
    except ValidationError:
        return [f"{name} {value}" for name, value in identity.items() if value is not None]


def input_in_words(preprocessing: Preprocessing | Chain) -> str:
    """What a preset makes of one record: "2 views of 12 leads x 2500 samples at 500 Hz".

    A list of beats has tokens and no leads any more, and joined leads are one channel: they are called so.

    Args:
        preprocessing: with `shape`, (leads, samples) or (views, leads, samples), and `rate`, Hz.
    """
    *views, rows, samples = preprocessing.shape
    steps = {step.step for step in preprocessing.steps} if isinstance(preprocessing, Chain) else set()
    if "beats" in steps:
        return f"{rows} tokens (beats) x {samples} numbers, of a record at {preprocessing.rate:g} Hz"
    # Sizes without thousands separators: they are compared with the shape of an array.
    row = "channel" if "join-leads" in steps else "lead"
    of = f"{views[0]} {'view' if views[0] == 1 else 'views'} of " if views else ""
    wide = f"any number of {row}s" if rows is None else f"{rows} {row if rows == 1 else row + 's'}"
    length = "any number of" if samples is None else str(samples)
    return f"{of}{wide} x {length} samples at {preprocessing.rate:g} Hz"


def inputs_in_words(presets: Mapping[str, Preprocessing | Chain]) -> str:
    """What each preset of an encoder makes of one record; those that make the same are named together.

    Args:
        presets: name of the preset -> preparation.
    """
    names: dict[str, list[str]] = {}
    for name, preprocessing in presets.items():
        names.setdefault(input_in_words(preprocessing), []).append(name)
    return " or ".join(f"{text} ({some(group, shown=_NAMES_SHOWN)})" for text, group in names.items())


def _fixed(preset: Preprocessing) -> Iterator[str]:
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
