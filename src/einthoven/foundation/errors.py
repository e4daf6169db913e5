"""The exceptions Einthoven raises on purpose, and the words they use.

Every message says what was expected, what was found, where, and what to do next.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class EinthovenError(Exception):
    """Base of every error raised on purpose; the command line prints its message and exits with `exit_code`."""

    exit_code = 1


class UsageError(EinthovenError, ValueError):
    """What was asked for cannot be meant: an unknown name or key, a value outside its range."""

    exit_code = 2


class DataError(EinthovenError, ValueError):
    """The data are not what they claim to be: corrupt, incomplete, in the wrong unit, contradictory."""


class SignalError(DataError):
    """A signal cannot be used: wrong leads, unit, length, or samples that are not finite."""


class UnknownNameError(UsageError, KeyError):
    """A name that nothing is registered under; the message carries the nearest valid names."""

    def __str__(self) -> str:
        # KeyError would print the repr of the message.
        return str(self.args[0])


def nearest(name: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """The known names most like `name`, best first; case is ignored."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    return [by_folded[hit] for hit in get_close_matches(name.casefold(), by_folded, n=limit, cutoff=0.5)]


def unknown_name(kind: str, name: object, known: Iterable[str], *, where: str = "") -> UnknownNameError:
    """An error for a name that is not among `known`: what was found, the nearest names, then all of them."""
    options = sorted(known)
    place = f" in {where}" if where else ""
    close = nearest(str(name), options)
    hint = f" Did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
    listing = ", ".join(options) if options else "(none)"
    return UnknownNameError(f"Unknown {kind} {name!r}{place}.{hint} Known: {listing}.")
