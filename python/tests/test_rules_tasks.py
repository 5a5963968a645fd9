"""Rules of the tasks of single items that a small change of them could break unseen."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medeval.errors import UserError
from medeval.inference.guard import DataUseGuard
from medeval.inference.run import AUDIT, RESPONSES, Run, RunConfig, settings_of
from medeval.judging.jury import Judge, Jury, jury_of
from medeval.mtsamples.export import Example
from medeval.tasks.catalogue import begin, canonical_name
from medeval.tasks.judged import chosen_jury
from medeval.tasks.medical_score import score_of
from medeval.tasks.models import ModelChoice
from medeval.tasks.mtsamples import MtsamplesOptions, MtsamplesTask, resumed
from medeval.tasks.run_record import RunRecord, facts_of_run, newest_run, read_record
from medeval.tasks.task import DEMO, EMPTY, ORACLE, Method
from medeval.tasks.task_run import open_run
from medeval.tasks.yier import options_of as yier_options

PLAIN = Method(n_iters=0)
Line = dict[str, Any]

QA = """
task_id: {name}
task_type: qa
{about}
metrics: [accuracy]
dataset:
  - {{input: {{question: alpha QQONE}}, output: {{answer: 'yes'}}}}
  - {{input: {{question: omega QQTWO}}, output: {{answer: 'no'}}}}
"""


def task_file(folder: Path, name: str = "own", about: str = "data_class: open") -> str:
    path = folder / f"{name}.yaml"
    path.write_text(QA.format(name=name, about=about), encoding="utf-8")
    return str(path)


def run_of(task: Any, kind: str, folder: Path, limit: int | None = None) -> Path:
    """Ask a built-in model and return the run's folder."""
    folder.mkdir(parents=True)
    provider = task.local_provider(kind, DataUseGuard({}, folder / AUDIT))
    settings = {**settings_of(provider, task.prompt_version), **task.settings()}
    run = Run(folder, settings, provider, about={"task": task.name})
    run.update("limit", limit)
    options = RunConfig(can_read=task.can_read)
    run.execute(task.samples(limit), options)
    return folder


def rewrite(folder: Path, change: Callable[[Line], Line]) -> None:
    journal = folder / RESPONSES
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    text = "".join(json.dumps(change(line)) + "\n" for line in lines)
    journal.write_text(text, encoding="utf-8")


# Records of runs


def test_a_run_that_was_refused_before_its_first_item_is_not_the_newest(tmp_path: Path) -> None:
    task = begin("yier", {})
    older = run_of(task, DEMO, tmp_path / "20260101T000000Z-yier-demo", 1)
    newer = run_of(task, DEMO, tmp_path / "20260102T000000Z-yier-demo", 1)
    assert newest_run("yier", tmp_path) == newer
    (newer / RESPONSES).write_text("", encoding="utf-8")
    assert newest_run("yier", tmp_path) == older
    (newer / RESPONSES).unlink()
    assert newest_run("yier", tmp_path) == older


def test_what_a_journal_has_beyond_the_items_that_are_due_does_not_count(tmp_path: Path) -> None:
    task = begin("yier", {})
    record = read_record(run_of(task, DEMO, tmp_path / "run", 5))
    facts = facts_of_run(record, task.items(2))
    assert (facts["ledger"]["asked"], facts["not_asked"]) == (2, 0)
    assert sum(facts["models_reported"].values()) <= 2
    assert facts_of_run(record, task.items(7))["not_asked"] == 2


def test_the_items_of_a_run_are_the_same_in_any_order_and_with_any_samples(tmp_path: Path) -> None:
    task = begin("yier", {})
    record = read_record(run_of(task, DEMO, tmp_path / "run", 4))
    items = list(task.items(4))
    twice = [*items, *(replace(item, sample=1) for item in items)]
    wanted = facts_of_run(record, items)["items_sha256"]
    for same in (items[::-1], twice):
        assert facts_of_run(record, same)["items_sha256"] == wanted
    assert facts_of_run(record, items[:3])["items_sha256"] != wanted


# Task files


@pytest.mark.parametrize(("outcome", "value"), [("answered", 1.0), ("truncated", 0.5)])
def test_only_what_a_model_answered_is_read_as_an_answer(
    tmp_path: Path, outcome: str, value: float
) -> None:
    task = begin(task_file(tmp_path), {})
    folder = run_of(task, ORACLE, tmp_path / "run")
    rewrite(folder, lambda line: {**line, "outcome": outcome} if line["item"] == "1" else line)
    assert task.score(folder, PLAIN).result.metrics_results["accuracy"] == value


@pytest.mark.parametrize("name", ["yier", "cdm", "mtsamples", "in_hospital_mortality"])
def test_a_task_file_takes_no_name_of_another_task(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="is the name of another task"):
        begin(task_file(tmp_path, name), {})


def test_a_part_of_a_task_file_is_scored_by_what_was_asked(tmp_path: Path) -> None:
    task = begin(task_file(tmp_path), {})
    found = task.score(run_of(task, ORACLE, tmp_path / "run", 1), PLAIN).result
    assert (found.metrics_results["accuracy"], len(found.inputs)) == (1.0, 1)
    assert found.metadata["data"]["items"] == 1


def test_a_metric_that_there_is_not_is_told_before_a_model_is_asked(tmp_path: Path) -> None:
    file = Path(task_file(tmp_path))
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("[accuracy]", "[accuracy, exactness]"), encoding="utf-8")
    with pytest.raises(UserError, match="exactness"):
        begin(str(file), {})


def test_items_that_are_not_open_are_in_no_report(tmp_path: Path) -> None:
    for about, is_shown in (("data_class: open", True), ("description: of patients", False)):
        task = begin(task_file(tmp_path, about=about), {})
        found = task.score(run_of(task, ORACLE, tmp_path / str(is_shown)), PLAIN)
        told = found.result.model_dump_json()
        assert ("QQONE" in told) is is_shown
        assert any(found.result.model_outputs) is is_shown
        assert [row["id"] for row in found.result.inputs] == ["0", "1"]


SUMMARIES = """
task_id: own
task_type: summarization
data_class: open
metrics: [readability]
dataset:
  - {input: {document: One two.}, output: {summary: One two.}}
  - {input: {document: Three.}, output: {summary: Three.}}
"""


def test_an_item_has_the_mean_of_the_samples_in_which_it_has_a_score(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(SUMMARIES, encoding="utf-8")
    task: Any = begin(str(file), {})
    reply = {"summary": "One two three four. It is good."}
    grade = score_of(task.task, "readability", "m", [[reply, {}]], PLAIN, {}).result
    assert (grade.item_scores or {})["readability"][1] is None
    found = score_of(task.task, "readability", "m", [[reply, {}], [{}, {}]], PLAIN, {}).result
    assert found.item_scores == grade.item_scores
    assert found.metadata["undefined"]["readability"]["items"] == 1


def test_a_metric_of_the_whole_task_is_the_mean_over_samples(tmp_path: Path) -> None:
    file = Path(task_file(tmp_path))
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("[accuracy]", "[accuracy, macro_f1]"), encoding="utf-8")
    task: Any = begin(str(file), {})
    right, wrong = [{"answer": "yes"}, {"answer": "no"}], [{"answer": "no"}, {"answer": "yes"}]
    found = score_of(task.task, "accuracy", "m", [right, wrong], PLAIN, {}).result
    assert found.metrics_results["macro_f1"] == 0.5
    assert found.metadata["by_sample"]["macro_f1"] == [1.0, 0.0]
    assert found.metadata["n"]["macro_f1"] == 2


def test_a_rubric_that_is_not_there_is_told_before_a_model_is_asked(tmp_path: Path) -> None:
    about = "data_class: open\njudge: none.yaml"
    with pytest.raises(UserError, match=r"no rubric 'none\.yaml'"):
        begin(task_file(tmp_path, about=about), {})


def test_judges_see_the_answer_with_its_reasons_and_not_the_form_around_it(
    tmp_path: Path,
) -> None:
    task: Any = begin(task_file(tmp_path, about="data_class: open\njudge: summarization"), {})
    folder = run_of(task, ORACLE, tmp_path / "run")
    texts = iter(['{"answer": "yes", "rationale": "since it is so"}', "plainly no"])
    rewrite(folder, lambda line: {**line, "text": next(texts)})
    shown = [subject.answer for subject in task.subjects(read_record(folder))]
    assert shown == ["yes\nsince it is so", "plainly no"]


def test_a_short_name_is_that_of_its_task() -> None:
    assert canonical_name("mtsamples") == canonical_name("MTSamples-Procedures")
    assert canonical_name("mtsamples") == "mtsamples_procedures"


# Questions


def test_runs_of_different_length_are_compared_on_what_both_were_asked(tmp_path: Path) -> None:
    task = begin("yier", {})
    short = run_of(task, ORACLE, tmp_path / "short", 3)
    whole = run_of(task, EMPTY, tmp_path / "whole")
    for first, second in ((short, whole), (whole, short)):
        found = task.compare(first, task, second, Method(n_iters=20))
        assert {one.n for one in found} == {3}


def test_a_run_of_questions_goes_on_as_it_was_begun() -> None:
    task = begin("yier", {"samples": 3, "shuffle_seed": 2, "language": "en", "json_schema": False})
    again = begin("yier", yier_options(task.settings()))
    assert again.settings() == task.settings()
    assert [item.sample for item in again.items(1)] == [0, 1, 2]


def test_a_file_of_which_no_question_is_asked_is_told(tmp_path: Path) -> None:
    file = tmp_path / "questions.json"
    text = Path("demo/yier/questions.json").read_text(encoding="utf-8")
    bare = [row for row in json.loads(text) if not row.get("context")]
    file.write_text(json.dumps(bare), encoding="utf-8")
    assert list(begin("yier", {"questions": str(file)}).items(1))
    with pytest.raises(UserError, match="holds no question to be asked"):
        begin("yier", {"questions": str(file), "skip_without_context": True})


# Notes


def note(number: int, answer: str = "Rest.") -> Example:
    name = f"note {number}"
    return Example(name, number, name, None, None, "PLAN", f"Notes {number}", answer, "helm", False)


def notes(*examples: Example) -> MtsamplesTask:
    return MtsamplesTask(examples, MtsamplesOptions(), "rule-1", "open")


def record_in(folder: Path, task: MtsamplesTask) -> RunRecord:
    folder.mkdir()
    task.keep(folder)
    settings = {**WHO, **task.settings()}
    Run(folder, settings, about={"task": task.name})
    return read_record(folder)


def test_a_run_of_notes_goes_on_with_those_that_it_kept_and_no_others(tmp_path: Path) -> None:
    task = notes(note(1), note(2))
    record = record_in(tmp_path / "run", task)
    assert list(resumed(record).examples) == list(task.examples)
    assert all(item.is_open for item in resumed(record).items())
    # A run that does not say whose its notes are.
    del record.settings["mtsamples"]["data_class"]
    assert not any(item.is_open for item in resumed(record).items())
    record_in(tmp_path / "other", notes(note(1), note(2, "Fluids.")))
    other = record.model_copy()
    other._folder = tmp_path / "other"
    with pytest.raises(UserError, match="not those that were asked about"):
        resumed(other)


def test_notes_are_shuffled_by_the_seed_and_none_is_lost(
    asked_duckdb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(asked_duckdb))

    def ids(**options: Any) -> list[str]:
        return [item.id for item in begin("mtsamples", options).items()]

    assert ids(shuffle_seed=3) == ids(shuffle_seed=3) != ids()
    assert sorted(ids(shuffle_seed=3)) == sorted(ids())


# Folders of runs


def test_two_runs_of_one_second_have_two_folders(tmp_path: Path) -> None:
    task = begin("yier", {})
    folders = [open_run(task, ModelChoice(DEMO), runs=tmp_path).folder for _ in range(4)]
    assert len(set(folders)) == 4
    assert sorted(tmp_path.iterdir()) == sorted(folders)


def test_a_run_that_cannot_begin_leaves_no_folder_but_those_that_were_there(
    tmp_path: Path, asked_export: Path
) -> None:
    path = tmp_path / "model.py"
    path.write_text("def reply(messages):\n    return ''\n", encoding="utf-8")
    task = begin("cdm", {"cases": str(asked_export)})
    choice = ModelChoice(f"{path}:reply")
    with pytest.raises(UserError, match="--tool-protocol text"):
        open_run(task, choice, runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UserError, match="--tool-protocol text"):
        open_run(task, choice, folder=empty)
    assert empty.is_dir()


# Judgings


WHO = {"endpoint": "in-process", "model": "m", "parameters": {}, "prompt_version": "1"}


def record_of(*plans: Jury) -> RunRecord:
    return RunRecord(settings=WHO, task="mtsamples", judgings=plans)


URL = "http://127.0.0.1:1/v1"
AWAY = "https://judges.example.org/v1"


def test_the_same_judges_go_on_in_their_newest_folder_and_others_in_one_of_their_own() -> None:
    one = jury_of(["a", "b"], [URL])
    turned = jury_of(["b", "a"], [URL], pooling="median", repeats=2)
    other = jury_of(["c"], [URL])
    record = record_of(one, other.model_copy(update={"folder": "judging-2"}))
    assert chosen_jury(record, turned).folder == "."
    assert chosen_jury(record, turned).pooling == "mean"
    assert chosen_jury(record, turned, {"pooling": "median"}).pooling == "median"
    assert chosen_jury(record, other).folder == "judging-2"
    assert chosen_jury(record, jury_of(["a"], [URL])).folder == "judging-3"
    assert chosen_jury(record, jury_of(["a", "b"], [URL], seed=1)).folder == "judging-3"
    again = record_of(one, one.model_copy(update={"folder": "judging-2"}))
    assert chosen_jury(again, turned).folder == "judging-2"


def test_without_a_judge_the_newest_judging_goes_on() -> None:
    one, other = jury_of(["a"], [URL]), jury_of(["c"], [URL])
    found = chosen_jury(record_of(one, other), None, {"repeats": 3})
    assert ([judge.model for judge in found.judges], found.repeats) == (["c"], 3)
    with pytest.raises(UserError, match="was never judged"):
        chosen_jury(record_of(), None)


def test_the_pooling_of_one_judge_is_no_difference_and_that_of_a_jury_is() -> None:
    def same(one: Jury, two: Jury) -> bool:
        return one.same_judging() == two.same_judging()

    assert same(jury_of(["a"], [URL]), jury_of(["a"], [URL], pooling="median"))
    assert not same(jury_of(["a", "b"], [URL]), jury_of(["a", "b"], [URL], pooling="median"))
    assert same(jury_of(["a", "b"], [URL]), jury_of(["b", "a"], [URL]))
    assert not same(jury_of(["a"], [URL]), jury_of(["a"], [URL], repeats=2))
    assert not same(jury_of(["a"], [URL]), jury_of(["a"], [AWAY]))


@pytest.mark.parametrize(
    ("changed", "has_variable", "needs_key"),
    [
        ({"base_url": URL}, False, False),
        ({"base_url": URL}, True, True),
        ({"base_url": URL, "key_variable": "MY_JUDGE"}, False, True),
        ({"base_url": URL, "key_variable": "none"}, True, False),
        ({"base_url": AWAY}, False, True),
        ({"base_url": AWAY, "key_variable": "none"}, False, False),
        ({}, False, True),
    ],
)
def test_which_judge_needs_a_key(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], has_variable: bool, needs_key: bool
) -> None:
    monkeypatch.delenv("JUDGE_API_KEY", raising=False)
    if has_variable:
        monkeypatch.setenv("JUDGE_API_KEY", "a-key-of-a-judge")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-another")
    assert (Judge(model="a", **changed).key_name() is not None) is needs_key


@pytest.mark.parametrize("urls", [[URL, URL, URL], [URL, AWAY]])
def test_addresses_are_one_for_all_judges_or_one_for_each(urls: list[str]) -> None:
    names = ["a", "b", "c"][: len(urls) + 1] if len(urls) == 2 else ["a", "b"]
    with pytest.raises(UserError, match="Give one address for all of them, or one for each"):
        jury_of(names, urls)
    assert [judge.base_url for judge in jury_of(["a", "b"], [URL, AWAY]).judges] == [URL, AWAY]
    assert [judge.base_url for judge in jury_of(["a", "b"], [URL]).judges] == [URL, URL]
