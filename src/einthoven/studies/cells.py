"""A cell: one unit of work whose identity is the content of its specification and its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from einthoven.foundation.identity import content_key

# Raise when the meaning of stored cells changes as a whole; kinds have versions of their own.
LEDGER_PROTOCOL = 1


@dataclass(frozen=True)
class Cell:
    """One unit of work.

    Attributes:
        kind: what computes it, a name in `kind.KINDS`.
        title: for people.
        spec: everything that decides the result and is not an input; JSON-able.
        inputs: fingerprints and keys of what it reads.
        needs: keys of cells that must be finished first.
        places: where the inputs lie on this machine; **not** part of the identity.
        version: protocol version of the kind; raising it makes old results unusable, on purpose.
    """

    kind: str
    title: str
    spec: Mapping[str, Any]
    inputs: Mapping[str, str]
    version: int
    needs: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """sha256 over kind, versions, specification and inputs."""
        return content_key(self.identity())

    def identity(self) -> dict[str, Any]:
        """What the key is made of; stored as `spec.json`."""
        return {
            "ledger_protocol": LEDGER_PROTOCOL,
            "kind": self.kind,
            "version": self.version,
            "spec": dict(self.spec),
            "inputs": dict(self.inputs),
        }

    def to_json(self) -> dict[str, Any]:
        """All fields, for the plan file."""
        return {
            "key": self.key,
            "kind": self.kind,
            "title": self.title,
            "spec": dict(self.spec),
            "inputs": dict(self.inputs),
            "version": self.version,
            "needs": list(self.needs),
            "places": dict(self.places),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Cell:
        """The cell a plan file describes."""
        return cls(
            kind=values["kind"],
            title=values["title"],
            spec=values["spec"],
            inputs=values["inputs"],
            version=values["version"],
            needs=tuple(values["needs"]),
            places=values["places"],
        )
