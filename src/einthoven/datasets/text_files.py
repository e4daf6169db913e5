"""Text files of a source folder: UTF-8 or a message. Tables with a header are read by `table_files`."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from einthoven.foundation.errors import DataError

from .file_checks import LFS_POINTER, check_file, unreadable

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(file: Path, *, where: str) -> str:
    """The text of a UTF-8 file, with or without a byte-order mark; line ends as they are.

    Args:
        where: what --source must name if there is no such file: "the folder that holds it and records/".

    Raises:
        DataError: no such file, one that cannot be read, or one that is not UTF-8; the message names the byte.
    """
    if not file.is_file():
        raise DataError(f"{file} does not exist. --source must name {where}.")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise unreadable(str(file), error) from None
    if content.startswith(LFS_POINTER):
        check_file(file)
    start = len(_BOM) if content.startswith(_BOM) else 0
    try:
        text = content[start:].decode("utf-8")
        at = content.find(0)  # UTF-16 without its mark is valid UTF-8, with zeros between the letters
    except UnicodeDecodeError as error:
        text, at = "", start + error.start
    if at >= 0:
        kind = " It begins as UTF-16 does." if content.startswith(_UTF16) else ""
        raise DataError(
            f"{file} is not UTF-8 text: byte {at} is 0x{content[at]:02x}.{kind} Download it again, or save it as UTF-8."
        )
    return text


def read_rows(file: Path, *, where: str) -> list[list[str]]:
    """The rows of a CSV file that are not empty.

    Args:
        where: as in `read_text`.

    Raises:
        DataError: as `read_text`, or it is no CSV file.
    """
    reader = csv.reader(io.StringIO(read_text(file, where=where), newline=""))
    try:
        return [row for row in reader if row]
    except csv.Error as error:
        raise DataError(
            f"{file} cannot be read as a table: {error}, line {reader.line_num}. Download it again."
        ) from None
