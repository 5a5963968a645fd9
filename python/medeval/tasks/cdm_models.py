"""Models of CDM that answer in this process: the demo's rules, and those whose score is known."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from medeval.cdm.demo_policy import DemoModel
from medeval.cdm.facts import Facts
from medeval.cdm.oracle import oracle_answer, oracle_calls
from medeval.inference.guard import IN_PROCESS, DataUseGuard
from medeval.inference.openai_model import ParameterFallbacks
from medeval.inference.types import Completion, Request, ToolCall, body_of
from medeval.models.clinical_case import ClinicalCase
from medeval.tasks.task import DEMO, EMPTY, ORACLE

if TYPE_CHECKING:
    from medeval.inference.types import Model


class GoldModel:
    """Makes the calls and gives the answer of the gold, of the same case or of another one.

    Args:
        name: what runs call it.
        gold: whose gold each case is answered with, by its id.
        facts: the facts.
        gate: its audit records each request.
    """

    def __init__(
        self, name: str, gold: Mapping[str, ClinicalCase], facts: Facts, gate: DataUseGuard
    ) -> None:
        self.address = IN_PROCESS
        self.model = name
        self.parameters: Mapping[str, Any] = {}
        self.fallbacks = ParameterFallbacks()
        self._gold = gold
        self._facts = facts
        self._gate = gate

    async def ask(self, request: Request) -> Completion:
        """Make the next call, or answer when all are made."""
        body = json.dumps(body_of(request, request.all_parameters)).encode()
        self._gate.authorize(request, body, "answer")
        case = self._gold[request.item.id]
        calls = oracle_calls(case, self._facts)
        made = sum(message["role"] == "tool" for message in request.item.messages)
        if "tools" in request.item.parameters and made < len(calls):
            call = calls[made]
            wanted = ToolCall(f"call-{made}", call["name"], json.dumps(call["arguments"]))
            return Completion(
                "", finish_reason="tool_calls", model=self.model, tool_calls=(wanted,)
            )
        return Completion(_answer(case, self._facts), finish_reason="stop", model=self.model)

    async def close(self) -> None:
        """Nothing was opened."""


class EmptyModel(GoldModel):
    """Says nothing."""

    async def ask(self, request: Request) -> Completion:
        """Say nothing."""
        return Completion("", finish_reason="stop", model=self.model)


def local_provider(
    kind: str, cases: Sequence[ClinicalCase], facts: Facts, gate: DataUseGuard
) -> Model:
    """Return a built-in model: demo, oracle, empty or shuffled."""
    if kind == DEMO:
        return DemoModel(gate)
    own = {str(case.hadm_id): case for case in cases}
    if kind == EMPTY:
        return EmptyModel(kind, own, facts, gate)
    if kind == ORACLE:
        return GoldModel(kind, own, facts, gate)
    order = list(cases)
    random.Random(0).shuffle(order)  # noqa: S311
    after = zip(order, order[1:] + order[:1], strict=True)
    return GoldModel(kind, {str(one.hadm_id): other for one, other in after}, facts, gate)


def _answer(case: ClinicalCase, facts: Facts) -> str:
    """Return the answer under the keys of either way of asking."""
    gold = oracle_answer(case, facts)
    return json.dumps(
        {
            "thought": "",
            "final_diagnosis": gold["final_diagnosis"],
            "diagnosis": gold["final_diagnosis"],
            "treatment": gold["treatment"],
        }
    )
