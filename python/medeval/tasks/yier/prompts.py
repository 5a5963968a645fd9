"""What a model is asked, in Chinese or English; the version is part of every cache key.

And a model of rules that needs no network.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Literal

from medeval.errors import UserError
from medeval.tasks.yier.matching import LETTERS, Answers, named_letters
from medeval.tasks.yier.questions import Record
from medeval.tasks.yier.replies import ReadReply, read_reply

Language = Literal["zh", "en"]
PROMPT_VERSION = "yier-1"
# An option is chosen if its words are in the question at least so well as those of the best one.
_CLOSE = 0.75
_ASKS_FOR_THE_EXCEPTION = re.compile(
    r"不正确|不属于|不包括|不是|错误|除外|\b(?:except|not|incorrect|false|least)\b", re.IGNORECASE
)
_ALL = re.compile(r"以上(?:均|都|全)|all of the above", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9.%/]+|[^\W\d_]", re.IGNORECASE)


# The parts of a prompt by language.
WORDS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Prompt:
    """A question as it is put to a model.

    Attributes:
        record: the question.
        text: what is sent.
        order: for each letter the place of its option in the file.
        language: of the instruction.
        version: of the wording.
    """

    record: Record
    text: str
    order: tuple[int, ...]
    language: Language
    version: str = PROMPT_VERSION

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the reply, for servers that can be held to one."""
        letters = list(LETTERS[: len(self.order)])
        return {
            "type": "object",
            "properties": {
                "answer": {
                    "type": "array",
                    "items": {"type": "string", "enum": letters},
                    "uniqueItems": True,
                }
            },
            "required": ["answer"],
            "additionalProperties": False,
        }

    def read(self, reply: str) -> ReadReply:
        """Read a reply to this prompt; options are given by their place in the file."""
        found = read_reply(reply, [self.record.options.shown[place] for place in self.order])
        back = tuple(sorted(self.order[place] for place in found.options))
        return replace(found, options=back)


def build_prompt(
    record: Record,
    language: Language = "zh",
    order: Sequence[int] | None = None,
    examples: Sequence[Record] = (),
) -> Prompt:
    """Put a question to a model.

    Args:
        record: the question; its gold answers are not used.
        language: of the instruction; the question stays as it is.
        order: places of the options as they are shown; None keeps the file's order.
        examples: questions with gold answers, shown before.

    Raises:
        ValueError: an order that does not name each option once.
    """
    words = WORDS[language]
    shown = tuple(range(len(record.selection))) if order is None else tuple(order)
    if sorted(shown) != list(range(len(record.selection))):
        raise ValueError("the order does not name each option once")
    blocks = [words["role"]]
    # The examples' answers need the rule of their format before them.
    blocks += [words["several"], words["output"]] if examples else []
    for example in examples:
        places = tuple(range(len(example.selection)))
        answer = ", ".join(f'"{LETTERS[place]}"' for place in example.gold.options)
        blocks += [words["example"], *_question(example, places, words)]
        blocks.append(f'{words["example_answer"]}\n{{"answer": [{answer}]}}')
    blocks += [*_question(record, shown, words), words["several"], words["output"]]
    return Prompt(record, "\n\n".join(blocks), shown, language)


def shuffled_order(record: Record, seed: int | None, number: int = 0) -> tuple[int, ...]:
    """Return an order of a question's options, the same for the same seed and pass.

    Options that are letters themselves (blood groups) keep the file's order: elsewhere, a letter in
    a reply could be a place as well as a text.

    Args:
        record: the question.
        seed: of the shuffles; None keeps the file's order.
        number: of the pass, from 0.
    """
    order = list(range(len(record.selection)))
    if seed is None or any(named_letters(text) for text in record.options.shown):
        return tuple(order)
    random.Random(f"{seed}/{number}/{record.sample_id}").shuffle(order)  # noqa: S311
    return tuple(order)


def choose_examples(
    training: Sequence[Record], record: Record, count: int, seed: int
) -> list[Record]:
    """Choose questions of the training set to be shown before another, never that one itself.

    Raises:
        UserError: too few questions with gold answers.
    """
    free = [
        other
        for other in sorted(training, key=lambda entry: entry.sample_id)
        if other.answer_choices
        and other.sample_id != record.sample_id
        and (other.question, other.context) != (record.question, record.context)
    ]
    if len(free) < count:
        raise UserError(
            f"{count:,} examples wanted, but there are {len(free):,} other questions with gold"
            " answers in the training file."
        )
    return random.Random(f"{seed}/{record.sample_id}").sample(free, count)  # noqa: S311


def agreement(passes: Sequence[Answers]) -> float | None:
    """Return the share of pairs of passes with the same options; None below two passes."""
    pairs = list(combinations([set(one.options) for one in passes], 2))
    return sum(one == two for one, two in pairs) / len(pairs) if pairs else None


def _question(record: Record, order: Sequence[int], words: Mapping[str, str]) -> list[str]:
    texts = record.options.shown
    lines = [f"{LETTERS[number]}. {texts[place].strip()}" for number, place in enumerate(order)]
    blocks = [f"{words['context']}\n{record.context}"] if record.context else []
    blocks.append(f"{words['question']}\n{record.question}")
    blocks.append("\n".join([words["options"], *lines]))
    return blocks


def choose(record: Record) -> tuple[int, ...]:
    """Return the places of the options that the demo chooses; gold answers are not looked at.

    It stands in for a model where there is no network. What it scores says nothing but that the way
    from question to score works.

    An option that says all of the above is chosen. Else it is those whose words are found in
    question and context; where the question asks for the exception, the one that is found least.
    """
    options = record.selection
    for place, text in enumerate(options):
        if _ALL.search(text):
            return (place,)
    told = _pairs(f"{record.context or ''}\n{record.question}")
    words = [_pairs(text) for text in options]
    found = [len(own & told) / len(own) if own else 0.0 for own in words]
    if _ASKS_FOR_THE_EXCEPTION.search(record.question):
        return (found.index(min(found)),)
    best = max(found)
    if best == 0:
        lengths = list(map(len, options))
        return (lengths.index(max(lengths)),)
    return tuple(place for place, share in enumerate(found) if share >= _CLOSE * best)


def _pairs(text: str) -> set[tuple[str, ...]]:
    """Return the words of a text, of Chinese signs each two that stand together."""
    words = [word.lower() for word in _WORD.findall(text)]
    single = {(word,) for word in words if len(word) > 1}
    return single | {pair for pair in pairwise(words) if max(map(len, pair)) == 1}
