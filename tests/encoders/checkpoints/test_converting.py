"""From a released file to stored weights: every tensor accounted for, whole or not at all."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.checkpoints.converting import convert
from einthoven.encoders.checkpoints.store import open_weights, stored_tags
from einthoven.foundation.errors import DataError, UsageError
from einthoven.signals.preprocessing import Preprocessing


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)


def card(**layout: Any) -> EncoderCard:
    source: dict[str, Any] = {
        "where": "by-hand",
        "page": "https://example.org",
        "file": "weights.pt",
        "access": "a form",
        "non_commercial": False,
    }
    return EncoderCard(
        name="small",
        title="Small",
        summary="Small.",
        paper="none",
        code_licence="MIT",
        weights_licence="CC BY-NC 4.0" if layout.get("non_commercial") else "MIT",
        weights="none",
        consumes="signal",
        checkpoint=CheckpointSource.model_validate(source | layout),
        preprocessings={"native": Preprocessing(name="native", rate=100, seconds=10)},
        dimension=4,
        pretraining="unknown",
    )


def state(**changes: torch.Tensor) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return Small().state_dict() | {name.replace("__", "."): value for name, value in changes.items()}


def saved(value: Any, folder: Path) -> Path:
    torch.save(value, folder / "weights.pt")
    return folder / "weights.pt"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_floats_of_every_width_become_float32(dtype: torch.dtype, home: Path, tmp_path: Path) -> None:
    released = {k: v.to(dtype) if v.is_floating_point() else v for k, v in state().items()}
    found = convert(card(), Small, saved(released, tmp_path)).tensors()
    for name, tensor in released.items():
        assert found[name].dtype == (torch.float32 if tensor.is_floating_point() else torch.int64)
        assert torch.equal(found[name], tensor.float() if tensor.is_floating_point() else tensor)


def test_values_that_float32_cannot_hold_are_refused(home: Path, tmp_path: Path) -> None:
    huge = state(layer__bias=torch.full((4,), 1e300, dtype=torch.float64))
    with pytest.raises(DataError, match=r"1 not finite\): layer\.bias holds NaN or infinity"):
        convert(card(), Small, saved(huge, tmp_path))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layer__bias": torch.full((4,), torch.nan)}, r"1 not finite\): layer\.bias"),
        ({"layer__bias": torch.zeros(4, dtype=torch.int8)}, r"1 of another kind, .*holds integers, .* floating-point"),
        ({"layer__bias": torch.zeros(4, dtype=torch.complex64)}, "holds complex numbers"),
        ({"norm__num_batches_tracked": torch.tensor(3.7)}, "holds floating-point numbers, the network needs integers"),
        ({"norm__num_batches_tracked": torch.tensor(True)}, "holds truth values"),
        ({"layer__weight": torch.zeros(4, 2)}, r"6 of 7 tensors match, .* 1 of another shape"),
        ({"head__weight": torch.zeros(1)}, r"1 unexpected.*head\.weight is not part"),
        # A terabyte by its shape: it must not be looked into.
        ({"layer__bias": torch.zeros(1).expand(10**13)}, "1 of another shape"),
        ({"layer__bias": torch.zeros(1, dtype=torch.float64).expand(10**13)}, "1 of another shape"),
    ],
)
def test_tensors_that_do_not_fit_are_counted_and_nothing_is_stored(
    changes: dict[str, torch.Tensor], message: str, home: Path, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        convert(card(), Small, saved(state(**changes), tmp_path))
    assert open_weights("small") is None


def test_a_partial_file_and_a_renamed_tensor_are_refused(home: Path, tmp_path: Path) -> None:
    part = {name: tensor for name, tensor in state().items() if not name.startswith("norm")}
    with pytest.raises(DataError, match=r"2 of 7 tensors match, 5 missing"):
        convert(card(), Small, saved(part, tmp_path))
    renamed = {name.replace("layer.bias", "layer.b"): tensor for name, tensor in state().items()}
    with pytest.raises(DataError, match=r"1 missing, 1 unexpected"):
        convert(card(), Small, saved(renamed, tmp_path))


def test_prefixes_renames_and_what_is_unused(home: Path, tmp_path: Path) -> None:
    released = {f"module.enc.{name.replace('layer', 'fc')}": tensor for name, tensor in state().items()}
    layout = card(
        key="state.model", prefixes=("module.",), only="enc.", rename=((r"^fc\.", "layer."),), unused=(r"head\..*",)
    )
    file = saved({"state": {"model": released | {"module.head.weight": torch.ones(1)}}}, tmp_path)
    stored = convert(layout, Small, file)
    assert stored.provenance.unused == ("module.head.weight",)
    assert torch.equal(stored.tensors()["layer.weight"], state()["layer.weight"])
    twice = released | {"enc.layer.bias": torch.ones(4)}
    with pytest.raises(DataError, match=r"are both layer\.bias"):
        convert(layout, Small, saved({"state": {"model": twice}}, tmp_path), tag="twice")


def test_converted_weights_do_not_depend_on_how_the_file_held_them(home: Path, tmp_path: Path) -> None:
    plain = convert(card(), Small, saved(state(), tmp_path), tag="plain").provenance.weights_sha256
    base = state()["layer.weight"].T.contiguous()
    strided = state(layer__weight=base.T)
    assert not strided["layer.weight"].is_contiguous()
    assert convert(card(), Small, saved(strided, tmp_path), tag="strided").provenance.weights_sha256 == plain
    # All of one storage, as an optimiser that flattens leaves them.
    flat = torch.cat([tensor.flatten().float() for tensor in state().values()])
    shared, at = {}, 0
    for name, tensor in state().items():
        shared[name] = flat[at : at + tensor.numel()].view(tensor.shape)
        at += tensor.numel()
    shared["norm.num_batches_tracked"] = state()["norm.num_batches_tracked"]
    assert convert(card(), Small, saved(shared, tmp_path), tag="shared").provenance.weights_sha256 == plain
    save_file(state(), tmp_path / "w.safetensors")
    assert convert(card(), Small, tmp_path / "w.safetensors", tag="st").provenance.weights_sha256 == plain


@pytest.mark.parametrize("tag", ["../out", "..", "a/b", "A", "", ".hidden", "a b", "a\n", "x" * 101, "random"])
def test_names_that_lead_elsewhere_are_refused_before_anything_is_read(tag: str, home: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"plain word|without any training"):
        convert(card(), Small, tmp_path / "not there", tag=tag)
    assert not home.exists() or not list(home.rglob("*.safetensors"))


def test_taken_names_licences_and_digests(home: Path, tmp_path: Path) -> None:
    file = saved(state(), tmp_path)
    convert(card(), Small, file)
    with pytest.raises(UsageError, match=r"already .*--replace"):
        convert(card(), Small, file)
    other = saved(state(layer__bias=torch.ones(4)), tmp_path)
    assert convert(card(), Small, other, replace=True).tensors()["layer.bias"].sum() == 4
    with pytest.raises(DataError, match=r"has sha256 .*; small was released with 0+"):
        convert(card(sha256="0" * 64), Small, other, replace=True)
    assert convert(card(sha256="0" * 64), Small, other, tag="mine").provenance.tag == "mine"
    with pytest.raises(UsageError, match="--accept-licence"):
        convert(card(non_commercial=True), Small, other, tag="nc")
    assert stored_tags("small") == ["mine", "released"]


@pytest.mark.parametrize("what", ["flip", "cut", "gone", "swap", "pickle", "digest", "encoder", "text", "no text"])
def test_what_changed_after_it_was_stored_is_not_loaded(what: str, home: Path, tmp_path: Path) -> None:
    stored = convert(card(), Small, saved(state(), tmp_path))
    weights, note = stored.path / "model.safetensors", stored.path / "provenance.json"
    content, known = bytearray(weights.read_bytes()), json.loads(note.read_text())
    if what == "flip":
        content[-3] ^= 1
        weights.write_bytes(content)
    elif what == "cut":
        weights.write_bytes(content[:-5])
    elif what == "gone":
        weights.unlink()
    elif what == "swap":
        save_file(load_file(weights) | {"layer.bias": torch.ones(4)}, weights)
    elif what == "pickle":
        torch.save({"x": os.system}, weights)
    elif what == "digest":
        note.write_text(json.dumps(known | {"weights_sha256": "0" * 64}))
    elif what == "encoder":
        note.write_text(json.dumps(known | {"encoder": "other"}))
    elif what == "text":
        note.write_bytes(b"\xff\x00{")
    else:
        note.unlink()
        note.mkdir()
    with pytest.raises(DataError, match=r"Delete the folder|or delete it|where it belongs"):
        again = open_weights("small")
        assert again is not None
        again.tensors()


def _convert_in_process(file: Path, tag: str, results: Any) -> None:
    try:
        convert(card(), Small, file, tag=tag)
        results.put("stored")
    except UsageError:
        results.put("taken")


def test_of_many_at_once_one_stores(home: Path, tmp_path: Path) -> None:
    file = saved(state(), tmp_path)
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    # Names that begin alike: each must leave the other's unfinished work alone.
    tags = ["a", "a", "a-b", "a-b"]
    processes = [context.Process(target=_convert_in_process, args=(file, tag, results)) for tag in tags]
    for process in processes:
        process.start()
    assert sorted(results.get(timeout=120) for _ in processes) == ["stored", "stored", "taken", "taken"]
    for process in processes:
        process.join()
    assert stored_tags("small") == ["a", "a-b"]
    for tag in ("a", "a-b"):
        weights = open_weights("small", tag)
        assert weights is not None
        assert len(weights.tensors()) == 7


_SLOW = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import test_converting as t
from einthoven.encoders.checkpoints import store
real = store.write_json
def slow(path, value):
    print("writing", flush=True)
    time.sleep(60)
store.write_json = slow
t.convert(t.card(), t.Small, Path(sys.argv[1]), replace=True)
"""


def test_a_kill_leaves_what_was_there_and_blocks_nobody(home: Path, tmp_path: Path) -> None:
    file = saved(state(), tmp_path)
    before = convert(card(), Small, file).provenance.weights_sha256
    other = saved(state(layer__bias=torch.ones(4)), tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-c", _SLOW, other, Path(__file__).parent], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "writing"
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = open_weights("small")
    assert kept is not None
    kept.tensors()
    assert kept.provenance.weights_sha256 == before
    assert stored_tags("small") == ["released"]
    started = time.monotonic()
    convert(card(), Small, other, replace=True)
    assert time.monotonic() - started < 30
    assert [p.name for p in (home / "checkpoints/small").iterdir()] == ["released"]


def test_a_full_disk_is_told_and_leaves_nothing(home: Path, tmp_path: Path) -> None:
    file = saved(state(), tmp_path)
    script = (
        "import resource, sys\nfrom pathlib import Path\nsys.path.insert(0, sys.argv[2])\nimport test_converting as t\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n"
        "try:\n    t.convert(t.card(), t.Small, Path(sys.argv[1]))\n"
        "except OSError as error:\n    print(error.errno, error.filename)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, file, Path(__file__).parent], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("27 "), done.stderr
    assert stored_tags("small") == []
    assert not list((home / "checkpoints/small").glob(".unfinished*"))
