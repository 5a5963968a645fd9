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
from medeval.inference.batch import custom_id, export_batch, import_batch
from medeval.inference.guard import DataUseGuard
from medeval.inference.run import Run
from medeval.inference.types import Sample

URL = "http://127.0.0.1:9/v1"
PARAMETERS = {"temperature": 0, "max_tokens": 20}


def answered(name: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    body = {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}
    return {"custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run_in(folder: Path, url: str = URL) -> Run:
    asked = {"endpoint": url, "model": MODEL, "parameters": PARAMETERS, "prompt_version": ""}
    return Run(folder, asked)


def names(folder: Path, items: list[Sample]) -> list[str]:
    return [custom_id(run_in(folder).request(item)) for item in items]


def test_the_file_holds_what_would_be_asked_under_hashes(tmp_path: Path) -> None:
    first = open_item("20000001")
    items = [first, replace(first, sample=1), replace(first, id="20000002")]
    path, gate = tmp_path / "batch.jsonl", DataUseGuard({}, tmp_path / "audit.jsonl")
    assert export_batch(run_in(tmp_path), items, gate, path) == 3
    exported = [json.loads(line) for line in path.read_text().splitlines()]
    named = [line.pop("custom_id") for line in exported]
    assert named == names(tmp_path, items)
    assert len(set(named)) == 3
    assert all(len(name) == 64 and "2000000" not in name for name in named)
    bodies = [line.pop("body") for line in exported]
    assert exported == [{"method": "POST", "url": "/v1/chat/completions"}] * 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with model_server() as server:
        ask(server.url, tmp_path / "run", items, parameters=PARAMETERS)
        assert server.seen.bodies == bodies


def test_failed_expired_and_missing_ones_are_told_apart_and_mended_later(tmp_path: Path) -> None:
    items = open_items(6)
    name = names(tmp_path, items)
    error_body = {"error": {"message": "question item-001 is bad", "code": "invalid_value"}}
    output = write(tmp_path / "out.jsonl", answered(name[0], "A"))
    errors = write(
        tmp_path / "errors.jsonl",
        {"custom_id": name[1], "response": {"status_code": 400, "body": error_body}},
        {"custom_id": name[2], "response": None, "error": {"code": "batch_expired"}},
        {"custom_id": name[3], "response": {"status_code": 200, "body": {}}, "error": None},
        answered(name[4], "<think>A"),
    )
    assert import_batch(run_in(tmp_path), items, [output, errors]) == {"new": 4, "expired": 1}
    outcomes = [f"{line['item'][-1]} {line['outcome']}" for line in content(tmp_path)]
    assert outcomes == ["0 answered", "1 errored", "3 errored", "4 truncated_reasoning"]
    later = write(tmp_path / "later.jsonl", *(answered(name[number], "B") for number in (0, 2, 5)))
    assert import_batch(run_in(tmp_path), items, [later]) == {"new": 2, "known": 1, "expired": 0}
    assert content(tmp_path)[0]["text"] == "A"


def test_answers_to_other_prompts_are_refused_and_nothing_is_imported(tmp_path: Path) -> None:
    items = open_items(2)
    found = [answered(name, "A") for name in names(tmp_path, items)]
    changed = [items[0], Sample("item-001", [{"role": "user", "content": "another"}], "open")]
    for asked, lines in ((changed, found), (items, [answered("", "A")])):
        output = write(tmp_path / "out.jsonl", *lines)
        with pytest.raises(UserError, match="1 answers belong to none of the items"):
            import_batch(run_in(tmp_path), asked, [output])
    assert content(tmp_path) == []
