"""Beats as tokens, and the detector behind them against wfdb's own."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.signal
import wfdb.processing
from pydantic import TypeAdapter
from safetensors import safe_open
from safetensors.numpy import load_file

from einthoven.foundation.errors import SignalError
from einthoven.signals.chain import AnyStep
from einthoven.signals.steps.beats import Beats
from einthoven.signals.xqrs import xqrs


def by_wfdb(lead: np.ndarray, rate: float) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it divides by zero where nothing moves
        return np.asarray(wfdb.processing.xqrs_detect(lead, fs=rate, verbose=False)).astype(np.int64)


@pytest.fixture(scope="module")
def real(golden: Path) -> np.ndarray:
    """(2, 12, 1000) at 100 Hz, mV, float64: a normal record, and one with premature beats."""
    return load_file(golden / "encoders" / "records.safetensors")["signal_100"].astype(np.float64)


def difficult(real: np.ndarray) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    leads = real.reshape(-1, 1000)
    noise = rng.normal(size=(24, 1000))
    odd = np.zeros((6, 1000))
    odd[1, 500], odd[2, :500], odd[3, -1], odd[4, 0], odd[5] = 1, 1, 1, 1e-3, 1e6
    return {
        "real": leads,
        "noise": noise,
        "weak": leads * rng.lognormal(size=(24, 1)) + noise * rng.uniform(0, 0.5, (24, 1)),
        "steps": np.cumsum(noise * (rng.random(noise.shape) < 0.02), axis=1),
        "odd": odd,
        "stopping": np.where(np.arange(1000) < 400, leads, 0),
        "a second": leads[:, :100],
        "shortest": leads[:, :31],
    }


def test_beats_are_found_where_wfdb_finds_them(real: np.ndarray) -> None:
    for name, leads in difficult(real).items():
        for lead, found in zip(leads, xqrs(leads, 100.0), strict=True):
            np.testing.assert_array_equal(found, by_wfdb(lead, 100), err_msg=name)
            assert found.dtype == np.int64
            np.testing.assert_array_equal(found, xqrs(lead[None], 100.0)[0])


@pytest.mark.parametrize("rate", [128.0, 250.0])
def test_beats_are_found_at_other_rates(real: np.ndarray, rate: float) -> None:
    leads = np.asarray(scipy.signal.resample(real.reshape(-1, 1000), int(10 * rate), axis=-1))
    for lead, found in zip(leads, xqrs(leads, rate), strict=True):
        np.testing.assert_array_equal(found, by_wfdb(lead, rate))


def test_beats_of_all_real_records_are_those_of_wfdb(real_data: Path) -> None:
    headers = sorted((real_data / "ptbxl" / "records100").rglob("*.hea"))[::40]
    leads = [np.asarray(wfdb.rdsamp(str(header.with_suffix("")))[0])[:, 0] for header in headers]
    assert len(leads) >= 10
    for lead in leads:
        np.testing.assert_array_equal(xqrs(lead[None].copy(), 100.0)[0], by_wfdb(lead.copy(), 100))


@pytest.mark.parametrize("protocol", ["upstream", "upstream_ptbxl", "ecgfix"])
def test_tokens_are_the_published_ones_bit_for_bit(golden: Path, protocol: str) -> None:
    with safe_open(str(golden / "encoders" / "heartlang.safetensors"), framework="np") as file:
        about = json.loads(file.metadata()["golden"])
        signal = file.get_tensor(f"{protocol}/signal_100hz").astype(np.float64)
        tokens = file.get_tensor(f"{protocol}/input")
        ids = [file.get_tensor(f"{protocol}/{n}") for n in ("in_chan", "in_time")] if protocol != "ecgfix" else [-1, -1]
    found = xqrs(np.ascontiguousarray(signal[:, 0]), 100.0)
    assert [list(beats) for beats in found] == about["protocols"][protocol]["tokens"]["beats"]
    rows, rate = Beats(ids="none" if protocol == "ecgfix" else "given").run(signal, 100.0)
    assert rate == 100
    np.testing.assert_array_equal(rows[..., 2:].astype(np.float32), tokens)
    for column, expected in enumerate(ids):
        np.testing.assert_array_equal(rows[..., column], np.broadcast_to(expected, rows.shape[:2]))


def test_a_step_of_beats_is_a_step(real: np.ndarray) -> None:
    kept = real.copy()
    for step in (Beats(), Beats(ids="none"), Beats(lead=1, tokens=40, samples=32)):
        together, _ = step.run(real, 100.0)
        np.testing.assert_array_equal(real, kept)
        assert together.shape == (2, step.tokens, 2 + step.samples)
        assert together.dtype == np.float64
        for i in range(2):
            np.testing.assert_array_equal(step.run(real[i : i + 1], 100.0)[0][0], together[i])
        assert TypeAdapter(AnyStep).validate_python(step.model_dump(mode="json")) == step


def test_a_flat_lead_has_no_beats_though_rounding_moves_it(real: np.ndarray) -> None:
    rounded = real.copy()
    rounded[0, 0] = 1e-13 * real[0, 0]
    assert len(xqrs(np.ascontiguousarray(rounded[:, 0]), 100.0)[0]) > 0
    assert not Beats().run(rounded, 100.0)[0][0].any()


def test_a_slow_heart_fills_its_segments() -> None:
    time = np.arange(1000)
    peaks = 60 + 150 * np.arange(6)
    lead = np.exp(-(((time[:, None] - peaks) / 2.5) ** 2)).sum(axis=1)
    rows, _ = Beats().run(np.stack([lead, 1.0 + time])[None], 100.0)
    (beats,) = xqrs(lead[None], 100.0)
    assert len(beats) == 6
    halfway = (beats[:-1] + beats[1:]) // 2
    second = rows[0, 6:12, 2:]  # each sample of this lead holds its own number, from 1
    for segment, start in zip(second, [beats[0] - 48, *halfway], strict=True):
        np.testing.assert_array_equal(segment, 1 + start + np.arange(96))
    np.testing.assert_array_equal(rows[0, 6:12, 0], 2)
    np.testing.assert_array_equal(rows[0, 6:12, 1], beats // 100 + 1)


def test_tokens_that_are_too_many_are_cut_off(real: np.ndarray) -> None:
    all_of_them, _ = Beats().run(real, 100.0)
    few, _ = Beats(tokens=20).run(real, 100.0)
    np.testing.assert_array_equal(few, all_of_them[:, :20])
    assert few[0, -1, 0] == 2  # the second lead has begun


def test_a_record_without_beats_is_rows_of_zeros(real: np.ndarray) -> None:
    flat = real.copy()
    flat[0, 0] = 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for silent in (flat, np.zeros((1, 12, 1000))):
            rows, _ = Beats().run(silent, 100.0)
            assert not rows[0].any()
            without, _ = Beats(ids="none").run(silent, 100.0)
            assert (without[0, :, :2] == -1).all()
            assert not without[0, :, 2:].any()
        np.testing.assert_array_equal(Beats().run(flat, 100.0)[0][1], Beats().run(real, 100.0)[0][1])


def test_what_cannot_be_is_refused(real: np.ndarray) -> None:
    with pytest.raises(SignalError, match="more than 40 Hz; found 40"):
        Beats().run(real, 40.0)
    with pytest.raises(SignalError, match="more than 30 samples at 100 Hz, found 30"):
        Beats().run(np.ascontiguousarray(real[..., :30]), 100.0)
    with pytest.raises(SignalError, match="lead number 12"):
        Beats(lead=12).run(real, 100.0)
    with pytest.raises(SignalError, match="lead number 0"):
        Beats().run(real[None], 100.0)
