"""Keeping pretrained weights where released ones are kept, with what they were trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from einthoven.encoders.checkpoints.store import StoredWeights, store_weights

from .clocs import ENCODER, Pretrained
from .settings import ContrastiveSettings

if TYPE_CHECKING:
    from einthoven.datasets.cohort import Cohort


def keep(
    pretrained: Pretrained, cohort: Cohort, settings: ContrastiveSettings, *, tag: str, replace: bool = False
) -> StoredWeights:
    """Store the weights as those of `clocs` under a name; a study then asks for `weights: NAME`.

    Their provenance names the dataset they were trained on, so that a report on the same dataset says so.

    Raises:
        UsageError: the name is taken and `replace` is False.
    """
    manifest = cohort.manifest
    return store_weights(
        pretrained.tensors,
        encoder=ENCODER,
        tag=tag,
        source=f"pretrained here on cohort {cohort.name} ({pretrained.train} training records of {manifest.dataset}, "
        f"split {pretrained.split}), epoch {pretrained.best.epoch} of {settings.epochs}",
        source_sha256=pretrained.identity,
        source_bytes=0,
        licence="yours",
        accepted=False,
        unused=(),
        pretraining=(manifest.dataset,),
        pretraining_note=f"trained here, without labels, on the training records of split {pretrained.split} of "
        f"{manifest.dataset}",
        replace=replace,
    )
