"""A catalogue is a package with one module for each thing; a registry finds them by name.

Adding a thing is adding a module: nobody edits a list. Other installed packages add theirs by an entry point whose
group is the registry's. Modules of a catalogue are imported when the registry is first asked, so they import heavy
libraries inside their functions, not at their top.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cached_property
from importlib.metadata import entry_points
from typing import Generic, Protocol, TypeVar

from .errors import EinthovenError, unknown_name


class Named(Protocol):
    """Anything a registry can hold."""

    @property
    def name(self) -> str:
        """The name it is asked for by."""
        ...


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """The things that the modules of one package define under one attribute, one or a tuple of them.

    Args:
        kind: what they are, for messages: "dataset", "encoder".
        package: dotted name of the catalogue.
        attribute: the module-level name each module of it defines.
        expected: the type of that attribute.
        group: entry points through which other installed packages add things; None if they cannot.
    """

    def __init__(self, kind: str, *, package: str, attribute: str, expected: type[T], group: str | None = None) -> None:
        self.kind = kind
        self._package = package
        self._attribute = attribute
        self._expected = expected
        self._group = group

    @cached_property
    def _things(self) -> dict[str, T]:
        package = importlib.import_module(self._package)
        found: dict[str, T] = {}
        for module_info in pkgutil.iter_modules(package.__path__):
            module_name = f"{self._package}.{module_info.name}"
            try:
                module = importlib.import_module(module_name)
            except Exception as error:  # whatever a module does when it is imported, its name must be said
                raise EinthovenError(
                    f"{module_name}, in the {self.kind} catalogue, cannot be imported: "
                    f"{type(error).__name__}: {error}. Mend the module or take it out. "
                    "Heavy libraries belong inside its functions."
                ) from error
            defined = getattr(module, self._attribute, None)
            for thing in defined if isinstance(defined, tuple) and defined else (defined,):
                if not isinstance(thing, self._expected):
                    raise EinthovenError(
                        f"{module_name} is in the {self.kind} catalogue but defines no `{self._attribute}` of type "
                        f"{self._expected.__name__} (found {type(thing).__name__})."
                    )
                if thing.name in found:
                    raise EinthovenError(f"{self._package} registers the {self.kind} {thing.name!r} twice.")
                found[thing.name] = thing
        for name, thing in self._from_other_packages():
            if thing.name in found:
                raise EinthovenError(
                    f"The entry point {name} of {self._group} adds the {self.kind} {thing.name!r}, which exists. "
                    "Give it another name, or uninstall its package."
                )
            found[thing.name] = thing
        return dict(sorted(found.items()))

    def _from_other_packages(self) -> Iterator[tuple[str, T]]:
        for entry in entry_points(group=self._group) if self._group else ():
            try:
                thing = entry.load()
            except Exception as error:  # as above; it is somebody else's code
                raise EinthovenError(
                    f"The entry point {entry.name} of {self._group} ({entry.value}) cannot be loaded: "
                    f"{type(error).__name__}: {error}. Mend or uninstall the package that has it."
                ) from error
            if not isinstance(thing, self._expected):
                raise EinthovenError(
                    f"The entry point {entry.name} of {self._group} ({entry.value}) is a {type(thing).__name__}; "
                    f"{self._expected.__name__} was expected."
                )
            yield entry.name, thing

    def names(self) -> list[str]:
        """All registered names, sorted."""
        return list(self._things)

    def get(self, name: str, *, where: str = "") -> T:
        """The thing called `name`.

        Raises:
            UnknownNameError: nothing has that name; the message gives the nearest ones.
        """
        try:
            return self._things[name]
        except KeyError:
            raise unknown_name(self.kind, name, self._things, where=where) from None

    def __iter__(self) -> Iterator[T]:
        return iter(self._things.values())

    def __len__(self) -> int:
        return len(self._things)
