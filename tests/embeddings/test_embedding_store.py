"""The store, on a small stand-in cohort that counts what is read from it."""

from __future__ import annotations

import json
import multiprocessing
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from einthoven.embeddings.store import embed_cohort, embedding_key, open_embeddings
from einthoven.encoders.card import EncoderCard, UnusedSignal
from einthoven.encoders.contract import Encoder
from einthoven.encoders.registry import build_encoder
from einthoven.foundation.errors import DataError, SignalError, UsageError
from einthoven.foundation.identity import sha256_array, sha256_columns
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.signals.preprocessing import Preprocessing

_NATIVE = Preprocessing(name="native", rate=100.0, seconds=10.0)
_CARD = EncoderCard(
    name="lead-means",
    title="Lead means",
    summary="The mean of each lead.",
    paper="none",
    code_licence="none",
    weights_licence="none",
    weights="none",
    consumes="signal",
    preprocessings={"native": _NATIVE, "z": _NATIVE.model_copy(update={"name": "z", "normalisation": "record-z"})},
    dimension=12,
    pretraining=(),
)


class LeadMeans(Encoder):
    """An encoder whose embedding is known; it may be told to give NaN, or to fail, for large means."""

    def __init__(self, version: int = 1, *, nan_above: float = np.inf, fail_above: float = np.inf) -> None:
        super().__init__(_CARD, {})
        self.version = version
        self.nan_above = nan_above
        self.fail_above = fail_above
        self.batches: list[int] = []

    def _weights_identity(self) -> int:
        return self.version

    def _embed(self, x: np.ndarray) -> np.ndarray:
        self.batches.append(len(x))
        means = x.mean(axis=2)
        if (means > self.fail_above).any():
            raise FloatingPointError("the mean is too large")
        return np.where(means > self.nan_above, np.nan, means)


class SmallCohort:
    """What the store uses of a cohort. Lead l of record r has the constant value r + l / 100 mV."""

    name = "small"
    leads = STANDARD_LEADS
    rate = 100.0
    samples = 1000

    def __init__(self, count: int = 10, fingerprint: str = "f" * 64) -> None:
        self.count = count
        self.signals_fingerprint = fingerprint
        self.read: list[slice] = []
        self.broken: tuple[int, ...] = ()
        self.records = pl.DataFrame(
            {
                "record_id": [f"rec{i:04d}" for i in range(count)],
                "age": [None if i % 5 == 0 else 40.0 + i % 50 for i in range(count)],
                "sex": [("F", "M", None)[i % 3] for i in range(count)],
            },
            schema={"record_id": pl.String, "age": pl.Float64, "sex": pl.String},
        )

    def __len__(self) -> int:
        return self.count

    def columns_fingerprint(self, columns: tuple[str, ...]) -> str:
        return sha256_columns(self.records.select(columns).to_dict(as_series=False))

    def signals(self, rows: slice) -> np.ndarray:
        self.read.append(rows)
        index = np.arange(rows.start, rows.stop)
        values = (index[:, None] + np.arange(12) / 100).astype(np.float32)
        signals = np.repeat(values[:, :, None], 1000, axis=2)
        signals[np.isin(index, self.broken), 0, 0] = np.nan
        return signals


def expected(count: int) -> np.ndarray:
    return np.arange(count)[:, None] + np.arange(12) / 100


pytestmark = pytest.mark.usefixtures("home")


def stored_by(encoder: Any = None, cohort: Any = None, **options: Any) -> Any:
    chosen: Any = SmallCohort() if cohort is None else cohort
    return embed_cohort(encoder or LeadMeans(), chosen, _NATIVE, **options)


def test_embeds_every_record_in_order(home: Path) -> None:
    stored = stored_by(batch_size=4)
    assert stored.array.shape == (10, 12)
    assert stored.array.dtype == np.float32
    np.testing.assert_allclose(stored.array, expected(10), rtol=1e-6)
    assert stored.path == home / "embeddings" / stored.key
    assert sorted(file.name for file in stored.path.iterdir()) == ["embeddings.npy", "manifest.json"]
    np.testing.assert_array_equal(np.load(stored.path / "embeddings.npy"), stored.array)


def test_array_is_a_read_only_memory_map() -> None:
    array = stored_by().array
    assert isinstance(array, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1


def test_manifest_says_what_is_stored() -> None:
    encoder, cohort = LeadMeans(), SmallCohort()
    stored = stored_by(encoder, cohort)
    manifest = json.loads((stored.path / "manifest.json").read_text())
    assert manifest["key"] == stored.key == embedding_key(encoder, cohort, _NATIVE)  # type: ignore[arg-type]  # stand-in cohort
    assert manifest["encoder"] == "lead-means"
    assert manifest["encoder_fingerprint"] == encoder.fingerprint()
    assert manifest["preprocessing"] == _NATIVE.identity()
    assert manifest["input_fingerprint"] == cohort.signals_fingerprint
    assert (manifest["records"], manifest["dimension"], manifest["non_finite"]) == (10, 12, 0)
    assert manifest["sha256"] == stored.sha256 == sha256_array(np.asarray(stored.array))


def test_second_call_computes_nothing() -> None:
    first, encoder, cohort = stored_by(), LeadMeans(), SmallCohort()
    second = stored_by(encoder, cohort)
    assert second.manifest == first.manifest
    assert encoder.batches == []
    assert cohort.read == []


def test_batches_and_progress() -> None:
    encoder, told = LeadMeans(), []
    stored_by(encoder, batch_size=4, progress=lambda done, total: told.append((done, total)))
    assert encoder.batches == [4, 4, 2]
    assert told == [(4, 10), (8, 10), (10, 10)]


def test_batch_size_does_not_change_what_is_stored() -> None:
    one = stored_by(batch_size=3)
    two = stored_by(batch_size=7, rebuild=True)
    assert (two.key, two.sha256) == (one.key, one.sha256)


def test_key_depends_on_encoder_preprocessing_and_cohort_and_not_on_the_preset_name() -> None:
    def key(encoder: Any, cohort: Any, preprocessing: Any) -> str:
        return embedding_key(encoder, cohort, preprocessing)

    base = key(LeadMeans(), SmallCohort(), _NATIVE)
    assert key(LeadMeans(), SmallCohort(), _NATIVE.model_copy(update={"name": "own"})) == base
    others = {
        key(LeadMeans(2), SmallCohort(), _NATIVE),
        key(LeadMeans(), SmallCohort(fingerprint="e" * 64), _NATIVE),
        key(LeadMeans(), SmallCohort(), _CARD.preprocessings["z"]),
    }
    assert len(others | {base}) == 4


def test_metadata_encoder_reads_no_signal() -> None:
    encoder, cohort = build_encoder("age-sex"), SmallCohort(7)
    stored = embed_cohort(encoder, cohort, encoder.card.preprocessing(), batch_size=3)  # type: ignore[arg-type]  # stand-in
    assert cohort.read == []
    assert stored.array.shape == (7, 6)
    np.testing.assert_allclose(stored.array[1], [0.41, 0.41**2, 1, 0.41, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(stored.array[5], [0, 0, 0, 0, 1, 1])


def test_metadata_failure_names_the_record() -> None:
    encoder, cohort = build_encoder("age-sex"), SmallCohort(7)
    cohort.records = cohort.records.with_columns(age=pl.Series([40.0] * 4 + [300.0] * 3))
    with pytest.raises(DataError, match="ages of 0 to 125") as caught:
        embed_cohort(encoder, cohort, encoder.card.preprocessing(), batch_size=3)  # type: ignore[arg-type]  # stand-in
    assert caught.value.__notes__ == ["cohort small, record rec0004, encoder age-sex"]


def test_real_encoder_over_the_store_equals_embedding_directly() -> None:
    encoder, cohort = build_encoder("random-resnet18", seed=3), SmallCohort(3)
    assert isinstance(encoder, Encoder)
    preprocessing = encoder.card.preprocessing()
    assert isinstance(preprocessing, Preprocessing)
    stored = embed_cohort(encoder, cohort, preprocessing, batch_size=2)  # type: ignore[arg-type]  # stand-in
    direct = encoder.embed(preprocessing.apply(cohort.signals(slice(0, 3)), cohort.leads, cohort.rate))
    np.testing.assert_allclose(stored.array, direct, rtol=0, atol=1e-5)
    assert stored.manifest.parameters == {"seed": 3}


def left_behind(home: Path) -> list[str]:
    return [path.name for path in (home / "embeddings").iterdir() if not path.name.endswith(".lock")]


def test_non_finite_embeddings_are_refused_and_nothing_is_stored(home: Path) -> None:
    with pytest.raises(DataError, match=r"lead-means gave embeddings that are not finite for 2 .*: rec0006, rec0007\."):
        stored_by(LeadMeans(nan_above=6.0), batch_size=4)
    assert left_behind(home) == []


def test_a_failing_record_is_named_and_nothing_is_stored(home: Path) -> None:
    with pytest.raises(FloatingPointError, match="too large") as caught:
        stored_by(LeadMeans(fail_above=6.5), batch_size=4)
    assert caught.value.__notes__ == ["cohort small, record rec0007, encoder lead-means"]
    assert left_behind(home) == []


def test_a_record_that_is_not_finite_is_named() -> None:
    cohort = SmallCohort()
    cohort.broken = (5, 9)
    with pytest.raises(SignalError, match="finite samples") as caught:
        stored_by(cohort=cohort, batch_size=4)
    assert caught.value.__notes__[-1] == "cohort small, record rec0005, encoder lead-means"


def test_a_failure_that_no_record_causes_alone_says_so() -> None:
    class Fragile(LeadMeans):
        def _embed(self, x: np.ndarray) -> np.ndarray:
            if len(x) > 3:
                raise RuntimeError("too many at once")
            return super()._embed(x)

    with pytest.raises(RuntimeError, match="too many") as caught:
        stored_by(Fragile(), batch_size=4)
    assert caught.value.__notes__ == ["cohort small, records rec0000 to rec0003 (none fails alone), encoder lead-means"]


def small() -> Any:
    """A stand-in, for what is typed to take a Cohort."""
    return SmallCohort()


def stop_after(rows: int):
    """A progress that interrupts, as Ctrl-C or a kill would, once so many rows are done."""

    def stop(done: int, total: int) -> None:
        if done >= rows:
            raise KeyboardInterrupt

    return stop


def test_an_interrupted_pass_goes_on_where_it_was(home: Path) -> None:
    whole = embed_cohort(LeadMeans(version=2), small(), _NATIVE, batch_size=3)
    encoder = LeadMeans()
    with pytest.raises(KeyboardInterrupt):
        embed_cohort(encoder, small(), _NATIVE, batch_size=3, progress=stop_after(6))
    assert [path.name for path in (home / "embeddings").glob("[0-9a-f]*")] == [whole.key]
    assert encoder.batches == [3, 3]
    stored = embed_cohort(encoder, small(), _NATIVE, batch_size=3)
    assert encoder.batches == [3, 3, 3, 1]
    assert (stored.path / "embeddings.npy").read_bytes() == (whole.path / "embeddings.npy").read_bytes()
    assert not list((home / "embeddings").glob(".partial-*"))


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), MemoryError()])
def test_a_full_disk_or_memory_keeps_what_is_sound(home: Path, error: Exception) -> None:
    def fail(done: int, total: int) -> None:
        if done >= 6:
            raise error

    with pytest.raises(type(error)):
        embed_cohort(LeadMeans(), small(), _NATIVE, batch_size=3, progress=fail)
    encoder = LeadMeans()
    embed_cohort(encoder, small(), _NATIVE, batch_size=3)
    assert encoder.batches == [3, 1]


def test_an_error_of_the_encoder_leaves_no_rows_to_go_on_from(home: Path) -> None:
    with pytest.raises(FloatingPointError):
        embed_cohort(LeadMeans(fail_above=7), small(), _NATIVE, batch_size=3)
    encoder = LeadMeans()
    embed_cohort(encoder, small(), _NATIVE, batch_size=3)
    assert encoder.batches == [3, 3, 3, 1]


def test_a_failure_while_the_manifest_is_made_keeps_the_whole_pass(home: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("einthoven.embeddings.store.write_json", full)
        with pytest.raises(OSError, match="No space"):
            embed_cohort(LeadMeans(), small(), _NATIVE, batch_size=3)
    assert not list((home / "embeddings").glob("[0-9a-f]*"))
    encoder = LeadMeans()
    embed_cohort(encoder, small(), _NATIVE, batch_size=3)
    assert encoder.batches == []


def _spoil(file: Path, position: int) -> None:
    content = bytearray(file.read_bytes())
    content[position] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "again"),
    [
        (lambda folder: _spoil(folder / "embeddings.npy", 128 + 3 * 48), [3, 3, 1]),  # first byte of the second batch
        (lambda folder: _spoil(folder / "embeddings.npy", 0), [3, 3, 3, 1]),  # the header
        (lambda folder: (folder / "batches.txt").unlink(), [3, 3, 3, 1]),
        (lambda folder: (folder / "batches.txt").write_text("10 12 4\n"), [3, 3, 3, 1]),  # another batch size
        (lambda folder: (folder / "batches.txt").write_bytes(b"\xff"), [3, 3, 3, 1]),
        (lambda folder: (folder / "embeddings.npy").write_bytes(b""), [3, 3, 3, 1]),
        (lambda folder: (folder / "embeddings.npy").unlink(), [3, 3, 3, 1]),
    ],
)
def test_only_the_sound_part_of_an_interrupted_pass_is_gone_on_with(home: Path, damage, again) -> None:
    whole = embed_cohort(LeadMeans(version=2), small(), _NATIVE, batch_size=3)
    with pytest.raises(KeyboardInterrupt):
        embed_cohort(LeadMeans(), small(), _NATIVE, batch_size=3, progress=stop_after(6))
    damage(next((home / "embeddings").glob(".partial-*")))
    encoder = LeadMeans()
    stored = embed_cohort(encoder, small(), _NATIVE, batch_size=3)
    assert encoder.batches == again
    assert (stored.path / "embeddings.npy").read_bytes() == (whole.path / "embeddings.npy").read_bytes()
    stored.verify()


@pytest.mark.parametrize("end", [10, 60, 300, -1])
def test_a_truncated_array_is_found_on_opening(end: int) -> None:
    stored = stored_by()
    file = stored.path / "embeddings.npy"
    file.write_bytes(file.read_bytes()[:end])
    for call in (lambda: open_embeddings(stored.key), stored_by):
        with pytest.raises(DataError, match=r"cut short.*Delete the folder .*rebuild=True"):
            call()
    np.testing.assert_allclose(stored_by(rebuild=True).array, expected(10), rtol=1e-6)


def test_an_empty_array_file_is_found_on_opening() -> None:
    stored = stored_by()
    (stored.path / "embeddings.npy").write_bytes(b"")
    with pytest.raises(DataError, match=r"0 bytes.*Delete the folder"):
        open_embeddings(stored.key)


def test_bytes_behind_the_array_are_found_on_opening() -> None:
    stored = stored_by()
    with (stored.path / "embeddings.npy").open("ab") as stream:
        stream.write(b"x")
    with pytest.raises(DataError, match=r"has 609 bytes; expected 608"):
        open_embeddings(stored.key)


@pytest.mark.parametrize(
    "other", [np.zeros((9, 12), np.float32), np.zeros((10, 12), np.float64), np.zeros((10, 12), object)]
)
def test_another_array_is_found_on_opening(other: np.ndarray) -> None:
    stored = stored_by()
    np.save(stored.path / "embeddings.npy", other, allow_pickle=True)
    with pytest.raises(DataError, match=r"manifest says float32 \(10, 12\)|cannot be opened"):
        open_embeddings(stored.key)


def test_missing_files_are_found_on_opening() -> None:
    stored = stored_by()
    (stored.path / "embeddings.npy").unlink()
    with pytest.raises(DataError, match=r"embeddings\.npy is missing\. Delete"):
        open_embeddings(stored.key)
    (stored.path / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"has no manifest\.json\. Delete"):
        open_embeddings(stored.key)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "cannot be read: Invalid JSON"),
        (lambda text: text.replace('"records": 10', '"records": 11'), r"manifest says float32 \(11, 12\)"),
        (lambda text: text.replace('"schema_version": 2', '"schema_version": 9'), "schema 9 .*; expected schema 2"),
        (lambda text: text.replace('"key": "', '"key": "0'), "and key 0"),
        (lambda text: text.replace('"records"', '"rows"'), "cannot be read: Field required"),
    ],
)
def test_a_damaged_manifest_is_found_on_opening(change: Any, message: str) -> None:
    stored = stored_by()
    file = stored.path / "manifest.json"
    file.write_text(change(file.read_text()))
    with pytest.raises(DataError, match=message):
        open_embeddings(stored.key)


def test_changed_values_are_found_by_verification_only() -> None:
    stored = stored_by()
    file = stored.path / "embeddings.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    open_embeddings(stored.key)
    with pytest.raises(DataError, match=r"changed after it was written\. Delete the folder"):
        open_embeddings(stored.key, verify=True)


def test_verification_passes_what_was_stored() -> None:
    stored = stored_by()
    assert open_embeddings(stored.key, verify=True).sha256 == stored.sha256


def test_nothing_under_the_key_says_so() -> None:
    with pytest.raises(DataError, match="No embeddings are stored under"):
        open_embeddings("0" * 64)


def test_a_preprocessing_that_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot take preprocessing 'fast'"):
        embed_cohort(LeadMeans(), SmallCohort(), Preprocessing(name="fast", rate=500.0, seconds=10.0))  # type: ignore[arg-type]  # stand-in
    with pytest.raises(UsageError, match="lead-means reads signal; UnusedSignal does not belong"):
        embed_cohort(LeadMeans(), SmallCohort(), UnusedSignal())  # type: ignore[arg-type]  # stand-in
    with pytest.raises(UsageError, match="age-sex reads metadata; Preprocessing does not belong"):
        embed_cohort(build_encoder("age-sex"), SmallCohort(), _NATIVE)  # type: ignore[arg-type]  # stand-in


def test_useless_requests_are_refused() -> None:
    with pytest.raises(UsageError, match="batch_size must be at least 1; found 0"):
        stored_by(batch_size=0)
    with pytest.raises(DataError, match="no records to embed"):
        stored_by(cohort=SmallCohort(0))


def test_memory_does_not_grow_with_the_cohort() -> None:
    def peak(count: int) -> int:
        cohort = SmallCohort(count, fingerprint=f"{count:064d}")
        tracemalloc.start()
        stored_by(cohort=cohort, batch_size=8)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(8)
    small, large = peak(16), peak(640)
    assert large < 1.3 * small


def _embed_in_process(count: int, results: Any) -> None:
    encoder = LeadMeans()
    stored = embed_cohort(encoder, SmallCohort(count), _NATIVE, batch_size=16)  # type: ignore[arg-type]  # stand-in
    results.put((len(encoder.batches), stored.sha256))


def test_two_processes_compute_it_once() -> None:
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    processes = [context.Process(target=_embed_in_process, args=(320, results)) for _ in range(2)]
    for process in processes:
        process.start()
    found = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(timeout=60)
    assert sorted(batches for batches, _ in found) == [0, 20]
    assert len({digest for _, digest in found}) == 1
