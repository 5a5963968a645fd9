"""What endpoints write when they fail, read in the layouts that are in use.

Words count only where they are the endpoint's own: many repeat the request, and a patient's note
may say that a balance is insufficient.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.resources import files
from itertools import count
from typing import Any

VENDORS = tomllib.loads(
    files("medeval.inference").joinpath("endpoint_errors.toml").read_text(encoding="utf-8")
)
# Of each kind the words that vendors have for it.
FINISH_REASONS = {kind: frozenset(words) for kind, words in VENDORS["finish_reasons"].items()}
CODES = {kind: frozenset(words) for kind, words in VENDORS["codes"].items()}
TEXTS = {kind: re.compile("|".join(t), re.IGNORECASE) for kind, t in VENDORS["texts"].items()}

_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_SECONDS_IN = {"hours": 3600, "minutes": 60, "seconds": 1}
_WORD = re.compile(r"[a-z0-9_]{1,99}|[^\W\x00-\x7F]", re.IGNORECASE)
# So many words in a row that stand in the request are repeated from there, and fewer in quotes.
_QUOTED = 4
_IN_QUOTES = re.compile(r"(?<!\w)(['\"`])([^'\"`]{2,})\1(?!\w)|[\u201c\u300c]([^\u201d\u300d]{2,})")


class Words:
    """What an endpoint says, without what it repeats of the request.

    Args:
        text: as it came.
        asked: all texts of the request.

    Attributes:
        own: the text with an ellipsis for what stands in the request too: each word of four in a
            row, and what it puts in quotes.
    """

    def __init__(self, text: str, asked: str) -> None:
        self._asked = _plain(asked)
        text = _IN_QUOTES.sub(self._without_a_quote, text)
        repeated = set(_rows(_WORD.findall(self._asked)))
        rows = enumerate(_rows([word.lower() for word in _WORD.findall(text)]))
        quoted = {n + k for n, row in rows if row in repeated for k in range(_QUOTED)}
        number = count()
        self.own = _WORD.sub(lambda word: "\u2026" if next(number) in quoted else word[0], text)

    def _without_a_quote(self, quote: re.Match[str]) -> str:
        inside = _plain(quote[2] or quote[3])
        return "\u2026" if " " in inside and inside in self._asked else quote[0]

    def find(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the first place where they are like a pattern and no part of the request."""
        found = pattern.finditer(self.own)
        return next((match for match in found if _plain(match[0]) not in self._asked), None)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _rows(words: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield each four words in a row."""
    return zip(*(words[start:] for start in range(_QUOTED)), strict=False)


def json_or_none(body: str) -> Any:
    """Return what a body says as JSON; None if it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def error_of(read: Any) -> Mapping[str, Any]:
    """Return the error object of a body that was read, in the layouts in use; empty without one."""
    if isinstance(read, list) and read:
        read = read[0]
    if not isinstance(read, Mapping):
        return {}
    error = read.get("error")
    if isinstance(error, Mapping):
        return error
    if isinstance(error, str) and error:
        return {**read, "message": read.get("message") or error}
    return read if read.get("object") == "error" else {}


def word(value: object) -> str:
    """Return a code if it is one word, else nothing: anything longer may be text of the prompt."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if re.fullmatch(r"[\w.\[\]-]{1,60}", text) else ""


def retry_after_of(headers: Mapping[str, str], body: Words, now: datetime | None) -> float | None:
    """Return the seconds that an endpoint asks to wait, by a header or in the body.

    Args:
        headers: with names in lower case.
        body: what it says.
        now: for a Retry-After that is a date; None for this moment.

    Returns:
        None if it does not say.
    """
    for name, in_a_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        if _NUMBER.fullmatch(headers.get(name, "").strip()):
            return float(headers[name]) / in_a_second
    if told := headers.get("retry-after", "").strip():
        try:
            moment = parsedate_to_datetime(told)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
        except (ValueError, OverflowError, TypeError):
            pass  # no moment of this calendar; the body may say it better
    delay = body.find(TEXTS["delay"])
    return float(delay[1]) if delay else None


def wait_told_in(message: Words) -> float | None:
    """Return the seconds that a sentence asks to wait; None if it asks for none.

    Args:
        message: of an endpoint that takes no more for now.
    """
    told = message.find(TEXTS["wait"])
    if told is None or not any(told.groups()):
        return None
    whole = sum(float(told[unit] or 0) * seconds for unit, seconds in _SECONDS_IN.items())
    return whole + float(told["milliseconds"] or 0) / 1000
