"""Replies as data, one a line: JSON that every task reads in one way, and choices of YIER.

A line of `json_cases.jsonl` has a reply, which of the answers A, B and C is read from it (null for
none), and why. `but` names a task that reads it otherwise, and the sentence of its contract that
says so. A line of `yier_replies.jsonl` says by which rule a reply means which options (by their
letters), what in it is no option, and where it matters the step that reads it.

All replies of a table go through one whole run of a task, and what is asserted is what the scores
of that run say it has read.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from case_files import write_manifest
from commands import PROJECT_ROOT, run_medeval
from model_server import Script, model_server, prompt_of
from tables import slow_after, table

Row = dict[str, Any]

GIVEN = table("replies")
CASES: list[Row] = table("json_cases", "readers")
REPLIES = [row["reply"] * row.get("times", 1) for row in CASES]
CHOICES: list[Row] = table("yier_replies", "readers")
ANSWERS = ("A", "B", "C")
OPTIONS = ("Fever", "Cough", "Rash")
MODEL = """
import json, pathlib, re
REPLIES = json.loads(pathlib.Path(__file__).with_name("replies.json").read_text("utf-8"))
def reply(messages):
    return REPLIES[int(re.search(r"case-(\\d+)", messages[-1]["content"])[1])]
"""


def reply_to(text: str) -> str:
    found = re.search(r"case-(\d+)", text)
    assert found is not None
    return str(REPLIES[int(found[1])])


def scored_run(folder: Path, task: str, *words: str | Path, scoring: tuple[Any, ...] = ()) -> Path:
    """Return a run of a task, of whose replies many are not to be read, with its scores."""
    done = run_medeval("run", "--task", task, "--out", folder / "runs", *words, code=1)
    (run,) = (folder / "runs").iterdir()
    done = run_medeval("score", "--task", task, run, "--n-iters", "0", *scoring)
    assert (run / "scores.json").is_file(), done.stderr
    return run


def result_of(run: Path) -> Row:
    report = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    result: Row = report["detailed_results"][0]
    return result


def outputs_of_run(
    folder: Path, task: str, *words: str | Path, replies: Sequence[str] = REPLIES
) -> list[Row]:
    """Return the outputs that the scores of a run of all replies say it has read."""
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    (folder / "replies.json").write_text(json.dumps(replies), encoding="utf-8")
    run = scored_run(folder, task, "--model", f"{folder / 'model.py'}:reply", *words)
    outputs: list[Row] = result_of(run)["model_outputs"]
    return outputs


def outputs_of_yier(
    folder: Path, options: Sequence[Sequence[str]], replies: Sequence[str]
) -> list[Row]:
    rows = [
        {
            "question": f"case-{place}?",
            "selection": own,
            "answer_choices": own[:1],
            "sample_id": f"{place:04}",
            "data_class": "open",
        }
        for place, own in enumerate(options)
    ]
    path = folder / "questions.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return outputs_of_run(folder, "yier", "--questions", path, replies=replies)


def task_file(folder: Path, name: str, shown: str, gold: Row) -> str:
    """Write a task file in which each case is a row, and return its path."""
    rows = [{"input": {shown: f"case-{place}."}, "output": gold} for place, _ in enumerate(CASES)]
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps({**GIVEN[name], "dataset": rows}), encoding="utf-8")
    return str(path)


def read_by_yier(folder: Path) -> Iterator[Any]:
    for output in outputs_of_yier(folder, [OPTIONS] * len(CASES), REPLIES):
        read = output["predict_answers"] if output["extraction"] == "json" else []
        yield ANSWERS[OPTIONS.index(read[0])] if read else None


def read_by_task_file(folder: Path) -> Iterator[Any]:
    for output in outputs_of_run(
        folder, task_file(folder, "task_file", "question", {"answer": "A"})
    ):
        yield output.get("answer")


def read_by_judge(folder: Path) -> Iterator[Any]:
    path = task_file(folder, "judge", "document", {"summary": "x"})
    with model_server(Script(reply=lambda body: reply_to(prompt_of(body)))) as server:
        judge = ("--judge-model", "j", "--judge-base-url", server.url)
        run = scored_run(folder, path, "--model", "demo", *judge)
    for score in result_of(run)["item_scores"]["judge_accuracy"]:
        yield None if score is None else ANSWERS[int(score) - 1]


def read_by_cdm(folder: Path) -> Iterator[Any]:
    cases, export = folder / "cdm", PROJECT_ROOT / "python/tests/cli/inputs/cdm"
    cases.mkdir()
    first = json.loads(export.joinpath("benchmark.jsonl").read_text("utf-8").splitlines()[0])
    lines = [
        json.dumps(
            first | {"hadm_id": place + 1, "history_of_present_illness": f"case-{place} has pain."}
        )
        for place in range(len(CASES))
    ]
    (cases / "benchmark.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copy(export / "lab_test_mapping.json", cases)
    write_manifest(cases)
    with model_server(Script(reply=lambda body: reply_to(str(body["messages"])))) as server:
        words = ("--model", "m", "--base-url", server.url, "--cases", cases)
        words += ("--context-limit", "1000000")
        run = scored_run(folder, "cdm", *words, scoring=("--cases", cases))
    for line in (run / "case_scores.jsonl").read_text(encoding="utf-8").splitlines():
        # A part of an answer, such as treatments alone, has an empty one.
        yield json.loads(line).get("answers", {}).get("Diagnosis") or None


READERS: dict[str, Callable[[Path], Iterator[Any]]] = {
    "task_file": read_by_task_file,
    "cdm": read_by_cdm,
    "yier": read_by_yier,
    "judge": read_by_judge,
}


@pytest.mark.parametrize("reader", slow_after(1, READERS))
def test_json_in_a_reply_is_read_as_the_table_says(tmp_path: Path, reader: str) -> None:
    said = [row.get("but", {}).get(reader, row)["read"] for row in CASES]
    read = list(READERS[reader](tmp_path))
    assert len(read) == len(CASES)
    wrong = [
        (row["case"], f"should be {due}, is {is_read}")
        for row, due, is_read in zip(CASES, said, read, strict=True)
        if due != is_read
    ]
    assert wrong == []


def test_every_row_of_the_table_says_why() -> None:
    rows = [*CASES, *(other for row in CASES for other in row.get("but", {}).values())]
    assert all(row["reason"] and row["read"] in (None, *ANSWERS) for row in rows)
    assert all(set(row.get("but", {})) <= set(READERS) for row in CASES)
    assert len({row["case"] for row in CASES}) == len(CASES)


def options_of(case: Row) -> Sequence[str]:
    named = case["options"]
    return GIVEN["options"][named] if isinstance(named, str) else named


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    folder, replies = tmp_path_factory.mktemp("replies"), [case["reply"] for case in CHOICES]
    return outputs_of_yier(folder, list(map(options_of, CHOICES)), replies)


@pytest.mark.parametrize("number", range(len(CHOICES)))
def test_a_reply_is_read_as_its_line_says(chosen: list[Row], number: int) -> None:
    case, found = CHOICES[number], chosen[number]
    due = [options_of(case)["ABCDEF".index(letter)] for letter in case["read"]]
    assert found["predict_answers"] == [*due, *case.get("unknown", [])], case
    assert case.get("step") in (None, found["extraction"]), case
