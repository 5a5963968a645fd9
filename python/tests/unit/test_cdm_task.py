"""The task CDM: what a score is made of, and what is said beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cdm_bedside import export_of
from cdm_cases import case, facts

from medeval.inference.types import Outcome
from medeval.tasks.cdm.run_scores import Transcript, order_sensitivity, score_of, scored
from medeval.tasks.cdm.scores import DIAGNOSIS
from medeval.tasks.cdm.task import CdmTask
from medeval.tasks.cdm.text_protocol import FinalAnswer
from medeval.tasks.registry import start
from medeval.tasks.self_check import check_task
from medeval.tasks.task import Method

RIGHT = FinalAnswer("appendicitis", ("appendectomy",))
WRONG = FinalAnswer("gastritis", ("rest",))


@pytest.mark.parametrize("mode", ["tools", "full_information"])
def test_gold_scores_most_silence_none_shuffled_gold_chance(mode: str, asked_export: Path) -> None:
    checks = list(check_task(start("cdm", {"cases": str(asked_export), "mode": mode})))
    assert [check for check in checks if not check.passed] == []
    assert len(checks) == (15 if mode == "tools" else 7)


def ended(
    answer: FinalAnswer | None,
    sample: int = 0,
    number: int = 1,
    outcome: Outcome | None = Outcome.ANSWERED,
    **changed: Any,
) -> Transcript:
    changed = {"calls": (), **changed}
    made = Transcript(case(number), sample, outcome, answer=answer, **changed)
    return scored([made], facts(), 2)[0]


def item_scores(transcripts: Sequence[Transcript]) -> dict[str, list[float | None]]:
    found = score_of(transcripts, facts(), {"model": "m", "data": {}}, Method(n_iters=0))
    return dict(found.result.item_scores or {})


def test_a_diagnosis_that_failed_is_wrong_and_one_that_was_not_asked_says_nothing() -> None:
    transcripts = [ended(RIGHT, 0), ended(RIGHT, 1)]
    transcripts += [ended(RIGHT, 0, 2), ended(None, 1, 2, Outcome.ERRORED)]
    transcripts += [ended(RIGHT, 0, 3), ended(None, 1, 3, None)]
    transcripts += [ended(WRONG, 0, 4), ended(WRONG, 1, 4)]
    found, _ = order_sensitivity(transcripts)
    assert (found["orders"], found["cases"], found["n_incomplete"]) == (2, 3, 1)
    assert found["diagnosis_by_order"] == pytest.approx([2 / 3, 1 / 3])
    assert found["n_changed"] == 1
    # Of several orders the case's own is scored.
    assert item_scores(transcripts)[DIAGNOSIS] == [1.0, 1.0, 1.0, 0.0]


def test_a_limit_is_asked_for_again_and_chance_is_of_one_pathology(tmp_path: Path) -> None:
    cases = [case(1), case(2), case(3, pathology="pancreatitis")]
    task = start("cdm", {"cases": str(export_of(tmp_path, cases))})
    settings = task.settings()
    context = {"limit": 4096, "limit_from": "server", "tokens_counted_by": "server"}
    for limit_from, limit in (("server", None), ("user", 4096)):
        settings["cdm"]["context"] = {**context, "limit_from": limit_from}
        record: Any = SimpleNamespace(settings=settings, folder=tmp_path)
        assert CdmTask.resume(record, {}).options.context_limit == limit
    # Of the six ordered pairs of cases two are of one pathology.
    assert task.chance() == pytest.approx(1 / 3)
