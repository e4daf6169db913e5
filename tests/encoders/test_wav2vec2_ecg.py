"""What ECG-FM, CARDIAC-FM and D-BETA have in common: their layout, and the package they are made of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from einthoven.encoders.registry import ENCODERS, build_encoder
from einthoven.foundation.errors import EinthovenError

_PARAMETERS = {"ecg-fm": 90_373_248, "cardiac-fm": 90_373_248 + 395_264, "d-beta": 62_021_760 + 1_181_952}
# What each has beside the stack of the key tables, under its own names.
_OWN = {
    "ecg-fm": set(),
    "cardiac-fm": {f"shared_{part}.{kind}" for part in ("norm", "projection") for kind in ("weight", "bias")},
    "d-beta": {"class_embedding"}
    | {f"{part}.{kind}" for part in ("projection", "pooler") for kind in ("weight", "bias")},
}

of_each = pytest.mark.parametrize("entry", _PARAMETERS)


@of_each
@pytest.mark.parametrize("spelling", ["hooks", "parametrization"])
def test_the_released_layout_is_exactly_the_network(golden: Path, entry: str, spelling: str) -> None:
    table = "dbeta_ecg_encoder" if entry == "d-beta" else "ecg_fm_encoder"
    rows = _table(golden, table)
    assert len(rows) == {"d-beta": 143}.get(entry, 207)
    if spelling == "parametrization":
        rows = {
            name.replace("weight_g", "parametrizations.weight.original0").replace(
                "weight_v", "parametrizations.weight.original1"
            ): shape
            for name, shape in rows.items()
        }
    registered = ENCODERS.get(entry)
    layout = registered.card.checkpoint
    assert layout is not None
    assert registered.network is not None
    prefix = {"ecg-fm": "", "cardiac-fm": "module.ecg_encoder.", "d-beta": "ecg_encoder."}[entry]
    names = layout.names(prefix + name for name in rows)
    with torch.device("meta"):
        module: Any = registered.network()()
    shapes = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    mapped = {names[prefix + name]: shape for name, shape in rows.items()}
    assert mapped == {name: shape for name, shape in shapes.items() if name not in _OWN[entry]}
    assert _OWN[entry] <= set(shapes)
    assert sum(parameter.numel() for parameter in module.parameters()) == _PARAMETERS[entry]


@of_each
def test_what_serves_pretraining_alone_is_left_out(entry: str) -> None:
    layout = ENCODERS.get(entry).card.checkpoint
    assert layout is not None
    prefix = {"ecg-fm": "", "cardiac-fm": "module.ecg_encoder.", "d-beta": "ecg_encoder."}[entry]
    heads = [f"{prefix}{name}" for name in ("mask_emb", "quantizer.vars", "project_q.bias", "final_proj.weight")]
    others = {
        "ecg-fm": [],
        "cardiac-fm": ["module.mri_encoder.conv.weight", "module.mri_projection.0.bias"],
        "d-beta": ["language_model.shared.weight", "multi_modal_language_proj.weight", "class_embedding_text"],
    }[entry]
    assert layout.names(heads + others) == {}


@of_each
def test_attention_does_not_depend_on_what_is_installed(entry: str) -> None:
    network = ENCODERS.get(entry).network
    assert network is not None
    with torch.device("meta"):
        module: Any = network()()
    assert {block.attention.config._attn_implementation for block in module.encoder.layers} == {"sdpa"}


@of_each
def test_without_transformers_the_install_line_is_given(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = build_encoder(entry, weights="random")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(EinthovenError, match=r"pip install 'einthoven\[encoders\]'"):
        encoder.fingerprint()


def test_listing_does_not_import_transformers() -> None:
    program = (
        "import sys\n"
        "from einthoven.encoders.registry import ENCODERS\n"
        "assert 'ecg-fm' in ENCODERS.names()\n"
        "sys.exit('transformers' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def _table(golden: Path, name: str) -> dict[str, tuple[int, ...]]:
    file = golden.parent / "facts" / "encoder_keys" / f"{name}.tsv"
    if not file.is_file():
        pytest.skip(f"no key table {file}")
    rows = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines())
    return {key: () if shape == "scalar" else tuple(map(int, shape.split("x"))) for key, shape, *_ in rows}
