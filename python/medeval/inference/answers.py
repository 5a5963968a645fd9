"""Answers of a run, in the order of its items and never shifted against them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.inference.journal import Journal, Line
from medeval.inference.thinking import split_thinking
from medeval.inference.types import Item, Outcome
from medeval.text import whole_json


@dataclass(frozen=True)
class Answer:
    """What came of one item.

    Attributes:
        item: its id.
        sample: its sample.
        outcome: the end it came to; None if it has not come to one.
        answer: the reply without its thinking; empty unless there is a complete one or one that
            was cut off.
        thinking: what the model thought, in the reply or in a field of its own.
        model: as the endpoint named it.
        error: the kind of failure; empty if there was none.
        text: the reply as it came.
        reasoning: what the model thought, in a field of its own.
        finish_reason: why the reply ended.
        usage: tokens as the endpoint counted them.
        measured: seconds, attempts and the like.
    """

    item: str
    sample: int
    outcome: Outcome | None
    answer: str = ""
    thinking: str = ""
    model: str = ""
    error: str = ""
    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, Any] = field(default_factory=dict)


def read_answers(path: Path, items: Iterable[Item]) -> Iterator[Answer]:
    """Yield one answer for each item, in their order.

    Raises:
        UserError: there is no journal, or a run is writing to it.
    """
    if not path.is_file():
        raise UserError(f"{path}: there are no answers. Run the model first.")
    with Journal(path) as journal:
        for item in items:
            line = journal.read(item.id, item.sample)
            yield Answer(item.id, item.sample, None) if line is None else _answer(line)


def _answer(line: Line) -> Answer:
    line = whole_json(line)  # lines of before may hold halves of surrogate pairs
    reply = split_thinking(line.get("text", ""))
    thinking = "\n".join(part for part in (line.get("reasoning", ""), reply.thinking) if part)
    return Answer(
        item=line["item"],
        sample=line["sample"],
        outcome=Outcome(line["outcome"]),
        answer=reply.answer,
        thinking=thinking,
        model=line.get("model", ""),
        error=(line.get("error") or {}).get("kind", ""),
        text=line.get("text", ""),
        reasoning=line.get("reasoning", ""),
        finish_reason=line.get("finish_reason", ""),
        usage=line.get("usage") or {},
        measured=line.get("measured") or {},
    )
