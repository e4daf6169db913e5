"""The gate: a sound encoder passes, and each way to be broken is found by its check."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch import nn

from einthoven.datasets.phantom.generator import generate_phantom
from einthoven.encoders.checking import Finding, Reference, Specimens, check_encoder, worst
from einthoven.encoders.contract import Encoder
from einthoven.encoders.own.description import own_card
from einthoven.encoders.registry import EncoderEntry
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.signals.preprocessing import Preprocessing

PHANTOM = generate_phantom(records=8, rate=100.0)
SPECIMENS = Specimens(PHANTOM.signals(0, 8), STANDARD_LEADS, 100.0)


def card(normalisation: str = "none"):
    native = Preprocessing(name="native", rate=100, seconds=10, normalisation=normalisation)  # type: ignore[arg-type]
    return own_card(name="tried", dimension=24, preprocessing=native)


class Sound(Encoder):
    def _embed(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[:, :, 100:300].max(axis=2), np.abs(np.diff(x, axis=2)).mean(axis=2) * 10], axis=1)


class Random(Sound):
    def _embed(self, x: np.ndarray) -> np.ndarray:
        return super()._embed(x) + np.random.default_rng().normal(size=(len(x), 24))


class Batch(Sound):
    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.norm = nn.BatchNorm1d(24)

    def _embed(self, x: np.ndarray) -> np.ndarray:
        return self.norm(torch.from_numpy(super()._embed(x)).float()).detach().numpy()


class Neighbours(Sound):
    def _embed(self, x: np.ndarray) -> np.ndarray:
        found = super()._embed(x)
        return found - found.mean(axis=0)


class NotFinite(Sound):
    def _embed(self, x: np.ndarray) -> np.ndarray:
        return np.where(np.arange(24) == 3, np.nan, super()._embed(x))


class FlatDivides(Sound):
    def _embed(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return super()._embed(x / x.std(axis=2, keepdims=True))


class WrongShape(Sound):
    def _embed(self, x: np.ndarray) -> np.ndarray:
        return super()._embed(x)[:, :5]


class Collapsed(Sound):
    def _embed(self, x: np.ndarray) -> np.ndarray:
        return np.ones((len(x), 24))


class Deaf(Sound):
    def _embed(self, x: np.ndarray) -> np.ndarray:
        seeds = np.abs(np.sign(x[:, 0, 0]) * np.arange(1, len(x) + 1))
        return np.outer(seeds, np.arange(1, 25)) + 1e-9 * super()._embed(x)


class Partly(Sound):
    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.net = nn.Sequential(nn.Linear(24, 24), nn.Linear(24, 24)).eval()
        self.net.load_state_dict({"0.weight": torch.eye(24), "0.bias": torch.zeros(24)}, strict=False)

    def _embed(self, x: np.ndarray) -> np.ndarray:
        return self.net(torch.from_numpy(super()._embed(x)).float()).detach().numpy()


class Unseeded(Sound):
    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.net = nn.Linear(24, 24).eval()

    def _embed(self, x: np.ndarray) -> np.ndarray:
        return self.net(torch.from_numpy(super()._embed(x)).float()).detach().numpy()


class Counts(Sound):
    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.calls = 0

    def _embed(self, x: np.ndarray) -> np.ndarray:
        self.calls += 1
        return super()._embed(x)


class Breaks(Sound):
    def __init__(self, *arguments) -> None:
        raise RuntimeError("no weights")


def checked(kind: type[Encoder], normalisation: str = "none", **options) -> dict[str, Finding]:
    made = card(normalisation)
    specimens = options.pop("specimens", SPECIMENS)
    findings = check_encoder(EncoderEntry(card=made, build=lambda: kind(made, {})), specimens, **options)
    assert len({finding.check for finding in findings}) == len(findings)
    return {finding.check: finding for finding in findings}


def test_a_sound_encoder_passes_and_every_mistake_is_seen() -> None:
    found = checked(Sound)
    assert worst(list(found.values())) == "pass", found
    for name in (
        "rate: twice as high as said",
        "polarity: upside down",
        "unit: uV taken for mV",
        "unit: mV taken for uV",
    ):
        value = found[name].value
        assert value is not None
        assert value > 0.1


def test_a_normalised_encoder_cannot_see_the_unit() -> None:
    found = checked(Sound, "lead-z")
    assert found["unit: uV taken for mV"].figure.startswith("cannot be seen")
    assert "normalisation" in found["unit: uV taken for mV"].advice
    assert not found["polarity: upside down"].figure.startswith("cannot be seen")


@pytest.mark.parametrize(
    ("kind", "check", "figure"),
    [
        (Breaks, "builds", "RuntimeError: no weights"),
        (Random, "deterministic", "moved by"),
        (Batch, "frozen", "in training mode: norm"),
        (Batch, "any batch size", ""),
        (Batch, "unchanged by use", "changed"),
        (Neighbours, "any batch size", "moved by"),
        (NotFinite, "finite", "8 of 8"),
        (FlatDivides, "a flat record", "NaN"),
        (WrongShape, "right shape", r"(8, 5); its card promises (8, 24)"),
        (Collapsed, "tells records apart", "differ by 0"),
        (Partly, "every tensor is loaded", "2 of 4 tensors found nothing in the checkpoint: 1.weight, 1.bias"),
        (Unseeded, "every tensor is loaded", "2 of 2 tensors differ between two builds"),
        (Unseeded, "built again, the same", "moved by"),
        (Counts, "unchanged by use", "changed"),
    ],
)
def test_every_way_to_be_broken_fails_its_check(kind: type[Encoder], check: str, figure: str) -> None:
    found = checked(kind)
    assert found[check].verdict == "fail", found
    assert figure in found[check].figure
    if kind not in (Unseeded,):
        assert found[check].advice or check in ("finite",)


def test_an_encoder_that_reacts_to_nothing_is_warned_of() -> None:
    found = checked(Deaf)
    assert found["tells ECGs from noise"].verdict in ("warn", "pass")
    assert found["unit: mV taken for uV"].figure.startswith("cannot be seen")
    assert checked(Collapsed)["no constant numbers"].figure.startswith("24 of 24")
    assert checked(Collapsed)["reacts to its input"].verdict == "warn"


@pytest.mark.realdata
def test_parity_on_real_records_and_the_mistake_that_explains_its_lack(golden: Path) -> None:
    signals = load_file(golden / "encoders" / "records.safetensors")["signal_500"].astype(np.float32)
    records = Specimens(np.concatenate([signals, signals[:, :, ::-1]]), STANDARD_LEADS, 500.0)
    made = card()
    x = made.preprocessing().apply(records.signals, STANDARD_LEADS, 500.0)  # type: ignore[union-attr]
    right = Sound(made, {}).embed(x)
    assert checked(Sound, reference=Reference(right, records))["parity with the reference"].verdict == "pass"
    upside_down = Reference(right, replace(records, signals=-records.signals))
    found = checked(Sound, reference=upside_down)["parity with the reference"]
    assert found.verdict == "fail"
    assert "polarity: upside down" in found.advice
    assert checked(Sound, specimens=records)["finite"].verdict == "pass"
