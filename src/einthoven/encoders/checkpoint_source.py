"""Where an encoder's trained weights come from, and what their file looks like."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


def _compiles(pattern: str) -> str:
    re.compile(pattern)
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]


class CheckpointSource(BaseModel):
    """One released file of weights.

    Attributes:
        where: "huggingface" and "url" can be fetched; "by-hand" must be fetched in a browser (Google Drive, forms);
            "on-request" needs an agreement with the authors; "unreleased" was never given out.
        page: what to open in a browser.
        repository: on Hugging Face, "owner/name".
        revision: commit of the repository the file was described at; None where that is not known.
        file: its name there.
        url: of the file itself, for "url".
        bytes: its size, where known.
        sha256: where known; a file with another digest is refused.
        access: what one has to do to get it, one sentence.
        non_commercial: whether the licence forbids commercial use; fetching then asks for it to be accepted.
        key: of the dictionary in the file that holds the tensors, dotted; "" where the file is that dictionary.
        prefixes: taken off the front of tensor names, each once, in this order, where they are there.
        only: names must begin with this to be read (an encoder inside a larger model); it is taken off, too.
        rename: (pattern, replacement) applied to every name, in this order, with `re.sub`.
        unused: patterns that match whole released names, after `prefixes`, which the encoder does not need.
        second_names: patterns that match whole released names, after `prefixes` and `only`, under which a tensor is
            given a second time; `rename` gives both the same name, and a file whose two values differ is refused.
        globals: names of harmless classes the file's pickle may hold beside tensors ("argparse.Namespace").
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    where: Literal["huggingface", "url", "by-hand", "on-request", "unreleased"]
    page: str
    repository: str | None = None
    revision: str | None = None
    file: str = Field(min_length=1)
    url: str | None = None
    bytes: int | None = None
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    access: str = Field(min_length=1)
    non_commercial: bool
    key: str = ""
    prefixes: tuple[str, ...] = ()
    only: str = ""
    rename: tuple[tuple[Pattern, str], ...] = ()
    unused: tuple[Pattern, ...] = ()
    second_names: tuple[Pattern, ...] = ()
    globals: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.where == "huggingface" and not self.repository:
            raise ValueError("a checkpoint on Hugging Face needs `repository`")
        if self.where == "url" and not self.url:
            raise ValueError("a checkpoint at an address needs `url`")
        return self

    @property
    def fetchable(self) -> bool:
        """Whether a program can fetch it."""
        return self.where in ("huggingface", "url")

    def names(self, released: Iterable[str]) -> dict[str, str]:
        """Name in the file -> name in the network, without those that are not used.

        Raises:
            ValueError: two names of the file come to mean the same tensor, and neither is one of `second_names`.
        """
        given: dict[str, str] = {}
        taken: dict[tuple[str, bool], str] = {}
        for name in released:
            own = name
            for prefix in self.prefixes:
                own = own.removeprefix(prefix)
            if any(re.fullmatch(pattern, own) for pattern in self.unused) or not own.startswith(self.only):
                continue
            own = own.removeprefix(self.only)
            second = any(re.fullmatch(pattern, own) for pattern in self.second_names)
            for pattern, replacement in self.rename:
                own = re.sub(pattern, replacement, own)
            if (own, second) in taken:
                raise ValueError(f"{taken[own, second]} and {name} are both {own}")
            taken[own, second] = name
            given[name] = own
        return given
