"""Today's keys and schemas, written down: none of them changes by accident.

A key that changes makes every finished study run again, and a schema that changes makes it unreadable. If a test here
fails, either undo the change, or raise the version that stands for it, say so in the changelog, and write the new value
down.
"""

from __future__ import annotations

import pytest

from einthoven.datasets.building import prepare
from einthoven.datasets.cohort import Cohort
from einthoven.embeddings.store import embedding_key
from einthoven.encoders.registry import build_encoder
from einthoven.foundation.identity import content_key
from einthoven.signals.preprocessing import Preprocessing
from einthoven.studies.kind import KINDS
from einthoven.studies.plan import plan_representations
from einthoven.studies.spec import parse_spec

_SCHEMAS = {
    ("cohort", 2): "a41fdcc05dfc659f",
    ("comparison", 2): "02b5fac52598f15b",
    ("embedding", 3): "f79494e10a32b7bd",
    ("probe", 2): "f82e228d42afc6fc",
}


@pytest.mark.parametrize("kind", list(KINDS), ids=lambda kind: kind.name)
def test_results_have_the_schema_of_their_version(kind) -> None:
    # Descriptions are for people; `title` and `description` are no part of what can be read.
    schema = _without_words(kind.result.model_json_schema())
    assert content_key(schema)[:16] == _SCHEMAS[kind.name, kind.version]


def _without_words(value):
    if isinstance(value, dict):
        return {
            k: _without_words(v) for k, v in value.items() if not (k in ("title", "description") and isinstance(v, str))
        }
    return [_without_words(item) for item in value] if isinstance(value, list) else value


def test_cohorts_have_the_fingerprint_they_had(ptbxl, home) -> None:
    assert prepare("ptbxl", ptbxl.path).fingerprint[:16] == "a9b566c80a51c86d"
    assert prepare("phantom", options={"records": 60}).fingerprint[:16] == "441e20c5cd6e6382"


def test_cells_of_a_study_have_the_keys_they_had(ptbxl, home) -> None:
    prepare("ptbxl", ptbxl.path)
    values = {"name": "s", "cohort": "ptbxl-100hz", "tasks": ["super"], "encoders": ["age-sex"]}
    plan = plan_representations(parse_spec(values, where="test"))
    assert {cell.kind: cell.key[:16] for cell in plan.cells} == {
        "cohort": "e755bcbbb80d9398",
        "embedding": "c8d161924e363732",
        "probe": "da5c9353c62ea35e",
        "comparison": "f72eb85ee818f115",
    }


def test_embeddings_of_a_signal_encoder_have_the_key_they_had(ptbxl, home) -> None:
    prepare("ptbxl", ptbxl.path)
    encoder = build_encoder("age-sex")
    chain = Preprocessing(name="any", rate=250.0, seconds=10.0, normalisation="lead-z")
    assert content_key(chain.identity())[:16] == "9ac0c8cd8eda1655"
    assert embedding_key(encoder, Cohort.open("ptbxl-100hz"), encoder.card.preprocessing())[:16] == "d247c20edaeddd77"
