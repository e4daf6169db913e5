from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from einthoven.encoders.contract import MetadataEncoder
from einthoven.encoders.registry import build_encoder
from einthoven.foundation.errors import DataError


@pytest.fixture
def encoder() -> MetadataEncoder:
    built = build_encoder("age-sex")
    assert isinstance(built, MetadataEncoder)
    return built


def test_features_by_hand(encoder: MetadataEncoder) -> None:
    embedding = encoder.embed_metadata(
        {
            "age": np.array([50.0, 50.0, np.nan, np.nan, 80.0]),
            "sex": np.array(["M", "F", "M", None, None], dtype=object),
        }
    )
    expected = [
        [0.5, 0.25, 1, 0.5, 0, 0],
        [0.5, 0.25, 0, 0, 0, 0],
        [0, 0, 1, 0, 1, 0],
        [0, 0, 0, 0, 1, 1],
        [0.8, 0.64, 0, 0, 0, 1],
    ]
    np.testing.assert_allclose(embedding, expected, rtol=1e-6)
    assert encoder.card.features[3] == "male_x_age"


@pytest.mark.parametrize(
    "ages", [pl.Series([63, None], dtype=pl.Int64), pl.Series([63.0, None]), pl.Series([63.0, 1.0])]
)
def test_takes_columns_as_polars_gives_them(encoder: MetadataEncoder, ages: pl.Series) -> None:
    sexes = pl.Series(["F", None], dtype=pl.String)
    embedding = encoder.embed_metadata({"age": ages.to_numpy(), "sex": sexes.to_numpy()})
    np.testing.assert_allclose(embedding[0], [0.63, 0.63**2, 0, 0, 0, 0], rtol=1e-6)
    assert embedding[1, 4] == (ages[1] is None)
    assert embedding[1, 5] == 1


def test_columns_that_are_all_missing(encoder: MetadataEncoder) -> None:
    table = pl.DataFrame({"age": [None, None], "sex": [None, None]})
    embedding = encoder.embed_metadata({name: table[name].to_numpy() for name in table.columns})
    np.testing.assert_array_equal(embedding, [[0, 0, 0, 0, 1, 1]] * 2)


@pytest.mark.parametrize("age", [300.0, -1.0, np.inf])
def test_codes_are_not_taken_for_ages(encoder: MetadataEncoder, age: float) -> None:
    with pytest.raises(
        DataError, match=rf"ages of 0 to 125 years, or none; 1 of 2 are outside, first {age:g} at row 1"
    ):
        encoder.embed_metadata({"age": np.array([40.0, age]), "sex": np.array(["F", "M"], dtype=object)})


@pytest.mark.parametrize("sex", ["male", "", 0])
def test_codes_are_not_taken_for_a_sex(encoder: MetadataEncoder, sex: object) -> None:
    with pytest.raises(DataError, match=r"sex 'F' or 'M', or none; found .* at row 1 \(1 such row\(s\)\)"):
        encoder.embed_metadata({"age": np.array([40.0, 50.0]), "sex": np.array(["F", sex], dtype=object)})
