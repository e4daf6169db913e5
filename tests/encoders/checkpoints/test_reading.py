"""Files that are damaged, odd or hostile: a reason in words, and nothing in them is run."""

from __future__ import annotations

import json
import os
import pickle
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from einthoven.encoders.checkpoints.reading import printable, read_tensors
from einthoven.foundation.errors import DataError


class Payload:
    """A pickle of it runs a command when it is opened as pickles are."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.system, (f"touch {self.marker}",))


def legacy(value: Any, file: Path) -> None:
    torch.save(value, file, _use_new_zipfile_serialization=False)


def plain_pickle(value: Any, file: Path, protocol: int = 2) -> None:
    file.write_bytes(pickle.dumps(value, protocol))


@pytest.mark.parametrize(
    "write",
    [torch.save, legacy, plain_pickle, lambda v, f: plain_pickle(v, f, 0), lambda v, f: plain_pickle(v, f, 5)],
    ids=["zip", "legacy", "pickle 2", "pickle 0", "pickle 5"],
)
def test_a_payload_is_named_and_not_run(write: Callable[[Any, Path], None], tmp_path: Path) -> None:
    marker, file = tmp_path / "marker", tmp_path / "weights.pt"
    write({"weight": torch.ones(2), "config": Payload(marker)}, file)
    with pytest.raises(DataError, match=r"holds more than tensors \(.*posix\.system.*\)\. It is not opened") as caught:
        read_tensors(file)
    assert not marker.exists()
    assert "weights_only" not in str(caught.value), "torch's advice to open it unsafely is passed on"
    # The payload is one: opened as pickles are, it runs.
    if write is plain_pickle:
        pickle.loads(file.read_bytes())  # noqa: S301
        assert marker.exists()


def test_a_whole_module_and_a_torchscript_program_are_refused(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(2, 2), tmp_path / "module.pt")
    with pytest.raises(DataError, match=r"torch\.nn\.modules\.linear\.Linear.*save_file"):
        read_tensors(tmp_path / "module.pt")
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(tmp_path / "script.pt"))  # type: ignore[union-attr]
    with pytest.raises(DataError, match=r"TorchScript program.*not run"):
        read_tensors(tmp_path / "script.pt")


def header(text: dict[str, Any], body: bytes = b"") -> bytes:
    packed = json.dumps(text).encode()
    return struct.pack("<Q", len(packed)) + packed + body


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><title>Virus scan warning</title>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git-lfs pointer"),
        (struct.pack("<Q", 1 << 60) + b"{" + b" " * 100, "neither as safetensors nor as a torch file"),
        (struct.pack("<Q", 50) + b"{" + b" " * 100, "no whole safetensors file"),
        (header({"a": {"dtype": "F32", "shape": [200], "data_offsets": [0, 800]}}, b"0" * 8), "no whole safetensors"),
        (header({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}, b"0" * 8), "no whole safetensors"),
        (header({"a": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [0, 3]}}, b"000"), "no whole safetensors"),
        (header({"a": {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]}}, b"0" * 8), "float8_e4m3fn"),
        (header({}), "holds no tensor"),
        (b"PK\x03\x04 and nothing more", "neither as safetensors nor as a torch file"),
        (b"\x80\x02}q\x00.", "neither as safetensors nor as a torch file"),
    ],
)
def test_what_is_no_weights_is_told(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_tensors(file)
    assert "weights_only" not in str(caught.value)


def test_a_header_as_long_as_a_sign_of_a_web_page_is_read(tmp_path: Path) -> None:
    """Its first byte is '<', as that of a page."""
    entry = {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    content = struct.pack("<Q", 60) + json.dumps(entry, separators=(",", ":")).encode().ljust(60) + bytes(4)
    assert content[:1] == b"<"
    (tmp_path / "w").write_bytes(content)
    assert len(read_tensors(tmp_path / "w")) == 1


@pytest.mark.parametrize("write", [torch.save, legacy], ids=["zip", "legacy"])
def test_keys_lead_to_the_tensors(write: Callable[[Any, Path], None], tmp_path: Path) -> None:
    file = tmp_path / "weights.pt"
    write({"epoch": 3, "outer": {"model": {"a": torch.ones(2), "steps": 7}}}, file)
    assert list(read_tensors(file, key="outer.model")) == ["a"]
    for key, message in (
        ("outer.encoder", r"no 'outer\.encoder' .* found model"),
        ("epoch.model", "found int"),
        ("epoch", "holds a int under 'epoch'"),
        ("", "holds no tensor; found epoch, outer"),
    ):
        with pytest.raises(DataError, match=message):
            read_tensors(file, key=key)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], "holds a list"),
        (torch.ones(2), "holds a Tensor"),
        ({"a": torch.ones(2, device="meta")}, "a .without values"),
        ({"a": torch.eye(2).to_sparse()}, "a .not dense"),
        ({1: torch.ones(1), "1": torch.zeros(1)}, "its name is no text"),
        ({"\x1b[31mred\n": 1}, r"found \?\[31mred\?\."),
    ],
)
def test_odd_contents_are_refused(value: Any, message: str, tmp_path: Path) -> None:
    torch.save(value, tmp_path / "odd.pt")
    with pytest.raises(DataError, match=message):
        read_tensors(tmp_path / "odd.pt")


def test_shared_and_strided_tensors_keep_their_values(tmp_path: Path) -> None:
    base = torch.arange(12.0).reshape(3, 4)
    value = {"base": base, "turned": base.T, "part": base[1:, ::2], "again": torch.nn.Parameter(base)}
    for write in (torch.save, legacy):
        write(value, tmp_path / "shared.pt")
        found = read_tensors(tmp_path / "shared.pt")
        for name, tensor in value.items():
            assert torch.equal(found[name], tensor), name
            assert not found[name].requires_grad


def test_the_real_legacy_file_of_a_gpu_is_read_on_the_cpu(real_data: Path) -> None:
    file = real_data / "checkpoints/ribeiro_physionet12_transformer_pretrain/pretrain_model.pth"
    tensors = read_tensors(file, key="model")
    assert sum(tensor.numel() for tensor in tensors.values()) == 102_418
    assert {tensor.device.type for tensor in tensors.values()} == {"cpu"}


@pytest.mark.parametrize("kind", ["zip", "legacy", "safetensors"])
def test_cut_and_flipped_files_never_crash_the_process(kind: str, tmp_path: Path) -> None:
    """In a process of its own: what might go wrong is a crash."""
    value = {"a": torch.arange(40.0).reshape(5, 8), "b": torch.arange(6)}
    file = tmp_path / "weights"
    if kind == "safetensors":
        save_file(value, file)
    else:
        (torch.save if kind == "zip" else legacy)(value, file)
    whole, rng = file.read_bytes(), random.Random(1)  # noqa: S311
    for index in range(60):
        damaged = bytearray(whole[: rng.randrange(len(whole))] if index % 3 == 0 else whole)
        for _ in range(1 + index % 4 if index % 3 else 0):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        (tmp_path / f"bad{index:02d}").write_bytes(damaged)
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from einthoven.encoders.checkpoints.reading import read_tensors\n"
        "from einthoven.foundation.errors import DataError\n"
        "for file in sorted(Path(sys.argv[1]).glob('bad*')):\n"
        "    try:\n        read_tensors(file)\n"
        "    except DataError as error:\n        assert 'weights_only' not in str(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_names_for_messages() -> None:
    assert printable("a.b") == "a.b"
    assert printable("\x1b]0;x\x07") == "?]0;x?"
    assert len(printable("x" * 5000)) == 100
