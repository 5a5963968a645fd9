"""A judge that is a rule: the overlap of the answer's words with the reference's.

It costs nothing, sends nothing and always says the same, so it shows that a set-up works before a
model is paid. It knows no medicine; its scores are no result.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

from medeval.inference.types import Item
from medeval.judging.prompt import blocks_in, marker_in
from medeval.judging.rubric import Rubric
from medeval.metrics.matching import tokens


@dataclass(frozen=True)
class LocalJudge:
    """Reads the prompt as any judge does, and replies with a verdict.

    Attributes:
        rubric: each dimension names the kind of overlap that it is graded by.
    """

    rubric: Rubric

    def __call__(self, item: Item) -> str:
        """Return the reply to a prompt; without a reference in it there are no scores."""
        blocks = blocks_in(item.messages)
        scores = self.scores(blocks.get("reference", ""), blocks["answer"])
        verdict = {
            each.name: {"explanation": f"{each.overlap} of words", "score": scores[each.name]}
            for each in self.rubric.dimensions
        }
        return f"{marker_in(item.messages)}\n{json.dumps(verdict)}"

    def scores(self, reference: str, answer: str) -> dict[str, float | None]:
        """Return the score of each dimension; None without a reference."""
        wanted, given = Counter(tokens(reference)), Counter(tokens(answer))
        if not wanted:
            return dict.fromkeys(self.rubric.names)
        common = (wanted & given).total()
        shares = {
            "precision": common / given.total() if given else 0.0,
            "recall": common / wanted.total(),
            "f1": 2 * common / (wanted.total() + given.total()),
        }
        low, high = self.rubric.low, self.rubric.high
        # Half up, so that the scale has no gap at its middle.
        return {
            each.name: low + int((high - low) * shares[each.overlap] + 0.5)
            for each in self.rubric.dimensions
        }
