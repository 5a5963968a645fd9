"""JSON in a reply is read the same way by every task: `json_cases.jsonl` is the table of cases.

Each line has a reply, which of the answers A, B and C is read from it (null for none), and why.
`but` names a task that reads it otherwise, and the sentence of its contract that says so. Every
reply goes through a whole run of each task, one run for all of them, and what is asserted is what
that run says it has read.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT, run_medeval
from model_server import Script, model_server, prompt_of
from tables import slow_after

TABLE = Path(__file__).with_name("json_cases.jsonl")
CASES = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
REPLIES = [row["reply"] * row.get("times", 1) for row in CASES]
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
    done = run_medeval("run", "--task", task, "--out", folder / "runs", *words)
    assert done.returncode == 1, done.stderr
    (run,) = (folder / "runs").iterdir()
    done = run_medeval("score", "--task", task, run, "--n-iters", "0", *scoring)
    assert (run / "scores.json").is_file(), done.stderr
    return run


def result_of(run: Path) -> dict[str, Any]:
    report = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    result: dict[str, Any] = report["detailed_results"][0]
    return result


def outputs_of_run(folder: Path, task: str, *words: str | Path) -> list[dict[str, Any]]:
    """Return the outputs that the scores of a run of all replies say it has read."""
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    (folder / "replies.json").write_text(json.dumps(REPLIES), encoding="utf-8")
    run = scored_run(folder, task, "--model", f"{folder / 'model.py'}:reply", *words)
    outputs: list[dict[str, Any]] = result_of(run)["model_outputs"]
    return outputs


def read_by_yier(folder: Path) -> Iterator[Any]:
    rows = [
        {
            "question": f"case-{place}?",
            "selection": OPTIONS,
            "answer_choices": OPTIONS[:1],
            "sample_id": f"{place:03}",
            "data_class": "open",
        }
        for place in range(len(CASES))
    ]
    path = folder / "questions.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    for output in outputs_of_run(folder, "yier", "--questions", path):
        read = output["predict_answers"] if output["extraction"] == "json" else []
        yield ANSWERS[OPTIONS.index(read[0])] if read else None


def read_by_task_file(folder: Path) -> Iterator[Any]:
    schema = {"required": ["answer"], "properties": {"answer": {"type": "string"}, "accuracy": {}}}
    task = {
        "task_id": "replies",
        "task_type": "qa",
        "data_class": "open",
        "metrics": ["accuracy"],
        "output_schema": schema,
        "dataset": [
            {"input": {"question": f"case-{place}?"}, "output": {"answer": "A"}}
            for place in range(len(CASES))
        ],
    }
    path = folder / "replies.json.yaml"
    path.write_text(json.dumps(task), encoding="utf-8")
    for output in outputs_of_run(folder, str(path)):
        yield output.get("answer")


def read_by_judge(folder: Path) -> Iterator[Any]:
    task = {
        "task_id": "plans",
        "task_type": "summarization",
        "data_class": "open",
        "judge": "mtsamples_procedures",
        "metrics": ["rouge_l"],
        "dataset": [
            {"input": {"document": f"case-{place}."}, "output": {"summary": "x"}}
            for place in range(len(CASES))
        ],
    }
    path = folder / "plans.yaml"
    path.write_text(json.dumps(task), encoding="utf-8")
    with model_server(Script(reply=lambda body: reply_to(prompt_of(body)))) as server:
        judge = ("--judge-model", "j", "--judge-base-url", server.url)
        run = scored_run(folder, str(path), "--model", "demo", *judge)
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
    files = [
        {"path": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        for path in cases.iterdir()
    ]
    (cases / "manifest.json").write_text(json.dumps({"data_class": "open", "files": files}))
    with model_server(Script(reply=lambda body: reply_to(str(body["messages"])))) as server:
        words = ("--model", "m", "--base-url", server.url, "--cases", cases)
        words += ("--context-limit", "1000000")
        run = scored_run(folder, "cdm", *words, scoring=("--cases", cases))
    for line in (run / "case_scores.jsonl").read_text(encoding="utf-8").splitlines():
        # A part of an answer, such as treatments alone, has an empty one.
        yield json.loads(line).get("answers", {}).get("Diagnosis") or None


READERS: dict[str, Callable[[Path], Iterator[Any]]] = {
    "yier": read_by_yier,
    "task_file": read_by_task_file,
    "judge": read_by_judge,
    "cdm": read_by_cdm,
}


@pytest.mark.parametrize(
    "reader",
    slow_after(1, ["task_file", "cdm", "yier", "judge"]),
)
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
