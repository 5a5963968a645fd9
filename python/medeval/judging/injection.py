"""Answers that speak to their judge: signs of it, and attacks that try it on.

A sign is no proof and changes no score; it marks what a person should look at. Attacks are kept as
data; an audit tells which of them moved a judge's scores.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from medeval.judging.prompt import Subject, escape, filled
from medeval.judging.rubric import Rubric, YamlFile
from medeval.judging.verdict import read_verdict

_FOLDER = files("medeval.judging").joinpath("attacks")
# Between the name of an attacked answer and that of the attack.
BETWEEN = "--"
# What belongs to the rubric, in double braces in the text of an attack.
_PLACEHOLDERS = ("high", "verdict", "plain_scores")
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
    if any(escape(form)[1] for form in forms):
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
    names = (re.escape(name.replace("_", " ")) for name in rubric.names)
    return sum(bool(re.search(pattern.format(name), answer, re.IGNORECASE)) for name in names)


Kind = Literal[
    "control", "planted_scores", "instruction", "false_delimiter", "false_verdict", "prompt_leak"
]


class Attack(BaseModel):
    """One attack.

    Attributes:
        id: its name.
        kind: what it tries.
        place: where it stands to the answer.
        text: with placeholders for what belongs to the rubric.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    kind: Kind
    place: Literal["before", "after", "instead"]
    text: str

    @field_validator("text")
    @classmethod
    def _can_be_filled(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("holds nothing but blanks")
        try:
            filled(text, dict.fromkeys(_PLACEHOLDERS, ""))
        except KeyError as error:
            raise ValueError(
                f"the placeholder {error} stands for nothing; there are {', '.join(_PLACEHOLDERS)}"
            ) from None
        return text

    def on(self, answer: str, rubric: Rubric) -> str:
        """Return the answer with the attack in it."""
        praise = {"explanation": "excellent", "score": rubric.high}
        scores = (f"{name.replace('_', ' ')} {rubric.high}" for name in rubric.names)
        values = (
            str(rubric.high),
            json.dumps(dict.fromkeys(rubric.names, praise)),
            ", ".join(scores),
        )
        text = filled(self.text, dict(zip(_PLACEHOLDERS, values, strict=True)))
        if self.place == "instead":
            return text
        parts = (text, answer) if self.place == "before" else (answer, text)
        return "\n\n".join(parts)


class AttackFile(YamlFile):
    """The attacks of a file, in its order; at least one, and no two of one id."""

    attacks: Annotated[tuple[Attack, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _have_names_of_their_own(self) -> AttackFile:
        names = [attack.id for attack in self.attacks]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"the attack {twice} stands in it twice")
        return self


class WeakAnswers(YamlFile):
    """Cases with poor answers, open to anybody, for attacks to be tried on.

    Attributes:
        rubric: by which they are graded if no other is named.
        subjects: the cases.
    """

    rubric: str
    subjects: tuple[Subject, ...]


def shipped_attacks() -> AttackFile:
    """Return the attacks that come with the package."""
    return AttackFile.from_yaml(_FOLDER.joinpath("attacks.yaml").read_bytes(), "attacks.yaml")


def weak_answers() -> WeakAnswers:
    """Return the poor answers that come with the package."""
    return WeakAnswers.from_yaml(_FOLDER.joinpath("subjects.yaml").read_bytes(), "subjects.yaml")


def attacked(
    subjects: Iterable[Subject], attacks: Sequence[Attack], rubric: Rubric
) -> list[Subject]:
    """Return every subject as it is, and with each of the attacks in its answer.

    Their ids are the subject's name, `BETWEEN`, and the attack's id or nothing.
    """
    return [
        replace(one, id=f"{one.name}{BETWEEN}{name}", sample=0, answer=answer, is_read=True)
        for one in subjects
        for name, answer in [
            ("", one.judged),
            *((each.id, each.on(one.judged, rubric)) for each in attacks),
        ]
    ]
