"""Text that nearly is JSON, rewritten as JSON: what Chinese input methods do to quotes and commas.

Only what stands outside strings is changed; inside, full-width commas and curly quotes are content.
Text that is cut off stays cut off, so the strict reader that comes after refuses it.
"""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001

from __future__ import annotations

import re

OPENERS = '"“”＂'
COMMAS = ",，、"
COLONS = ":："
BRACKETS = {"[": "[", "［": "[", "【": "[", "]": "]", "］": "]", "】": "]"}
BRACES = {"{": "{", "｛": "{", "}": "}", "｝": "}"}
CLOSERS = "".join(sign for sign, plain in {**BRACKETS, **BRACES}.items() if plain in "]}")
CLOSING_BRACKETS = "".join(sign for sign, plain in BRACKETS.items() if plain == "]")
STRUCTURAL = COMMAS + COLONS + CLOSERS
SIGNS = {
    **dict.fromkeys(COMMAS, ","),
    **dict.fromkeys(COLONS, ":"),
    **BRACKETS,
    **BRACES,
    "\u3000": " ",
}
_NEXT = re.compile(r"[ \t\r\n\u3000]*(.?)", re.DOTALL)
_COMMA_BEFORE_CLOSER = re.compile(r",([ \t\r\n]*[\]}])")


class RepairError(ValueError):
    """The text cannot be read as JSON, even with the allowances made."""


def repair(text: str) -> str:
    """Return the text as strict JSON, as far as the allowances go.

    Raises:
        RepairError: a string does not end, or a key runs over the end of a line.
    """
    parts: list[str] = []
    plain: list[str] = []

    def flush() -> None:
        outside = "".join(plain)
        parts.append(_COMMA_BEFORE_CLOSER.sub(r"\1", outside))
        plain.clear()

    place = 0
    while place < len(text):
        sign = text[place]
        if sign in OPENERS:
            flush()
            content, place = _string(text, place)
            parts.append(content)
        else:
            plain.append(SIGNS.get(sign, sign))
            place += 1
    flush()
    return "".join(parts)


def _string(text: str, start: int) -> tuple[str, int]:
    """Return the string that opens at `start` as strict JSON, and the place after it."""
    opener = text[start]
    written: list[str] = []
    depth = 0
    place = start + 1
    while place < len(text):
        sign = text[place]
        if sign == "\\":
            written.append(text[place : place + 2])
            place += 2
            continue
        if _closes(text, place, opener, depth):
            content = "".join(written)
            if "\\u000a" in content and _next(text, place + 1) in COLONS:
                # Records are cut off in the middle of a key, and the next line was taken for it.
                raise RepairError("a key runs over the end of a line")
            return f'"{content}"', place + 1
        if sign == "“":
            depth += 1
        elif sign == "”":
            depth = max(0, depth - 1)
        written.append(_escaped(sign))
        place += 1
    raise RepairError("the text ends inside a string")


def _closes(text: str, place: int, opener: str, depth: int) -> bool:
    sign = text[place]
    if sign not in '"”＂':
        return False
    following = _next(text, place + 1)
    if following and following not in STRUCTURAL:
        return False
    if opener == '"':
        if sign == "”":
            return depth == 0 and following != "" and following in CLOSING_BRACKETS
        return sign == '"'
    if opener == "＂":
        return sign in '"＂'
    return depth == 0 and sign in '"”'


def _next(text: str, place: int) -> str:
    """Return the next character that is no blank; nothing at the end."""
    found = _NEXT.match(text, place)
    return found.group(1) if found else ""


def _escaped(sign: str) -> str:
    if sign == '"':
        return '\\"'
    return f"\\u{ord(sign):04x}" if sign < " " else sign
