"""Encoders from files: Python, TorchScript, ONNX (a stand-in runtime), and tables of embeddings."""

from __future__ import annotations

import sys
import types
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from einthoven.encoders.contract import Encoder
from einthoven.encoders.own.precomputed import Precomputed
from einthoven.encoders.registry import build_encoder, find_encoder
from einthoven.foundation.errors import DataError, UsageError

HEAD = """
import numpy as np
import torch
from torch import nn
from einthoven.encoders.contract import Encoder
from einthoven.encoders.own.description import own_card
from einthoven.signals.preprocessing import Preprocessing
CARD = own_card(name="mine", dimension=24, preprocessing=Preprocessing(name="native", rate=100, seconds=10))
"""
PLAIN = """
class Mine(Encoder):
    def _embed(self, x):
        return np.concatenate([x.mean(axis=2), x.std(axis=2)], axis=1)
"""
NETWORK = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.layer = nn.Linear(12, 24)
    def forward(self, x):
        return self.layer(x.abs().mean(dim=2))
"""
X = np.random.default_rng(0).normal(size=(5, 12, 1000)).astype(np.float32)


def write(path: Path, text: str, head: str = HEAD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + text)
    return path


def built(name: str) -> Encoder:
    encoder = build_encoder(name)
    assert isinstance(encoder, Encoder)
    return encoder


@pytest.mark.parametrize(
    "text", [PLAIN, NETWORK, PLAIN + "\ndef build():\n    return Mine(CARD, {})\n", NETWORK + "\nbuild = Net\n"]
)
def test_classes_networks_and_functions_are_encoders(tmp_path: Path, text: str) -> None:
    file = write(tmp_path / "mine.py", text)
    encoder = built(str(file))
    assert encoder.embed(X).shape == (5, 24)
    assert encoder.fingerprint() == built(str(file)).fingerprint()


def test_the_identity_is_of_the_content_and_not_of_the_place(tmp_path: Path) -> None:
    first = built(f"{write(tmp_path / 'a' / 'one.py', PLAIN)}:Mine").fingerprint()
    assert built(f"{write(tmp_path / 'b' / 'two.py', '# words' + PLAIN)}:Mine").fingerprint() == first
    edited = PLAIN.replace("x.std", "1 + x.std")
    assert built(f"{write(tmp_path / 'a' / 'one.py', edited)}:Mine").fingerprint() != first


def test_files_beside_and_weights_are_part_of_the_identity(tmp_path: Path) -> None:
    text = "import helper\nclass Mine(Encoder):\n    def __init__(self, card, parameters):\n"
    text += "        super().__init__(card, parameters)\n        self.w = np.load(__file__[:-7] + 'w.npy')\n"
    text += "    def _embed(self, x):\n        return self.w * helper.embed(x)\n"
    file = write(tmp_path / "mine.py", text)
    helper = "def embed(x):\n    return x.mean(axis=2).repeat(2, axis=1) * {}\n"
    np.save(tmp_path / "w.npy", np.ones(24, dtype=np.float32))
    (tmp_path / "helper.py").write_text(helper.format(1))
    prints = {built(str(file)).fingerprint()}
    (tmp_path / "helper.py").write_text(helper.format(22))
    prints.add(built(str(file)).fingerprint())
    np.save(tmp_path / "w.npy", np.full(24, 2, dtype=np.float32))
    encoder = built(str(file))
    prints.add(encoder.fingerprint())
    assert len(prints) == 3
    np.testing.assert_allclose(encoder.embed(X)[:, 0], 44 * X[:, 0].mean(axis=1), rtol=1e-4)
    assert "helper" not in sys.modules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (", r"mine.py, line 9: "),
        ("1 / 0", r"mine.py, line 9: ZeroDivisionError"),
        ("def build():\n    return 1 / 0\n", r"mine.py, line 10: ZeroDivisionError.*building"),
        ("", "defines none"),
        (PLAIN + "class Other(Mine):\n    pass\n", "Name one: mine.py:Mine, mine.py:Other"),
        ("def build():\n    return 3\n", "gave a int"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path / "mine.py", text)
    with pytest.raises(UsageError, match=message):
        build_encoder(str(file))


def test_a_name_that_is_not_there_and_a_card_that_is_missing(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.py", PLAIN)
    with pytest.raises(UsageError, match="Did you mean 'Mine'"):
        find_encoder(f"{file}:Mien")
    write(file, NETWORK.replace("nn.Module", "torch.nn.Module"), "import torch\nfrom torch import nn\n")
    with pytest.raises(UsageError, match="has no card"):
        find_encoder(str(file))
    write(file, PLAIN, HEAD.replace('"mine"', '"age-sex"'))
    with pytest.raises(UsageError, match="registered one"):
        find_encoder(str(file))
    with pytest.raises(UsageError, match="There is no file"):
        find_encoder(str(tmp_path / "none.py"))


def test_what_cannot_be_looked_into_is_refused(tmp_path: Path) -> None:
    text = "import threading\nclass Mine(Encoder):\n    def __init__(self, c, p):\n        super().__init__(CARD, {})\n"
    text += "        self.lock = threading.Lock()\n    def _embed(self, x):\n        return x\n"
    file = write(tmp_path / "mine.py", text.replace("c, p", "card, parameters"))
    with pytest.raises(UsageError, match=r"holds a lock \(as `lock`\).*_weights_identity"):
        build_encoder(str(file))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12_000, 8))
        torch.jit.script(network).save(str(tmp_path / "net.pt"))
    (tmp_path / "net.yaml").write_text("name: net\nfile: net.pt\ndimension: 8\ninput: {rate: 100, seconds: 10}\n")
    return tmp_path / "net.pt"


def test_torchscript_with_its_description(script: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = built(str(script))
        first = encoder.embed(X)
    assert first.shape == (5, 8)
    description = script.with_suffix(".yaml")
    assert built(str(description)).fingerprint() == encoder.fingerprint()
    description.write_text(description.read_text().replace("seconds: 10", "seconds: 10, unit: uV"))
    assert not np.allclose(built(str(script)).embed(X), first)
    assert built(str(script)).fingerprint() != encoder.fingerprint()
    torch.save({"a": torch.zeros(2)}, script)
    with pytest.raises(DataError, match="holds no TorchScript network"):
        built(str(script)).embed(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("dimension: 8\n", ""), "does not say `dimension`"),
        (("rate: 100", "rat: 100"), r"unknown key 'input.rat'. Did you mean 'rate'"),
        (("seconds: 10", "seconds: 10, unit: ADC"), "input.unit is one of"),
        (("file: net.pt", "file: other.pt"), "describes other.pt, not net.pt"),
        (("name: net", "name: ["), "line 3 is not valid YAML"),
    ],
)
def test_descriptions_that_are_wrong(script: Path, change: tuple[str, str], message: str) -> None:
    description = script.with_suffix(".yaml")
    description.write_text(description.read_text().replace(*change))
    with pytest.raises(UsageError, match=message):
        find_encoder(str(script))


def test_onnx_says_what_to_install_and_gives_what_the_runtime_gives(script: Path, monkeypatch) -> None:
    (script.parent / "net.onnx").write_bytes(b"network")
    (script.parent / "net.yaml").write_text(
        "{name: net, file: net.onnx, dimension: 12, layout: samples-leads, input: {rate: 100, seconds: 10}}"
    )
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    encoder = built(str(script.parent / "net.onnx"))
    with pytest.raises(UsageError, match="pip install onnxruntime"):
        encoder.embed(X)

    class Session:
        def __init__(self, content, options, providers) -> None:
            assert content == b"network"

        def get_inputs(self):
            return [types.SimpleNamespace(name="x")]

        def get_outputs(self):
            return [types.SimpleNamespace(name="y")]

        def run(self, names, given):
            assert given["x"].shape == (5, 1000, 12)
            return [given["x"].mean(axis=1)]

    runtime = types.SimpleNamespace(SessionOptions=types.SimpleNamespace, InferenceSession=Session)
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    np.testing.assert_allclose(encoder.embed(X), X.mean(axis=2), atol=1e-6)


def table(ids: list, values: np.ndarray, path: Path, *, lists: bool = False) -> Path:
    columns = {"e": pl.Series(values.tolist())} if lists else {f"e{i}": v for i, v in enumerate(values.T)}
    pl.DataFrame({"record_id": ids, **columns}).write_parquet(path)
    return path


def test_tables_in_every_form_are_one_encoder(tmp_path: Path) -> None:
    values = X[:, :3, 0].astype(np.float64)
    ids = [10, 2, 3, 4, 5]
    files = [table(ids, values, tmp_path / "one" / "e.parquet") if (tmp_path / "one").mkdir() is None else None]
    (tmp_path / "two").mkdir()
    files.append(table(list(map(str, ids[::-1])), values[::-1], tmp_path / "two" / "e.parquet", lists=True))
    (tmp_path / "three").mkdir()
    np.save(tmp_path / "three" / "e.npy", values)
    (tmp_path / "three" / "e.csv").write_text("record_id\n" + "\n".join(map(str, ids)))
    files.append(tmp_path / "three" / "e.npy")
    encoders = [build_encoder(str(file)) for file in files]
    assert len({encoder.fingerprint() for encoder in encoders}) == 1
    encoder = encoders[0]
    assert isinstance(encoder, Precomputed)
    found = encoder.embed_metadata({"record_id": np.array(["3", "10"])})
    np.testing.assert_array_equal(found, values[[2, 0]].astype(np.float32))
    match = encoder.match(["2", "10", "99"])
    assert (match.found, match.missing, match.extra) == (2, ("99",), ("3", "4", "5"))
    with pytest.raises(DataError, match=r"no embedding for 1 of the 3 records of here, such as 99; 3 of its 5"):
        encoder.check_complete(["2", "10", "99"], where="here")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"record_id": ["a", "a"], "e": [1.0, 2.0]}, "several embeddings for 1 records, such as a"),
        ({"record_id": ["a", "b"], "e": [1.0, float("nan")]}, "of 1 of 2 records hold NaN.*b"),
        ({"record_id": ["a", None], "e": [1.0, 2.0]}, "1 of 2 embeddings have no record_id"),
        ({"record_id": ["a", "b"], "e": [1.0, 2.0], "label": [0, 1]}, "label"),
        ({"record_id": ["a", "b"], "e": [[1.0], [2.0, 3.0]]}, "1 of 2 embeddings are not of"),
        ({"record_id": [1.0, 2.0], "e": [1.0, 2.0]}, "7.0 is not '7'"),
        ({"id": ["a"], "e": [1.0]}, "no column record_id"),
    ],
)
def test_tables_that_are_wrong(tmp_path: Path, frame: dict, message: str) -> None:
    pl.DataFrame(frame).write_parquet(tmp_path / "e.parquet")
    with pytest.raises(DataError, match=message):
        find_encoder(str(tmp_path / "e.parquet"))
