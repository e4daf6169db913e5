"""Names that become names of files and folders: of cohorts, tasks, split rules, studies."""

from __future__ import annotations

import re

PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
RULE = "letters, digits, '.', '_' and '-' only, a letter or digit first, 100 at most"
_NAME = re.compile(PATTERN)


def is_name(text: object) -> bool:
    """Whether a text may be such a name.

    Example:
        >>> is_name("ptbxl-100hz"), is_name("../x"), is_name("")
        (True, False, False)
    """
    return isinstance(text, str) and _NAME.fullmatch(text) is not None
