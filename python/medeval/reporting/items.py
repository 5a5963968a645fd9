"""The items of a task as a report shows them: what was asked, answered and scored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medeval.models.evaluation_result import EvaluationResult
from medeval.reporting.lines import shown


@dataclass(frozen=True)
class ItemPart:
    """One item with what was asked and answered.

    Attributes:
        id: its name within the task.
        shown: the input, as text.
        output: the model's output, as text.
        outcome: what became of it.
        scores: metric to score, as text.
    """

    id: str
    shown: str
    output: str
    outcome: str
    scores: Mapping[str, str]


def items_of(result: EvaluationResult) -> list[ItemPart]:
    """Return the items of a result."""
    ids = result.metadata.get("input_ids") or []
    outcomes = result.metadata.get("item_outcomes") or []
    count = result.item_count()
    return [
        ItemPart(
            id=str(ids[index]) if index < len(ids) else str(index),
            shown=_as_text(result.inputs, index),
            output=_as_text(result.model_outputs, index),
            outcome=str(outcomes[index]) if index < len(outcomes) else "",
            scores={
                metric: "" if scores[index] is None else shown(scores[index])
                for metric, scores in (result.item_scores or {}).items()
                if index < len(scores)
            },
        )
        for index in range(count)
    ]


def _as_text(rows: Sequence[Mapping[str, Any]], index: int) -> str:
    row = rows[index] if index < len(rows) else {}
    return "\n".join(f"{key}: {value_text(value)}" for key, value in row.items())


def value_text(value: Any) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
