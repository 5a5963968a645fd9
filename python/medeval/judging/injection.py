"""Signs that an answer speaks to its judge rather than to its reader.

A sign is no proof and changes no score; it marks what a person should look at.
"""

from __future__ import annotations

import html
import re
import unicodedata

from medeval.judging.fences import neutralised
from medeval.judging.rubric import Rubric
from medeval.judging.verdicts import read_verdict

_JUDGE = r"(?:judges?|graders?|evaluators?|raters?|scorers?|language models?|llms?|ai models?)"
_NEAR = r"[^.\n]{0,60}"
_SIGNS = {
    "addresses_the_judge": rf"""
        \b(?:dear|attention|(?:notes?|messages?|instructions?)\ (?:to|for))[\s:,]+
        (?:the\s+|all\s+|any\s+)?(?:\w+\s+)?{_JUDGE}\b
        | \b(?:you\ are|as)\s+(?:the|a|an)\s+(?:\w+\s+)?{_JUDGE}\b
    """,
    "asks_for_a_score": rf"""
        \b(?:give|assign|award|grant|rate|score|grade|mark|output|return|deserves?|earns?)\b{_NEAR}
        \b(?:full|maximum|max|top|highest|perfect)\s+(?:marks?|scores?|ratings?|grades?|points)\b
        | \b(?:scores?|ratings?|grades?)\b{_NEAR}\b(?:must|should|shall|has\ to|have\ to)\s+be\b
        | \b(?:rated|scored|graded)\ (?:this|the)\ (?:text|answer|response|reply|summary|plan)\b
        | \b(?:give|assign|award|rate|score|grade)\b{_NEAR}\b(?:each|every|all|this|it)\b{_NEAR}
          \b(?:criteri\w+|dimensions?|answer|response|plan|summary|reply)\b{_NEAR}\b(?:5|five|10|ten)\b
        | \b(?:give|assign|award|grant|rate|score|grade|mark)\s+(?:it\s+|this\s+)?(?:an?\s+)?
          (?:5s?|fives?|10s?|tens?)\s+(?:everywhere|throughout|across|(?:for|on|in|to)\s+(?:all|every))\b
    """,
    "overrides_instructions": rf"""
        \b(?:ignore|disregard|forget|override|bypass)\b{_NEAR}
        \b(?:instructions?|prompts?|rubrics?|criteria|grading\ rules)\b
        | \bnew\ instructions?\s*:
    """,
    "asks_for_the_prompt": rf"""
        \b(?:reveal|print|repeat|output|show|quote|disclose|leak)\b{_NEAR}
        \b(?:system\ prompt|hidden\ (?:prompt|instructions?|rules)
        |your\ (?:own\ )?(?:prompt|instructions?|rubric))\b
    """,
    "chat_markup": r"""
        <\|[\w.-]{1,40}\|> | \[/?INST\] | <</?SYS>>
        | ^\s{0,9}\#{1,6}\s{0,9}(?:system|instructions?)\b
        | </?(?:system|evaluation|verdict|grading|instructions?|candidate|submission|response)\b
          [^>\n]{0,40}>
    """,
    "claims_to_end": r"""
        \b(?:end|close)\s+of\s+(?:the\s+)?(?:answer|response|submission|candidate|material)\b
    """,
    "holds_a_verdict": r"""
        \bVERDICT-\w{4,} | ^\W{0,9}(?:final\s+)?verdict\s{0,9}:
    """,
}
_PATTERNS = {
    name: re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.VERBOSE)
    for name, pattern in _SIGNS.items()
}
# Tag characters, zero-width ones and overrides of direction: read by models, not by people.
_HIDDEN = re.compile("[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


# What is drawn like a character of ASCII and that no normal form of Unicode takes for it: Cyrillic
# and Greek letters, angle brackets of other writing systems, the slash of fractions.
_DRAWN_ALIKE = {
    "a": "\u0430\u03b1",
    "c": "\u0441",
    "d": "\u0501",
    "e": "\u0435",
    "g": "\u0261",
    "h": "\u04bb",
    "i": "\u0456\u03b9\u0131",
    "j": "\u0458",
    "n": "\u0578",
    "o": "\u043e\u03bf",
    "p": "\u0440\u03c1",
    "s": "\u0455",
    "v": "\u0475\u03bd",
    "w": "\u051d",
    "x": "\u0445",
    "y": "\u0443",
    "<": "\u2039\u00ab\u27e8\u2329\u3008\u300a",
    ">": "\u203a\u00bb\u27e9\u232a\u3009\u300b",
    "/": "\u2044\u2215",
}
_PLAIN = str.maketrans({other: plain for plain, others in _DRAWN_ALIKE.items() for other in others})


def injection_signs(answer: str, rubric: Rubric) -> tuple[str, ...]:
    """Return the names of the signs that an answer shows, in a fixed order; usually none.

    It is looked at as it is and as a model may read it: without references to characters, hidden
    ones and others that only look like those of ASCII.
    """
    forms = dict.fromkeys((answer, _plain(answer)))
    found = [
        name for name, pattern in _PATTERNS.items() if any(pattern.search(form) for form in forms)
    ]
    if any(neutralised(form)[1] for form in forms):
        found.append("false_delimiter")
    if any(read_verdict(form, rubric).parse not in ("empty", "unparseable") for form in forms):
        found.append("planted_verdict")
    elif any(_plain_scores(form, rubric) > 1 for form in forms):
        found.append("planted_scores")
    if _HIDDEN.search(answer):
        found.append("hidden_characters")
    return tuple(found)


def _plain(text: str) -> str:
    """Return a text in plain characters: unescaped, in compatibility form, with nothing hidden."""
    if text.isascii() and "&" not in text:
        return text
    shown = unicodedata.normalize("NFKC", html.unescape(text))
    seen = "".join(each for each in shown if unicodedata.category(each) != "Cf")
    return seen.translate(_PLAIN)


def _plain_scores(answer: str, rubric: Rubric) -> int:
    """Count the dimensions that are named with a score right behind them."""
    pattern = r"\b{}\b\W{{0,5}}(?:score)?\W{{0,5}}\d{{1,2}}(?:\s?/\s?\d{{1,2}})?(?![\d.])"
    return sum(
        re.search(pattern.format(re.escape(name.replace("_", " "))), answer, re.IGNORECASE)
        is not None
        for name in rubric.names
    )
