"""Tasks by their own: what checks their scorers, what built-in models see, whose judging it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tables import refused, table

from medeval.inference.guard import DataUseGuard
from medeval.inference.run import AUDIT, RESPONSES, Run, RunConfig, settings_of
from medeval.judging.jury import Jury, jury_of
from medeval.tasks.judged import chosen_jury
from medeval.tasks.options import parse_arguments
from medeval.tasks.registry import start
from medeval.tasks.run_record import RunRecord, read_record
from medeval.tasks.self_check import check_task
from medeval.tasks.task import DEMO, ORACLE, AskedTask, Method
from medeval.tasks.task_run import ModelChoice, TaskRun

TABLES = table("tasks")
WHO = {"endpoint": "in-process", "model": "m", "parameters": {}, "prompt_version": "1"}
URL = "http://127.0.0.1:1/v1"
AWAY = "https://judges.example.org/v1"


class _Wrong:
    """A task whose scorer is broken in one way; all else is the real one's."""

    def __init__(self, task: AskedTask, value: Mapping[str, float]) -> None:
        self._task = task
        self._value = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def prepared(self, provider: Any) -> Any:
        return self

    def score(self, folder: Path, method: Method) -> Any:
        scored = self._task.score(folder, method)
        if (value := self._value.get(scored.result.model_id)) is not None:
            scored.result.metrics_results["f1"] = value
        return scored


@pytest.mark.parametrize(("kind", "value", "found"), TABLES["wrong_scorers"])
def test_a_wrong_scorer_fails_the_check_that_is_for_it(kind: str, value: float, found: str) -> None:
    task: Any = _Wrong(start("yier", {}), {kind: value})
    assert [check.name for check in check_task(task) if not check.passed] == [found]


@pytest.mark.parametrize("answers", [("A", "B", "B"), ("A", "B and A", "B")])
def test_a_task_of_options_passes_its_check(tmp_path: Path, answers: tuple[str, ...]) -> None:
    rows = [
        {"question": f"q{at}", "options": ["x", "y"], "answer": a} for at, a in enumerate(answers)
    ]
    file = tmp_path / "quiz.json"
    file.write_text(json.dumps({"task_type": "multiple_choice", "dataset": rows}), encoding="utf-8")
    assert [check.name for check in check_task(start(str(file), {})) if not check.passed] == []


def test_notes_are_shuffled_by_a_seed(asked_duckdb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(asked_duckdb))

    def ids(**options: Any) -> list[str]:
        return [item.id for item in start("mtsamples", options).items()]

    assert ids(shuffle_seed=3) == ids(shuffle_seed=3) != ids()
    assert sorted(ids(shuffle_seed=3)) == sorted(ids())


def test_options_nested_without_end_are_refused() -> None:
    refused("--env-args is not JSON", parse_arguments, "[" * 100_000)


def test_two_runs_of_one_second_have_two_folders(tmp_path: Path) -> None:
    task = start("yier", {})
    folders = [TaskRun(task, ModelChoice(DEMO), runs=tmp_path).folder for _ in range(4)]
    assert sorted(tmp_path.iterdir()) == sorted(set(folders))
    assert len(set(folders)) == 4


# Judgings


def test_judges_see_the_answer_with_its_reasons_and_not_the_form_around_it(tmp_path: Path) -> None:
    file, folder = tmp_path / "own.yaml", tmp_path / "run"
    file.write_text(TABLES["summaries"], encoding="utf-8")
    task: Any = start(str(file), {})
    provider = task.local_provider(ORACLE, DataUseGuard({}, folder / AUDIT))
    settings = {**settings_of(provider, task.prompt_version), **task.settings()}
    run = Run(folder, settings, provider, about={"task": task.name})
    run.execute(task.samples(), RunConfig(can_read=task.can_read))
    journal = folder / RESPONSES
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    texts = ['{"answer": "yes", "rationale": "since it is so"}', "plainly no"]
    changed = [{**line, "text": text} for line, text in zip(lines, texts, strict=True)]
    journal.write_text("".join(json.dumps(line) + "\n" for line in changed), encoding="utf-8")
    shown = [subject.answer for subject in task.subjects(read_record(folder))]
    assert shown == ["yes\nsince it is so", "plainly no"]


def record_of(*plans: Jury) -> RunRecord:
    return RunRecord(settings=WHO, task="mtsamples", judgings=plans)


def test_the_same_judges_go_on_in_their_newest_folder_and_others_in_one_of_their_own() -> None:
    one, other = jury_of(["a", "b"], [URL]), jury_of(["c"], [URL])
    turned = jury_of(["b", "a"], [URL], pooling="median", repeats=2)
    record = record_of(one, other.model_copy(update={"folder": "judging-2"}))
    assert (chosen_jury(record, turned).folder, chosen_jury(record, turned).pooling) == (
        ".",
        "mean",
    )
    assert chosen_jury(record, turned, {"pooling": "median"}).pooling == "median"
    assert chosen_jury(record, other).folder == "judging-2"
    assert chosen_jury(record, jury_of(["a"], [URL])).folder == "judging-3"
    assert chosen_jury(record, jury_of(["a", "b"], [URL], seed=1)).folder == "judging-3"
    again = record_of(one, one.model_copy(update={"folder": "judging-2"}))
    assert chosen_jury(again, turned).folder == "judging-2"
    # Without a judge the newest judging goes on.
    newest = chosen_jury(record_of(one, other), None, {"repeats": 3})
    assert ([judge.model for judge in newest.judges], newest.repeats) == (["c"], 3)
    refused("was never judged", chosen_jury, record_of(), None)


def test_the_pooling_of_one_judge_is_no_difference_and_that_of_a_jury_is() -> None:
    one, two = jury_of(["a"], [URL]), jury_of(["a", "b"], [URL])
    assert one.same_judging() == jury_of(["a"], [URL], pooling="median").same_judging()
    assert two.same_judging() == jury_of(["b", "a"], [URL]).same_judging()
    assert two.same_judging() != jury_of(["a", "b"], [URL], pooling="median").same_judging()
    assert one.same_judging() != jury_of(["a"], [URL], repeats=2).same_judging()
    assert one.same_judging() != jury_of(["a"], [AWAY]).same_judging()
