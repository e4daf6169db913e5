"""What can be said of a source file before its content is looked at: it is there, it may be read, it is the file."""

from __future__ import annotations

from pathlib import Path

from einthoven.foundation.errors import DataError

# How a git-lfs pointer begins: a few lines of text in the place of a file that was never fetched.
LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def check_file(file: Path, *, where: str = "") -> bytes:
    """Refuse a file that does not exist, cannot be read, is empty, or is a git-lfs pointer instead of the file itself.

    Args:
        where: what the file is of, for messages.

    Returns:
        its first bytes, as many as a pointer begins with.

    Raises:
        DataError: with what to do.
    """
    place = place_of(file, where)
    if not file.is_file():
        raise DataError(f"{place} does not exist.")
    try:
        with file.open("rb") as stream:
            head = stream.read(len(LFS_POINTER))
    except OSError as error:
        raise unreadable(place, error) from None
    if not head:
        raise DataError(f"{place} is empty. Download or export it again.")
    if head.startswith(LFS_POINTER):
        raise DataError(
            f"{place} is a git-lfs pointer (a few lines of text), not the file itself. Run `git lfs pull` in the "
            "folder it was cloned to, or download the file from its source."
        )
    return head


def unreadable(place: str, error: OSError) -> DataError:
    """What to tell of a file that the system does not give."""
    return DataError(
        f"{place} cannot be read ({error.strerror or error}). Check who may read it, and that its disk is well."
    )


def place_of(file: Path, where: str) -> str:
    """A file and what it is of, for messages."""
    return f"{file} of {where}" if where else str(file)


def reason_of(error: Exception) -> str:
    """An error of another library as a sentence; some have no words."""
    text = str(error) or type(error).__name__
    return text if text.endswith((".", "!")) else f"{text}."
