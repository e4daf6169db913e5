"""Kind `embedding`: one encoder over the whole cohort, stored once for all tasks."""

from __future__ import annotations

from einthoven.datasets.cohort import Cohort
from einthoven.embeddings.store import StoredEmbeddings, embed_cohort
from einthoven.encoders.registry import ENCODERS, build_encoder
from einthoven.studies.cells import Cell
from einthoven.studies.results import EmbeddingResult
from einthoven.studies.spec import EncoderChoice

from .output import Context, Output, open_cohort

VERSION = 1


def embedded(choice: EncoderChoice, cohort: Cohort, context: Context) -> StoredEmbeddings:
    """The embeddings of a cohort, from the store if they are there, computed and stored if not."""
    encoder = build_encoder(choice.name, **choice.parameters)
    return embed_cohort(encoder, cohort, encoder.card.preprocessing(choice.preprocessing), progress=context.progress)


def run(cell: Cell, context: Context) -> Output:
    """Embed the cohort, or find the embeddings that exist already under the same content key."""
    cohort = open_cohort(cell)
    choice = EncoderChoice.model_validate(cell.spec["encoder"])
    stored = embedded(choice, cohort, context)
    card = ENCODERS.get(choice.name).card
    result = EmbeddingResult(
        encoder=choice.id,
        encoder_fingerprint=cell.inputs["encoder"],
        preprocessing=choice.preprocessing,
        embedding_key=stored.key,
        sha256=stored.sha256,
        records=len(stored.array),
        dimension=stored.array.shape[1],
        title=card.title,
        summary=card.summary,
        floor=card.floor,
        pretraining=card.pretraining,
        licence=card.weights_licence,
    )
    return Output(result)
