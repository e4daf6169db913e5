"""What every registered encoder promises; a new encoder is tested here without a line of code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.checkpoints.converting import convert
from einthoven.encoders.contract import Encoder, MetadataEncoder
from einthoven.encoders.registry import ENCODERS, EncoderEntry, build_encoder
from einthoven.foundation.errors import DataError, SignalError, UnknownNameError, UsageError

_REGISTERED = list(ENCODERS)
# Released encoders need weights that are not here; their networks are compared with the published ones in their own
# test files, where the golden fixtures' stand-in weights make them compute.
_RELEASED = [entry for entry in _REGISTERED if entry.network]
_ALL = [entry for entry in _REGISTERED if not entry.network]
_OF_SIGNALS = [entry for entry in _ALL if entry.card.consumes == "signal"]
_OF_METADATA = [entry for entry in _ALL if entry.card.consumes == "metadata"]
_WITH_STATES = [entry for entry in _OF_SIGNALS if entry.card.hidden_states]

registered = pytest.mark.parametrize("entry", _REGISTERED, ids=lambda e: e.name)
of_released = pytest.mark.parametrize("entry", _RELEASED, ids=lambda e: e.name)
every = pytest.mark.parametrize("entry", _ALL, ids=lambda e: e.name)
of_signals = pytest.mark.parametrize("entry", _OF_SIGNALS, ids=lambda e: e.name)
of_metadata = pytest.mark.parametrize("entry", _OF_METADATA, ids=lambda e: e.name)
with_states = pytest.mark.parametrize("entry", _WITH_STATES, ids=lambda e: e.name)


def ecgs(entry: EncoderEntry, count: int = 7, preset: str = "native") -> np.ndarray:
    """Spiky records of different rate, amplitude and noise, in the encoder's input shape."""
    preprocessing = entry.card.preprocessings[preset]
    leads, samples = preprocessing.shape
    rng = np.random.default_rng(5)
    time = np.arange(samples or round(10 * preprocessing.rate)) / preprocessing.rate
    period = np.linspace(0.55, 1.3, count)[:, None, None]
    beats = np.exp(-(((time[None, None] % period) - 0.3) ** 2) / 0.0008)
    gain = rng.uniform(0.4, 1.5, (count, leads or 1, 1))
    return (gain * beats + 0.01 * rng.normal(size=(*gain.shape[:2], len(time)))).astype(np.float32)


def built(entry: EncoderEntry) -> Encoder:
    encoder = build_encoder(entry.name)
    assert isinstance(encoder, Encoder)
    return encoder


def test_the_first_encoders_are_registered() -> None:
    assert {"random-resnet18", "rr-features", "age-sex"} <= set(ENCODERS.names())


@registered
def test_card_is_complete(entry: EncoderEntry) -> None:
    card = entry.card
    assert card.preprocessing().name == "native"
    for text in (card.title, card.summary, card.paper, card.code_licence, card.weights_licence, card.weights):
        assert text.strip() == text
        assert len(text) >= 3
    assert (card.checkpoint is not None) == (entry.network is not None)
    assert bool(card.tokens) == bool(card.hidden_states)


@of_released
def test_released_weights_that_are_not_here_are_asked_for(entry: EncoderEntry, home: Path) -> None:
    with pytest.raises(DataError, match=f"released weights of encoder {entry.name} are not on this machine") as caught:
        build_encoder(entry.name)
    assert f"einthoven encoders {'fetch' if _source(entry).fetchable else 'convert'} {entry.name}" in str(caught.value)
    with pytest.raises(DataError, match=r"no weights called 'mine'.*convert"):
        build_encoder(entry.name, weights="mine")
    with pytest.raises(UsageError, match="plain word"):
        build_encoder(entry.name, weights="../elsewhere")
    with pytest.raises(UsageError, match=r"autocast is one of off, bfloat16, float16; found 'half'"):
        build_encoder(entry.name, weights="random", autocast="half")


@of_released
def test_released_files_of_another_network_are_refused(entry: EncoderEntry, home: Path, tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    save_file({"layer.weight": np.zeros((2, 2), dtype=np.float32)}, file)
    assert entry.network is not None
    with pytest.raises(DataError, match=r"0 of \d+ tensors match, \d+ missing"):
        convert(entry.card, entry.network(), file, tag="mine", accept_licence=True)
    if _source(entry).non_commercial:
        with pytest.raises(UsageError, match="--accept-licence"):
            convert(entry.card, entry.network(), file, tag="mine")
    assert not list(home.glob("checkpoints/*/*"))


def _source(entry: EncoderEntry) -> CheckpointSource:
    assert entry.card.checkpoint is not None
    return entry.card.checkpoint


@every
def test_card_says_what_is_built(entry: EncoderEntry) -> None:
    card = entry.card
    encoder = build_encoder(entry.name)
    assert encoder.card is card
    assert encoder.dimension == card.dimension
    assert encoder.parameters == {name: parameter.default for name, parameter in card.parameters.items()}
    assert isinstance(encoder, Encoder if card.consumes == "signal" else MetadataEncoder)


@every
def test_its_own_code_is_part_of_its_fingerprint(entry: EncoderEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever edits it must not be given what the old code computed."""
    from einthoven.foundation import code_identity as room

    before = build_encoder(entry.name).fingerprint()
    real = room._dump

    def edited(node: object) -> str:
        text = real(node)
        return text.replace("name='_embed", "name='_edited")

    monkeypatch.setattr(room, "_dump", edited)
    room._identity_of_modules.cache_clear()
    assert build_encoder(entry.name).fingerprint() != before
    monkeypatch.undo()
    room._identity_of_modules.cache_clear()
    assert build_encoder(entry.name).fingerprint() == before


@registered
def test_pretraining_names_registered_datasets(entry: EncoderEntry) -> None:
    """A report finds test records that were seen in pretraining by comparing these names with the cohort's."""
    from einthoven.datasets.registry import DATASETS

    assert entry.card.pretraining == "unknown" or set(entry.card.pretraining) <= set(DATASETS.names())


@registered
def test_unknown_preset_is_refused_with_the_known_ones(entry: EncoderEntry) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown preprocessing 'natve'.*Did you mean 'native'"):
        entry.card.preprocessing("natve")


@every
def test_fingerprint_is_the_same_for_every_build(entry: EncoderEntry) -> None:
    first, second = build_encoder(entry.name).fingerprint(), build_encoder(entry.name).fingerprint()
    assert first == second
    assert len(bytes.fromhex(first)) == 32


def test_fingerprints_are_all_different() -> None:
    assert len({build_encoder(entry.name).fingerprint() for entry in _ALL}) == len(_ALL)


@every
def test_fingerprint_changes_with_the_protocol_version(entry: EncoderEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    before = build_encoder(entry.name).fingerprint()
    encoder = build_encoder(entry.name)
    monkeypatch.setattr(type(encoder), "protocol_version", encoder.protocol_version + 1)
    assert encoder.fingerprint() != before


@of_signals
def test_embeds_every_preset_to_finite_float32(entry: EncoderEntry) -> None:
    encoder = built(entry)
    for preset in entry.card.preprocessings:
        embedding = encoder.embed(ecgs(entry, 2, preset))
        assert embedding.shape == (2, entry.card.dimension)
        assert embedding.dtype == np.float32
        assert np.isfinite(embedding).all()
        assert not np.array_equal(embedding[0], embedding[1])


@of_signals
def test_two_builds_give_bit_identical_embeddings(entry: EncoderEntry) -> None:
    x = ecgs(entry)
    np.testing.assert_array_equal(built(entry).embed(x), built(entry).embed(x))


@of_signals
def test_embedding_does_not_depend_on_the_batch(entry: EncoderEntry) -> None:
    encoder, x = built(entry), ecgs(entry)
    together = encoder.embed(x)
    alone = np.concatenate([encoder.embed(x[i : i + 1]) for i in range(len(x))])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-5)
    other = x[::-1].copy()
    other[-1] = x[0]
    np.testing.assert_allclose(encoder.embed(other)[-1], together[0], rtol=0, atol=1e-5)


@of_signals
def test_embeddings_follow_the_order_of_records(entry: EncoderEntry) -> None:
    encoder, x = built(entry), ecgs(entry)
    order = np.random.default_rng(0).permutation(len(x))
    np.testing.assert_allclose(encoder.embed(x[order]), encoder.embed(x)[order], rtol=0, atol=1e-5)


@of_signals
def test_input_is_left_as_it_was_and_may_be_read_only(entry: EncoderEntry) -> None:
    x = ecgs(entry, 2)
    kept = x.copy()
    x.setflags(write=False)
    built(entry).embed(x)
    np.testing.assert_array_equal(x, kept)


@of_signals
def test_an_empty_batch_gives_no_embeddings(entry: EncoderEntry) -> None:
    assert built(entry).embed(ecgs(entry)[:0]).shape == (0, entry.card.dimension)


@of_signals
def test_flat_records_give_finite_embeddings(entry: EncoderEntry) -> None:
    assert np.isfinite(built(entry).embed(np.zeros_like(ecgs(entry, 2)))).all()


@of_signals
def test_wrong_leads_or_samples_are_refused_with_what_was_expected(entry: EncoderEntry) -> None:
    encoder, x = built(entry), ecgs(entry, 2)
    native = entry.card.preprocessings["native"]
    assert native.leads is not None
    expected = f"{len(native.leads)} leads x {x.shape[2]} samples at {native.rate:g} Hz"
    # An encoder with a preset for channels of any name takes any number of them.
    any_leads = any(preset.leads is None for preset in entry.card.preprocessings.values())
    for wrong in (x[:, :0] if any_leads else x[:, :-1], x[:, :, :-1], x[0]):
        with pytest.raises(SignalError) as caught:
            encoder.embed(wrong)
        assert expected in str(caught.value)
        assert str(wrong.shape) in str(caught.value)


@of_signals
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_samples_that_are_not_finite_are_refused_by_record(entry: EncoderEntry, value: float) -> None:
    x = ecgs(entry, 4)
    x[1, 0, 10] = x[3, -1, -1] = value
    with pytest.raises(SignalError, match=r"2 of 4 records .*\(positions 1, 3\)"):
        built(entry).embed(x)


@of_signals
def test_other_dtypes_are_refused(entry: EncoderEntry) -> None:
    for dtype in (np.float64, np.int16, np.float16):
        with pytest.raises(SignalError, match=f"expects a float32 array .* found {np.dtype(dtype)}"):
            built(entry).embed(ecgs(entry, 1).astype(dtype))
    with pytest.raises(SignalError, match="found list"):
        built(entry).embed(ecgs(entry, 1).tolist())


@of_signals
def test_a_preprocessing_of_another_input_is_refused(entry: EncoderEntry) -> None:
    native = entry.card.preprocessings["native"]
    encoder = built(entry)
    assert native.leads is not None
    for preprocessing in entry.card.preprocessings.values():
        encoder.check_preprocessing(preprocessing)
    for change in ({"rate": 173.0}, {"seconds": 3.0}, {"leads": tuple(reversed(native.leads))}):
        other = native.model_copy(update={"name": "own", **change})
        with pytest.raises(UsageError, match=r"cannot take preprocessing 'own' .*; it expects .*\(native[,)]"):
            encoder.check_preprocessing(other)


@with_states
def test_hidden_states_are_as_many_as_the_card_says(entry: EncoderEntry) -> None:
    states = built(entry).hidden_states(ecgs(entry, 3))
    assert len(states) == entry.card.hidden_states
    for state in states:
        assert state.dtype == np.float32
        assert state.ndim == 3
        assert state.shape[0] == 3
        assert np.isfinite(state).all()


@with_states
def test_hidden_states_do_not_depend_on_the_batch(entry: EncoderEntry) -> None:
    encoder, x = built(entry), ecgs(entry, 3)
    for together, alone in zip(encoder.hidden_states(x), encoder.hidden_states(x[1:2]), strict=True):
        np.testing.assert_allclose(alone[0], together[1], rtol=0, atol=1e-5)


@with_states
def test_hidden_states_check_their_input(entry: EncoderEntry) -> None:
    with pytest.raises(SignalError, match="found shape"):
        built(entry).hidden_states(ecgs(entry, 2)[:, :-1])


@pytest.mark.parametrize("entry", [e for e in _OF_SIGNALS if not e.card.hidden_states], ids=lambda e: e.name)
def test_no_hidden_states_says_so(entry: EncoderEntry) -> None:
    with pytest.raises(UsageError, match=f"{entry.name} has no hidden states"):
        built(entry).hidden_states(ecgs(entry, 1))


@of_metadata
def test_metadata_encoder_is_finite_deterministic_and_row_by_row(entry: EncoderEntry) -> None:
    encoder = build_encoder(entry.name)
    assert isinstance(encoder, MetadataEncoder)
    columns = {
        "age": np.array([61.0, np.nan, 0.0, 90.0]),
        "sex": np.array(["F", None, "M", None], dtype=object),
        "spare": np.arange(4),
    }
    embedding = encoder.embed_metadata(columns)
    assert embedding.shape == (4, entry.card.dimension)
    assert embedding.dtype == np.float32
    assert np.isfinite(embedding).all()
    for row in range(4):
        alone = encoder.embed_metadata({name: values[row : row + 1] for name, values in columns.items()})
        np.testing.assert_array_equal(alone[0], embedding[row])


@of_metadata
def test_missing_and_uneven_columns_are_refused(entry: EncoderEntry) -> None:
    encoder = build_encoder(entry.name)
    assert isinstance(encoder, MetadataEncoder)
    with pytest.raises(UsageError, match=r"not found among years"):
        encoder.embed_metadata({"years": np.zeros(3)})
    uneven: dict[str, np.ndarray] = {name: np.zeros(3) for name in encoder.columns}
    uneven[encoder.columns[0]] = np.zeros(2)
    with pytest.raises(UsageError, match="equal length"):
        encoder.embed_metadata(uneven)


@pytest.mark.parametrize("module", ["torch", "neurokit2", "sklearn", "numba", "polars", "scipy.signal"])
def test_listing_the_cards_imports_nothing_heavy(module: str) -> None:
    program = (
        "import sys\n"
        "from einthoven.encoders.registry import ENCODERS\n"
        "assert len([entry.card.model_dump_json() for entry in ENCODERS]) >= 3\n"
        f"sys.exit({module!r} in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
