r"""Halves of surrogate pairs in texts, which no file and no request in UTF-8 can hold.

A model that is cut off in the midst of an emoji writes one half of it as an escape of JSON
("\ud83d"); JSON allows that (RFC 8259, section 8.2), Unicode's encoding forms do not.
"""

from __future__ import annotations

import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """Return a text with U+FFFD for each half of a surrogate pair; two halves become one."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_json(value: Any) -> Any:
    """Return a value as JSON has them with all its texts, names of fields among them, whole.

    Raises:
        RecursionError: it is nested too deep.
    """
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [whole_json(each) for each in value]
    if isinstance(value, tuple):
        return tuple(whole_json(each) for each in value)
    if isinstance(value, dict):
        return {whole_json(name): whole_json(each) for name, each in value.items()}
    return value
