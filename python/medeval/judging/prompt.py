"""What a judge is shown: one answer to one question, in one message that nothing inside can close.

The material stands between marks with a code that is derived from a recorded seed and from the
request itself, the answer's text included: the same request has the same code after a restart, and
no answer can hold its own.

An answer may speak to its judge all the same. A sign of that is no proof and changes no score; it
marks what a person should look at. Attacks that try judges on are kept as data; an audit tells
which of them moved a judge's scores.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, Field, field_validator, model_validator

from medeval.inference.types import Message, digest
from medeval.judging.rubric import Rubric, YamlFile
from medeval.judging.verdict import read_verdict
from medeval.models.text_files import read_yaml
from medeval.text import compiled, sha256_of, split_thinking

BLOCKS = ("question", "reference", "answer")
PROMPT = "judge-2"
# The same, but that a judge that is asked again is told nothing more: judgings that were begun with
# it go on with it.
FORMER_PROMPT = "judge-1"
# The sample of an item is repeat * 10 + ask: 0 the first ask, 1 its re-ask, 10 the second repeat.
MOST_ASKS = 10
PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_CODE = r"[0-9a-f]{16}"
_MARKER = re.compile(rf"^VERDICT-{_CODE}$", re.MULTILINE)
_BLOCK = re.compile(
    rf"^<(?P<name>{'|'.join(BLOCKS)})-(?P<code>{_CODE})>\n(?P<text>.*?)\n</(?P=name)-(?P=code)>$",
    re.MULTILINE | re.DOTALL,
)
# Whatever looks like one of the marks, with or without a code, in the brackets that models read.
_LOOK_ALIKE = re.compile(
    rf"(?:<|&lt;|\uFF1C|\u2039|\u3008)(?=\s{{0,9}}[/\uFF0F\\]?\s{{0,9}}(?:{'|'.join(BLOCKS)})(?![a-z]))",
    re.IGNORECASE,
)
_ATTACKS = Path(__file__).with_name("attacks")
# Those that come with the package.
SHIPPED_ATTACKS = _ATTACKS / "attacks.yaml"
WEAK_ANSWERS = _ATTACKS / "subjects.yaml"
# Between the name of an attacked answer and that of the attack.
BETWEEN = "--"
# What belongs to the rubric, in double braces in the text of an attack.
_PLACEHOLDERS = ("high", "verdict", "plain_scores")
# Tag characters, zero-width ones and overrides of direction: read by models, not by people.
_HIDDEN = re.compile("[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
# Kinds of characters that nobody sees: blanks, control characters and those of format, such as
# those of no width and the byte order mark.
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})


@dataclass(frozen=True)
class Subject:
    """One answer to be judged.

    Attributes:
        id: names the question; unique together with the sample.
        question: what was asked, such as the patient's notes.
        answer: what the model replied.
        reference: what a good answer holds; may be empty where judges do without.
        data_class: `open`, or anything else and None: credentialed.
        sample: which of several answers to the same question this is.
        unanswered: why the model gave no answer, such as `errored` or `not_asked`; empty if it did
            or if nobody knows.
        is_read: whether the answer is what was read of a reply, and not the reply itself.
    """

    id: str
    question: str
    answer: str
    reference: str = ""
    data_class: str | None = None
    sample: int = 0
    unanswered: str = ""
    is_read: bool = False

    @property
    def name(self) -> str:
        """Id and sample in one; no two subjects share it."""
        return f"{self.id}#{self.sample}"

    @cached_property
    def judged(self) -> str:
        """The answer without its thinking, which no judge ever sees; empty if none is left."""
        answer = self.answer if self.is_read else split_thinking(self.answer).answer
        return "" if all(unicodedata.category(each) in _UNSEEN for each in answer) else answer

    @property
    def blank_reason(self) -> str:
        """Why there is nothing to judge; empty if there is something."""
        if self.judged:
            return ""
        if split_thinking(self.answer).state == "truncated_reasoning":
            return "unclosed_think"
        return self.unanswered or "blank_answer"


class Variant(NamedTuple):
    """A way to put the same question to a judge.

    Attributes:
        name: as it is recorded.
        blocks: which texts are shown, in which order.
        is_reversed: the criteria come in the opposite order.
    """

    name: str
    blocks: tuple[str, ...] = BLOCKS
    is_reversed: bool = False


STANDARD = Variant("standard")
ANSWER_FIRST = Variant("answer_first", ("answer", "reference", "question"))
CRITERIA_REVERSED = Variant("criteria_reversed", is_reversed=True)
NO_REFERENCE = Variant("no_reference", ("question", "answer"))


@dataclass(frozen=True)
class JudgePrompt:
    """How subjects become messages to a judge.

    Attributes:
        rubric: what is graded.
        variant: how it is put.
        seed: of the fences.
        name: of the prompt.
    """

    rubric: Rubric
    variant: Variant = STANDARD
    seed: int = 0
    name: str = PROMPT

    @property
    def version(self) -> str:
        """What every request of a run is keyed with: other words are another version."""
        digest = sha256_of(f"{self._sha256_of_texts} {self.rubric.sha256}")[:12]
        return f"{self.name}/{self.rubric.name}/{self.variant.name}/{digest}"

    @cached_property
    def _sha256_of_texts(self) -> str:
        """The hash of the template and of the sentences that the prompt may put into it."""
        left_out = "again" if self.name == FORMER_PROMPT else ""
        return sha256_of("\n".join(text for name, text in _texts().items() if name != left_out))

    def record(self) -> dict[str, object]:
        """Return all that decides the prompts, for the record of a run."""
        return {
            "prompt": self.name,
            "prompt_sha256": self._sha256_of_texts,
            "rubric": self.rubric.name,
            "rubric_sha256": self.rubric.sha256,
            "variant": self.variant.name,
            "blocks": list(self.variant.blocks),
            "criteria_reversed": self.variant.is_reversed,
            "fence_seed": self.seed,
        }

    def messages(self, subject: Subject, sample: int) -> list[Message]:
        """Return the one message in which a subject is judged; a re-ask insists on the marker."""
        texts = {"question": subject.question, "reference": subject.reference}
        texts["answer"] = subject.judged
        shown = {name: texts[name].strip() for name in self.variant.blocks}
        # No text holds the code of its own request.
        key = [self.seed, subject.name, sample]
        codes = (digest([*key, n, [*shown.values()]])[:16] for n in count())
        code = next(one for one in codes if not any(one in text for text in texts.values()))
        blocks = "\n\n".join(
            f"<{name}-{code}>\n{escape(text)[0]}\n</{name}-{code}>" for name, text in shown.items()
        )
        values = {**self._of_the_rubric, "blocks": blocks, "marker": f"VERDICT-{code}"}
        content = filled(_texts()["template"], values)
        if self.name != FORMER_PROMPT and sample % MOST_ASKS:
            content += "\n\n" + _texts()["again"]
        return [{"role": "user", "content": content}]

    @cached_property
    def _of_the_rubric(self) -> Mapping[str, str]:
        """What every prompt says alike.

        The form of a verdict is valid JSON without a score: a judge that only repeats the prompt
        has not given one.
        """
        rubric = self.rubric
        dimensions = rubric.dimensions[:: -1 if self.variant.is_reversed else 1]
        score = f"a whole number from {rubric.low} to {rubric.high}"
        sample = {each.name: {"explanation": "why", "score": score} for each in dimensions}
        compared = "with" if "reference" in self.variant.blocks else "without"
        return {
            **{name: str(value) for name, value in rubric},
            "criteria": "\n".join(f"- {each.name}: {each.description}" for each in dimensions),
            "how_to_compare": _texts()[f"{compared}_reference"],
            "sample": json.dumps(sample, indent=1),
        }


def filled(text: str, values: Mapping[str, str]) -> str:
    """Fill in placeholders in one pass, so that braces and dollars of the values stay as they are.

    Raises:
        KeyError: a placeholder has no value.
    """
    return PLACEHOLDER.sub(lambda match: values[match[1]], text)


@cache
def _texts() -> Mapping[str, str]:
    """Return the template of the prompt with its placeholders, and the sentences beside it."""
    path = Path(__file__).with_name("prompts") / "judge.yaml"
    texts: dict[str, str] = read_yaml(path.read_text(encoding="utf-8"))
    return {name: text.rstrip("\n") for name, text in texts.items()}


def escape(text: str) -> tuple[str, int]:
    """Return a text whose look-alikes of marks are marks no more, and how many there were."""
    return _LOOK_ALIKE.subn("(", text)


def marker_in(messages: Sequence[Message]) -> str:
    """Return the marker that a prompt asks for; empty if it asks for none."""
    found = _MARKER.findall(str(messages[-1]["content"])) if messages else []
    return str(found[-1]) if found else ""


def blocks_in(messages: Sequence[Message]) -> Mapping[str, str]:
    """Return the texts between the marks of a prompt, by name."""
    content = str(messages[-1]["content"])
    return {match["name"]: match["text"] for match in _BLOCK.finditer(content)}


@cache
def _signs() -> tuple[Mapping[str, re.Pattern[str]], Mapping[int, int]]:
    """Return the patterns of signs by name, and what stands for characters that are drawn alike."""
    data = read_yaml((_ATTACKS / "signs.yaml").read_text(encoding="utf-8"))
    flags = re.IGNORECASE | re.MULTILINE | re.VERBOSE
    patterns = compiled(data["signs"], data["words"], flags)
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
