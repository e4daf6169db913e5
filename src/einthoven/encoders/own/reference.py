"""How a file of the user's own is named where an encoder is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PYTHON = (".py",)
DESCRIPTION = (".yaml", ".yml")
TORCHSCRIPT = (".pt", ".pth", ".ts", ".torchscript")
ONNX = (".onnx",)
EMBEDDINGS = (".parquet", ".npy")
SUFFIXES = (*PYTHON, *DESCRIPTION, *TORCHSCRIPT, *ONNX, *EMBEDDINGS)


@dataclass(frozen=True)
class OwnReference:
    """A file, and what in it is meant.

    Attributes:
        path: of the file, as it was given.
        thing: the name after the colon of "mine.py:MyEncoder"; "" where there is none.
    """

    path: Path
    thing: str = ""

    @classmethod
    def parse(cls, text: str) -> OwnReference:
        """From "mine.py:MyEncoder", "mine.py", "model.yaml".

        Example:
            >>> OwnReference.parse("nets/mine.py:MyEncoder").thing
            'MyEncoder'
        """
        before, colon, after = text.rpartition(":")
        # A colon may also be that of a drive: C:\\mine.py
        if colon and before.casefold().endswith(PYTHON):
            return cls(Path(before), after)
        return cls(Path(text))

    def __str__(self) -> str:
        return f"{self.path}:{self.thing}" if self.thing else str(self.path)

    def absolute(self, *, beside: Path | None = None) -> OwnReference:
        """The same with an absolute path.

        Args:
            beside: a folder in which a relative path is looked for before the current one.
        """
        path = self.path.expanduser()
        if beside is not None and not path.is_absolute() and (beside / path).is_file():
            path = beside / path
        return OwnReference(path.resolve(), self.thing)


def is_own(name: str) -> bool:
    """Whether what stands for an encoder is a file, and not a registered name (which has no dot).

    Example:
        >>> is_own("mine.py:MyEncoder"), is_own("embeddings.parquet"), is_own("age-sex")
        (True, True, False)
    """
    return OwnReference.parse(name).path.suffix.casefold() in SUFFIXES
