"""One value of a text that nearly is JSON, read with allowances and never guessed.

Allowed are a comma before a closing bracket, curly and full-width quotes and signs, quotes inside a
string that no comma, colon or closing bracket follows, and what `Allowances` has. Outside of
strings only those signs are changed; inside, full-width commas and curly quotes are content. Text
that is cut off is no value, never a shorter one.
"""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

BLANK = r"[ \t\r\n\u3000\ufeff]*"
QUOTES = "\"'“”＂"
_TOKEN = re.compile(
    rf"""{BLANK}(?:
    (?P<open>[{{｛\[［【]) | (?P<close>[}}｝\]］】]) | (?P<comma>[,，、]) | (?P<colon>[:：])
    | (?P<quote>[{QUOTES}]) | (?P<word>-?[A-Za-z]+)
    | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![\w.])
    | (?P<end>\Z))""",
    re.VERBOSE,
)
_CLOSER_OF = {**dict.fromkeys("{｛", "}｝"), **dict.fromkeys("[［【", "]］】")}
_NEXT = re.compile(r"[ \t\r\n\u3000]*(.?)", re.DOTALL)
_STRUCTURAL = ",，、:：]］】}｝"
_SIGN = re.compile(r'\\.|["“”＂{}｛｝]', re.DOTALL)
_PYTHON_STRING = re.compile(r"'([^'\\\n]*(?:\\[^\n][^'\\\n]*)*)'")
_TO_ESCAPE = re.compile(r"\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})|\\'|[\\\"]")
_WORDS = {"true": True, "false": False, "null": None}
_WORDS_OF_PYTHON = {"True": True, "False": False, "None": None}
_UNKNOWN_BACKSLASHES = {"\\'": "'", "\\": "\\\\"}
_CONSTANTS = ("NaN", "Infinity", "-Infinity")
DEEPEST = 100


class Allowances(NamedTuple):
    """What is read that is no JSON, beside curly and full-width signs and commas before closers.

    Attributes:
        python: quotes and literals of Python.
        inner_quotes: quotes inside a string, where no comma, colon or closing bracket follows.
        braces: beside quotes inside a string. In prose it may be another object that they begin.
        backslashes: those that JSON does not know, as text.
    """

    python: bool = True
    inner_quotes: bool = True
    braces: bool = False
    backslashes: bool = True


class NotJsonError(ValueError):
    """A text holds no value at a place.

    Attributes:
        place: up to which it was read.
        resume: where the search for another value goes on; None if there can be none.
    """

    def __init__(self, reason: str, place: int, resume: int | None) -> None:
        super().__init__(reason)
        self.place = place
        self.resume = resume


def tolerant_value(
    text: str, start: int, allow: Allowances, decoder: json.JSONDecoder
) -> tuple[Any, int]:
    """Return the value that begins at a place, with all allowances, and where it ends.

    Args:
        text: in which it stands.
        start: where it begins.
        allow: what is forgiven.
        decoder: whose hooks make numbers, constants and, of pairs, objects.

    Raises:
        NotJsonError: there is none.
        ValueError: a hook refuses what it is given.
    """
    return _Tolerant(text, start, allow, decoder).read()


class _Open:
    """An array or object that is not closed yet."""

    def __init__(self, sign: str) -> None:
        self.is_list = sign in "[［【"
        self.closers = _CLOSER_OF[sign]
        self.parts: list[Any] = []
        self.pairs: list[tuple[str, Any]] = []
        self.key = ""


class _Tolerant:
    """One value, read token by token."""

    def __init__(self, text: str, start: int, allow: Allowances, decoder: json.JSONDecoder) -> None:
        self._text, self._start = text, start
        self._allow, self._decoder = allow, decoder
        self._words = {**_WORDS, **(_WORDS_OF_PYTHON if allow.python else {})}
        self._escapes = {'"': '\\"', **(_UNKNOWN_BACKSLASHES if allow.backslashes else {})}
        # Behind a string that does not fit, the search goes on inside of it.
        self._string_at: int | None = None

    def read(self) -> tuple[Any, int]:
        """Return the value, and where it ends."""
        stack: list[_Open] = []
        place, due = self._start, "value"
        while True:
            kind, token, at, place = self._token(place)
            top = stack[-1] if stack else None
            if due == "key" and kind == "quote" and top is not None:
                top.key, place = self._string(at, is_key=True)
                due = "colon"
            elif due == "colon" and kind == "colon":
                due = "value"
            elif due == "next" and kind == "comma" and top is not None:
                due = "value" if top.is_list else "key"
            elif due == "value" and kind == "open":
                if len(stack) == DEEPEST:
                    raise NotJsonError("nested too deeply", at, None)
                stack.append(_Open(token))
                due = "value" if stack[-1].is_list else "key"
            else:
                if due == "value" and kind in ("quote", "word", "number"):
                    value, place = self._scalar(kind, token, at, place)
                elif (
                    kind == "close"
                    and top is not None
                    and token in top.closers
                    and (due in ("next", "key") or (due == "value" and top.is_list))
                ):
                    stack.pop()
                    value = top.parts if top.is_list else self._decoder.object_pairs_hook(top.pairs)
                else:
                    raise self._broken(at)
                if not stack:
                    return value, place
                if stack[-1].is_list:
                    stack[-1].parts.append(value)
                else:
                    stack[-1].pairs.append((stack[-1].key, value))
                due = "next"
            if kind != "quote":
                self._string_at = None

    def _token(self, place: int) -> tuple[str, str, int, int]:
        """Return the kind of the next token, its text, where it begins, and where it ends."""
        found = _TOKEN.match(self._text, place)
        if found is None:
            raise self._broken(place)
        kind = str(found.lastgroup)
        if kind == "end":
            raise NotJsonError("the text is cut off", len(self._text), None)
        return kind, found[kind], found.start(kind), found.end()

    def _broken(self, at: int) -> NotJsonError:
        resume = at if self._string_at is None else self._string_at + 1
        return NotJsonError("no JSON", at, max(resume, self._start + 1))

    def _scalar(self, kind: str, token: str, at: int, place: int) -> tuple[Any, int]:
        if kind == "quote":
            return self._string(at)
        if kind == "number":
            decoder = self._decoder
            hook = decoder.parse_int if token.lstrip("-").isdigit() else decoder.parse_float
            return hook(token), place
        if token in _CONSTANTS:
            return self._decoder.parse_constant(token), place
        if token not in self._words:
            raise self._broken(at)
        return self._words[token], place

    def _string(self, at: int, *, is_key: bool = False) -> tuple[str, int]:
        """Return the string that opens at a place, and where it ends."""
        self._string_at = at
        end = self._end_of_string(at)
        written = self._text[at + 1 : end - 1]
        if is_key and "\n" in written:
            # Records are cut off in the middle of a key, and the next line was taken for it.
            raise NotJsonError("a key runs over the end of a line", end, at + 1)
        try:
            fixed = _TO_ESCAPE.sub(lambda sign: self._escapes.get(sign[0], sign[0]), written)
            return json.loads(f'"{fixed}"', strict=False), end
        except ValueError:
            raise NotJsonError("a backslash that JSON does not know", end, at + 1) from None

    def _end_of_string(self, at: int) -> int:
        opener = self._text[at]
        if opener == "'":
            return self._end_of_python_string(at)
        depth, has_quote, has_brace = 0, False, False
        end = at + 1
        while found := _SIGN.search(self._text, end):
            sign, end = found[0], found.end()
            if self._closes(opener, sign, end, depth):
                return end
            depth = max(0, depth + {"“": 1, "”": -1}.get(sign, 0))
            has_quote = has_quote or sign in '"＂'
            has_brace = has_brace or sign in "{}｛｝"
            if has_quote and has_brace and not self._allow.braces:
                raise NotJsonError("a brace beside a quote in a string", end, at + 1)
        raise NotJsonError("the text ends inside a string", len(self._text), None)

    def _end_of_python_string(self, at: int) -> int:
        if not self._allow.python:
            raise self._broken(at)
        found = _PYTHON_STRING.match(self._text, at)
        if found is None:
            line = self._text.find("\n", at)
            is_cut = line < 0
            end, resume = (len(self._text), None) if is_cut else (line, at + 1)
            raise NotJsonError("a string does not end", end, resume)
        return found.end()

    def _closes(self, opener: str, sign: str, behind: int, depth: int) -> bool:
        """Tell whether a sign of a string closes it: one that has what follows a string behind."""
        if sign not in ('"＂' if opener == "＂" else '"”'):
            return False
        if opener == sign == '"' and not self._allow.inner_quotes:
            return True
        found = _NEXT.match(self._text, behind)
        following = found[1] if found else ""
        if opener == '"' and sign == "”":
            return depth == 0 and following != "" and following in "]］】"
        is_end = following == "" or following in _STRUCTURAL
        return is_end and (depth == 0 or opener in '"＂')
