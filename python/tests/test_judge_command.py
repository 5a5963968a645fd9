"""`run` and `judge` of a judged task: answers, verdicts, rows, rewards, and what they cost."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import run_medeval
from model_server import Body, Fault, Script, error, model_server, prompt_of

VERDICT = {
    "accuracy": {"explanation": "right", "score": 4},
    "completeness": {"explanation": "most of it", "score": 3},
    "clarity": {"explanation": "clear", "score": 5},
}
INSTRUCTION = (
    "Here are information about a patient, return a reasonable treatment plan for the patient."
)


@pytest.fixture(autouse=True)
def _warehouse(asked_duckdb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(asked_duckdb))


def run_mtsamples(out: Path, *args: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return run_medeval("run", "--task", "mtsamples", "--out", out, *args, env=env)


def folder_of(done: subprocess.CompletedProcess[str]) -> Path:
    found = re.search(r"^run (.+)$", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return Path(found[1])


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    text = (folder / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def scored(folder: Path, *args: str) -> dict[str, Any]:
    done = run_medeval("score", "--task", "mtsamples", folder, *args)
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    result: dict[str, Any] = report["detailed_results"][0]
    return result


def is_judge(body: Body) -> bool:
    return str(body["model"]).startswith("judge")


def reply_of(body: Body, verdict: Callable[[Body], str] | None = None) -> str:
    """Answer as the model, or as the judge with the marker that it asks for."""
    if not is_judge(body):
        return "<think>What now?</think>Rest, fluids, follow up in one week."
    told = json.dumps(VERDICT) if verdict is None else verdict(body)
    marker = re.findall(r"^VERDICT-[0-9a-f]{16}$", prompt_of(body), re.MULTILINE)[-1]
    return f"{marker}\n{told}"


def test_notes_are_answered_judged_and_scored(tmp_path: Path) -> None:
    with model_server(Script(reply=reply_of)) as server:
        done = run_mtsamples(
            tmp_path, "--model", "m", "--base-url", server.url, "--judge-model", "judge-a",
            "--judge-base-url", server.url,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        asked = [body for body in server.seen.bodies if not is_judge(body)]
        judged = [body for body in server.seen.bodies if is_judge(body)]
    assert (len(asked), len(judged)) == (10, 10)
    assert asked[0]["messages"][0] == {"role": "system", "content": INSTRUCTION}
    assert len(asked[0]["messages"]) == 2
    # What was thought goes to no judge.
    assert all("What now?" not in prompt_of(body) for body in judged)
    assert all("Rest, fluids" in prompt_of(body) for body in judged)
    folder = folder_of(done)
    result = scored(folder, "--by", "extracted_section")
    assert result["metrics_results"]["reward_judged"] == pytest.approx(0.8)
    assert result["metrics_results"]["judge_completeness"] == 3.0
    assert result["metadata"]["headline"] == "reward_judged"
    assert result["metadata"]["ledger"]["answered"] == 10
    assert result["metadata"]["judging"]["ok"] == 10
    groups = result["metadata"]["groups"]["extracted_section"]
    assert sum(group["n"] for group in groups.values()) == 10
    rows = rows_of(folder, "results.jsonl")
    assert set(rows[0]) >= {
        "prompt", "completion", "reward", "question", "answer", "extracted_section", "info",
        "reward_judged", "judge_status", "answer_text", "think_text", "example_id", "source_index",
    }  # fmt: skip
    assert set(rows[0]["info"]) == {
        "filename", "extracted_section", "procedure_note", "reference_plan", "judge_feedback",
    }  # fmt: skip
    assert rows[0]["completion"][0]["content"].startswith("<think>What now?")
    assert (rows[0]["answer_text"], rows[0]["think_text"]) == (
        "Rest, fluids, follow up in one week.",
        "What now?",
    )
    assert rows[0]["info"]["judge_feedback"][0]["scores"]["clarity"]["score"] == 5
    assert [row["source_index"] for row in rows] == sorted(row["source_index"] for row in rows)


def test_asked_to_think_a_model_that_never_stops_has_given_no_answer(tmp_path: Path) -> None:
    def reply(body: Body) -> str:
        if is_judge(body):
            return reply_of(body)
        return "I wonder about that" if "Colonoscopy" in prompt_of(body) else "so</think>Rest."

    with model_server(Script(reply=reply)) as server:
        done = run_mtsamples(
            tmp_path, "--model", "m", "--base-url", server.url, "--judge-model", "judge-a",
            "--judge-base-url", server.url, "-a", '{"use_think": true}',
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        system = server.seen.bodies[0]["messages"][0]["content"]
        assert system.startswith(INSTRUCTION)
        assert "</think>" in system
        assert sum(map(is_judge, server.seen.bodies)) == 9
    folder = folder_of(done)
    scored(folder)
    by_name = {row["example_id"]: row for row in rows_of(folder, "results.jsonl")}
    blank = by_name["Colonoscopy with Polypectomy"]
    assert (blank["reward"], blank["reward_judged"], blank["reason"]) == (
        0.0,
        0.0,
        "unclosed_think",
    )
    assert (blank["answer_text"], blank["think_text"]) == ("", "I wonder about that")
    assert by_name["Kidney Biopsy"]["answer_text"] == "Rest."


def test_the_arguments_of_the_environment_are_flags_and_one_object(tmp_path: Path) -> None:
    key = "judge-key-0123456789"
    with model_server(Script(reply=reply_of)) as server:
        arguments = {
            "judge_model": "judge-a", "judge_base_url": server.url, "judge_api_key": key,
            "use_think": False,
        }  # fmt: skip
        done = run_mtsamples(
            tmp_path, "-m", "m", "--base-url", server.url, "-a", json.dumps(arguments),
            "--judge-model", "judge-b", "--limit", "2",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        judged = [
            (body["model"], headers["authorization"])
            for body, headers in zip(server.seen.bodies, server.seen.headers, strict=True)
            if is_judge(body)
        ]
    assert judged == [("judge-b", f"Bearer {key}")] * 2
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert key not in path.read_text(encoding="utf-8"), path
    assert key not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "JUDGE_API_KEY"),
        (["-a", '{"judge_modell": "x"}'], "no option 'judge_modell'"),
        (["-a", '{"judge_model": 3}'], "judge_model"),
        (["--judge-base-url", "https://judges.example.org/v1"], "JUDGE_API_KEY"),
        (["--judge-model", "local", "--no-judge"], "--no-judge"),
        (["--judge-model", "a", "--judge-model", "a", "--judge-base-url", "http://127.0.0.1:1/v1"],
         "Two judges"),
        (["--judge-model", "local", "--jury", "best"], "pooling"),
        (["--judge-model", "local", "--cache-dir", "/nowhere"], "MEDEVAL_MTSAMPLES=/nowhere"),
        (["--judge-model", "local", "--prompt-style", "x"], "prompt_style"),
    ],
)  # fmt: skip
def test_what_would_keep_judges_from_judging_is_said_before_the_model_is_paid(
    args: list[str], said: str, tmp_path: Path
) -> None:
    with model_server() as server:
        done = run_mtsamples(tmp_path / "runs", "--model", "m", "--base-url", server.url, *args)
        assert done.returncode == 2, done.stdout
        assert said in done.stderr
        assert server.seen.connections == 0
    assert not (tmp_path / "runs").exists()


def all_scores(score: float) -> str:
    return json.dumps({name: {**own, "score": score} for name, own in VERDICT.items()})


@pytest.mark.parametrize(
    "unusable",
    ["no verdict", all_scores(9), all_scores(6), all_scores(0), all_scores(5.01)],
    ids=["none", "9 of 5", "6 of 5", "0 of 5", "a little above 5"],
)
def test_a_failed_judgment_is_missing_and_never_a_low_score(unusable: str, tmp_path: Path) -> None:
    def verdict(body: Body) -> str:
        return unusable if "Colonoscopy" in prompt_of(body) else json.dumps(VERDICT)

    with model_server(Script(reply=lambda body: reply_of(body, verdict))) as server:
        done = run_mtsamples(
            tmp_path, "--model", "m", "--base-url", server.url, "--judge-model", "judge-a",
            "--judge-base-url", server.url,
        )  # fmt: skip
    assert done.returncode == 1  # one in ten is more than one in twenty
    folder = folder_of(done)
    result = scored(folder)
    assert result["metrics_results"]["reward_judged"] == pytest.approx(0.8)
    assert result["metrics_results"]["reward"] == pytest.approx(0.72)
    assert result["metadata"]["n"]["reward_judged"] == 9
    assert result["metadata"]["undefined"]["reward_judged"] == {
        "items": 1,
        "reason": "no usable judgment",
    }


def test_judging_again_asks_only_what_failed(tmp_path: Path) -> None:
    is_broken = [True]

    def fault(body: Body, before: int) -> Fault | None:
        bad = is_broken[0] and is_judge(body) and "Colonoscopy" in prompt_of(body)
        return error(400, "cannot judge this", code="invalid_value") if bad else None

    with model_server(Script(reply=reply_of, fault=fault)) as server:
        done = run_mtsamples(
            tmp_path, "--model", "m", "--base-url", server.url, "--judge-model", "judge-a",
            "--judge-base-url", server.url,
        )  # fmt: skip
        assert done.returncode == 1
        folder = folder_of(done)
        is_broken[0] = False
        before = server.seen.requests
        again = run_medeval("judge", folder)
        assert again.returncode == 0, again.stderr
        assert server.seen.requests == before + 1
        assert is_judge(server.seen.bodies[-1])
    assert scored(folder)["metadata"]["judging"]["failed"] == 0


def test_a_limit_on_cost_is_shared_by_model_and_judge(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(
        '[[price]]\nmodel = "m"\ninput = 1000\noutput = 1000\n'
        '[[price]]\nmodel = "judge-a"\ninput = 1000\noutput = 100000\n'
    )
    with model_server(Script(reply=reply_of)) as server:
        # An answer costs 0.11 and a verdict 1.1, but one may take 1,024 tokens: 102.4.
        done = run_mtsamples(
            tmp_path / "runs", "--model", "m", "--base-url", server.url, "--judge-model",
            "judge-a", "--judge-base-url", server.url, "--prices", prices, "--max-cost", "110",
            "--max-tokens", "10", "--concurrency", "1",
        )  # fmt: skip
    assert done.returncode == 1
    folder = folder_of(done)
    spent = [
        float(row["cost"])
        for name in ("responses.jsonl", "judgments.jsonl")
        for row in rows_of(folder, name)
    ]
    assert sum(spent) <= 110 - 102.4
    assert len(rows_of(folder, "responses.jsonl")) == 10
    assert 0 < len(rows_of(folder, "judgments.jsonl")) < 10
    facts = scored(folder)["metadata"]
    assert facts["usage"]["cost"] == "1.10"
    assert float(facts["judging"]["cost"]) == pytest.approx(sum(spent) - 1.1)


def test_runs_are_compared_note_by_note_whatever_each_was_asked_with(tmp_path: Path) -> None:
    def runs(*args: str) -> Path:
        done = run_mtsamples(
            tmp_path / "-".join(args).strip("-"), "--model", "demo", "--judge-model", "local", *args
        )
        assert done.returncode == 0, done.stderr
        return folder_of(done)

    plain, twice = runs("--limit", "10"), runs("--samples", "2")
    shuffled = runs("--shuffle-seed", "3", "--limit", "4")
    for one, two in ((plain, twice), (twice, plain), (shuffled, plain), (plain, shuffled)):
        before = (two / "results.jsonl").exists()
        out = tmp_path / "compared.json"
        done = run_medeval(
            "compare", "--task", "mtsamples", one, two, "--metric", "reward_judged", "--out", out
        )
        assert done.returncode == 0, done.stderr
        (found,) = json.loads(out.read_text(encoding="utf-8"))["comparisons"]
        # The same model on the same notes.
        assert found["difference"] == 0
        assert found["n"] == (4 if shuffled in (one, two) else 10)
        # To compare is to read.
        assert (two / "results.jsonl").exists() == before


def test_runs_that_were_judged_otherwise_are_not_compared(tmp_path: Path) -> None:
    one = folder_of(run_mtsamples(tmp_path, "--model", "demo", "--judge-model", "local"))
    with model_server(Script(reply=reply_of)) as server:
        two = folder_of(
            run_mtsamples(
                tmp_path,
                "--model",
                "demo",
                "--judge-model",
                "judge-a",
                "--judge-base-url",
                server.url,
            )
        )
    done = run_medeval("compare", "--task", "mtsamples", one, two)
    assert done.returncode == 2
    assert "judged" in done.stderr


def test_thinking_that_the_server_splits_off_needs_no_tag(tmp_path: Path) -> None:
    def reply(body: Body) -> str | dict[str, Any]:
        if is_judge(body):
            return reply_of(body)
        return {"content": "Rest, fluids.", "reasoning_content": "What now?"}

    with model_server(Script(reply=reply)) as server:
        done = run_mtsamples(
            tmp_path, "--model", "m", "--base-url", server.url, "--judge-model", "judge-a",
            "--judge-base-url", server.url, "--use-think", "--limit", "2",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = folder_of(done)
    assert scored(folder)["metrics_results"]["reward_judged"] == pytest.approx(0.8)
    row = rows_of(folder, "results.jsonl")[0]
    assert (row["answer_text"], row["think_text"]) == ("Rest, fluids.", "What now?")


def test_a_key_that_is_gone_is_told_before_answers_are_paid(tmp_path: Path) -> None:
    with model_server(Script(reply=reply_of)) as server:
        done = run_mtsamples(
            tmp_path, "--model", "m", "--base-url", server.url, "--judge-model", "judge-a",
            "--judge-base-url", server.url, "--judge-key-variable", "MY_JUDGE", "--limit", "1",
            MY_JUDGE="a-key-of-a-judge",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        folder = folder_of(done)
        before = server.seen.requests
        gone = run_medeval("run", "--resume", folder, "--limit", "3")
        assert gone.returncode == 2
        assert "MY_JUDGE" in gone.stderr
        assert server.seen.requests == before
