"""A catalogue is found by looking into it; collisions and empty modules are refused."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from einthoven.foundation.errors import EinthovenError, UnknownNameError
from einthoven.foundation.registry import Registry


@dataclass(frozen=True)
class Thing:
    name: str


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    package = tmp_path / "some_catalogue"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "thing_type", type(sys)("thing_type"))
    sys.modules["thing_type"].Thing = Thing  # type: ignore[attr-defined]  # a module made for the test

    def write(module: str, name: str | None) -> None:
        body = f"from thing_type import Thing\nTHING = Thing({name!r})\n" if name else "THING = 3\n"
        (package / f"{module}.py").write_text(body)

    yield write
    for module in [m for m in sys.modules if m.startswith("some_catalogue")]:
        del sys.modules[module]


def registry() -> Registry[Thing]:
    return Registry("thing", package="some_catalogue", attribute="THING", expected=Thing)


def test_every_module_is_found(catalogue) -> None:
    catalogue("b", "beta")
    catalogue("a", "alpha")
    assert registry().names() == ["alpha", "beta"]
    assert registry().get("beta") == Thing("beta")
    with pytest.raises(UnknownNameError, match="Did you mean 'beta'"):
        registry().get("betta")


def test_a_collision_is_refused(catalogue) -> None:
    catalogue("a", "same")
    catalogue("b", "same")
    with pytest.raises(EinthovenError, match="Two modules of some_catalogue register the thing 'same'"):
        registry().names()


def test_a_module_without_a_thing_is_named(catalogue) -> None:
    catalogue("a", None)
    with pytest.raises(EinthovenError, match=r"some_catalogue\.a .* defines no `THING` of type Thing \(found int\)"):
        registry().names()
