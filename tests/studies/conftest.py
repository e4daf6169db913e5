"""A small study on a small cohort."""

from __future__ import annotations

import pytest

from einthoven.datasets.building import prepare
from einthoven.studies.spec import RepresentationsSpec, parse_spec


@pytest.fixture
def spec(ptbxl, home) -> RepresentationsSpec:
    prepare("ptbxl", ptbxl.path)
    values = {
        "name": "small",
        "cohort": "ptbxl-100hz",
        "tasks": ["super", "rhythm"],
        "encoders": ["age-sex", "rr-features"],
        "probe": {"C": [0.1, 1.0]},
        "bootstrap": {"draws": 100},
        "support": {"minimum_positives": 1},
    }
    return parse_spec(values, where="test")
