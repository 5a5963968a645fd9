"""Chinese words in simplified and traditional characters, for patterns that take both."""

from __future__ import annotations

_TRADITIONAL = {
    "两": "兩",
    "个": "個",
    "为": "為",
    "于": "於",
    "参": "參",
    "别": "別",
    "则": "則",
    "对": "對",
    "应": "應",
    "当": "當",
    "择": "擇",
    "标": "標",
    "准": "準",
    "确": "確",
    "终": "終",
    "该": "該",
    "这": "這",
    "选": "選",
    "项": "項",
    "会": "會",
    "们": "們",
    "误": "誤",
    "学": "學",
    "设": "設",
    "话": "話",
    "综": "綜",
    "题": "題",
    "见": "見",
    "数": "數",
    "须": "須",
    "规": "規",
}


def either_script(words: str) -> str:
    """Return a pattern that takes each character of the words in either script.

    Args:
        words: simplified; a regular expression without character classes.
    """
    return "".join(
        f"[{sign}{_TRADITIONAL[sign]}]" if sign in _TRADITIONAL else sign for sign in words
    )
