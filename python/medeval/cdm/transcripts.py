"""What came of each case of a run, read back from its folder, for scores to be made of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medeval.cdm.loop_answers import FinalAnswer
from medeval.errors import UserError
from medeval.inference.journal import Line, read_journal
from medeval.inference.run import RESPONSES
from medeval.inference.types import Outcome, Usage
from medeval.models.clinical_case import ClinicalCase


@dataclass(frozen=True)
class Transcript:
    """What came of one case, or of one sample of it.

    Attributes:
        case: with its ground truth.
        sample: 0, or the number of the order of its information.
        outcome: the end it came to; None if it has not come to one.
        reason: why it ended otherwise than usual, in one word; empty for the usual end.
        answer: what the model decided; None if it did not.
        calls: records of its tools in the order of the calls, each with its round; None where it
            had no tools.
        rounds: steps with tools.
        turns: requests to the model, summaries and questions asked again included.
        invalid_calls: calls of tools that were none.
        custom_parsings: places where another layout than the one asked for had to be understood.
        is_reasked: whether an answer had to be asked for again.
        context: what was done to make the conversation fit, in order.
        order: of the blocks of information; empty where the model had to ask.
        usage: tokens of all turns.
        error: the kind of failure; empty if there was none.
        model: as the endpoint named it.
    """

    case: ClinicalCase
    sample: int
    outcome: Outcome | None
    reason: str = ""
    answer: FinalAnswer | None = None
    calls: tuple[dict[str, Any], ...] | None = None
    rounds: int = 0
    turns: int = 0
    invalid_calls: int = 0
    custom_parsings: int = 0
    is_reasked: bool = False
    context: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    error: str = ""
    model: str = ""


def read_transcripts(
    folder: Path, cases: Iterable[ClinicalCase], samples: int = 1
) -> list[Transcript]:
    """Return what came of each case, in the order of the cases and of their samples.

    A sample without a line has a transcript without an outcome: nothing leaves the denominator
    unseen, wherever a run stopped.

    Args:
        folder: of the run.
        cases: all that were to be asked.
        samples: how often each of them was to be asked.

    Raises:
        UserError: there is no journal, a line of it is of none of the cases, or it is not of a run
            of this benchmark.
    """
    path = folder / RESPONSES
    if not path.is_file():
        raise UserError(f"{path}: there are no answers. Run the model first.")
    by_case: dict[str, list[Line]] = {}
    for line in read_journal(path):
        by_case.setdefault(line["item"], []).append(line)
    transcripts: list[Transcript] = []
    for case in cases:
        lines = {int(line["sample"]): line for line in by_case.pop(str(case.hadm_id), [])}
        transcripts += [
            _transcript(case, lines[sample], path)
            if sample in lines
            else Transcript(case, sample, None)
            for sample in sorted({*range(samples), *lines})
        ]
    if by_case:
        raise UserError(
            f"{path} holds {len(by_case)} cases that are not among those given, such as"
            f" {min(by_case)}. Read it with the cases of its run."
        )
    return transcripts


def _transcript(case: ClinicalCase, line: Line, path: Path) -> Transcript:
    episode = line.get("episode")
    if not isinstance(episode, dict):
        raise UserError(f"{path} is not of a run of the CDM benchmark.")
    answer = episode.get("answer")
    calls: Sequence[dict[str, Any]] | None = episode.get("calls")
    return Transcript(
        case=case,
        sample=line["sample"],
        outcome=Outcome(line["outcome"]),
        reason=episode["reason"],
        answer=None
        if answer is None
        else FinalAnswer(**{**answer, "treatment": tuple(answer["treatment"])}),
        calls=None if calls is None else tuple(calls),
        rounds=episode.get("rounds", 0),
        turns=episode["turns"],
        invalid_calls=episode.get("invalid_calls", 0),
        custom_parsings=episode.get("custom_parsings", 0),
        is_reasked=episode.get("is_reasked", False),
        context=tuple(episode.get("context", ())),
        order=tuple(episode.get("order", ())),
        usage=Usage(**line["usage"]),
        error=(line.get("error") or {}).get("kind", ""),
        model=line.get("model", ""),
    )
