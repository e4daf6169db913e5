"""Kind `embedding`: one encoder over the whole cohort, stored once for all tasks."""

from __future__ import annotations

from einthoven.datasets.cohort import RECORDS_PART, SIGNALS_PART, Cohort
from einthoven.embeddings.store import StoredEmbeddings, embed_cohort, embedding_key, is_stored, open_embeddings
from einthoven.encoders.card import EncoderCard, UnusedSignal
from einthoven.encoders.contract import MetadataEncoder
from einthoven.encoders.own.precomputed import Precomputed
from einthoven.encoders.registry import EncoderEntry
from einthoven.foundation.errors import UsageError
from einthoven.foundation.identity import content_key
from einthoven.studies.cells import Cell
from einthoven.studies.choices import choice_of, entry_of, places_of
from einthoven.studies.kind import Context, Kind, Output, changed_since
from einthoven.studies.provenance import environment, threads
from einthoven.studies.results import EmbeddingResult
from einthoven.studies.spec import EncoderChoice


def plan_embedding(choice: EncoderChoice, cohort: Cohort, *, place: str) -> Cell:
    """The cell of one encoder on a cohort; `inputs["embedding"]` is the key its embeddings are stored under.

    Raises:
        UnknownNameError: an encoder, preset or parameter that does not exist.
        UsageError: the cohort has not the leads the encoder takes.
    """
    entry = entry_of(choice)
    card = entry.card
    preprocessing = card.preprocessing(choice.preprocessing)
    if not isinstance(preprocessing, UnusedSignal) and not preprocessing.takes(cohort.leads):
        others = [name for name, other in card.preprocessings.items() if other.takes(cohort.leads)]
        raise UsageError(
            f"Encoder {choice.id} takes the leads {', '.join(preprocessing.leads or ())}; cohort {cohort.name} has "
            f"{', '.join(cohort.leads)}. "
            + (
                f"In a study file write {{name: {choice.name}, preprocessing: {others[0]}}}."
                if others
                else "Leave it out (--encoders); none of its preprocessings takes these."
            )
        )
    encoder = entry.built(**choice.parameters)
    if isinstance(encoder, Precomputed):
        encoder.check_complete(cohort.record_ids, where=f"cohort {cohort.name}")
    elif isinstance(encoder, MetadataEncoder):
        _refuse_unknown(choice, encoder.columns, cohort)
    return Cell(
        kind=KIND.name,
        title=f"embed with {choice.id}",
        spec={"encoder": choice.identity(), "preprocessing": preprocessing.identity()},
        inputs={"embedding": embedding_key(encoder, cohort, preprocessing), "card": _card_key(encoder.card)},
        places={"cohort": place, **places_of(choice)},
        version=KIND.version,
    )


def _refuse_unknown(choice: EncoderChoice, columns: tuple[str, ...], cohort: Cohort) -> None:
    """An encoder of what is known of a record says nothing where nothing is known."""
    if not any(name in cohort.records.columns and cohort.records[name].is_not_null().any() for name in columns):
        raise UsageError(
            f"Encoder {choice.id} reads {' and '.join(columns)}, and no record of cohort {cohort.name} has any. Leave "
            "it out (--encoders)."
        )


def stored_embeddings(choice: EncoderChoice, key: str, place: str, context: Context) -> StoredEmbeddings:
    """The embeddings under a key: read and checked if they are in the store, computed if not.

    Raises:
        DataError: what is stored is damaged; or the encoder or the cohort is no longer the one of the key.
    """
    if is_stored(key):
        return open_embeddings(key, verify=True)
    cohort = Cohort.open(place)
    encoder = entry_of(choice).built(**choice.parameters)
    preprocessing = encoder.card.preprocessing(choice.preprocessing)
    if embedding_key(encoder, cohort, preprocessing) != key:
        raise changed_since(cohort.name, [f"records (or the encoder {choice.id}{_from(choice)})"])
    cohort.verify([SIGNALS_PART if encoder.card.consumes == "signal" else RECORDS_PART])
    made_by = {**environment(), "threads": threads()}
    return embed_cohort(encoder, cohort, preprocessing, made_by=made_by, progress=context.progress)


def run(cell: Cell, context: Context) -> Output:
    """Embed the cohort, or find the embeddings that exist already under the same content key."""
    choice = choice_of(cell)
    entry = entry_of(choice)
    # Of the encoder and not of its entry: weights that are random, or trained here, have seen other data.
    card = entry.built(**choice.parameters).card
    if _card_key(card) != cell.inputs["card"]:
        raise changed_since(cell.places["cohort"], [f"encoder {choice.id}"])
    from_store = is_stored(cell.inputs["embedding"])
    stored = stored_embeddings(choice, cell.inputs["embedding"], cell.places["cohort"], context)
    result = EmbeddingResult(
        encoder=choice.id,
        encoder_fingerprint=stored.manifest.encoder_fingerprint,
        preprocessing=choice.preprocessing,
        embedding_key=stored.key,
        sha256=stored.sha256,
        records=len(stored.array),
        dimension=stored.array.shape[1],
        title=card.title,
        summary=card.summary,
        floor=card.floor,
        pretraining=card.pretraining,
        pretraining_note=card.pretraining_note,
        weights=card.weights,
        licence=card.weights_licence,
    )
    # The embeddings may be older than this cell: what made them is what their numbers came about with.
    manifest = stored.manifest
    notes = {"embedded": manifest.created, "embedding_seconds": manifest.seconds, "from_store": from_store}
    return Output(result, notes={**manifest.made_by, **notes, **_extra(entry, cell)})


def _extra(entry: EncoderEntry, cell: Cell) -> dict[str, int]:
    """Of embeddings that were computed elsewhere, how many are of no record of the cohort."""
    if entry.card.consumes == "signal" or not cell.places.get("encoder"):
        return {}
    encoder = entry.built()
    if not isinstance(encoder, Precomputed):
        return {}
    return {"embeddings_of_other_records": len(encoder.match(Cohort.open(cell.places["cohort"]).record_ids).extra)}


def _from(choice: EncoderChoice) -> str:
    return f" from {choice.file}" if choice.file else ""


def _card_key(card: EncoderCard) -> str:
    """Over the card's texts, which the embedding key leaves out and the result holds."""
    not_held = {"preprocessings", "parameters", "checkpoint", "views", "tokens"}
    return content_key(card.model_dump(mode="json", exclude=not_held))


KIND = Kind(name="embedding", version=3, result=EmbeddingResult, run=run)
