"""Scores of MTSamples Procedures, and its rows in the form that is documented for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.inference.run import Answer
from medeval.models.text_files import write_text
from medeval.tasks.for_reports import task_score
from medeval.tasks.judged import (
    HEADLINE,
    by_group,
    item_ids,
    judged_table,
    judging_facts,
)
from medeval.tasks.mtsamples.export import Example
from medeval.tasks.run_record import RunRecord
from medeval.tasks.task import Method, TaskScore

if TYPE_CHECKING:
    from medeval.judging.jury import Jury
    from medeval.judging.results import JudgingResults
    from medeval.tasks.mtsamples.task import MtsamplesTask

RESULTS = "results.jsonl"


def write_rows(
    task: MtsamplesTask,
    answers: Sequence[tuple[Answer, str]],
    results: JudgingResults,
    plan: Jury,
    folder: Path,
) -> None:
    """Write one row per answer into a run's folder: what was asked, answered, thought, judged."""
    from medeval.judging.results import judge_feedback

    examples = {one.example_id: one for one in task.examples}
    rows: list[dict[str, Any]] = []
    for (answer, _), result in zip(answers, results.subjects, strict=True):
        example = examples[answer.item]
        rows.append(
            {
                "example_id": example.example_id,
                "sample": answer.sample,
                "source_index": example.source_index,
                "prompt": task.asked.messages(example.question),
                "completion": [{"role": "assistant", "content": answer.text}],
                "question": example.question,
                "answer": example.answer,
                "extracted_section": example.extracted_section,
                "answer_text": result.subject.judged,
                "think_text": task.asked.split(answer.text, answer.reasoning)[1],
                "outcome": None if answer.outcome is None else str(answer.outcome),
                "finish_reason": answer.finish_reason or None,
                "usage": dict(answer.usage),
                "seconds": answer.measured.get("seconds"),
                "attempts": answer.measured.get("attempts"),
                "model": answer.model or None,
                "prompt_version": task.prompt_version,
                "prompt_sha256": task.asked.sha256,
                "rule_version": task.rule_version,
                "reward": result.reward,
                "reward_judged": result.pooled[plan.pooling],
                "helm_jury_score": result.helm_jury_score,
                "judge_status": str(result.status),
                "reason": result.reason or None,
                "judgments": [one.as_json() for one in result.judgments],
                "judge_prompt": results.prompt.version,
                "possible_injection": bool(result.injection_signs),
                "info": {
                    "filename": example.filename,
                    "extracted_section": example.extracted_section,
                    "procedure_note": example.question,
                    "reference_plan": example.answer,
                    "judge_feedback": judge_feedback(result),
                },
            }
        )
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_text(folder / RESULTS, text)


def score_of(
    examples: Sequence[Example],
    results: JudgingResults,
    plan: Jury,
    record: RunRecord,
    facts: Mapping[str, Any],
    method: Method,
) -> TaskScore:
    """Score a judging.

    Raises:
        UserError: a grouping or a cluster that there is not.
    """
    if method.cluster is not None:
        raise UserError(f"--cluster {method.cluster}: notes are drawn by themselves.")
    known = {one.example_id: one for one in examples}
    items = item_ids(results)
    statuses: dict[str, list[str]] = {item: [] for item in items}
    for one in results.subjects:
        statuses[one.subject.id].append(str(one.status))
    groups = by_group(
        {
            "extracted_section": {item: known[item].extracted_section for item in items},
            "medical_specialty": {item: known[item].medical_specialty for item in items},
            "leak": {item: "leaked" if known[item].leak else "not leaked" for item in items},
        },
        results,
        plan,
        method,
    )
    told = {"judging": judging_facts(results, plan), "warnings": list(results.warnings)}
    return task_score(
        record.task,
        record.model,
        HEADLINE,
        judged_table(results, plan),
        method,
        [{"example_id": item, "filename": known[item].filename} for item in items],
        [{"judge_status": statuses[item]} for item in items],
        {**facts, **told, "groups": groups},
        warnings=results.warnings,
        groups=groups,
    )
