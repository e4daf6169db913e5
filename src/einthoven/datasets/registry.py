"""All registered datasets."""

from __future__ import annotations

from einthoven.foundation.registry import Registry

from .dataset import Dataset

DATASETS: Registry[Dataset] = Registry(
    "dataset",
    package="einthoven.datasets.catalogue",
    attribute="DATASET",
    expected=Dataset,
    group="einthoven.datasets",
)
