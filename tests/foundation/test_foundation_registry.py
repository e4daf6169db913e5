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
    with pytest.raises(EinthovenError, match="some_catalogue registers the thing 'same' twice"):
        registry().names()


def test_a_module_without_a_thing_is_named(catalogue) -> None:
    catalogue("a", None)
    with pytest.raises(EinthovenError, match=r"some_catalogue\.a .* defines no `THING` of type Thing \(found int\)"):
        registry().names()


class Entry:
    """What the registry uses of an entry point."""

    name, value = "theirs", "their.module:THING"

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def load(self) -> object:
        if isinstance(self.thing, Exception):
            raise self.thing
        return self.thing


def entered(monkeypatch, *things: object) -> None:
    def entries(*, group: str) -> list[Entry]:
        assert group == "einthoven.encoders"
        return [Entry(thing) for thing in things]

    monkeypatch.setattr("einthoven.foundation.registry.entry_points", entries)


def test_other_packages_add_things_by_entry_points(monkeypatch) -> None:
    from einthoven.encoders.registry import ENCODERS, EncoderEntry

    def fresh() -> Registry[EncoderEntry]:
        return Registry(
            "encoder", package="einthoven.encoders.catalogue", attribute="ENCODER", expected=EncoderEntry,
            group="einthoven.encoders",
        )  # fmt: skip

    age_sex = ENCODERS.get("age-sex")
    theirs = EncoderEntry(card=age_sex.card.model_copy(update={"name": "theirs"}), build=age_sex.build)
    entered(monkeypatch, theirs)
    assert fresh().get("theirs") is theirs
    assert "age-sex" in fresh().names()
    for thing, message in [
        (age_sex, "adds the encoder 'age-sex', which exists"),
        (ImportError("no module their"), r"\(their\.module:THING\) cannot be loaded: ImportError: no module their"),
        ("a string", "is a str; EncoderEntry was expected"),
    ]:
        entered(monkeypatch, thing)
        with pytest.raises(EinthovenError, match=message):
            fresh().names()
