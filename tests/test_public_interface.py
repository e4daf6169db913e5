"""Every public name is there, and costs nothing until it is used."""

from __future__ import annotations

import pytest

import einthoven


@pytest.mark.parametrize("name", einthoven.__all__)
def test_every_public_name_resolves_and_is_documented(name: str) -> None:
    thing = getattr(einthoven, name)
    if name != "__version__":
        assert thing.__doc__
        assert thing.__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        getattr(einthoven, "nonsense")  # noqa: B009  # a plain access would be a type error
