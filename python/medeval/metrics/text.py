"""Plain text out of whatever a record holds, and the few character rules all metrics share."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

# Han, kana and Hangul: scripts in which a character, not a run between spaces, is a token.
CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003fffd"
)
_ANY_CJK = re.compile(f"[{CJK}]")
# Runs of letters and digits, and each CJK character for itself.
WORD = re.compile(f"[{CJK}]|[^\\W_{CJK}]+")
_ACCENTED = re.compile("([a-zA-Z])[\u0300-\u036f]+")
# Latin letters that Unicode does not decompose.
_LIGATURES = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L"}
)


class Agreement(NamedTuple):
    """How far a hypothesis has what its reference has: precision, recall, their harmonic mean."""

    precision: float
    recall: float
    f: float


def text_of(value: object) -> str:
    """Return the text of a value: "" for nothing, one line per member of a list or mapping."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (Mapping, list, tuple)):
        members = value.values() if isinstance(value, Mapping) else value
        return "\n".join(map(text_of, members))
    return str(value)


def has_cjk(text: str) -> bool:
    """Tell whether the text has a Chinese, Japanese or Korean character."""
    return _ANY_CJK.search(text) is not None


def fold_accents(text: str) -> str:
    """Return the text with accented Latin letters as their base letters.

    Marks on other scripts stay: a Japanese voicing mark makes another syllable.
    """
    bare = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", text.translate(_LIGATURES)))
    return unicodedata.normalize("NFC", bare)


def vocabulary(name: str) -> dict[str, Any]:
    """Return a table that comes with this package: what is meant, and its spellings."""
    path = files("medeval.metrics").joinpath("data", f"{name}.json")
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table
