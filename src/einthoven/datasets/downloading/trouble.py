"""A request that brought no file, and what its reader may still hope for."""

from __future__ import annotations


class Trouble(Exception):  # noqa: N818  # mostly passing, and never shown as an error of its own
    """A request that brought no file.

    Attributes:
        lasting: asking the same server again is of no use in this call.
        passing: another call later may succeed; default whatever is not lasting.
        wait: seconds after which it asked to be asked again.
        network: the way to the server is barred, so that other means than this program may still get the file.
    """

    def __init__(
        self,
        reason: str,
        *,
        lasting: bool = False,
        passing: bool | None = None,
        wait: float | None = None,
        network: bool = False,
    ) -> None:
        super().__init__(reason)
        self.lasting = lasting
        self.passing = not lasting if passing is None else passing
        self.wait = wait
        self.network = network
