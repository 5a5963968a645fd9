"""Tasks by their own: what checks their scorers, where a run is, whose judging it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tables import refused, table

from medeval.judging.jury import Jury, jury_of
from medeval.tasks.judged import chosen_jury
from medeval.tasks.options import parse_arguments
from medeval.tasks.registry import start
from medeval.tasks.run_record import RunRecord
from medeval.tasks.self_check import check_task
from medeval.tasks.task import DEMO, TaskScore
from medeval.tasks.task_run import ModelChoice, TaskRun

TABLES = table("tasks")
WHO = {"endpoint": "in-process", "model": "m", "parameters": {}, "prompt_version": "1"}


@pytest.mark.parametrize(("kind", "value", "found"), TABLES["wrong_scorers"])
def test_a_wrong_scorer_fails_the_check_that_is_for_it(
    monkeypatch: pytest.MonkeyPatch, kind: str, value: float, found: str
) -> None:
    task: Any = start("yier", {})
    score = type(task).score

    def wrong(*given: Any) -> TaskScore:
        scored: TaskScore = score(*given)
        if scored.result.model_id == kind:
            scored.result.metrics_results["f1"] = value
        return scored

    monkeypatch.setattr(type(task), "score", wrong)
    assert [check.name for check in check_task(task) if not check.passed] == [found]


def test_options_nested_without_end_are_refused() -> None:
    refused("--env-args is not JSON", parse_arguments, "[" * 100_000)


def test_two_runs_of_one_second_have_two_folders(tmp_path: Path) -> None:
    task = start("yier", {})
    folders = [TaskRun(task, ModelChoice(DEMO), runs=tmp_path).folder for _ in range(4)]
    assert sorted(tmp_path.iterdir()) == sorted(set(folders))
    assert len(set(folders)) == 4


# Judgings


def jury(models: list[str], url: str = "http://127.0.0.1:1/v1", **fields: Any) -> Jury:
    return jury_of(models, [url], **fields)


@pytest.mark.parametrize("row", TABLES["going_on"])
def test_which_judging_goes_on(row: dict[str, Any]) -> None:
    judgings = [jury(**one) for one in row["known"]]
    record = RunRecord(settings=WHO, task="mtsamples", judgings=judgings)
    chosen = chosen_jury(record, row["wanted"] and jury(**row["wanted"]), row.get("choices"))
    found = {**chosen.model_dump(), "names": [judge.model for judge in chosen.judges]}
    assert {name: found[name] for name in row["found"]} == row["found"]


@pytest.mark.parametrize(("one", "other", "is_same"), TABLES["same"])
def test_which_judgings_are_compared(one: Any, other: Any, is_same: bool) -> None:
    assert (jury(**one).same_judging() == jury(**other).same_judging()) == is_same
