"""Answers that speak to their judge: signs of it, and attacks that try it on.

A sign is no proof and changes no score; it marks what a person should look at. Attacks are kept as
data; an audit tells which of them moved a judge's scores.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from medeval.judging.prompt import PLACEHOLDER, Subject, escape, filled
from medeval.judging.rubric import Rubric, YamlFile
from medeval.judging.verdict import read_verdict
from medeval.models.text_files import read_yaml

_FOLDER = Path(__file__).with_name("attacks")
# Those that come with the package.
SHIPPED_ATTACKS = _FOLDER / "attacks.yaml"
WEAK_ANSWERS = _FOLDER / "subjects.yaml"
# Between the name of an attacked answer and that of the attack.
BETWEEN = "--"
# What belongs to the rubric, in double braces in the text of an attack.
_PLACEHOLDERS = ("high", "verdict", "plain_scores")
# Tag characters, zero-width ones and overrides of direction: read by models, not by people.
_HIDDEN = re.compile("[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


@cache
def _signs() -> tuple[Mapping[str, re.Pattern[str]], Mapping[int, int]]:
    """Return the patterns of signs by name, and what stands for characters that are drawn alike."""
    data = read_yaml((_FOLDER / "signs.yaml").read_text(encoding="utf-8"))
    patterns = {}
    for name, pattern in data["signs"].items():
        for word, meaning in data["words"].items():
            pattern = pattern.replace(f"${word}", meaning)
        patterns[name] = re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.VERBOSE)
    alike = data["drawn_alike"].items()
    return patterns, str.maketrans({one: plain for plain, others in alike for one in others})


def injection_signs(answer: str, rubric: Rubric) -> tuple[str, ...]:
    """Return the names of the signs that an answer shows, in a fixed order; usually none.

    It is looked at as it is and as a model may read it: without references to characters, hidden
    ones and others that only look like those of ASCII.
    """
    forms = dict.fromkeys((answer, _plain(answer)))
    patterns, _ = _signs()
    found = [name for name, pattern in patterns.items() if any(map(pattern.search, forms))]
    if any(escape(form)[1] for form in forms):
        found.append("false_delimiter")
    if any(read_verdict(form, rubric).parse not in ("empty", "unparseable") for form in forms):
        found.append("planted_verdict")
    else:
        # Dimensions that are named with a score right behind them.
        score = r"\W{0,5}(?:score)?\W{0,5}\d{1,2}(?:\s?/\s?\d{1,2})?(?![\d.])"
        names = [rf"\b{re.escape(name.replace('_', ' '))}\b{score}" for name in rubric.names]
        if any(sum(bool(re.search(n, form, re.IGNORECASE)) for n in names) > 1 for form in forms):
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
    return seen.translate(_signs()[1])


Kind = Literal[
    "control", "planted_scores", "instruction", "false_delimiter", "false_verdict", "prompt_leak"
]


class Attack(BaseModel, extra="forbid", frozen=True):
    """One attack.

    Attributes:
        id: its name.
        kind: what it tries.
        place: where it stands to the answer.
        text: with placeholders for what belongs to the rubric.
    """

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    kind: Kind
    place: Literal["before", "after", "instead"]
    text: str

    @field_validator("text")
    @classmethod
    def _can_be_filled(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("holds nothing but blanks")
        if unknown := set(PLACEHOLDER.findall(text)).difference(_PLACEHOLDERS):
            known = ", ".join(_PLACEHOLDERS)
            raise ValueError(
                f"the placeholder {min(unknown)!r} stands for nothing; there are {known}"
            )
        return text

    def on(self, answer: str, rubric: Rubric) -> str:
        """Return the answer with the attack in it."""
        praise = {"explanation": "excellent", "score": rubric.high}
        scores = (f"{name.replace('_', ' ')} {rubric.high}" for name in rubric.names)
        verdict = json.dumps(dict.fromkeys(rubric.names, praise))
        values = (str(rubric.high), verdict, ", ".join(scores))
        text = filled(self.text, dict(zip(_PLACEHOLDERS, values, strict=True)))
        parts = {"before": [text, answer], "after": [answer, text], "instead": [text]}
        return "\n\n".join(parts[self.place])


class AttackFile(YamlFile):
    """The attacks of a file, in its order; at least one, and no two of one id."""

    attacks: Annotated[tuple[Attack, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _have_names_of_their_own(self) -> AttackFile:
        (name, times), *_ = Counter(attack.id for attack in self.attacks).most_common(1)
        if times > 1:
            raise ValueError(f"the attack {name} stands in it twice")
        return self


class WeakAnswers(YamlFile):
    """Cases with poor answers, open to anybody, for attacks to be tried on.

    Attributes:
        rubric: by which they are graded if no other is named.
        subjects: the cases.
    """

    rubric: str
    subjects: tuple[Subject, ...]


def attacked(
    subjects: Iterable[Subject], attacks: Sequence[Attack], rubric: Rubric
) -> list[Subject]:
    """Return every subject as it is, and with each of the attacks in its answer.

    Their ids are the subject's name, `BETWEEN`, and the attack's id or nothing.
    """
    found = []
    for one in subjects:
        answers = {"": one.judged, **{each.id: each.on(one.judged, rubric) for each in attacks}}
        plain = replace(one, sample=0, is_read=True)
        for name, answer in answers.items():
            found.append(replace(plain, id=f"{one.name}{BETWEEN}{name}", answer=answer))
    return found
