"""`run`: a task put to a model, from the command line to the journal and on to the score."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT, run_medeval
from model_server import (
    BAD_KEY,
    BAD_REQUEST,
    LIMIT_FOR_NOW,
    QUOTA,
    SERVER,
    Body,
    Fault,
    Script,
    model_server,
    prompt_hash,
    refuses,
    slow,
)

PLANTED = "PATIENT-NAMED-XANTHIPPE"
CREDENTIALED = f"""
schema_version: 1
task_id: own_notes
task_type: summarization
description: Summarize a note.
metrics: [rouge_l]
dataset:
  - input: {{document: "{PLANTED} came with chest pain."}}
    output: {{summary: "chest pain"}}
"""


def run_task(out: Path, *args: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return run_medeval("run", "--out", out, *args, env=env)


def folder_of(done: subprocess.CompletedProcess[str]) -> Path:
    found = re.search(r"^run (.+)$", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return Path(found[1])


def lines(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "responses.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def without_measures(folder: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the journal's lines without what differs from run to run."""
    return {
        (line["item"], line["sample"]): {
            name: value for name, value in line.items() if name != "measured"
        }
        for line in lines(folder)
    }


def questions_file(folder: Path, count: int) -> Path:
    rows = [
        {
            "question": f"question {number}?",
            "selection": ["one", "two", "three", "four"],
            "answer_choices": ["one", "two"],
            "sample_id": f"q{number:03}",
            "source": "made here",
            "data_class": "open",
        }
        for number in range(count)
    ]
    path = folder / "questions.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_the_demo_model_answers_offline_and_is_scored(tmp_path: Path) -> None:
    done = run_task(tmp_path, "--task", "yier", "--model", "demo")
    assert done.returncode == 0, done.stderr
    folder = folder_of(done)
    assert len(lines(folder)) == 49
    assert {line["outcome"] for line in lines(folder)} == {"answered"}
    scored = run_medeval("score", "--task", "yier", folder, "--by", "source,context")
    assert scored.returncode == 0, scored.stderr
    assert "by source" in scored.stdout
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    result = report["detailed_results"][0]
    assert report["task_scores"]["yier"]["f1"] == result["metrics_results"]["f1"]
    assert 0 < result["metrics_results"]["f1"] < 1
    assert result["intervals"]["f1"]["low"] < result["metrics_results"]["f1"]
    assert result["metadata"]["ledger"]["asked"] == 49
    assert result["metadata"]["prompt_version"] == "yier-1"
    assert len(result["item_scores"]["mean_question_f1"]) == 49
    # The hand-in of the run is the same answers.
    handed = tmp_path / "handed.json"
    assert run_medeval("yier", "submit", folder, "--out", handed).returncode == 0
    again = run_medeval("score", "--task", "yier", handed, "--out", tmp_path / "again.json")
    assert again.returncode == 0, again.stderr
    of_file = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    assert of_file["task_scores"]["yier"] == report["task_scores"]["yier"]


def test_two_runs_of_the_demo_are_the_same(tmp_path: Path) -> None:
    folders = [
        folder_of(run_task(tmp_path / name, "--task", "yier", "--model", "demo", "--limit", "7"))
        for name in ("one", "two")
    ]
    assert without_measures(folders[0]) == without_measures(folders[1])
    assert [line["item"] for line in lines(folders[0])] == [f"demo-{n:03}" for n in range(1, 8)]


def test_a_task_file_goes_all_the_way(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: '```json\n{"answer": "Pancreas"}\n```')) as server:
        done = run_task(
            tmp_path, "--task", "clinical-qa-basic", "--model", "m", "--base-url", server.url,
            "--samples", "2", "--max-tokens", "50",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert server.seen.requests == 10
        body = server.seen.bodies[0]
    assert (body["temperature"], body["max_tokens"]) == (0.0, 50)
    assert body["response_format"]["type"] == "json_schema"
    asked = json.dumps([body["messages"] for body in server.seen.bodies])
    assert "insulin" in asked
    assert "pancreas" not in asked
    folder = folder_of(done)
    assert run_medeval("score", "--task", "clinical_qa_basic", folder).returncode == 0
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    result = report["detailed_results"][0]
    assert result["metrics_results"]["accuracy"] == pytest.approx(0.2)
    assert result["item_scores"]["accuracy"] == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert result["metadata"]["by_sample"]["accuracy"] == [0.2, 0.2]


def test_with_samples_that_differ_an_item_has_their_mean(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(
        "task_id: seeds\ntask_type: qa\ndata_class: open\nmetrics: [accuracy]\ndataset:\n"
        "  - {input: {question: alpha}, output: {answer: 'yes'}}\n"
        "  - {input: {question: omega}, output: {answer: 'yes'}}\n"
    )

    def reply(body: Body) -> str:
        first = "alpha" in json.dumps(body["messages"])
        return json.dumps({"answer": "yes" if first or body["seed"] == 7 else "no"})

    with model_server(Script(reply=reply)) as server:
        done = run_task(
            tmp_path, "--task", file, "--model", "m", "--base-url", server.url, "--samples", "4",
            "--model-seed", "6",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = folder_of(done)
    assert run_medeval("score", "--task", file, folder).returncode == 0
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    result = report["detailed_results"][0]
    assert result["item_scores"]["accuracy"] == [1.0, 0.25]
    assert result["metrics_results"]["accuracy"] == pytest.approx(0.625)
    assert result["intervals"]["accuracy"]["n"] == 2


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    questions = questions_file(tmp_path, 60)
    letters = ("A", "B", "AB", "ABC")

    def reply(body: Body) -> str:
        return letters[int(prompt_hash(body), 16) % 4]

    script = Script(fault=lambda body, before: slow(0.05), reply=reply)
    with model_server(script) as server:
        asked = [
            "--task", "yier", "--model", "m", "--base-url", server.url, "--questions",
            str(questions), "--concurrency", "4",
        ]  # fmt: skip
        whole = folder_of(run_task(tmp_path / "whole", *asked))
        before = server.seen.requests
        started = subprocess.Popen(
            [sys.executable, "-m", "medeval", "run", "--out", str(tmp_path / "killed"), *asked],
            cwd=PROJECT_ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while server.seen.requests < before + 30:
            assert started.poll() is None
            time.sleep(0.005)
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        folder = next((tmp_path / "killed").iterdir())
        answered = {(line["item"], line["sample"]) for line in lines(folder)}
        assert 0 < len(answered) < 60
        since = server.seen.requests
        done = run_medeval("run", "--resume", folder, "--concurrency", "4")
        assert done.returncode == 0, done.stderr
        assert server.seen.requests - since == 60 - len(answered)
    assert without_measures(folder) == without_measures(whole)
    assert len(lines(folder)) == 60
    run_medeval("score", "--task", "yier", folder)
    run_medeval("score", "--task", "yier", whole)
    reports = [json.loads((one / "scores.json").read_text()) for one in (folder, whole)]
    assert reports[0]["task_scores"] == reports[1]["task_scores"]


def test_an_errored_item_is_exit_code_1_and_asked_again(tmp_path: Path) -> None:
    fails = [True]

    def fault(body: Body, before: int) -> Fault | None:
        is_third = "question 2?" in json.dumps(body["messages"])
        return BAD_REQUEST if is_third and fails[0] else None

    with model_server(Script(fault=fault, reply=lambda body: '{"answer": ["A"]}')) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--questions",
            questions_file(tmp_path, 5),
        )  # fmt: skip
        assert done.returncode == 1
        assert "1 items have no reply" in done.stderr
        folder = folder_of(done)
        outcomes = [line["outcome"] for line in sorted(lines(folder), key=lambda one: one["item"])]
        assert outcomes == ["answered", "answered", "errored", "answered", "answered"]
        fails[0] = False
        assert run_medeval("run", "--resume", folder).returncode == 0
        assert server.seen.requests == 6
    assert {line["outcome"] for line in lines(folder)} == {"answered"}
    assert len(lines(folder)) == 5


def test_quota_stops_the_run_and_says_how_to_go_on(tmp_path: Path) -> None:
    is_empty = [False]

    def fault(body: Body, before: int) -> Fault | None:
        return QUOTA if is_empty[0] or server.seen.requests > 6 else None

    with model_server(Script(fault=fault, reply=lambda body: "A")) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--questions",
            questions_file(tmp_path, 20), "--concurrency", "1",
        )  # fmt: skip
        assert done.returncode == 1
        folder = folder_of(done)
        assert "quota" in done.stderr
        assert f"run --resume {folder}" in done.stdout
        assert len(lines(folder)) == 6
        server.script.fault = lambda body, before: None
        assert run_medeval("run", "--resume", folder).returncode == 0
    assert len(lines(folder)) == 20


def test_a_reply_that_cannot_be_read_is_unparsed_and_stays_in_the_denominator(
    tmp_path: Path,
) -> None:
    def reply(body: Body) -> str:
        third = "question 2?" in json.dumps(body["messages"])
        return '{"answer": [' if third else '{"answer": ["A", "B"]}'

    with model_server(Script(reply=reply)) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--questions",
            questions_file(tmp_path, 4),
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = folder_of(done)
    assert sorted(line["outcome"] for line in lines(folder)) == ["answered"] * 3 + ["unparsed"]
    scored = run_medeval("score", "--task", "yier", folder)
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert report["task_scores"]["yier"]["recall"] == pytest.approx(6 / 8)
    assert report["detailed_results"][0]["metadata"]["ledger"]["unparsed"] == 1
    assert "unparsed 1" in scored.stdout


def test_what_the_endpoint_refuses_is_learned_once_and_told(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return refuses("response_format") if "response_format" in body else None

    with model_server(Script(fault=fault, reply=lambda body: "A")) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--questions",
            questions_file(tmp_path, 10),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        # First the schema is refused, then JSON without one; no other item asks for either.
        assert ["response_format" in body for body in server.seen.bodies] == [True] * 2 + [
            False
        ] * 10
    assert "refuses response_format; it was left out" in done.stderr
    record = json.loads((folder_of(done) / "run.json").read_text(encoding="utf-8"))
    assert record["learned"] == {"response_format": ""}


def test_a_limit_may_be_widened_and_the_score_counts_what_was_asked(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: '{"answer": ["A", "B"]}')) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--questions",
            questions_file(tmp_path, 9), "--limit", "4",
        )  # fmt: skip
        folder = folder_of(done)
        run_medeval("score", "--task", "yier", folder)
        report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
        assert report["task_scores"]["yier"]["f1"] == 1.0
        assert report["detailed_results"][0]["metadata"]["n"] == 4
        assert run_medeval("run", "--resume", folder, "--limit", "9").returncode == 0
        assert server.seen.requests == 9
    run_medeval("score", "--task", "yier", folder)
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert report["detailed_results"][0]["metadata"]["n"] == 9


def test_prompts_go_out_and_answers_come_in_without_a_connection(tmp_path: Path) -> None:
    batch, answers = tmp_path / "batch.jsonl", tmp_path / "answers.jsonl"
    done = run_task(
        tmp_path, "--task", "yier", "--model", "m", "--base-url", "https://models.example.org/v1",
        "--questions", questions_file(tmp_path, 3), "--export-prompts", batch,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = folder_of(done)
    asked = [json.loads(line) for line in batch.read_text(encoding="utf-8").splitlines()]
    assert [line["url"] for line in asked] == ["/v1/chat/completions"] * 3
    assert asked[0]["body"]["response_format"]["type"] == "json_schema"
    assert not (folder / "responses.jsonl").exists()
    with answers.open("w", encoding="utf-8") as file:
        for number, line in enumerate(reversed(asked[1:])):
            text = '{"answer": ["A"]}' if number else "I cannot tell."
            choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            body = {"model": "m-1", "choices": [choice]}
            response = {"status_code": 200, "body": body}
            file.write(json.dumps({"custom_id": line["custom_id"], "response": response}) + "\n")
    came = run_medeval("run", "--resume", folder, "--import-answers", answers)
    assert came.returncode == 1
    assert "1 items have no answer" in came.stderr
    assert {line["item"]: line["outcome"] for line in lines(folder)} == {
        "q001": "answered",
        "q002": "unparsed",
    }
    again = run_medeval("run", "--resume", folder, "--import-answers", answers)
    assert "0 answers are new, 2 were there already" in again.stdout


def test_a_function_of_the_user_is_a_model_and_changes_are_noticed(tmp_path: Path) -> None:
    code = tmp_path / "mine.py"
    code.write_text("def answer(messages):\n    return 'B' if messages else ''\n")
    asked = ["--task", "yier", "--model", f"{code}:answer", "--limit", "3"]
    folder = folder_of(run_task(tmp_path, *asked))
    assert [line["text"] for line in lines(folder)] == ["B"] * 3
    code.write_text("def answer(messages):\n    return 'C'\n")
    done = run_medeval("run", "--resume", folder, "--model", f"{code}:answer")
    assert done.returncode == 2
    assert "code_sha256" in done.stderr


def test_a_price_that_is_not_known_is_refused_with_a_limit_on_cost(tmp_path: Path) -> None:
    with model_server() as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--max-cost",
            "1", "--max-tokens", "10",
        )  # fmt: skip
        assert done.returncode == 2
        assert "price of m" in done.stderr
        assert server.seen.requests == 0


def test_cost_is_counted_and_a_limit_on_it_is_held(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[[price]]\nmodel = "m"\ninput = 1000\noutput = 1000\n')
    with model_server(Script(reply=lambda body: "A")) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--questions",
            questions_file(tmp_path, 30), "--prices", prices, "--max-cost", "3", "--max-tokens",
            "10", "--concurrency", "1",
        )  # fmt: skip
    assert done.returncode == 1
    folder = folder_of(done)
    assert "exceed the limit of 3" in done.stderr
    # A call is counted at 110 tokens, 0.11; before it the most that it can cost is set aside.
    spent = sum(float(line["cost"]) for line in lines(folder))
    assert 0 < spent <= 3
    assert "USD" in done.stdout


def test_credentialed_text_goes_to_no_undeclared_endpoint(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(CREDENTIALED)
    with model_server() as server:
        asked = ["--task", file, "--model", "m", "--base-url", server.url]
        done = run_task(tmp_path, *asked, "--endpoints", tmp_path / "none.toml")
        assert done.returncode == 2
        assert "Nothing was sent" in done.stderr
        assert server.seen.connections == 0
        batch = tmp_path / "batch.jsonl"
        refused = run_task(tmp_path, *asked, "--export-prompts", batch)
        assert refused.returncode == 2
        assert not batch.exists()
        declared = tmp_path / "endpoints.toml"
        declared.write_text(f'[[endpoint]]\nbase_url = "{server.url}"\nruns_locally = true\n')
        allowed = run_task(tmp_path, *asked, "--endpoints", declared)
        assert allowed.returncode == 0, allowed.stderr
        assert server.seen.requests == 1
    folder = folder_of(allowed)
    scored = run_medeval("score", "--task", file, folder)
    assert scored.returncode == 0, scored.stderr
    # The note itself is in no record, log or report, of the refused run neither.
    for path in tmp_path.rglob("*"):
        if path.is_file() and path != file:
            assert PLANTED not in path.read_text(encoding="utf-8"), path
    for shown in (done, refused, allowed, scored):
        assert PLANTED not in shown.stdout + shown.stderr


def test_a_key_is_sent_and_written_nowhere(tmp_path: Path) -> None:
    key = "sk-planted-0123456789"
    with model_server(Script(reply=lambda body: "A")) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--limit", "2",
            "--key-variable", "MY_KEY", MY_KEY=key,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert server.seen.headers[0]["authorization"] == f"Bearer {key}"
        again = [
            "run",
            "--resume",
            str(folder_of(done)),
            "--limit",
            "3",
            "--key-variable",
            "MY_KEY",
        ]
        resumed = run_medeval(*again, env={"MY_KEY": key})
        assert resumed.returncode == 0, resumed.stderr
        assert server.seen.headers[-1]["authorization"] == f"Bearer {key}"
        missing = run_medeval(*again)
        assert missing.returncode == 2
        assert "MY_KEY is not set" in missing.stderr
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert key not in path.read_text(encoding="utf-8")
    assert key not in done.stdout + done.stderr


def test_the_key_of_one_address_goes_to_no_other(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: "A")) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--limit", "1",
            OPENAI_API_KEY="sk-of-another-house",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "sk-of-another-house" not in str(server.seen.headers)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--task", "yier"], "--model"),
        (["--task", "nothing", "--model", "demo"], "clinical_qa_basic"),
        (["--task", "ihm", "--model", "demo"], "predict --task ihm"),
        (["--task", "yier", "--model", "demo", "-a", '{"foo": 1}'], "no option 'foo'"),
        (["--task", "yier", "--model", "demo", "-a", "[1]"], "one JSON object"),
        (["--task", "yier", "--model", "demo", "--language", "fr"], "language"),
        (["--task", "clinical_qa_basic", "--model", "demo", "--shots", "2"], "'shots'"),
        (["--task", "yier", "--model", "demo", "--questions", "none.json"], "none.json"),
        (["--task", "yier", "--model", "m", "--max-cost", "much"], "no amount"),
        (["--task", "yier", "--model", "m"], "OPENAI_API_KEY"),
        (["--task", "yier", "--model", "none.py:answer"], "no such file"),
        (["--resume", "none"], "leave --out away"),
        (["--task", "yier", "--model", "m", "--temperature", "inf"], "temperature: no request"),
        (["--task", "yier", "--model", "m", "--parameters", '{"a": [NaN]}'], "a: no request"),
        (["--task", "yier", "--model", "demo", "--max-tokens", "9"], "--max-tokens: demo answers"),
        (
            ["--task", "yier", "--model", "demo", "--export-prompts", "p", "--import-answers", "a"],
            "one after the other",
        ),
        (
            [
                "--task",
                "yier",
                "--model",
                "m",
                "--base-url",
                "http://127.0.0.1:9/v1",
                "--max-tokens",
                "9",
                "--max-cost",
                "1",
            ],
            "price of m",
        ),
        (["--task", "yier", "--model", "demo", "--export-prompts", "p"], "no endpoint to ask"),
        (
            [
                "--task",
                "yier",
                "--model",
                "m",
                "--base-url",
                "http://127.0.0.1:9/v1",
                "--import-answers",
                "none.jsonl",
            ],
            "none.jsonl cannot be read",
        ),
    ],
)
def test_what_cannot_be_meant_is_said_and_leaves_no_folder(
    args: list[str], said: str, tmp_path: Path
) -> None:
    done = run_task(tmp_path / "runs", *args)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("args", "said"), [([], "none/run.json"), (["--task", "yier"], "leave --task away")]
)
def test_what_no_run_goes_on_with_is_said(args: list[str], said: str) -> None:
    done = run_medeval("run", "--resume", "none", *args)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_flag_wins_over_the_object_of_options(tmp_path: Path) -> None:
    done = run_task(
        tmp_path, "--task", "yier", "--model", "demo", "--limit", "1", "--language", "en", "-a",
        '{"language": "zh", "samples": 3}',
    )  # fmt: skip
    plan = json.loads((folder_of(done) / "run.json").read_text())["settings"]["yier"]
    assert (plan["language"], plan["passes"]) == ("en", 3)


def test_faults_of_every_kind_end_answered_in_the_order_of_the_items(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        kinds = [LIMIT_FOR_NOW, SERVER, Fault(drops=True), slow(0.2)]
        number = int(prompt_hash(body), 16)
        return kinds[number // 5 % 4] if before == 0 and number % 5 == 0 else None

    with model_server(Script(fault=fault, reply=lambda body: '{"answer": ["A"]}')) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--questions",
            questions_file(tmp_path, 60),
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = folder_of(done)
    run_medeval("score", "--task", "yier", folder)
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    result = report["detailed_results"][0]
    assert result["metadata"]["ledger"]["answered"] == 60
    assert result["metadata"]["usage"]["retries"] > 0
    assert [row["sample_id"] for row in result["inputs"]] == [f"q{n:03}" for n in range(60)]


def test_a_run_that_is_not_whole_says_so_and_stands_beside_no_other(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return QUOTA if server.seen.requests > 3 else None

    with model_server(Script(fault=fault, reply=lambda body: '{"answer": ["A", "B"]}')) as server:
        asked = ["--task", "yier", "--model", "m", "--base-url", server.url, "--concurrency", "1",
                 "--questions", str(questions_file(tmp_path, 10))]  # fmt: skip
        part = folder_of(run_task(tmp_path / "part", *asked))
        server.script.fault = lambda body, before: None
        whole = folder_of(run_task(tmp_path / "whole", *asked))
    scored = run_medeval("score", "--task", "yier", part)
    assert scored.returncode == 1
    assert "7 items were never asked" in scored.stderr
    report = json.loads((part / "scores.json").read_text(encoding="utf-8"))
    metadata = report["detailed_results"][0]["metadata"]
    assert (metadata["status"], metadata["not_asked"]) == ("incomplete", 7)
    assert metadata["ledger"]["asked"] == 3
    assert run_medeval("score", "--task", "yier", whole).returncode == 0
    for command in (["compare", "--task", "yier"], ["report"]):
        refused = run_medeval(*command, whole, part)
        assert refused.returncode == 2
        assert "7 items" in refused.stderr
    assert not (PROJECT_ROOT / "leaderboard.html").exists()


def test_a_run_of_which_nothing_was_asked_has_no_score(tmp_path: Path) -> None:
    with model_server(Script(fault=lambda body, before: BAD_KEY)) as server:
        done = run_task(tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url)
    folder = folder_of(done)
    scored = run_medeval("score", "--task", "yier", folder)
    assert scored.returncode == 2
    assert "No item" in scored.stderr
    newest = run_medeval("score", "--task", "yier", cwd=tmp_path.parent)
    assert newest.returncode == 2


def test_flags_of_the_model_are_refused_when_a_run_goes_on(tmp_path: Path) -> None:
    folder = folder_of(run_task(tmp_path, "--task", "yier", "--model", "demo", "--limit", "1"))
    for flag in (["--temperature", "0.9"], ["--max-tokens", "7"], ["--model-seed", "1"]):
        done = run_medeval("run", "--resume", folder, *flag)
        assert done.returncode == 2
        assert f"leave {flag[0]} away" in done.stderr


def test_the_limit_on_cost_goes_on_with_the_run(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[[price]]\nmodel = "m"\ninput = 1000\noutput = 1000\n')
    with model_server(Script(reply=lambda body: "A")) as server:
        done = run_task(
            tmp_path, "--task", "yier", "--model", "m", "--base-url", server.url, "--questions",
            questions_file(tmp_path, 30), "--prices", prices, "--max-cost", "3", "--max-tokens",
            "10", "--concurrency", "1",
        )  # fmt: skip
        folder = folder_of(done)
        count = len(lines(folder))
        again = run_medeval("run", "--resume", folder)
        assert again.returncode == 1
        assert "raise it" in again.stderr
        assert len(lines(folder)) == count
        more = run_medeval("run", "--resume", folder, "--max-cost", "100")
        assert more.returncode == 0, more.stderr
    assert len(lines(folder)) == 30


@pytest.mark.parametrize("task_id", ["x/../../../escaped/y", "a/b c"])
def test_no_name_of_a_task_leads_out_of_the_folder_of_runs(tmp_path: Path, task_id: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(
        f"task_id: {json.dumps(task_id)}\ntask_type: qa\ndata_class: open\nmetrics: [accuracy]\n"
        "dataset:\n  - {input: {question: one}, output: {answer: 'yes'}}\n"
    )
    done = run_task(tmp_path / "runs", "--task", file, "--model", "demo")
    folder = folder_of(done)
    assert folder.parent == tmp_path / "runs"
    # What the run tells to do next works as it stands.
    assert run_medeval("score", "--task", file, folder).returncode == 0
    moved = file.rename(tmp_path / "moved.yaml")
    assert run_medeval("score", "--task", moved, folder).returncode == 0


@pytest.mark.parametrize(
    ("lines_of_task", "said"),
    [
        ("task_id: yier\n", "the name of another task"),
        ("task_id: own\njudge: nonsense\n", "there is no rubric 'nonsense'"),
        ("task_id: own\njudge: [a]\n", "there is no rubric"),
    ],
)
def test_a_task_file_that_could_not_be_scored_is_told_before_a_model_is_asked(
    tmp_path: Path, lines_of_task: str, said: str
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(
        f"{lines_of_task}task_type: qa\ndata_class: open\nmetrics: [accuracy]\n"
        "dataset:\n  - {input: {question: one}, output: {answer: 'yes'}}\n"
    )
    done = run_task(tmp_path / "runs", "--task", file, "--model", "demo")
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_task_without_gold_answers_is_told_before_a_model_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(
        "task_id: own\ntask_type: qa\ndata_class: open\nmetrics: [accuracy]\n"
        "dataset:\n  - {question: one}\n"
    )
    done = run_task(tmp_path / "runs", "--task", file, "--model", "demo")
    assert done.returncode == 2
    assert "no expected output" in done.stderr


@pytest.mark.parametrize("name", ["api_key", "extra_headers", "Authorization", "base_url"])
def test_a_key_among_the_parameters_is_refused(tmp_path: Path, name: str) -> None:
    with model_server() as server:
        done = run_task(
            tmp_path / "runs", "--task", "yier", "--model", "m", "--base-url", server.url,
            "--parameters", json.dumps({name: "sk-planted"}),
        )  # fmt: skip
        assert done.returncode == 2
        assert server.seen.connections == 0
    assert "sk-planted" not in done.stdout + done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    done = run_task(file, "--task", "yier", "--model", "demo")
    assert done.returncode == 2
    assert "cannot be made" in done.stderr


def test_records_that_cannot_be_used_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = json.loads(questions_file(tmp_path, 4).read_text(encoding="utf-8"))
    rows[1]["selection"] = []
    file = tmp_path / "damaged.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    done = run_task(tmp_path, "--task", "yier", "--model", "demo", "--questions", file)
    assert done.returncode == 0, done.stderr
    folder = folder_of(done)
    assert len(lines(folder)) == 3
    scored = run_medeval("score", "--task", "yier", folder)
    assert scored.returncode == 0, scored.stderr
    assert "1 records of the file cannot be used" in scored.stderr
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert report["detailed_results"][0]["metadata"]["details"]["n_left_out"] == 1
