"""All registered encoders, and how one is built by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from einthoven.foundation.registry import Registry

from .card import EncoderCard
from .contract import Encoder, MetadataEncoder

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class EncoderEntry:
    """An encoder before it is built.

    Attributes:
        build: takes every parameter of the card by keyword; imports what it needs when it is called.
        network: gives the class of its network, whose weights can be converted; None where there are none.
    """

    card: EncoderCard
    build: Callable[..., Encoder | MetadataEncoder]
    network: Callable[[], type[nn.Module]] | None = None

    @property
    def name(self) -> str:
        """The name on its card."""
        return self.card.name

    def built(self, **parameters: object) -> Encoder | MetadataEncoder:
        """The encoder with some parameters given and the others at their defaults.

        Raises:
            UnknownNameError: no parameter has that name.
            UsageError: a value of the wrong type or out of range.
        """
        return self.build(**self.card.check_parameters(parameters))


ENCODERS: Registry[EncoderEntry] = Registry(
    "encoder",
    package="einthoven.encoders.catalogue",
    attribute="ENCODER",
    expected=EncoderEntry,
    group="einthoven.encoders",
)


def find_encoder(name: str) -> EncoderEntry:
    """An encoder before it is built: a registered one, or one from a file of the user's own.

    Args:
        name: a registered name; or a file as `own.opening.open_own` takes it ("mine.py:MyEncoder", "model.yaml",
            "embeddings.parquet"). A Python file is run.

    Raises:
        UnknownNameError: no encoder has that name.
        UsageError: the file is not there, or is not one an encoder can be made of.
        DataError: what the file holds is damaged.
    """
    from .own.reference import is_own

    if not is_own(name):
        return ENCODERS.get(name)
    from .own.opening import open_own

    return open_own(name)


def build_encoder(name: str, /, **parameters: object) -> Encoder | MetadataEncoder:
    """A frozen encoder, ready to embed.

    Args:
        name: a registered encoder, or a file of your own; see `find_encoder`.
        parameters: values for the parameters on its card; the others keep their defaults.

    Raises:
        UnknownNameError: no encoder, or no parameter, has that name.
        UsageError: a value of the wrong type or out of range.

    Example:
        >>> build_encoder("age-sex").dimension
        6
    """
    return find_encoder(name).built(**parameters)
