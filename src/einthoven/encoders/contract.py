"""What every frozen encoder promises, checked once here so that no encoder has to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from einthoven.foundation.code_identity import code_identity
from einthoven.foundation.errors import SignalError, UsageError
from einthoven.foundation.identity import content_key
from einthoven.foundation.words import counted
from einthoven.signals.words import input_in_words, inputs_in_words

from .card import EncoderCard, ParameterValue, SignalPreparation

_SHOWN = 5
# Modules of this room that describe and check, and compute nothing: an edit there changes no embedding.
_DESCRIBE = tuple(
    f"einthoven.encoders.{name}"
    for name in (
        "card",
        "contract",
        "registry",
        "released",
        "checkpoint_source",
        "checkpoints",
        "checkpoints.converting",
        "checkpoints.fetching",
        "checkpoints.matching",
        "checkpoints.reading",
        "checkpoints.store",
        "own",
        "own.description",
        "own.opening",
        "own.python_file",
        "own.reference",
        "own.state",
    )
)


class Frozen:
    """What encoders of signals and of metadata have in common: a card, parameters, an identity.

    Attributes:
        protocol_version: raised when the same weights and parameters would give other embeddings than before.
        origin: of an encoder from a user's own file, the digest of that file and what it holds; None for all others.
    """

    protocol_version: ClassVar[int] = 1
    origin: str | None = None

    def __init__(self, card: EncoderCard, parameters: Mapping[str, ParameterValue]) -> None:
        self.card = card
        self.parameters = dict(parameters)

    @property
    def dimension(self) -> int:
        """Numbers in an embedding."""
        return self.card.dimension

    def fingerprint(self) -> str:
        """Identity of the encoder (64 hex digits): equal fingerprints give equal embeddings of equal input.

        The code of the encoder's module, and of what it imports from this room or from its own package, is part of it
        (comments and docstrings are not), so that an encoder that was edited is not given embeddings from before.
        """
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        # Only where it says more than nothing, so that embeddings from before there were views keep their keys.
        views = {} if self.card.views == "mean" else {"views": self.card.views}
        origin = {} if self.origin is None else {"origin": self.origin}
        return content_key(
            {
                **views,
                **origin,
                "encoder": self.card.name,
                "protocol_version": self.protocol_version,
                "parameters": self.parameters,
                "weights": self._weights_identity(),
                "code": [
                    code_identity(thing, within="einthoven.encoders", without=_DESCRIBE) for thing in self._code()
                ],
            }
        )

    def _code(self) -> tuple[type, ...]:
        """Classes whose modules, with what they import, decide the embeddings."""
        return (type(self),)

    def _weights_identity(self) -> object:
        """Whatever else decides the embeddings: a digest of the weights, versions of algorithms. JSON-able."""
        return None

    def _embedded(self, embedding: np.ndarray, count: int) -> np.ndarray:
        embedding = np.ascontiguousarray(embedding, dtype=np.float32)
        if embedding.shape != (count, self.dimension):
            raise UsageError(
                f"Encoder {self.card.name} gave embeddings of shape {embedding.shape}; its card promises "
                f"{(count, self.dimension)} for {counted(count, 'record')}. The encoder or its card is wrong."
            )
        return embedding


class Encoder(Frozen, ABC):
    """An encoder of signals: deterministic, in evaluation mode, each record independent of the rest of its batch.

    Subclasses give `_embed`, and `_hidden_states` where their card declares any.
    """

    def embed(self, x: np.ndarray) -> np.ndarray:
        """One embedding for each record.

        Args:
            x: float32 (batch, leads, samples), prepared by a preprocessing of the card.

        Returns:
            float32 (batch, dimension).

        Raises:
            SignalError: another shape or dtype, or samples that are not finite; the message names the records.
        """
        self._check(x)
        if len(x) == 0:
            return np.zeros((0, self.dimension), dtype=np.float32)
        views = _each_view(x)
        return self._embedded(self._of_records(self._embed(views), len(x)), len(x))

    def embed_with_states(self, x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """The embedding and the mean over the tokens of every hidden state, from one pass; tokens are not kept.

        The mean is over all tokens, special ones included, as ECG-InterpBench takes it.

        Args:
            x: as for `embed`.

        Returns:
            float32 (batch, dimension), and `card.hidden_states` arrays float32 (batch, width).

        Raises:
            UsageError: the encoder has no hidden states.
            SignalError: as for `embed`.
        """
        self._refuse_without_states()
        self._check(x)
        embedding, means = self._embed_with_states(_each_view(x))
        pooled = [state.reshape(len(x), -1, state.shape[-1]).mean(axis=1) for state in means]
        return self._embedded(self._of_records(embedding, len(x)), len(x)), pooled

    def hidden_states(self, x: np.ndarray) -> list[np.ndarray]:
        """The tokens after the stem (state 0) and after every block (state i), before any final norm or pooling.

        Args:
            x: as for `embed`.

        Returns:
            `card.hidden_states` arrays, float32 (batch, tokens, width); tokens and width may differ between states.
            Of several views of a record the tokens follow each other.

        Raises:
            UsageError: the encoder has no hidden states.
            SignalError: as for `embed`.
        """
        self._refuse_without_states()
        self._check(x)
        states = self._hidden_states(_each_view(x))
        return [state.reshape(len(x), -1, state.shape[-1]) for state in states]

    @abstractmethod
    def _embed(self, x: np.ndarray) -> np.ndarray: ...

    def _embed_with_states(self, x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        return self._embed(x), [state.mean(axis=1) for state in self._hidden_states(x)]

    def _hidden_states(self, x: np.ndarray) -> list[np.ndarray]:
        raise NotImplementedError(f"the card of {self.card.name} declares hidden states that it does not compute")

    def _of_records(self, embedding: np.ndarray, records: int) -> np.ndarray:
        if len(embedding) == records:
            return embedding
        by_record = embedding.reshape(records, -1, embedding.shape[-1])
        return by_record.mean(axis=1) if self.card.views == "mean" else by_record.reshape(records, -1)

    def _refuse_without_states(self) -> None:
        if self.card.hidden_states == 0:
            raise UsageError(
                f"Encoder {self.card.name} has no hidden states: it computes its {self.dimension} numbers directly "
                "from the record. Use `embed`."
            )

    def check_preprocessing(self, preprocessing: SignalPreparation) -> None:
        """Refuse a preprocessing whose leads, rate or shape no preset of the card has.

        Raises:
            UsageError: with what the presets expect.
        """
        found = (preprocessing.leads, preprocessing.rate, preprocessing.shape)
        if found not in [(p.leads, p.rate, p.shape) for p in self.card.preprocessings.values()]:
            taken = {input_in_words(p): p.leads for p in self.card.preprocessings.values()}
            # Where sizes are equal the leads are not, and sizes alone would say nothing.
            leads = taken.get(input_in_words(preprocessing), preprocessing.leads)
            differ = "" if leads == preprocessing.leads else f", with leads in this order: {_order(leads)}"
            raise UsageError(
                f"Encoder {self.card.name} cannot take preprocessing {preprocessing.name!r} "
                f"({input_in_words(preprocessing)}{f', leads {_order(preprocessing.leads)}' if differ else ''}); it "
                f"expects {self._expected()}{differ}."
            )

    def _check(self, x: np.ndarray) -> None:
        where = f"Encoder {self.card.name}"
        if not isinstance(x, np.ndarray) or x.dtype != np.float32:
            found = x.dtype if isinstance(x, np.ndarray) else type(x).__name__
            raise SignalError(
                f"{where} expects a float32 array in the unit its preprocessing gives; found {found}. "
                "Prepare records with `card.preprocessing().apply(...)`."
            )
        if not any(_fits(x, p) for p in self.card.preprocessings.values()):
            raise SignalError(
                f"{where} expects a batch of {self._expected()}; found shape {x.shape}. "
                "Prepare records with `card.preprocessing().apply(...)`."
            )
        bad = np.flatnonzero(~np.isfinite(x).all(axis=tuple(range(1, x.ndim))))
        if len(bad):
            shown = ", ".join(str(i) for i in bad[:_SHOWN]) + (", ..." if len(bad) > _SHOWN else "")
            raise SignalError(
                f"{where} expects finite samples; "
                + counted(
                    len(bad),
                    f"of {len(x)} records of the batch holds NaN or infinity",
                    f"of {len(x)} records of the batch hold NaN or infinity",
                )
                + f" (positions {shown}). Exclude them, or repair them before they are prepared."
            )

    def _expected(self) -> str:
        return inputs_in_words(self.card.preprocessings)


class MetadataEncoder(Frozen, ABC):
    """An encoder of what is known about a record beside its signal.

    Attributes:
        columns: the columns of a cohort's records it reads.
    """

    columns: ClassVar[tuple[str, ...]]

    def embed_metadata(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """One embedding for each record.

        Args:
            columns: column name -> values, one a record; more columns than it reads are fine.

        Returns:
            float32 (records, dimension).

        Raises:
            UsageError: a column is missing, or columns differ in length.
            DataError: a value the encoder cannot read.
        """
        missing = [name for name in self.columns if name not in columns]
        if missing:
            raise UsageError(
                f"Encoder {self.card.name} reads the columns {', '.join(self.columns)}; {', '.join(missing)} not found "
                f"among {', '.join(columns) or '(none)'}."
            )
        read = {name: np.asarray(columns[name]) for name in self.columns}
        lengths = {name: len(values) for name, values in read.items()}
        if len(set(lengths.values())) > 1:
            raise UsageError(f"Encoder {self.card.name} needs columns of equal length; found {lengths}.")
        return self._embedded(self._embed_metadata(read), next(iter(lengths.values())))

    @abstractmethod
    def _embed_metadata(self, columns: Mapping[str, np.ndarray]) -> np.ndarray: ...


def _each_view(x: np.ndarray) -> np.ndarray:
    """(batch, views, leads, samples) as (batch * views, leads, samples); without views as it is."""
    return x if x.ndim == 3 else x.reshape(-1, *x.shape[2:])


def _fits(x: np.ndarray, preprocessing: SignalPreparation) -> bool:
    wanted = preprocessing.shape
    return x.ndim == 1 + len(wanted) and all(
        found == want or (want is None and found > 0) for found, want in zip(x.shape[1:], wanted, strict=True)
    )


def _order(leads: Sequence[str] | None) -> str:
    return "of any names" if leads is None else ", ".join(leads)
