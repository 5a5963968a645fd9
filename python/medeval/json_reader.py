"""The one reader of JSON in what models and people write; that of files is in `files`.

JSON is read as strict JSON first. Only where that fails, allowances are made: fences and
prose around it, a comma before a closing bracket, quotes and literals of Python, curly and
full-width quotes and signs, quotes inside a string that no comma, colon or closing bracket follows,
and backslashes that JSON does not know. Outside of strings only signs are changed; inside,
full-width commas and curly quotes are content. Nothing is guessed: what is cut off or broken is no
value and nothing inside it is read, and an object in which a key stands twice is unclear.
"""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from medeval.files import toml_beside
from medeval.text import NO_VALUE, compiled, whole_json

# The signs of the text, the words that are values, and which token can stand where.
_TABLES = toml_beside(__file__, "json_reader.toml")
_PATTERNS = compiled(_TABLES["patterns"], _TABLES["parts"])
QUOTES: str = _TABLES["parts"]["quotes"]
DEEPEST = 100
_MOST_DIGITS = 4300
# Text in which so many times its length is read in vain is no reply.
_MOST_IN_VAIN = 4
# For an error the decoder counts the lines from the beginning of what it was given.
_WINDOW = 4096


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


REPLY = Allowances()


class Read(NamedTuple):
    """A value of a text.

    Attributes:
        value: as Python has it, its texts without halves of surrogate pairs. Members that are no
            value (NaN, a number beyond all bounds) are left out.
        start: where it begins.
        end: where it ends, exclusive.
        is_clear: no key stands twice in an object.
        is_strict: it is JSON as it stands.
    """

    value: Any
    start: int
    end: int
    is_clear: bool
    is_strict: bool


class Found(NamedTuple):
    """An object of a reply that is what was looked for, or that wraps it.

    Attributes:
        members: of it, by folded key.
        read: the object as it stands in the text.
        is_clear: no key stands twice in it, and it is the only one that its object wraps.
    """

    members: dict[str, Any]
    read: Read
    is_clear: bool


# Tells by its folded keys whether an object is what is looked for.
Fits = Callable[[Mapping[str, Any]], object]


def last_object(text: str, names: Iterable[str], fits: Fits) -> Found | None:
    """Return the last object of a reply that fits: models correct themselves.

    It is None where none fits, where the last one is unclear, and where one of the names stands as
    a key behind it, since then a later answer is broken or cut off.

    Args:
        text: of the reply, without its thinking.
        names: of keys that an answer has.
        fits: tells an object, by its folded keys, that is an answer.
    """
    for found in (fitting(read, fits) for read in reversed(list(objects_in(text)))):
        if found is not None:
            either = "|".join(re.escape(name).replace("_", r"[\s_-]") for name in names)
            key = rf"[{QUOTES}]\s{{0,9}}(?:{either})\s{{0,9}}[{QUOTES}]\s{{0,9}}[:：]"
            later = re.compile(key, re.IGNORECASE).search(text, found.read.end)
            return found if found.is_clear and later is None else None
    return None


def fitting(read: Read, fits: Fits, allow: Allowances = REPLY) -> Found | None:
    """Return an object that fits, or the one that it wraps, by folded keys; None for any other.

    A wrapper has one level: the members of an object, which may be written as text. What stands in
    a list of an object is a candidate, no answer.
    """
    members = folded(read.value)
    if fits(members):
        return Found(members, read, read.is_clear)
    wrapped = []
    for value in members.values():
        inner = Read(value, 0, 0, True, True) if isinstance(value, dict) else None
        if isinstance(value, str) and _PATTERNS["start"].match(value.lstrip()):
            inner = whole_value(value, allow)
        if inner is not None and fits(own := folded(inner.value)):
            wrapped.append(Found(own, read, read.is_clear and inner.is_clear))
    if not wrapped:
        return None
    return wrapped[-1]._replace(is_clear=wrapped[-1].is_clear and len(wrapped) == 1)


def objects_in(text: str, allow: Allowances = REPLY) -> Iterator[Read]:
    """Yield the objects of a text in their order; of objects in objects the outer ones."""
    values = Values(text, allow)
    place: int | None = 0
    while place is not None and (start := _PATTERNS["start"].search(text, place)):
        try:
            read = values.at(start.start())
        except NotJsonError as error:
            place = error.resume
        else:
            yield read
            place = read.end


def list_in(text: str) -> Any:
    """Return the list that a reply is, or that its last fenced block is; None if there is none.

    A list with objects in it is none: they are read by themselves.
    """
    for part in (text, *reversed(_PATTERNS["fenced"].findall(text))):
        if _PATTERNS["list"].match(part) and (read := whole_value(part)):
            return None if any(isinstance(each, dict) for each in read.value) else read.value
    return None


def whole_value(text: str, allow: Allowances = REPLY) -> Read | None:
    """Return the one value that a text is, with nothing but blanks around it; else None."""
    try:
        read = Values(text, allow).at(len(text) - len(text.lstrip()))
    except NotJsonError:
        return None
    return None if text[read.end :].strip() else read


def folded(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with its keys folded: trimmed, in one case, parted by underscores."""
    return {fold_key(key): each for key, each in value.items()}


def fold_key(key: str) -> str:
    """Return a key as keys are compared."""
    return re.sub(r"[\s_-]+", "_", key.strip().casefold())


class Values:
    """Reads the values at places of a text, in time that grows as the text does.

    Args:
        text: in which they stand; places only ever come further behind.
        allow: what is forgiven.
    """

    def __init__(self, text: str, allow: Allowances) -> None:
        # Not strict: raw line breaks inside strings are common and harmless.
        self._decoder = json.JSONDecoder(
            strict=False,
            object_pairs_hook=self._object,
            parse_float=lambda text: x if math.isfinite(x := float(text)) else NO_VALUE,
            # Python reads no more digits.
            parse_int=lambda text: int(text) if len(text) < _MOST_DIGITS else NO_VALUE,
            parse_constant=lambda _: NO_VALUE,
        )
        self._text, self._allow, self._rest, self._begin = text, allow, text, 0
        self._left = _MOST_IN_VAIN * len(text) + _WINDOW

    def at(self, place: int) -> Read:
        """Return the value that begins at a place.

        Raises:
            NotJsonError: there is none.
        """
        if place - self._begin >= _WINDOW:
            self._rest, self._begin = self._rest[place - self._begin :], place
        self._is_clear = is_strict = True
        try:
            value, end = self._decoder.raw_decode(self._rest, place - self._begin)
            end += self._begin
        except (ValueError, RecursionError):
            self._is_clear, is_strict = True, False
            try:
                value, end = tolerant_value(self._text, place, self._allow, self._decoder)
            except NotJsonError as error:
                self._left -= error.place - place
                if self._left < 0:
                    raise NotJsonError("broken too often to be read", error.place, None) from None
                raise
        try:
            value = whole_json(value, DEEPEST)
        except RecursionError:
            raise NotJsonError("nested too deeply", end, None) from None
        if value is NO_VALUE:
            raise NotJsonError("a number that is none", end, end)
        return Read(value, place, end, self._is_clear, is_strict)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        self._is_clear = self._is_clear and len({fold_key(key) for key, _ in pairs}) == len(pairs)
        return dict(pairs)


def tolerant_value(
    text: str, start: int, allow: Allowances, decoder: json.JSONDecoder
) -> tuple[Any, int]:
    """Return the value that begins at a place, with all allowances, and where it ends.

    Args:
        text: in which it stands.
        start: where it begins.
        allow: what is forgiven.
        decoder: makes a value of the JSON that it becomes.

    Raises:
        NotJsonError: there is none.
        ValueError: the decoder refuses what it is given.
    """
    words = _TABLES["words"] | (_TABLES["words_of_python"] if allow.python else {})
    next_token, allowed = _PATTERNS["token"].match, _TABLES["allowed"]
    written: list[str] = []
    closers: list[str] = []
    expected, place = "value", start
    # Behind a string that does not fit, the search goes on inside of it.
    string_at: int | None = None
    while True:
        token = next_token(text, place)
        kind = str(token.lastgroup) if token else ""
        sign, at = (token[kind], token.start(kind)) if token else ("", place)
        if kind == "end":
            raise NotJsonError("the text is cut off", len(text), None)
        if (
            token is None
            or kind not in allowed[expected]
            or (kind == "close" and sign not in closers[-1])
            or (kind == "word" and sign not in words)
            or (sign == "'" and not allow.python)
        ):
            resume = at if string_at is None else string_at + 1
            raise NotJsonError("no JSON", at, max(resume, start + 1))
        place, string_at = token.end(), None
        if kind == "quote":
            string, place = _string(text, at, allow, is_key=expected == "key")
            written.append(json.dumps(string))
            expected, string_at = "colon" if expected == "key" else "comma", at
        elif kind == "open":
            if len(closers) == DEEPEST:
                raise NotJsonError("nested too deeply", at, None)
            closers.append(_TABLES["closers"][sign])
            written.append("[" if "]" in closers[-1] else "{")
            expected = "element" if "]" in closers[-1] else "key"
        elif kind == "close":
            if written[-1] == ",":
                written.pop()
            written.append(closers.pop()[0])
            expected = "comma"
        elif kind == "comma":
            written.append(",")
            expected = "element" if "]" in closers[-1] else "key"
        else:
            written.append(":" if kind == "colon" else words.get(sign, sign))
            expected = "value" if kind == "colon" else "comma"
        if not closers:
            return decoder.decode("".join(written)), place


def _string(text: str, at: int, allow: Allowances, *, is_key: bool) -> tuple[str, int]:
    """Return the string that opens at a place, and where it ends."""
    end = _end_of_string(text, at, allow)
    written = text[at + 1 : end - 1]
    if is_key and "\n" in written:
        # Records are cut off in the middle of a key, and the next line was taken for it.
        raise NotJsonError("a key runs over the end of a line", end, at + 1)
    escapes = {'"': '\\"', **(_TABLES["backslashes"] if allow.backslashes else {})}
    try:
        fixed = _PATTERNS["to_escape"].sub(lambda sign: escapes.get(sign[0], sign[0]), written)
        return json.loads(f'"{fixed}"', strict=False), end
    except ValueError:
        raise NotJsonError("a backslash that JSON does not know", end, at + 1) from None


def _end_of_string(text: str, at: int, allow: Allowances) -> int:
    opener = text[at]
    if opener == "'":
        if found := _PATTERNS["python_string"].match(text, at):
            return found.end()
        line = text.find("\n", at)
        end, resume = (len(text), None) if line < 0 else (line, at + 1)
        raise NotJsonError("a string does not end", end, resume)
    depth, has_quote, has_brace, end = 0, False, False, at + 1
    while found := _PATTERNS["sign"].search(text, end):
        sign, end = found[0], found.end()
        if sign in ('"＂' if opener == "＂" else '"”'):
            # One that has what follows a string behind closes it.
            behind = _PATTERNS["next"].match(text, end)
            following = behind[1] if behind else ""
            is_closed = following in ("", *_TABLES["structural"]) and (
                depth == 0 or opener in '"＂'
            )
            if opener == '"' and sign == "”":
                is_closed = depth == 0 and following in ("]", "］", "】")
            if is_closed or (opener == sign == '"' and not allow.inner_quotes):
                return end
        depth = max(0, depth + {"“": 1, "”": -1}.get(sign, 0))
        has_quote = has_quote or sign in '"＂'
        has_brace = has_brace or sign in "{}｛｝"
        if has_quote and has_brace and not allow.braces:
            raise NotJsonError("a brace beside a quote in a string", end, at + 1)
    raise NotJsonError("the text ends inside a string", len(text), None)
