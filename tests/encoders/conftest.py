"""The golden encoders: outputs of the published networks for stand-in weights and two real records."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load_file

from einthoven.encoders.checkpoints.converting import convert
from einthoven.encoders.contract import Encoder
from einthoven.encoders.registry import ENCODERS, build_encoder
from einthoven.encoders.torch_encoder import TorchEncoder
from einthoven.signals.leads import STANDARD_LEADS

_TAG = "stand-in"


class GoldenEncoder:
    """One golden fixture: its key table, stand-in weights, and what the published network made of them.

    Attributes:
        rows: of the key table: key, shape, dtype, origin, use.
        weights: key -> array, the stand-in "checkpoint".
        about: the fixture's metadata.
        arrays: "<protocol>/<what>" -> array.
    """

    def __init__(self, folder: Path, name: str) -> None:
        rule = _fill_rule(folder)
        self.name = name
        self.rows = rule.read_keys(folder / f"{name}.keys.tsv")
        self.weights: dict[str, np.ndarray] = rule.fill_table(self.rows)
        with safe_open(str(folder / f"{name}.safetensors"), framework="np") as file:
            self.about: dict[str, Any] = json.loads(file.metadata()["golden"])
            self.arrays: dict[str, np.ndarray] = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        assert rule.digest(self.weights) == self.about["fill"]["sha256"]
        self.records = load_file(folder / "records.safetensors")

    def save_as_released(self, entry: str, folder: Path) -> Path:
        """The stand-in weights as a torch file of the layout on the encoder's card."""
        layout = ENCODERS.get(entry).card.checkpoint
        assert layout is not None
        prefix = self.about.get("released_key_prefix") or ""
        state: Any = {prefix + key: torch.from_numpy(value) for key, value in self.weights.items()}
        for part in reversed(layout.key.split(".") if layout.key else []):
            state = {part: state, "epoch": 7}
        file = folder / f"{self.name}.pt"
        torch.save(state, file)
        return file

    def build(self, entry: str, folder: Path) -> TorchEncoder:
        """The registered encoder with the stand-in weights, brought in as a released file would be."""
        registered = ENCODERS.get(entry)
        assert registered.network is not None
        file = self.save_as_released(entry, folder)
        stored = convert(registered.card, registered.network(), file, tag=_TAG, accept_licence=True)
        file.unlink()
        used = {row.key for row in self.rows if row.use == "used" and not row.origin.startswith("alias")}
        prefix = self.about.get("released_key_prefix") or ""
        dropped = {name.removeprefix(prefix) for name in stored.provenance.unused}
        assert not dropped & used, "tensors that decide the result were dropped"
        encoder = build_encoder(entry, weights=_TAG)
        assert isinstance(encoder, TorchEncoder)
        return encoder

    def check_network(self, encoder: TorchEncoder, protocol: str, x: np.ndarray) -> None:
        """The network on rows of a stored input: embedding and every hidden state within the stated tolerance.

        Args:
            x: float32 (rows, leads, samples), what the network takes; by row as the fixture's embedding is.
        """
        tolerance = self.about["protocols"][protocol]["tolerance"]
        states: list[np.ndarray] = []
        with torch.inference_mode():
            embedding = encoder.module(
                torch.from_numpy(x.copy()), lambda state: states.append(state.float().numpy().copy())
            ).numpy()
        expected = self.arrays[f"{protocol}/embedding"].reshape(embedding.shape)
        np.testing.assert_allclose(embedding, expected, rtol=0, atol=tolerance["embedding_atol"])
        assert len(states) == self.about["protocols"][protocol]["n_states"] == encoder.card.hidden_states
        for index, state in enumerate(states):
            assert state.ndim == 3
            for found, kind in ((state.mean(axis=1), "hidden_mean"), (state[:, :4, :16], "hidden_slice")):
                wanted = self.arrays[f"{protocol}/{kind}/{index:02d}"]
                np.testing.assert_allclose(
                    found, wanted, rtol=0, atol=tolerance["hidden_atol"], err_msg=f"{kind} of state {index}"
                )

    def check_whole(self, encoder: Encoder, protocol: str, preset: str) -> None:
        """From the raw records through the preset and the encoder's own `embed` to the stored embeddings."""
        tolerance = self.about["protocols"][protocol]["tolerance"]
        x = self.prepared(encoder, preset)
        embedding, means = encoder.embed_with_states(x)
        rows = self.arrays[f"{protocol}/embedding"]
        if len(rows) == len(embedding):
            # Preprocessing may differ in the last digits, and a network may enlarge that.
            np.testing.assert_allclose(embedding, rows, rtol=0, atol=20 * tolerance["embedding_atol"])
        assert embedding.shape == (len(x), encoder.dimension)
        assert len(means) == encoder.card.hidden_states
        # Record by record and without states: neither may matter.
        alone = np.concatenate([encoder.embed(one[None]) for one in x])
        np.testing.assert_allclose(alone, embedding, rtol=0, atol=tolerance["embedding_atol"])

    def check_preprocessing(
        self, encoder: Encoder, protocol: str, preset: str, *, atol: float = 2e-6, rate: int = 500
    ) -> None:
        """The preset on the raw records against the stored input; `atol` times its largest absolute value."""
        found = self.prepared(encoder, preset, rate=rate)
        expected = self.arrays[f"{protocol}/input"].astype(np.float32)
        found = found.reshape(-1, *found.shape[2:]) if found.ndim == 4 else found
        if found.shape != expected.shape:
            found = found.reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol * float(np.abs(expected).max()))

    def prepared(self, encoder: Encoder, preset: str, *, rate: int = 500) -> np.ndarray:
        """The raw records through a preset of the encoder's card."""
        preprocessing = encoder.card.preprocessings[preset]
        return preprocessing.apply(self.records[f"signal_{rate}"], STANDARD_LEADS, float(rate))


def _fill_rule(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("golden_fill", folder / "fill.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def golden_encoder(golden: Path) -> Callable[[str], GoldenEncoder]:
    """Opens a golden fixture by its name."""
    return lambda name: GoldenEncoder(golden / "encoders", name)


@pytest.fixture(scope="module")
def stand_in(
    golden_encoder: Callable[[str], GoldenEncoder], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], tuple[GoldenEncoder, TorchEncoder]]:
    """Opens a fixture and builds the registered encoder with its stand-in weights, once for the module."""
    made: dict[tuple[str, str], tuple[GoldenEncoder, TorchEncoder]] = {}

    def make(fixture: str, entry: str) -> tuple[GoldenEncoder, TorchEncoder]:
        if (fixture, entry) not in made:
            golden = golden_encoder(fixture)
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("EINTHOVEN_HOME", str(tmp_path_factory.mktemp("home")))
                encoder = golden.build(entry, tmp_path_factory.mktemp("released"))
                _ = encoder.module  # loaded while its home is there
            made[fixture, entry] = (golden, encoder)
        return made[fixture, entry]

    return make
