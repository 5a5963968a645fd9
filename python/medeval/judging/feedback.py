"""A judging in the shape that MedARC's MTSamples environment gives to `judge_feedback`."""

from __future__ import annotations

from typing import Any

from medeval.judging.judgments import Judgment
from medeval.judging.results import SubjectResult
from medeval.judging.rewards import combined


def judge_feedback(result: SubjectResult) -> list[dict[str, Any]]:
    """Return one entry for each round of judging.

    An entry has `judges`, a row for each of them, and `score`, their mean reward; for a single
    judge also `scores` and `raw_judge`. It holds what the judges wrote.
    """
    feedback = []
    for repeat in sorted({each.repeat for each in result.judgments}):
        judgments = [each for each in result.judgments if each.repeat == repeat]
        entry: dict[str, Any] = {
            "judges": [_row(each) for each in judgments],
            "score": combined([each.rewards for each in judgments]).reward,
        }
        if len(judgments) == 1:
            entry["scores"] = _scores(judgments[0])
            entry["raw_judge"] = judgments[0].reply
        feedback.append(entry)
    return feedback


def _row(judgment: Judgment) -> dict[str, Any]:
    return {
        "judge": judgment.judge,
        "model": judgment.model,
        "raw": judgment.reply,
        "error": judgment.reason or None,
        "scores": _scores(judgment),
        "score": judgment.rewards.reward,
    }


def _scores(judgment: Judgment) -> dict[str, dict[str, Any]]:
    """Return score and explanation of each dimension."""
    if judgment.verdict is None:
        return {}
    explanations = judgment.verdict.explanations
    return {
        name: {"score": score, "explanation": explanations.get(name, "")}
        for name, score in judgment.verdict.scores.items()
    }
