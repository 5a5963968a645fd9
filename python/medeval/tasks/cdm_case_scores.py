"""What CDM keeps beside its means: a line for each case, and how often each thing was asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from medeval.cdm.facts import Facts
from medeval.cdm.scorers.treatments import treatment_score
from medeval.cdm.scoring import IMAGING, LABORATORY, TREATMENT, CaseScore, score_case
from medeval.cdm.transcripts import Transcript
from medeval.inference.types import Outcome
from medeval.models.clinical_case import PATHOLOGIES

NOT_ASKED = "not_asked"
ACCEPTABLE = "acceptable"
PREFERRED = "preferred"
# Points of the preferred imaging; any other that is acceptable has fewer.
PREFERRED_POINTS = 2


def score_transcript(transcript: Transcript, facts: Facts, version: int) -> CaseScore | None:
    """Return the score of a case; None if it has no answer."""
    if transcript.answer is None:
        return None
    answer = transcript.answer.as_json()
    return score_case(transcript.case, answer, transcript.calls, facts, version=version)


def failure_of(transcript: Transcript) -> str | None:
    """Return why a case has no answer, in one word; None if it has one."""
    if transcript.answer is not None:
        return None
    if transcript.outcome is None:
        return NOT_ASKED
    if transcript.reason:
        return transcript.reason
    return transcript.error if transcript.outcome is Outcome.ERRORED else str(transcript.outcome)


def case_lines(transcripts: Sequence[Transcript], facts: Facts, version: int) -> str:
    """Return one line of JSON for each case and sample: its score, or why it has none."""
    return "".join(
        json.dumps(line, ensure_ascii=False) + "\n" for line in _lines(transcripts, facts, version)
    )


def rates(
    transcripts: Sequence[Transcript], facts: Facts, version: int
) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """Return how often each category, imaging and treatment was asked for, by pathology.

    A case that failed asked for nothing, so the shares are of all cases; those of a treatment are
    of the cases that need it.

    Args:
        transcripts: one of each case.
        facts: the facts.
        version: of the scores.

    Returns:
        For each pathology that has cases, then kind and name: `n`, `asked` and `share`.
    """
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for pathology in PATHOLOGIES:
        of = [one for one in transcripts if one.case.pathology == pathology]
        scores = [score_transcript(one, facts, version) for one in of]
        kinds = {TREATMENT: _treated(of, scores, facts, version)}
        if any(one is not None and LABORATORY in one.scores for one in scores):
            kinds |= {
                LABORATORY: {
                    name: _rate([_has(score, "Correct Laboratory Tests", name) for score in scores])
                    for name in facts.labs.required[pathology]
                },
                IMAGING: {
                    name: _rate([_points(score) >= least for score in scores])
                    for name, least in ((ACCEPTABLE, 1), (PREFERRED, PREFERRED_POINTS))
                },
            }
        if of:
            found[pathology] = kinds
    return found


def _lines(
    transcripts: Sequence[Transcript], facts: Facts, version: int
) -> Iterator[dict[str, Any]]:
    for one in transcripts:
        line = {
            "hadm_id": one.case.hadm_id,
            "sample": one.sample,
            "pathology": one.case.pathology,
            "outcome": None if one.outcome is None else str(one.outcome),
        }
        score = score_transcript(one, facts, version)
        if score is None:
            yield {**line, "score_version": version, "failure": failure_of(one)}
        else:
            yield {**line, "score_version": version, **score.as_json()}


def _treated(
    transcripts: Sequence[Transcript],
    scores: Sequence[CaseScore | None],
    facts: Facts,
    version: int,
) -> dict[str, dict[str, float]]:
    needed: dict[str, list[bool]] = {}
    for one, score in zip(transcripts, scores, strict=True):
        # What a case needs is known of one that failed too.
        for name, is_required in treatment_score(one.case, (), facts, version).required.items():
            if is_required:
                needed.setdefault(name, []).append(_has(score, TREATMENT, name))
    return {name: _rate(asked) for name, asked in needed.items()}


def _has(score: CaseScore | None, kind: str, name: str) -> bool:
    answers: Mapping[str, bool] = {} if score is None else score.answers[kind]
    return bool(answers.get(name))


def _points(score: CaseScore | None) -> float:
    return 0.0 if score is None else score.scores[IMAGING]


def _rate(asked: Sequence[bool]) -> dict[str, float]:
    return {"n": len(asked), "asked": sum(asked), "share": sum(asked) / len(asked)}
