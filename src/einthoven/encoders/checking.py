"""The ten-second gate: is this encoder what a benchmark takes it for, and would a mistake in its input be seen?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from einthoven.foundation.errors import EinthovenError
from einthoven.signals.chain import Chain
from einthoven.signals.preprocessing import Preprocessing

from .card import EncoderCard
from .contract import Encoder, MetadataEncoder
from .mistakes import MISTAKES, white_noise
from .own.precomputed import Precomputed
from .own.state import State, state_of
from .registry import EncoderEntry

Verdict = Literal["pass", "warn", "fail", "skipped"]
# Movements are relative to the distance between two records. The last bits of float32 sums are below the first; what is
# above the second changes what a probe says.
_ROUNDING = 1e-4
_HARMFUL = 1e-2
_SHOWN = 4
_BATCHES = (1, 2, 7)
_PRESET_SECONDS = 1.5


@dataclass(frozen=True)
class Finding:
    """One line of the gate.

    Attributes:
        check: what was looked at.
        figure: what was found, in words.
        advice: what to do, or what it means; may be empty.
        value: the number in `figure` where there is one: a movement relative to the distance between two records.
    """

    check: str
    verdict: Verdict
    figure: str
    advice: str = ""
    value: float | None = None


@dataclass(frozen=True)
class Specimens:
    """The records an encoder is tried on.

    Attributes:
        signals: float32 mV (records, leads, samples).
        leads: standard names, in its order.
        rate: Hz.
        columns: what is known of them beside: column -> one value a record.
        record_ids: of the whole cohort, for embeddings that were computed elsewhere; None where there is none.
    """

    signals: np.ndarray
    leads: Sequence[str]
    rate: float
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    record_ids: Sequence[str] | None = None


@dataclass(frozen=True)
class Reference:
    """What the author's own program gives: embeddings, and the records they are of.

    Attributes:
        embeddings: (records, dimension).
        specimens: the records, in the same order.
    """

    embeddings: np.ndarray
    specimens: Specimens


def check_encoder(
    entry: EncoderEntry,
    specimens: Specimens,
    *,
    preset: str = "native",
    parameters: Mapping[str, object] | None = None,
    reference: Reference | None = None,
) -> list[Finding]:
    """Everything the gate looks at, in the order of the table; it stops early where nothing can be said any more.

    Args:
        entry: as `registry.find_encoder` gives it.
        specimens: records that differ; ten are enough.
        preset: of its preprocessings.
        reference: embeddings the author gives, to compare with.
    """
    built, encoder, state = _build(entry, dict(parameters or {}))
    if encoder is None or state is None:
        return built
    if isinstance(encoder, Precomputed):
        return [*built, *_of_a_table(encoder, specimens)]
    if isinstance(encoder, MetadataEncoder):
        return [*built, *_numbers(lambda rows: _of_metadata(encoder, specimens, rows), specimens, encoder, state)[0]]
    preprocessing = encoder.card.preprocessing(preset)
    assert isinstance(preprocessing, Preprocessing | Chain)  # noqa: S101  # cards of signals have no other
    try:
        x = preprocessing.apply(specimens.signals, specimens.leads, specimens.rate)
    except EinthovenError as error:
        return [*built, Finding("takes the records", "fail", str(error), "Mend the preprocessing on its card.")]
    findings, embeddings = _numbers(lambda rows: encoder.embed(x[rows]), specimens, encoder, state)
    findings = [*built, *findings]
    if embeddings is None:
        return findings
    trial = _Trial(encoder, preprocessing, specimens, embeddings)
    findings += [_same_after_another_build(entry, dict(parameters or {}), x, trial), _flat(encoder, x), trial.noise()]
    if reference is not None:
        findings.append(_parity(encoder, preprocessing, reference))
    return [*findings, *trial.mistakes(), *trial.presets(preset)]


def relative_movement(moved: np.ndarray, embeddings: np.ndarray) -> float:
    """Median over records of how far each moved, in median distances between two different records.

    Args:
        moved, embeddings: (records, dimension).

    Returns:
        0 where nothing moved, about 1 where a record is as far from itself as from another; infinity where all records
        have one embedding and yet moved.
    """
    distance = float(np.median(np.linalg.norm(moved.astype(np.float64) - embeddings, axis=1)))
    between = _between(embeddings)
    return 0.0 if distance == 0 else distance / between if between > 0 else float("inf")


def _between(embeddings: np.ndarray) -> float:
    rows, columns = np.triu_indices(len(embeddings), k=1)
    wide = embeddings.astype(np.float64)
    return float(np.median(np.linalg.norm(wide[rows] - wide[columns], axis=1))) if len(rows) else 0.0


def _build(
    entry: EncoderEntry, parameters: dict[str, object]
) -> tuple[list[Finding], Encoder | MetadataEncoder | None, State | None]:
    started = time.perf_counter()
    try:
        with _loads() as loads:
            encoder = entry.built(**parameters)
            state = state_of(encoder)
            encoder.fingerprint()
    except Exception as error:  # an author's code may raise anything; this is the place where it is told
        return [Finding("builds", "fail", _words(error), "Mend this first; nothing else can be looked at.")], None, None
    count = sum(int(np.prod(array.shape)) for array in state.arrays.values())
    figure = f"in {time.perf_counter() - started:.1f} s, {count:,} numbers in {len(state.arrays)} tensors"
    return [Finding("builds", "pass", figure), _loaded(entry, parameters, state, loads), _frozen(state)], encoder, state


@contextmanager
def _loads() -> Iterator[list[tuple[int, list[str], list[str]]]]:
    """What calls of `load_state_dict` leave out while this is open: tensors wanted, missing, not used."""
    import torch

    seen: list[tuple[int, list[str], list[str]]] = []
    real: Callable[..., Any] = torch.nn.Module.load_state_dict

    def noted(self: Any, state_dict: Mapping[str, Any], *arguments: Any, **options: Any) -> Any:
        result = real(self, state_dict, *arguments, **options)
        seen.append((len(self.state_dict()), list(result.missing_keys), list(result.unexpected_keys)))
        return result

    torch.nn.Module.load_state_dict = noted
    try:
        yield seen
    finally:
        torch.nn.Module.load_state_dict = real  # type: ignore[method-assign]  # as it was


def _loaded(
    entry: EncoderEntry, parameters: dict[str, object], state: State, loads: list[tuple[int, list[str], list[str]]]
) -> Finding:
    name = "every tensor is loaded"
    for wanted, missing, unused in loads:
        if missing:
            return Finding(
                name,
                "fail",
                f"{len(missing)} of {wanted} tensors found nothing in the checkpoint: {_some(missing)}",
                "Load with strict=True, after renaming or dropping keys by name; what is missing stays random.",
            )
        if unused:
            return Finding(
                name,
                "warn",
                f"{len(unused)} tensors of the checkpoint are not used: {_some(unused)}",
                "Fine for a pre-training head; otherwise the network is not the one that was trained.",
            )
    if not state.arrays:
        return Finding(name, "skipped", "it holds no tensors")
    # Weights that came from a file are the same whatever the random state is.
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(20_250_101)
        other = state_of(entry.built(**parameters)).digests()
    mine = state.digests()
    differ = [place for place in mine if other.get(place) != mine[place]]
    if differ:
        return Finding(
            name,
            "fail",
            f"{len(differ)} of {len(mine)} tensors differ between two builds, so they are random: {_some(differ)}",
            "Load them, or draw them from a seed of their own if they are meant to be random.",
        )
    return Finding(name, "pass", f"all {len(mine)} are the same in two builds")


def _frozen(state: State) -> Finding:
    training = [place or type(module).__name__ for place, module in state.modules.items() if _trains(module)]
    if training:
        return Finding(
            "frozen", "fail", f"in training mode: {_some(training)}", "Call .eval(): dropout and batch norm act else."
        )
    return Finding("frozen", "pass", "in evaluation mode" if state.modules else "no network in it")


def _trains(module: Any) -> bool:
    return any(
        part.training for part in module.modules() if any(True for _ in part.buffers(recurse=False)) or _drops(part)
    )


def _drops(module: Any) -> bool:
    # Modes matter where a layer computes something else in training; a container's own flag says nothing.
    return "drop" in type(module).__name__.casefold() or "norm" in type(module).__name__.casefold()


def _numbers(
    embed: Callable[[slice], np.ndarray], specimens: Specimens, encoder: Encoder | MetadataEncoder, state: State
) -> tuple[list[Finding], np.ndarray | None]:
    """Shape, finite, deterministic, batches, unchanged, spread, constants: what holds for encoders of any kind."""
    before = state.digest()
    everything = slice(0, len(specimens.signals))
    started = time.perf_counter()
    try:
        embeddings = embed(everything)
    except Exception as error:  # as above
        return [Finding("right shape", "fail", _words(error), "Mend `_embed`, or the dimension on the card.")], None
    each = (time.perf_counter() - started) / len(specimens.signals)
    findings = [Finding("right shape", "pass", f"{embeddings.shape[1]} numbers a record, {each * 1000:.1f} ms each")]
    bad = np.flatnonzero(~np.isfinite(embeddings).all(axis=1))
    if len(bad):
        figure = f"{len(bad)} of {len(embeddings)} records have NaN or infinity"
        return [*findings, Finding("finite", "fail", figure, "Look for divisions by 0 and logarithms.")], None
    findings.append(Finding("finite", "pass", f"largest {np.abs(embeddings).max():.3g}"))
    findings.append(_deterministic(embed(everything), embeddings))
    findings.append(_batches(embed, embeddings))
    same = state_of(encoder).digest() == before
    findings.append(
        Finding("unchanged by use", "pass", "what it holds is as before")
        if same
        else Finding(
            "unchanged by use",
            "fail",
            "what it holds changed while it embedded",
            "Load everything when it is built, and keep running statistics out of it.",
        )
    )
    return [*findings, *_spread(embeddings)], embeddings


def _deterministic(again: np.ndarray, embeddings: np.ndarray) -> Finding:
    moved = relative_movement(again, embeddings)
    if np.array_equal(again, embeddings):
        return Finding("deterministic", "pass", "the same to the last bit", value=0.0)
    return Finding(
        "deterministic",
        "warn" if moved <= _ROUNDING else "fail",
        f"the same records moved by {moved:.2g}",
        "Take out dropout and random crops or masks; call .eval().",
        moved,
    )


def _batches(embed: Callable[[slice], np.ndarray], embeddings: np.ndarray) -> Finding:
    moves = {}
    for size in _BATCHES:
        # A few records tell: all of them, one by one, would take most of the time there is.
        some = embeddings[: max(size, 2)]
        starts = range(0, len(some), size)
        try:
            parts = np.concatenate([embed(slice(start, min(start + size, len(some)))) for start in starts])
        except Exception as error:  # as above
            return Finding("any batch size", "fail", f"batches of {size}: {_words(error)}", "Let it take any number.")
        scale = np.linalg.norm(parts.astype(np.float64) - some, axis=1).max()
        between = _between(embeddings)
        moves[size] = float(scale / between) if between > 0 else float(scale > 0)
    worst = max(moves, key=lambda size: moves[size])
    figure = f"moved by {moves[worst]:.2g} at most (batches of {', '.join(map(str, _BATCHES))} and {len(embeddings)})"
    if moves[worst] <= _ROUNDING:
        return Finding("any batch size", "pass", figure, value=moves[worst])
    return Finding(
        "any batch size",
        "warn" if moves[worst] <= _HARMFUL else "fail",
        figure,
        "A record's embedding must not depend on its neighbours: call .eval(), and normalise within a record.",
        moves[worst],
    )


def _spread(embeddings: np.ndarray) -> list[Finding]:
    wide = embeddings.astype(np.float64)
    size = float(np.median(np.linalg.norm(wide, axis=1)))
    share = _between(embeddings) / size if size > 0 else 0.0
    figure = f"two records differ by {share:.2g} of an embedding's length"
    collapsed = share < 1e-4
    constant = int((embeddings == embeddings[0]).all(axis=0).sum())
    found = f"{constant} of {embeddings.shape[1]} numbers are the same for all {len(embeddings)} records"
    return [
        Finding(
            "tells records apart",
            "fail" if share == 0 else "warn" if collapsed else "pass",
            figure,
            "All records look alike to it: is the input scaled as in training?" if collapsed else "",
            share,
        ),
        Finding(
            "no constant numbers",
            "warn" if constant else "pass",
            found,
            "Dead units, or too few records to tell; a probe ignores them." if constant else "",
        ),
    ]


def _same_after_another_build(
    entry: EncoderEntry, parameters: dict[str, object], x: np.ndarray, trial: _Trial
) -> Finding:
    try:
        other = entry.built(**parameters)
        assert isinstance(other, Encoder)  # noqa: S101  # the first build was
        again, same = other.embed(x), other.fingerprint() == trial.encoder.fingerprint()
    except Exception as error:  # as above
        return Finding("built again, the same", "fail", _words(error))
    moved = relative_movement(again, trial.embeddings)
    if moved > _ROUNDING or not same:
        figure = f"moved by {moved:.2g}" + ("" if same else ", and its fingerprint is another")
        return Finding("built again, the same", "fail", figure, "Nothing random may decide what is built.", moved)
    return Finding("built again, the same", "pass", f"moved by {moved:.2g}", value=moved)


def _flat(encoder: Encoder, x: np.ndarray) -> Finding:
    try:
        finite = bool(np.isfinite(encoder.embed(np.zeros_like(x[:1]))).all())
    except Exception as error:  # as above
        return Finding("a flat record", "warn", _words(error), "Cohorts hold such records; they would stop a study.")
    if finite:
        return Finding("a flat record", "pass", "gives finite numbers")
    return Finding("a flat record", "fail", "gives NaN or infinity", "Add a small number where it divides.")


@dataclass(frozen=True)
class _Trial:
    """An encoder with the embeddings of the specimens as they should be."""

    encoder: Encoder
    preprocessing: Preprocessing | Chain
    specimens: Specimens
    embeddings: np.ndarray

    def noise(self) -> Finding:
        there = self._embedded(white_noise(self.specimens.signals))
        if isinstance(there, str):
            return Finding("tells ECGs from noise", "skipped", there)
        moved = relative_movement(there, self.embeddings)
        figure = f"noise of the same size is {moved:.2g} from the ECG it replaces"
        if moved < 0.1:
            advice = "Noise and ECGs embed alike: the network reacts to next to nothing. Check its input and weights."
            return Finding("tells ECGs from noise", "warn", figure, advice, moved)
        return Finding("tells ECGs from noise", "pass", figure, value=moved)

    def mistakes(self) -> list[Finding]:
        findings = []
        for mistake in MISTAKES:
            wrong = mistake.make(self.specimens.signals, self.specimens.leads, self.specimens.rate)
            there = "the records have not these leads" if wrong is None else self._embedded(wrong)
            if isinstance(there, str):
                refused = wrong is not None
                verdict: Verdict = "pass" if refused else "skipped"
                findings.append(Finding(mistake.name, verdict, f"refused: {there}" if refused else there))
                continue
            moved = relative_movement(there, self.embeddings)
            blind = moved < _HARMFUL
            crop = mistake.name.startswith("crop")
            findings.append(
                Finding(
                    mistake.name,
                    "warn"
                    if (blind and mistake.name.startswith(("rate", "polarity"))) or (crop and moved > 1)
                    else "pass",
                    f"cannot be seen (moved by {moved:.2g})" if blind else f"moved by {moved:.2g}",
                    mistake.unseen if blind else mistake.seen,
                    moved,
                )
            )
        moves = [finding.value for finding in findings if finding.value is not None]
        if moves and max(moves) < _HARMFUL:
            advice = "It reacts to nothing that was tried: are its weights and its input what they should be?"
            findings.append(Finding("reacts to its input", "warn", f"at most {max(moves):.2g}", advice, max(moves)))
        return findings

    def presets(self, used: str) -> list[Finding]:
        findings = []
        others = {name: made for name, made in self.encoder.card.preprocessings.items() if name != used}
        started = time.perf_counter()
        for index, (name, preprocessing) in enumerate(others.items()):
            if index and time.perf_counter() - started > _PRESET_SECONDS:
                left = f"{len(others) - index} more, for want of time"
                findings.append(Finding("other presets", "skipped", left, "Name one with --preset to look at it."))
                break
            there = self._embedded(self.specimens.signals, preprocessing)
            if isinstance(there, str):
                findings.append(Finding(f"preset {name}", "skipped", there))
                continue
            moved = relative_movement(there, self.embeddings)
            advice = "A study says which preset it uses; keep to one." if moved > _HARMFUL else ""
            findings.append(Finding(f"preset {name}", "pass", f"{moved:.2g} from preset {used}", advice, moved))
        return findings

    def _embedded(self, signals: np.ndarray, preprocessing: Preprocessing | Chain | None = None) -> np.ndarray | str:
        specimens = self.specimens
        return _embedded(self.encoder, preprocessing or self.preprocessing, signals, specimens.leads, specimens.rate)


def _embedded(
    encoder: Encoder, preprocessing: Preprocessing | Chain, signals: np.ndarray, leads: Sequence[str], rate: float
) -> np.ndarray | str:
    """Embeddings, or why there are none."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            found = encoder.embed(preprocessing.apply(signals, leads, rate))
    except Exception as error:  # as above
        return _words(error)
    return found if np.isfinite(found).all() else "its embeddings are not finite"


def _parity(encoder: Encoder, preprocessing: Preprocessing | Chain, reference: Reference) -> Finding:
    name, wanted, records = "parity with the reference", reference.embeddings, reference.specimens
    if wanted.shape != (len(records.signals), encoder.dimension):
        figure = f"the reference is {wanted.shape}, {(len(records.signals), encoder.dimension)} was expected"
        return Finding(name, "fail", figure, "Give one embedding for each record.")
    found = _embedded(encoder, preprocessing, records.signals, records.leads, records.rate)
    if isinstance(found, str):
        return Finding(name, "fail", found)
    moved = relative_movement(found, wanted)
    figure = f"{moved:.2g} from it; largest difference {np.abs(found - wanted).max():.3g}"
    if moved <= _HARMFUL:
        close = moved <= 1e-3
        advice = "" if close else "Close, not equal: compare the preprocessing step by step, resampling first."
        return Finding(name, "pass" if close else "warn", figure, advice, moved)
    tried = {}
    for mistake in MISTAKES:
        wrong = mistake.make(records.signals, records.leads, records.rate)
        there = "" if wrong is None else _embedded(encoder, preprocessing, wrong, records.leads, records.rate)
        if not isinstance(there, str):
            tried[f"with the input changed like this: {mistake.name}"] = relative_movement(there, wanted)
    for preset, other in encoder.card.preprocessings.items():
        there = _embedded(encoder, other, records.signals, records.leads, records.rate)
        if other is not preprocessing and not isinstance(there, str):
            tried[f"with preset {preset}"] = relative_movement(there, wanted)
    best = min(tried, key=lambda key: tried[key], default="")
    if best and tried[best] < moved / 5:
        advice = f"It agrees far better ({tried[best]:.2g}) {best}. That is where to look."
    else:
        advice = "No mistake that was tried explains it: compare weights, preprocessing and pooling with the author's."
    return Finding(name, "fail", figure, advice, moved)


def _of_metadata(encoder: MetadataEncoder, specimens: Specimens, rows: slice) -> np.ndarray:
    return encoder.embed_metadata({name: specimens.columns[name][rows] for name in encoder.columns})


def _of_a_table(encoder: Precomputed, specimens: Specimens) -> list[Finding]:
    values = encoder.table.values
    findings = [Finding("finite", "pass", f"{values.shape[0]:,} embeddings of {values.shape[1]} numbers")]
    if specimens.record_ids is None:
        findings.append(Finding("every record has one", "skipped", "no cohort given", "Say --cohort NAME."))
    else:
        try:
            match = encoder.check_complete(specimens.record_ids, where="the cohort")
        except EinthovenError as error:
            return [*findings, Finding("every record has one", "fail", str(error))]
        extra = f", {len(match.extra)} of no record of it (not used)" if match.extra else ""
        findings.append(Finding("every record has one", "pass", f"{match.found} records{extra}"))
    repeated = len(values) - len(np.unique(values, axis=0))
    figure = f"{repeated} embeddings are copies of another"
    advice = "The same embedding under several ids: were the ids put in the right order?" if repeated else ""
    findings.append(Finding("no copies", "warn" if repeated else "pass", figure, advice))
    return [*findings, *_spread(values[:: max(1, len(values) // 500)])]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, EinthovenError) else f"{type(error).__name__}: {error}"


def worst(findings: Sequence[Finding]) -> Verdict:
    """The verdict over all: "fail" if any failed, else "warn" if any warns, else "pass"."""
    verdicts = {finding.verdict for finding in findings}
    return "fail" if "fail" in verdicts else "warn" if "warn" in verdicts else "pass"


def rate_for(card: EncoderCard, preset: str = "native") -> float:
    """A rate at which records made for the gate suit an encoder, Hz."""
    preprocessing = card.preprocessing(preset)
    return getattr(preprocessing, "rate", 100.0)
