"""Submitted records laid beside the gold, by sample_id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from medeval.errors import UserError
from medeval.yier.matching import Answers
from medeval.yier.records import Record, Submitted
from medeval.yier.replies import ReadReply

SHOWN = 10


@dataclass(frozen=True)
class Answered:
    """A question and what a system answered.

    Attributes:
        record: the question with its gold answers.
        answers: what the system answered, matched to the options.
        missing: whether there is no submitted record.
        extraction: the step that read the reply, or why there is none to be read; None where
            there was no reply, as in a submission.
    """

    record: Record
    answers: Answers
    missing: bool = False
    extraction: str | None = None


def join(
    gold: Sequence[Record], submitted: Sequence[Submitted], *, allow_extra: bool = False
) -> list[Answered]:
    """Return the gold's questions with the submitted answers, in the gold's order.

    Args:
        gold: the questions; those without gold answers may be among them.
        submitted: records with `predict_answers`; one without has an empty prediction.
        allow_extra: leave out submitted records that the gold does not have.

    Raises:
        UserError: an id twice on either side, or an id that the gold does not have.
    """
    ids = {"gold": [one.sample_id for one in gold]}
    ids["submission"] = [one.sample_id for one in submitted]
    for what, listed in ids.items():
        if twice := _repeated(listed):
            raise UserError(f"sample_id more than once in the {what}: {_listed(twice)}.")
    by_id = {record.sample_id: record for record in submitted}
    wanted = set(ids["gold"])
    extra = [sample_id for sample_id in by_id if sample_id not in wanted]
    if extra and not allow_extra:
        raise UserError(
            f"submitted sample_id that the gold does not have: {_listed(extra)}. To leave such"
            " records out, allow extra ones."
        )
    return [_answered(record, by_id.get(record.sample_id)) for record in gold]


def from_reply(record: Record, reply: ReadReply) -> Answered:
    """Return a question with the answer that was read from a reply to it in file order."""
    answers = Answers(reply.options, reply.unknown, 0, reply.warnings)
    return Answered(record, answers, extraction=reply.extraction.value)


def _answered(record: Record, submitted: Submitted | None) -> Answered:
    if submitted is None:
        return Answered(record, Answers(), missing=True)
    # The gold's own options decide: a submission cannot change the question.
    return Answered(record, record.options.answers(submitted.predict_answers))


def _repeated(ids: list[str]) -> list[str]:
    return [one for one, times in Counter(ids).items() if times > 1]


def _listed(ids: list[str]) -> str:
    more = f" and {len(ids) - SHOWN:,} more" if len(ids) > SHOWN else ""
    return ", ".join(repr(one) for one in ids[:SHOWN]) + more
