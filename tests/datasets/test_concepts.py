"""Tables of measurements: what is given is what is read, and nothing is computed twice that can be kept."""

from __future__ import annotations

import numpy as np
import pytest

from einthoven.datasets.concepts import ConceptColumns
from einthoven.foundation.errors import DataError


def test_concepts_are_computed_by_parts_and_read_like_a_dictionary() -> None:
    asked: list[tuple[int, int]] = []

    def values(start: int, stop: int) -> dict[str, list[float]]:
        asked.append((start, stop))
        return {"x": [float(row) for row in range(start, stop)], "y": [0.5] * (stop - start)}

    concepts = ConceptColumns(("x", "y"), 10_000, values)
    assert list(concepts) == ["x", "y"]
    assert len(concepts) == 2
    assert "z" not in concepts
    np.testing.assert_array_equal(concepts["x"], np.arange(10_000.0))
    assert max(stop - start for start, stop in asked) < 10_000
    found = concepts.between(3, 5)
    assert found["x"].dtype == np.float64
    assert found["x"].tolist() == [3.0, 4.0]


@pytest.mark.parametrize("given_values", [{"x": [1.0]}, {"x": [1.0, 2.0, 3.0]}, {"y": [1.0, 2.0]}, {}])
def test_concepts_that_do_not_come_as_announced_are_refused(given_values: dict[str, list[float]]) -> None:
    concepts = ConceptColumns(("x",), 2, lambda start, stop: given_values)
    with pytest.raises(DataError, match="records 0 to 2 were expected as 2 values each of x"):
        concepts.between(0, 2)


def test_reading_concept_by_concept_computes_what_fits_once_and_the_rest_again(monkeypatch) -> None:
    asked: list[int] = []

    def values(start: int, stop: int) -> dict[str, np.ndarray]:
        asked.append(start)
        return {name: np.full(stop - start, float(name)) for name in ("1", "2", "3")}

    whole = ConceptColumns(("1", "2", "3"), 10_000, values)
    assert {name: set(column) for name, column in whole.items()} == {"1": {1.0}, "2": {2.0}, "3": {3.0}}
    assert asked == [0, 4096, 8192]

    asked.clear()
    monkeypatch.setattr("einthoven.datasets.concepts._KEPT_BYTES", 2 * 3 * 4096 * 8)
    part = ConceptColumns(("1", "2", "3"), 10_000, values)
    assert {name: set(column) for name, column in part.items()} == {"1": {1.0}, "2": {2.0}, "3": {3.0}}
    assert asked == [0, 4096, 8192, 8192, 8192]


def test_what_is_read_can_be_changed_without_changing_the_table() -> None:
    table = ConceptColumns.of({"x": [1.0, 2.0]}, 2)
    table["x"][0] = 9.0
    assert table["x"].tolist() == [1.0, 2.0]


def test_a_name_that_stands_twice_is_refused() -> None:
    with pytest.raises(DataError, match=r"more than once: x\. Name each once"):
        ConceptColumns(("x", "y", "x"), 2, lambda start, stop: {})
