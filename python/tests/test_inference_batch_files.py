"""Batch files: what goes out is what would be asked, and answers find their items by name."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inference_runs import MODEL, ask, content, open_item, open_items
from model_server import model_server

from medeval.errors import UserError
from medeval.inference.batch import Imported, custom_id, export_batch, import_batch
from medeval.inference.endpoints import Endpoint
from medeval.inference.guard import DataUseGuard, RefusedError
from medeval.inference.run import Run
from medeval.inference.types import Item

URL = "http://127.0.0.1:9/v1"
PARAMETERS = {"temperature": 0, "max_tokens": 20}


def answered(text: str) -> dict[str, Any]:
    body = {
        "model": "tested-model-2026-01-01",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }
    return {"response": {"status_code": 200, "body": body}, "error": None}


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run_in(folder: Path, url: str = URL) -> Run:
    asked = {"endpoint": url, "model": MODEL, "parameters": PARAMETERS, "prompt_version": ""}
    return Run(folder, asked)


def names(folder: Path, items: list[Item]) -> list[str]:
    return [custom_id(request) for request in run_in(folder).requests(items)]


def imported(folder: Path, items: list[Item], *paths: Path) -> Imported:
    return import_batch(run_in(folder), items, paths)


def test_the_file_holds_what_would_be_asked(tmp_path: Path) -> None:
    items = open_items(3)
    path = tmp_path / "batch.jsonl"
    assert (
        export_batch(run_in(tmp_path), items, DataUseGuard({}, tmp_path / "audit.jsonl"), path) == 3
    )
    exported = [json.loads(line) for line in path.read_text().splitlines()]
    assert exported[1] == {
        "custom_id": names(tmp_path, items)[1],
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": MODEL,
            "messages": [{"role": "user", "content": "question item-001"}],
            "temperature": 0,
            "max_tokens": 20,
            "stream": False,
        },
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with model_server() as server:
        parameters = {"temperature": 0, "max_tokens": 20}
        ask(server.url, tmp_path / "run", items, parameters=parameters)
        assert sorted(map(json.dumps, server.seen.bodies)) == [
            json.dumps(line["body"]) for line in exported
        ]


def test_names_are_hashes_of_their_own(tmp_path: Path) -> None:
    first = open_item("20000001")
    twin = replace(first, id="20000002")
    found = names(tmp_path, [first, replace(first, sample=1), twin])
    assert len(set(found)) == 3
    assert all(len(name) == 64 and "2000000" not in name for name in found)


def test_credentialed_text_is_in_no_batch_for_an_undeclared_endpoint(tmp_path: Path) -> None:
    items = [*open_items(2), Item("20000001", [{"role": "user", "content": "note"}])]
    path = tmp_path / "batch.jsonl"
    audit = tmp_path / "audit.jsonl"
    with pytest.raises(RefusedError):
        export_batch(run_in(tmp_path), items, DataUseGuard({}, audit), path)
    assert not path.exists()
    declared = {URL: Endpoint(base_url=URL, runs_locally=True)}
    assert export_batch(run_in(tmp_path), items, DataUseGuard(declared, audit), path) == 3


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    path = write(tmp_path / "batch.jsonl", [])
    with pytest.raises(UserError, match="is there already"):
        export_batch(
            run_in(tmp_path), open_items(1), DataUseGuard({}, tmp_path / "audit.jsonl"), path
        )


def test_answers_in_any_order_find_their_items(tmp_path: Path) -> None:
    items = open_items(5)
    lines = [
        {"custom_id": name, **answered(f"answer {item.id}")}
        for name, item in zip(names(tmp_path, items), items, strict=True)
    ]
    found = imported(tmp_path, items, write(tmp_path / "out.jsonl", lines[::-1]))
    assert found == Imported(new=5)
    assert [(line["item"], line["text"]) for line in content(tmp_path)] == [
        (item.id, f"answer {item.id}") for item in items
    ]


def test_failed_expired_and_missing_ones_are_told_apart(tmp_path: Path) -> None:
    items = open_items(6)
    name = names(tmp_path, items)
    error_body = {"error": {"message": "question item-001 is bad", "code": "invalid_value"}}
    output = write(tmp_path / "out.jsonl", [{"custom_id": name[0], **answered("A")}])
    errors = write(
        tmp_path / "errors.jsonl",
        [
            {"custom_id": name[1], "response": {"status_code": 400, "body": error_body}},
            {"custom_id": name[2], "response": None, "error": {"code": "batch_expired"}},
            {"custom_id": name[3], "response": {"status_code": 200, "body": {}}, "error": None},
            {"custom_id": name[4], **answered("<think>A")},
        ],
    )
    found = imported(tmp_path, items, output, errors)
    assert found == Imported(new=4, missing=["item-002", "item-005"], expired=1)
    assert [(line["item"], line["outcome"]) for line in content(tmp_path)] == [
        ("item-000", "answered"),
        ("item-001", "errored"),
        ("item-003", "errored"),
        ("item-004", "truncated_reasoning"),
    ]
    later = write(
        tmp_path / "later.jsonl",
        [{"custom_id": name[number], **answered("B")} for number in (0, 2, 5)],
    )
    assert imported(tmp_path, items, later) == Imported(
        new=2, known=1, missing=["item-001", "item-003", "item-004"]
    )
    assert content(tmp_path)[0]["text"] == "A"


def test_answers_to_other_prompts_are_refused_and_nothing_is_imported(tmp_path: Path) -> None:
    items = open_items(2)
    lines = [{"custom_id": name, **answered("A")} for name in names(tmp_path, items)]
    output = write(tmp_path / "out.jsonl", lines)
    changed = [items[0], Item("item-001", [{"role": "user", "content": "another"}], "open")]
    with pytest.raises(UserError, match="1 answers belong to none of the items"):
        imported(tmp_path, changed, output)
    assert content(tmp_path) == []


def test_an_answer_that_comes_twice_is_told_with_its_line(tmp_path: Path) -> None:
    line = {"custom_id": names(tmp_path, open_items(1))[0], **answered("A")}
    output = write(tmp_path / "out.jsonl", [line, line])
    with pytest.raises(UserError, match=r"out\.jsonl, line 2: .* comes twice"):
        imported(tmp_path, open_items(1), output)


@pytest.mark.parametrize("text", ["not json\n", "[]\n", "{}\n"])
def test_a_line_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(text)
    with pytest.raises(UserError, match="line 1: not a line of a batch"):
        imported(tmp_path, open_items(1), path)


def test_a_run_goes_on_after_an_import(tmp_path: Path) -> None:
    items = open_items(4)
    with model_server() as server:
        run = run_in(tmp_path / "run", server.url)
        name = [custom_id(request) for request in run.requests(items)]
        output = write(tmp_path / "out.jsonl", [{"custom_id": name[2], **answered("A")}])
        folder = tmp_path / "run"
        ask(server.url, folder, items[:1], parameters=PARAMETERS)
        import_batch(run, items, [output])
        ended = ask(server.url, folder, items, parameters=PARAMETERS)
        assert server.seen.requests == 3
    assert ended.progress.ledger.as_json()["answered"] == 4
