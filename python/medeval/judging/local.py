"""A judge that is a rule: the overlap of the answer's words with the reference's.

It costs nothing, sends nothing and always says the same, so it shows that a set-up works before a
model is paid. It knows no medicine; its scores are no result.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from medeval.inference.types import Item
from medeval.judging.prompt import blocks_in, marker_in
from medeval.judging.rubric import Rubric
from medeval.metrics.matching import tokens


class LocalJudge:
    """Reads the prompt as any judge does, and replies with a verdict.

    Args:
        rubric: each dimension names the kind of overlap that it is graded by.
    """

    def __init__(self, rubric: Rubric) -> None:
        self._rubric = rubric

    def __call__(self, item: Item) -> str:
        """Return the reply to a prompt; without a reference in it there are no scores."""
        blocks = blocks_in(item.messages)
        scores = self.scores(blocks.get("reference", ""), blocks["answer"])
        verdict: dict[str, Any] = {
            dimension.name: {
                "explanation": f"{dimension.overlap} of words",
                "score": scores[dimension.name],
            }
            for dimension in self._rubric.dimensions
        }
        return f"{marker_in(item.messages)}\n{json.dumps(verdict)}"

    def scores(self, reference: str, answer: str) -> dict[str, float | None]:
        """Return the score of each dimension; None without a reference."""
        overlaps = _overlaps(reference, answer)
        low, high = self._rubric.low, self._rubric.high
        shares = {each.name: overlaps.get(each.overlap) for each in self._rubric.dimensions}
        return {
            # Half up, so that the scale has no gap at its middle.
            name: None if share is None else low + int((high - low) * share + 0.5)
            for name, share in shares.items()
        }


def _overlaps(reference: str, answer: str) -> dict[str, float]:
    wanted, given = Counter(tokens(reference)), Counter(tokens(answer))
    if not wanted:
        return {}
    common = (wanted & given).total()
    return {
        "precision": common / given.total() if given else 0.0,
        "recall": common / wanted.total(),
        "f1": 2 * common / (wanted.total() + given.total()),
    }
