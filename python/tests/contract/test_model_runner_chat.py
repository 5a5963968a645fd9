"""Chat models in the model runner: prompts out, outputs back, answers kept, nothing given away."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from model_server import BAD_REQUEST, Body, Fault, Script, model_server, prompt_of
from tables import refused, table

from medeval.evaluation.model_runner import ModelRunner
from medeval.evaluation.task_loader import TaskLoader
from medeval.models.medical_task import MedicalTask

Row = dict[str, Any]

TABLES = table("model_runner")
TASK = TaskLoader().load_task("clinical_qa_basic")
KEY = "sk-secret-0123456789"
PANCREAS = Script(reply=lambda body: '{"answer": "pancreas"}')


def chat_runner(url: str, folder: Path, **given: Any) -> Any:
    runner = ModelRunner(folder=folder / "models", endpoints=folder / "endpoints.toml")
    quick = {"max_retries": 3, "backoff_factor": 0.01}
    runner.load_model("m", model_type="openai", base_url=url, **{**quick, **given})
    return runner


def test_each_input_is_asked_by_the_prompt_of_its_task(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: json.dumps({"answer": prompt_of(body)}))) as server:
        runner = chat_runner(server.url, tmp_path, model="served-name", max_tokens=50, seed=7)
        outputs = runner.run_model("m", TASK.inputs, task=TASK)
    assert len(outputs) == len(server.seen.bodies) == len(TASK.inputs)
    for row, output in zip(TASK.inputs, outputs, strict=True):
        assert row["question"] in output["answer"]
    for body in server.seen.bodies:
        assert [message["role"] for message in body["messages"]] == ["system", "user"]
        assert {"answer": prompt_of(body)} in outputs
        assert body["model"] == "served-name"
        assert (body["temperature"], body["max_tokens"], body["seed"]) == (0.0, 50, 7)
        assert body["response_format"]["type"] == "json_schema"
        assert body["response_format"]["json_schema"]["schema"]["required"] == ["answer"]


def test_answers_are_kept_and_not_asked_for_again(tmp_path: Path) -> None:
    with model_server(PANCREAS) as server:
        first = chat_runner(server.url, tmp_path).run_model("m", TASK.inputs[:3], task=TASK)
        again = chat_runner(server.url, tmp_path)
        # Identical inputs are asked once.
        assert again.run_model("m", [*TASK.inputs] * 2, task=TASK)[:3] == first
        assert server.seen.requests == len(TASK.inputs)
        measured = again.model("m").measured
        assert len(measured) == 2 * len(TASK.inputs)
        assert (measured[0]["outcome"], measured[0]["model"]) == ("answered", "m-2026-01-01")
        assert measured[0]["usage"]["input_tokens"] == 100
        assert measured[0]["seconds"] >= 0
        # Another parameter is another question.
        chat_runner(server.url, tmp_path, seed=1).run_model("m", TASK.inputs[:1], task=TASK)
        assert server.seen.requests == len(TASK.inputs) + 1
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "models").rglob("*"))


def test_a_failed_item_is_an_error_on_its_own_place_and_is_asked_again(tmp_path: Path) -> None:
    rows = TASK.inputs[:4]

    def fault(body: Body, before: int) -> Fault | None:
        return BAD_REQUEST if rows[2]["question"] in prompt_of(body) and before == 0 else None

    with model_server(Script(fault=fault, reply=PANCREAS.reply)) as server:
        # One after the other: a refusal before any answer would have parameters left out.
        runner = chat_runner(server.url, tmp_path, concurrency=1)
        outputs = runner.run_model("m", rows, task=TASK)
        answer = {"answer": "pancreas"}
        error = {"type": "request", "attempts": 1, "status": 400, "code": "invalid_value"}
        assert outputs == [answer, answer, {"error": error}, answer]
        assert runner.run_model("m", rows, task=TASK) == [answer] * 4
        assert server.seen.requests == 5
        refused("needs task", runner.run_model, "m", rows, error=ValueError)


@pytest.mark.parametrize(("reply", "output"), TABLES["replies"])
def test_a_reply_without_answer_is_an_error(tmp_path: Path, reply: Any, output: Row) -> None:
    with model_server(Script(reply=lambda body: reply)) as server:
        outputs = chat_runner(server.url, tmp_path).run_model("m", TASK.inputs[:1], task=TASK)
    assert outputs == [output]


def test_credentialed_inputs_go_to_no_endpoint_that_is_not_declared(tmp_path: Path) -> None:
    private = MedicalTask(task_id="p", task_type="qa", inputs=TASK.inputs)
    with model_server(PANCREAS) as server:
        runner = chat_runner(server.url, tmp_path)
        refused("Nothing was sent", runner.run_model, "m", private.inputs, task=private)
        refused("", runner.run_model, "m", TASK.inputs, task=TASK, data_class="credentialed")
        assert server.seen.connections == 0
        declared = f'[[endpoint]]\nbase_url = "{server.url}"\nruns_locally = true\n'
        (tmp_path / "endpoints.toml").write_text(declared, encoding="utf-8")
        runner = chat_runner(server.url, tmp_path)
        assert runner.run_model("m", private.inputs[:1], task=private) == [{"answer": "pancreas"}]
        runner = chat_runner(server.url, tmp_path / "audited")
        runner.run_model("m", TASK.inputs, task=TASK)
    text = (tmp_path / "audited" / "models" / "audit.jsonl").read_text(encoding="utf-8")
    grounds = [json.loads(line)["ground"] for line in text.splitlines()]
    assert grounds == ["open"] * len(TASK.inputs)
    assert "pancreas" not in text


def test_it_runs_where_an_event_loop_runs_already(tmp_path: Path) -> None:
    async def in_a_notebook(runner: ModelRunner) -> list[Any]:
        again = runner.run_model_async("m", TASK.inputs[:1], task=TASK)
        return [runner.run_model("m", TASK.inputs[:1], task=TASK), await again]

    with model_server(PANCREAS) as server:
        found = asyncio.run(in_a_notebook(chat_runner(server.url, tmp_path)))
    assert found == [[{"answer": "pancreas"}]] * 2
    assert threading.active_count() < 20
