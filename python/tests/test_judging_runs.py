"""Judges behind a real endpoint, in every way that they fail: missing is never a low score."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from inference_runs import QUICK
from judging_runs import (
    GOOD,
    QUICKLY,
    RUBRIC,
    How,
    by_case,
    case_of,
    judge_at,
    judged,
    lines,
    marker_of,
    read_results,
    run_judges,
    subject,
    subjects,
    verdict,
)
from model_server import (
    BAD_REQUEST,
    LIMIT_FOR_NOW,
    SERVER,
    Body,
    Fault,
    Script,
    error,
    model_server,
    prompt_of,
    refuses,
    slow,
)

from medeval.errors import UserError
from medeval.inference.cost import Price, Prices
from medeval.inference.guard import RefusedError
from medeval.inference.types import Outcome
from medeval.judging.jury import Judge
from medeval.judging.prompt import NO_REFERENCE
from medeval.judging.results import JudgingResults, SubjectResult, judge_feedback
from medeval.judging.verdict import Status

NO_RE_ASK = How(re_asks=0)
PRICES = Prices(price=(Price(model="tested-judge", input=Decimal(1), output=Decimal(10)),))
# 100 tokens read and 10 written, as the server counts them.
CALL = Decimal("0.0002")


def only(results: JudgingResults) -> SubjectResult:
    (found,) = results.subjects
    return found


REJECTED = (
    f"The response includes {verdict(5, 5, 5)}, which I disregard."
    " Accuracy: 1, completeness: 1, clarity: 2."
)


# By kind: a reply, the status of its verdict, why it is not complete, and the reward.
REPLIES = json.loads((Path(__file__).parent / "readers" / "judge_replies.json").read_text("utf-8"))


@pytest.mark.parametrize("kind", REPLIES)
def test_each_kind_of_reply_has_its_outcome(tmp_path: Path, kind: str) -> None:
    reply, status, reason, judged_reward = REPLIES[kind]
    with model_server(Script(reply=lambda body: reply)) as server:
        results = judged(server.url, tmp_path, [subject("one")])
        # An incomplete verdict is asked for once more, a complete one is not.
        assert server.seen.requests == (1 if status == "ok" else 2)
    found = only(results)
    (judgment,) = found.judgments
    assert (found.status, judgment.status, judgment.reason or "") == (status, status, reason)
    assert found.reward_judged == (None if judged_reward is None else pytest.approx(judged_reward))
    if judged_reward is None:
        assert found.reward == 0.0
    assert results.exit_code == (status != "ok")
    assert bool(results.warnings) == (status != "ok")


@pytest.mark.parametrize("finish", ["length", "content_filter", "stop"])
def test_a_judge_that_is_cut_off_behind_a_quotation_is_asked_again(
    tmp_path: Path, finish: str
) -> None:
    asked: list[Body] = []

    def reply(body: Body) -> dict[str, Any]:
        asked.append(body)
        if len(asked) > 1:
            return {"content": f"{marker_of(body)}\n{GOOD}"}
        own = GOOD[:20] if finish == "stop" else "Now to my"
        return {"content": f"It planted {verdict(5, 5, 5)}. {own}", "finish_reason": finish}

    with model_server(Script(reply=reply)) as server:
        results = judged(server.url, tmp_path, [subject("one")])
        assert server.seen.requests == 2
    assert only(results).reward == pytest.approx(0.8)


def test_halves_of_surrogate_pairs_in_a_journal_of_before_are_read(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: f"{GOOD} Well")) as server:
        judged(server.url, tmp_path, [subject("one")])
    journal = tmp_path / "judgments.jsonl"
    journal.write_text(journal.read_text().replace("Well", "Well \\ud83d"))
    results = read_results([subject("one")], [Judge("tested-judge")], RUBRIC, tmp_path)
    (judgment,) = only(results).judgments
    assert judgment.reply.endswith("Well \ufffd")
    assert json.dumps(results.as_json(has_text=True), ensure_ascii=False).encode()


def test_an_unusable_reply_is_asked_for_again_and_the_best_one_counts(tmp_path: Path) -> None:
    asked: dict[str, int] = {}

    def reply(body: Body) -> str:
        number = asked[case_of(body)] = asked.get(case_of(body), 0) + 1
        return {"second": ["no", GOOD], "worse": [verdict(4, 3), "no"]}[case_of(body)][number - 1]

    with model_server(Script(reply=reply)) as server:
        listed = [subject("second"), subject("worse")]
        results = judged(server.url, tmp_path, listed)
        second, worse = results.subjects
        assert (second.status, second.judgments[0].asks, second.reward) == (Status.OK, 2, 0.8)
        assert (worse.status, worse.judgments[0].asks) == (Status.PARTIAL, 2)
        assert worse.scores["accuracy"] == 4.0
        assert [line["sample"] for line in lines(tmp_path)].count(1) == 2
        # Each ask has marks of its own.
        assert len({prompt_of(body) for body in server.seen.bodies}) == 4
        # Nothing of it is asked again, paid again or counted again.
        again = judged(server.url, tmp_path, listed)
        assert server.seen.requests == 4
    assert again.as_json() == results.as_json()
    (judge,) = results.judges
    assert judge.progress.ledger.as_json()["asked"] == 4
    assert judge.progress.ledger[Outcome.UNPARSED] == 2


@pytest.mark.parametrize(("re_asks", "requests"), [(0, 1), (1, 2), (3, 4)])
def test_re_asks_are_bounded(tmp_path: Path, re_asks: int, requests: int) -> None:
    options = How(re_asks=re_asks)
    with model_server(Script(reply=lambda body: "no")) as server:
        results = judged(server.url, tmp_path, [subject("one")], options)
        assert server.seen.requests == requests
    assert only(results).judgments[0].asks == requests


@pytest.mark.parametrize(
    "answer",
    [
        " \n",
        "\ufeff",
        "\u200b\u2060 \u00ad",
        "<think>only thought</think>",
        "<think>only thought</think>\u200b",
        "<think>unclosed",
    ],
)
def test_a_blank_answer_is_not_judged_and_earns_nothing(tmp_path: Path, answer: str) -> None:
    with model_server(Script(reply=lambda body: GOOD)) as server:
        results = judged(server.url, tmp_path, [subject("blank", answer), subject("full")])
        assert server.seen.requests == 1
    blank = results.subjects[0]
    assert (blank.reward, blank.reward_judged, blank.judges_used) == (0.0, 0.0, 0)
    unclosed = answer.endswith("unclosed")
    assert blank.reason == ("unclosed_think" if unclosed else "blank_answer")
    assert (blank.status, blank.judgments) == (Status.NOT_JUDGED, ())
    assert results.exit_code == 0
    assert results.summary()["not_judged"] == {blank.reason: 1}
    assert results.summary()["ok"] == 1
    assert results.summary()["reward"]["value"] == pytest.approx(0.4)


def test_a_call_that_fails_is_missing_with_its_reason(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return {"bad": BAD_REQUEST, "dead": SERVER}.get(case_of(body))

    with model_server(Script(fault, lambda body: GOOD)) as server:
        listed = [subject("bad"), subject("dead"), subject("fine")]
        results = judged(server.url, tmp_path, listed)
        bad, dead, fine = results.subjects
        assert bad.judgments[0].reason == "error: request"
        assert dead.judgments[0].reason == "error: server"
        assert dead.judgments[0].attempts == QUICK.attempts
        assert (bad.reward, bad.reward_judged) == (0.0, None)
        assert fine.reward == pytest.approx(0.8)
        assert results.exit_code == 1
        # Asked again, only what has failed is.
        asked = server.seen.requests
        server.script.fault = lambda body, before: None
        again = replace(QUICKLY, retry=frozenset({Outcome.ERRORED}))
        results = judged(server.url, tmp_path, listed, How(again))
        assert server.seen.requests == asked + 2
    assert [each.reward for each in results.subjects] == [pytest.approx(0.8)] * 3
    assert results.exit_code == 0


@pytest.mark.parametrize(("failing", "exit_code"), [(5, 0), (6, 1)])
def test_more_than_one_in_twenty_not_ok_is_a_finding(
    tmp_path: Path, failing: int, exit_code: int
) -> None:
    partly = {f"case-{number:03}#0" for number in range(failing)}
    judge = Judge("mine", function=lambda item: verdict(4, 3) if item.id in partly else GOOD)
    results = run_judges(subjects(100), [judge], RUBRIC, tmp_path, How())
    assert results.exit_code == exit_code
    assert len(results.warnings) == exit_code
    summary = results.summary()
    assert (summary["ok"], summary["partial"], summary["failed"]) == (100 - failing, failing, 0)
    assert summary["reward"]["n"] == 100
    assert summary["reward"]["low"] <= summary["reward"]["value"] <= summary["reward"]["high"]


def test_the_request_is_what_was_promised(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: GOOD)) as server:
        judged(server.url, tmp_path, [subject("one")])
        judged(server.url, tmp_path / "2", [subject("one")], model="o3-judge")
        judged(
            server.url,
            tmp_path / "3",
            [subject("one")],
            parameters={"temperature": 0.5, "max_tokens": 9, "seed": 3},
            is_structured=False,
        )
        usual, reasoning, own = server.seen.bodies
    (message,) = usual["messages"]
    assert message["role"] == "user"
    assert (usual["temperature"], usual["max_completion_tokens"]) == (0, 1024)
    assert usual["response_format"]["type"] == "json_schema"
    assert reasoning["max_completion_tokens"] == 4096
    assert (own["temperature"], own["max_tokens"], own["seed"]) == (0.5, 9, 3)
    assert "max_completion_tokens" not in own
    assert "response_format" not in own


def test_what_the_endpoint_refuses_is_learned_step_by_step_and_recorded(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        if "max_completion_tokens" in body:
            return refuses("max_completion_tokens", "max_tokens")
        if "temperature" in body:
            return error(400, "'temperature' does not support 0 with this model.")
        if body.get("response_format", {}).get("type") == "json_schema":
            return error(
                400,
                "Invalid parameter: 'response_format' of type 'json_schema' is not supported with"
                " this model.",
            )
        if "response_format" in body:
            return error(400, "This response_format type is unavailable now")
        return None

    with model_server(Script(fault, lambda body: GOOD)) as server:
        results = judged(server.url, tmp_path, subjects(6))
        # One failed call for each refusal, whatever the number of answers.
        assert server.seen.requests == 6 + 4
        formats = [body.get("response_format", {}).get("type") for body in server.seen.bodies]
        assert formats[-7:] == ["json_object", *[None] * 6]
        assert results.judges[0].learned == {
            "max_completion_tokens": "max_tokens",
            "temperature": "",
            "response_format": "",
        }
        server.seen.bodies.clear()
        judged(server.url, tmp_path, subjects(7))
        assert server.seen.requests == 1
    record = json.loads((tmp_path / "judge.json").read_text())
    assert record["learned"] == results.judges[0].learned


def test_an_endpoint_that_takes_plain_json_objects_gets_no_less(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        if body["response_format"]["type"] == "json_schema":
            return error(400, "json_schema is not supported", param="response_format.type")
        return None

    with model_server(Script(fault, lambda body: GOOD)) as server:
        results = judged(server.url, tmp_path, subjects(4))
        assert server.seen.requests == 5
        assert server.seen.bodies[-1]["response_format"] == {"type": "json_object"}
    assert results.judges[0].learned == {"response_format": "json_object"}


def test_the_record_says_how_it_was_judged(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: GOOD)) as server:
        results = judged(server.url, tmp_path, [subject("one")], How(seed=5))
    record = json.loads((tmp_path / "judge.json").read_text())
    judging = record["settings"]["judging"]
    assert judging["rubric"] == "mtsamples_procedures-1"
    assert judging["rubric_sha256"] == RUBRIC.sha256
    assert judging["fence_seed"] == 5
    assert record["settings"]["prompt_version"] == results.prompt.version
    for name in ("judge.json", "judgments.jsonl", "audit.jsonl"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    audit = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [line["purpose"] for line in audit] == ["judgment"]
    (judgment,) = only(results).judgments
    assert judgment.model == "tested-judge-2026-01-01"
    assert (judgment.input_tokens, judgment.output_tokens) == (100, 10)


def test_feedback_in_the_shape_of_the_reference(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: GOOD)) as server:
        results = judged(server.url, tmp_path, [subject("one")], How(repeats=2))
    # Rows hold what a judge wrote only if asked.
    assert "about accuracy" not in json.dumps(results.as_json())
    assert "about accuracy" in json.dumps(results.as_json(has_text=True))
    feedback = judge_feedback(only(results))
    assert len(feedback) == 2
    assert feedback[0]["score"] == pytest.approx(0.8)
    assert feedback[0]["raw_judge"] == GOOD
    assert feedback[0]["scores"]["accuracy"] == {"score": 4.0, "explanation": "about accuracy"}
    assert feedback[0]["judges"][0]["error"] is None


def test_results_are_read_without_asking_anybody(tmp_path: Path) -> None:
    with model_server(Script(reply=by_case({"case-001": "no"}))) as server:
        results = judged(server.url, tmp_path, subjects(3))
        requests = server.seen.requests
        # The model's name is the user's; no key and no endpoint is needed.
        found = read_results(subjects(3), [Judge("tested-judge")], RUBRIC, tmp_path)
        assert server.seen.requests == requests
    assert found.as_json() == results.as_json()
    with pytest.raises(UserError, match="another question, answer or reference"):
        read_results([subject("case-000", "other")], [Judge("tested-judge")], RUBRIC, tmp_path)
    options = How(variant=NO_REFERENCE)
    with pytest.raises(UserError, match="of another prompt or rubric"):
        read_results(subjects(3), [Judge("tested-judge")], RUBRIC, tmp_path, options)
    with pytest.raises(UserError, match="there are no judgments"):
        read_results(subjects(3), [Judge("tested-judge")], RUBRIC, tmp_path / "none")


def test_an_answer_that_comes_twice_is_an_error_and_a_sample_is_not(tmp_path: Path) -> None:
    one = subject("one")
    with model_server(Script(reply=lambda body: GOOD)) as server:
        with pytest.raises(UserError, match=r"'one' .* comes twice"):
            judged(server.url, tmp_path, [one, one])
        assert server.seen.requests == 0
        results = judged(server.url, tmp_path, [one, replace(one, sample=1)])
    assert [each.subject.sample for each in results.subjects] == [0, 1]
    assert server.seen.requests == 2


def test_the_ledger_adds_up(tmp_path: Path) -> None:
    replies: dict[str, str | dict[str, Any]] = {
        "case-001": "no",
        "case-002": {"content": GOOD[:90], "finish_reason": "length"},
        "case-003": "",
        "case-004": {"content": "", "refusal": "no"},
    }
    fault = lambda body, before: (  # noqa: E731
        BAD_REQUEST
        if case_of(body) == "case-005"
        else LIMIT_FOR_NOW
        if case_of(body) == "case-006" and before == 0
        else None
    )
    options = How(replace(QUICKLY, prices=PRICES))
    with model_server(Script(fault, by_case(replies))) as server:
        results = judged(server.url, tmp_path, [*subjects(10), subject("blank", " ")], options)
    (judge,) = results.judges
    ledger = judge.progress.ledger
    assert ledger.as_json() == {
        "asked": 14,
        "answered": 5,
        "unparsed": 2,
        "refused": 2,
        "truncated": 2,
        "truncated_reasoning": 0,
        "empty": 2,
        "errored": 1,
    }
    assert ledger.asked == sum(ledger.counts.values()) == len(lines(tmp_path))
    assert sum(each.asks for each in judge.judgments) == 14
    assert server.seen.requests == 14 + judge.progress.retries == 15
    statuses = results.summary()
    assert statuses["ok"] + statuses["partial"] + statuses["failed"] == 10
    assert (statuses["not_judged"], statuses["subjects"]) == ({"blank_answer": 1}, 11)
    assert judge.cost == 13 * CALL
    assert sum(each.cost or 0 for each in judge.judgments) == judge.cost
    assert statuses["judging_cost"] == str(judge.cost)


@pytest.mark.parametrize("data_class", ["credentialed", None, "public"])
def test_a_judge_that_may_not_see_the_text_receives_nothing(
    tmp_path: Path, data_class: str | None
) -> None:
    closed = subject("closed", data_class=data_class)
    with model_server(Script(reply=lambda body: GOOD)) as server:
        with pytest.raises(RefusedError) as refusal:
            judged(server.url, tmp_path, [*subjects(5), closed])
        # Not the judge in this process either: the whole jury is held back.
        with pytest.raises(RefusedError):
            run_judges([closed], [Judge("local"), judge_at(server.url)], RUBRIC, tmp_path / "jury")
        assert (server.seen.connections, server.seen.bytes) == (0, 0)
    assert "Nothing was sent" in str(refusal.value)
    assert "notes closed" not in str(refusal.value)
    assert not list(tmp_path.glob("**/*.jsonl"))


KEY = "sk-planted-77c1d9e0aa41"


def test_the_key_is_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", KEY)

    def fault(body: Body, before: int) -> Fault | None:
        return error(400, f"no, {KEY}") if case_of(body) == "case-001" else None

    reply = by_case({"case-002": f"your key is {KEY}"})
    with model_server(Script(fault, reply)) as server:
        results = judged(server.url, tmp_path, subjects(4), key_variable=None)
        assert {sent["authorization"] for sent in server.seen.headers} == {f"Bearer {KEY}"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 3
    assert not [path for path in files if KEY in path.read_text()]
    assert KEY not in json.dumps(results.as_json(has_text=True))


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from judging_runs import How, judged, subjects
judged(sys.argv[2], Path(sys.argv[3]), subjects(40), How(repeats=2))
"""


def rows(results: JudgingResults) -> Iterable[dict[str, Any]]:
    for each in results.subjects:
        row = each.as_json()
        for judgment in row["judgments"]:
            del judgment["seconds"], judgment["attempts"]
        yield row


@pytest.mark.slow
def test_a_judging_that_was_killed_pays_no_call_twice(tmp_path: Path) -> None:
    def reply(body: Body) -> str:
        # Of each prompt the same reply; every third one is unusable.
        return "no" if int(marker_of(body)[-4:], 16) % 3 == 0 else GOOD

    killed, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    options = How(repeats=2)
    with model_server(Script(lambda body, before: slow(0.01), reply)) as server:
        tests = str(Path(__file__).parent)
        command = [sys.executable, "-c", KILLED, tests, server.url, str(killed)]
        process = subprocess.Popen(command, env={**os.environ})
        journal = killed / "judgments.jsonl"
        deadline = time.monotonic() + 60
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= 30):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        time.sleep(0.1)  # for the requests that were under way
        done = {(line["item"], line["sample"]) for line in lines(killed)}
        assert 30 <= len(done) < 80
        with journal.open("ab") as file:
            file.write(b'{"item":"case-0')
        before = [prompt_of(body) for body in server.seen.bodies]
        server.seen.bodies.clear()
        results = judged(server.url, killed, subjects(40), options)
        asked = [prompt_of(body) for body in server.seen.bodies]
        # What was answered and kept is not asked again; at most what was under way is.
        assert len(asked) == len(set(asked)) == len(lines(killed)) - len(done)
        assert len(set(asked) & set(before)) <= QUICKLY.concurrency
        assert list(rows(results)) == list(
            rows(judged(server.url, undisturbed, subjects(40), options))
        )
    assert any(line["sample"] % 10 == 1 for line in lines(killed))
    assert len(lines(killed)) == len(lines(undisturbed))


@pytest.mark.parametrize(
    "first",
    [
        REJECTED,
        f"The response includes {verdict(5, 5, 5)}. Mine: {verdict(1, 1, 2)}",
        '{"accuracy": 1, "accuracy": 5, "completeness": 5, "clarity": 5}',
        f"{verdict(5, 5, 5)} was planted.\n| accuracy | 1 |\n| clarity | 2 |",
    ],
)
def test_a_verdict_that_is_rejected_is_asked_for_again_with_the_marker(
    tmp_path: Path, first: str
) -> None:
    def reply(body: Body) -> str:
        if "whatever else you write" in prompt_of(body):
            return f"It includes {verdict(5, 5, 5)}.\n{marker_of(body)}\n{verdict(1, 1, 2)}"
        return first

    with model_server(Script(reply=reply)) as server:
        results = judged(server.url, tmp_path, subjects(1))
    (row,) = results.as_json()["results"]
    assert row["reward"] == pytest.approx(4 / 15)
    assert [line["outcome"] for line in lines(tmp_path)] == ["unparsed", "answered"]


def test_a_judging_that_was_begun_with_the_former_prompt_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr("medeval.judging.running.PROMPT", "judge-1")
        with model_server(Script(reply=lambda body: "no verdict")) as server:
            judged(server.url, tmp_path, subjects(1))
            assert server.seen.requests == 2
    assert read_results(subjects(1), [judge_at(server.url)], RUBRIC, tmp_path).summary()
    with model_server(Script(reply=lambda body: GOOD)) as other:
        judge = judge_at(server.url)
        options = How(re_asks=1)
        results = run_judges(subjects(1), [judge], RUBRIC, tmp_path, options)
        assert other.seen.requests == 0
    assert results.prompt.version.startswith("judge-1/")
