"""What judges say and fail to say: missing is never a low score, and nothing is paid twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from judging_runs import (
    GOOD,
    QUICKLY,
    RUBRIC,
    by_answer,
    function_judge,
    in_full,
    judge_at,
    judging,
    subject,
    subjects,
    verdict,
)
from model_server import Body, Script, marker_of, model_server, prompt_of
from tables import refused, table

from medeval.judging.jury import Judge, Jury, jury_of
from medeval.judging.prompt import NO_REFERENCE

TABLES = table("judging")
# By kind: what a judge says to one answer, ask by ask, and what becomes of it.
REPLIES = table("judge_replies", "readers")


@pytest.mark.parametrize("kind", REPLIES)
def test_replies_become_a_verdict_and_none_is_asked_for_twice(tmp_path: Path, kind: str) -> None:
    row, asked = REPLIES[kind], []

    def reply(body: Body) -> dict[str, Any]:
        asked.append(prompt_of(body))
        told = row["replies"][min(len(asked), len(row["replies"])) - 1]
        told = told if isinstance(told, dict) else {"content": told}
        return {**told, "content": in_full(told["content"], marker_of(body))}

    with model_server(Script(reply=reply)) as server:
        one = judging(
            [subject("one")], [judge_at(server.url)], tmp_path, re_asks=row.get("re_asks", 1)
        )
        results = one.run(QUICKLY)
        again = one.run(QUICKLY)
    # Each ask has marks of its own.
    assert len(asked) == len(set(asked)) == row["asks"]
    assert again.as_json() == one.results().as_json() == results.as_json()
    (found,), (judge,) = results.subjects, results.judges
    (judgment,) = found.judgments
    told = found.judge_status, judgment["status"], judgment["reason"] or ""
    assert told == (row["status"], row["status"], row["reason"])
    assert found.reward_judged == pytest.approx(row["reward_judged"])
    assert (found.reward == 0.0) == (row["status"] == "failed")
    assert results.exit_code == bool(results.warnings) == (row["status"] != "ok")
    # All asks count.
    assert judgment["asks"] == judge.progress.ledger.asked == judgment["attempts"] == row["asks"]
    tokens = judgment["input_tokens"], judgment["output_tokens"]
    assert tokens == (100 * row["asks"], 10 * row["asks"])
    # Rows hold what a judge wrote only if asked.
    assert "about accuracy" not in json.dumps(results.as_json())
    shown = json.dumps(results.as_json(has_text=True))
    assert ("about accuracy" in shown) == ("about accuracy" in judgment["reply"])


@pytest.mark.parametrize(("failing", "exit_code"), [(5, 0), (6, 1)])
def test_more_than_one_in_twenty_is_a_finding(tmp_path: Path, failing: int, exit_code: int) -> None:
    replies = [verdict(4, 3)] * failing + [GOOD] * (100 - failing)
    results = judging(subjects(100), [by_answer("mine", replies)], tmp_path).run()
    assert (results.exit_code, len(results.warnings)) == (exit_code, exit_code)
    summary = results.summary()
    assert (summary["ok"], summary["partial"], summary["failed"]) == (100 - failing, failing, 0)
    assert summary["reward"]["n"] == 100
    assert summary["reward"]["low"] <= summary["reward"]["value"] <= summary["reward"]["high"]


def test_results_of_other_answers_or_prompts_are_not_read(tmp_path: Path) -> None:
    one = subject("case-000")
    # Another sample of the same question is another answer.
    judge = function_judge("mine", lambda answer, marker: GOOD)
    judging([one, replace(one, sample=1)], [judge], tmp_path).run()
    for listed, variant, folder, said in (
        ([one, one], None, "", "'case-000#0' .* comes twice"),
        ([subject("case-000", "other")], None, "", "another question, answer or reference"),
        ([one], NO_REFERENCE, "", "of another prompt or rubric"),
        ([one], None, "none", "there are no judgments"),
    ):
        changed = {} if variant is None else {"variant": variant}
        refused(said, judging(listed, [judge], tmp_path / folder, **changed).results)


def test_who_may_sit_in_a_jury(tmp_path: Path) -> None:
    built_in = Judge("local", function=lambda item: GOOD)
    for judges, said in (([], "no judge"), ([built_in], "built in")):
        refused(said, judging(subjects(1), judges, tmp_path).run)
    assert Judge("meta-llama/Llama-3.3 70B").label == "meta-llama-Llama-3.3-70B"
    assert Judge("../../x").label == "x"


@pytest.mark.parametrize(("urls", "names"), TABLES["names"])
def test_names_with_addresses_are_as_short_as_they_can_be(urls: list[str], names: Any) -> None:
    def seated(**more: str) -> list[str]:
        judges = [Judge("m", base_url=url, **more) for url in urls]
        return [judge.label for judge in Jury(judges=tuple(judges)).seated]

    if isinstance(names, list):
        assert seated() == names
    else:
        refused(names, seated)
    if len(urls) > 1:
        refused("Two judges are called 'mine'", seated, name="mine")


def test_the_address_of_a_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUDGE_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert (Judge().model, Judge().endpoint) == ("gpt-4o-mini", "https://api.openai.com/v1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://a/v1")
    assert Judge().endpoint == "http://a/v1"
    monkeypatch.setenv("JUDGE_BASE_URL", "http://b/v1")
    assert Judge().endpoint == "http://b/v1"
    assert Judge(base_url="http://c/v1").endpoint == "http://c/v1"
    # What a record keeps is the address of when the judge was named.
    assert jury_of(["m"]).judges[0].base_url == "http://b/v1"


def test_a_judge_weighs_the_same_however_often_it_gave_a_verdict(tmp_path: Path) -> None:
    asked: list[str] = []

    def once(answer: str, marker: str) -> str:
        asked.append(marker)
        if len(asked) == 2:
            raise RuntimeError("a function that fails has given no verdict")
        return verdict(1, 1, 1) if len(asked) == 1 else "no verdict"

    jury = [function_judge("often", lambda answer, marker: verdict(5, 5, 5))]
    jury.append(function_judge("once", once))
    one = judging(subjects(1), jury, tmp_path, repeats=3, re_asks=0)
    (found,) = one.run(replace(QUICKLY, concurrency=1)).subjects
    reasons = [each["reason"] for each in found.judgments[3:]]
    assert reasons == [None, "error: callable", "unparseable"]
    assert found.reward == pytest.approx((1.0 + 0.2) / 2)
    assert found.reward_judged == found.reward_median == pytest.approx(0.6)
    assert dict(found.scores) == dict.fromkeys(RUBRIC.names, 3.0)
