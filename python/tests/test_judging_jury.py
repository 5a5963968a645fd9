"""Juries and who sits in them: dead judges, kin, keys, the rule that is built in."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from inference_runs import QUICK
from judging_runs import (
    GOOD,
    QUICKLY,
    RUBRIC,
    case_of,
    judge_at,
    lines,
    subject,
    subjects,
    verdict,
)
from model_server import BAD_KEY, Body, Script, model_server

from medeval.errors import UserError
from medeval.inference.guard import DataUseGuard
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.run import AUDIT
from medeval.inference.types import Item, Outcome
from medeval.judging.feedback import judge_feedback
from medeval.judging.judges import Judge, checked_jury, related
from medeval.judging.options import JudgingOptions
from medeval.judging.prompt import NO_REFERENCE
from medeval.judging.rubric import shipped_rubric, shipped_rubrics
from medeval.judging.running import read_results, run_judges
from medeval.judging.verdicts import Status
from medeval.tasks.judged_score import pooled_reward

OPTIONS = JudgingOptions(QUICKLY)


@pytest.fixture(autouse=True)
def _no_endpoints_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUDGE_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def by_model(body: Body) -> str:
    return {"strict": verdict(1, 3, 5), "mild": GOOD, "mixed": verdict(2, 3, 2)}[body["model"]]


def test_a_jury_scores_by_its_mean_and_keeps_every_row(tmp_path: Path) -> None:
    with model_server(Script(reply=by_model)) as server:
        jury = [judge_at(server.url, name) for name in ("mild", "strict", "mixed")]
        results = run_judges(subjects(3), jury, RUBRIC, tmp_path, OPTIONS)
        assert server.seen.requests == 9
    for each in results.subjects:
        assert each.reward == pytest.approx((0.8 + 0.6 + 7 / 15) / 3)
        assert each.reward_median == pytest.approx(0.6)
        assert each.reward_trimmed_mean == pytest.approx(0.6)
        assert each.helm_jury_score == pytest.approx(28 / 9)
        assert each.scores == {
            "accuracy": pytest.approx(7 / 3),
            "completeness": 3.0,
            "clarity": pytest.approx(4.0),
        }
        assert [judgment.judge for judgment in each.judgments] == ["mild", "strict", "mixed"]
        assert each.judges_used == 3
        (entry,) = judge_feedback(each)
        assert [row["judge"] for row in entry["judges"]] == ["mild", "strict", "mixed"]
        assert "raw_judge" not in entry
    for name in ("mild", "strict", "mixed"):
        assert len(lines(tmp_path, f"judgments-{name}.jsonl")) == 3
        assert (tmp_path / f"judge-{name}.json").is_file()


def test_a_judge_with_a_part_of_a_verdict_counts_and_one_without_does_not(tmp_path: Path) -> None:
    replies = {"mild": GOOD, "strict": verdict(4), "mixed": "garbage"}
    with model_server(Script(reply=lambda body: replies[body["model"]])) as server:
        jury = [judge_at(server.url, name) for name in replies]
        (found,) = run_judges([subject("one")], jury, RUBRIC, tmp_path, OPTIONS).subjects
    assert found.judges_used == 2
    assert found.reward == pytest.approx((0.8 + 4 / 15) / 2)
    assert found.reward_judged == pytest.approx(0.8)
    assert found.status is Status.OK


def test_rows_hold_median_and_trimmed_mean_of_what_was_judged(tmp_path: Path) -> None:
    replies = {"whole": verdict(4, 4, 4), "part": verdict(4, None, 5), "least": verdict(2)}
    with model_server(Script(reply=lambda body: replies[body["model"]])) as server:
        jury = [judge_at(server.url, name) for name in replies]
        results = run_judges([subject("one")], jury, RUBRIC, tmp_path / "jury", OPTIONS)
        alone = run_judges([subject("one")], jury[1:2], RUBRIC, tmp_path / "one", OPTIONS)
    (row,) = results.as_json()["results"]
    assert row["reward_judged"] == pytest.approx(0.7)
    assert row["reward_median"] == pytest.approx(0.8)
    assert row["reward_trimmed_mean"] == pytest.approx(0.8)
    (row,) = alone.as_json()["results"]
    assert row["reward"] == pytest.approx(0.6)
    assert row["reward_median"] == row["reward_trimmed_mean"] == pytest.approx(0.9)
    for pooling in ("mean", "median", "trimmed_mean"):
        assert pooled_reward(alone.subjects[0], pooling) == pytest.approx(0.9)
    assert pooled_reward(results.subjects[0], "trimmed_mean") == pytest.approx(0.8)


def test_a_jury_with_a_dead_judge_still_scores_and_says_so(tmp_path: Path) -> None:
    with socket.socket() as taken, model_server(Script(reply=by_model)) as server:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        jury = [judge_at(server.url, "mild"), judge_at(dead, "dead"), judge_at(server.url, "mixed")]
        results = run_judges(subjects(4), jury, RUBRIC, tmp_path, OPTIONS)
    assert [each.status for each in results.subjects] == [Status.OK] * 4
    assert {each.judges_used for each in results.subjects} == {2}
    assert results.subjects[0].reward == pytest.approx((0.8 + 7 / 15) / 2)
    assert {each.judgments[1].reason for each in results.subjects} == {"error: connection"}
    assert results.exit_code == 1
    (warning,) = results.warnings
    assert "dead" in warning
    assert "4 of 4 answers" in warning
    assert results.judges[1].progress.ledger[Outcome.ERRORED] == 4


def test_a_judge_that_nobody_answers_for_is_given_up_after_a_few_answers(tmp_path: Path) -> None:
    with socket.socket() as taken, model_server(Script(reply=by_model)) as server:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        jury = [judge_at(server.url, "mild"), judge_at(dead, "dead"), judge_at(server.url, "mixed")]
        options = JudgingOptions(replace(QUICKLY, concurrency=2))
        results = run_judges(subjects(40), jury, RUBRIC, tmp_path, options)
        assert server.seen.requests == 80
        assert {each.judges_used for each in results.subjects} == {2}
        assert results.summary()["reward"]["value"] == pytest.approx((0.8 + 7 / 15) / 2)
        assert "5 items in a row" in results.judges[1].stopped
        # Not errors of the answers: they are still to be judged.
        assert results.judges[1].progress.ledger.asked == 0
        assert {each.judgments[1].reason for each in results.subjects} == {"not_asked"}
        stopped, missing = results.warnings
        assert "The judge dead stopped" in stopped
        assert "40 of 40 answers" in missing
        assert results.exit_code == 1
        tries = len((tmp_path / "audit.jsonl").read_text().splitlines()) - 80
        assert tries <= 7 * QUICK.attempts


@pytest.mark.parametrize(("timeout", "connect"), [(300.0, 10.0), (20.0, 10.0), (8.0, 4.0)])
def test_a_try_waits_ten_seconds_for_a_connection_at_most(
    tmp_path: Path, timeout: float, connect: float
) -> None:
    judge = judge_at("http://127.0.0.1:1/v1", timeout=timeout)
    provider = judge.provider(RUBRIC, DataUseGuard({}, tmp_path / AUDIT))
    assert isinstance(provider, OpenAIModel)
    client = provider._new_client("unused")
    found = client.timeout
    asyncio.run(client.close())
    assert isinstance(found, httpx2.Timeout)
    assert (found.connect, found.read) == (connect, timeout)


def test_a_judge_whose_key_is_wrong_stops_alone(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Any:
        return BAD_KEY if body["model"] == "strict" else None

    with model_server(Script(fault, by_model)) as server:
        jury = [judge_at(server.url, name) for name in ("mild", "strict")]
        results = run_judges(subjects(5), jury, RUBRIC, tmp_path, OPTIONS)
        assert "does not accept the key (HTTP 401)" in results.judges[1].stopped
        assert results.judges[1].progress.ledger.asked == 0
        mild, strict = results.summary()["judges"].values()
        assert (mild["ok"], mild["failed"], mild["reasons"], mild["stopped"]) == (5, 0, {}, None)
        assert (strict["ok"], strict["failed"]) == (0, 5)
        assert strict["reasons"] == {"not_asked": 5}
        assert "HTTP 401" in strict["stopped"]
        assert "The judge strict stopped" in results.warnings[0]
        assert "HTTP 401" in results.warnings[0]
        assert {each.judgments[1].reason for each in results.subjects} == {"not_asked"}
        assert [each.reward for each in results.subjects] == [pytest.approx(0.8)] * 5
        assert results.exit_code == 1
        # Repaired, the same judging asks only the judge that is behind.
        server.script.fault = lambda body, before: None
        server.seen.bodies.clear()
        results = run_judges(subjects(5), jury, RUBRIC, tmp_path, OPTIONS)
        assert {body["model"] for body in server.seen.bodies} == {"strict"}
    assert (results.exit_code, results.warnings) == (0, ())


def test_who_may_sit_in_a_jury(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no judge"):
        run_judges(subjects(1), [], RUBRIC, tmp_path)
    with pytest.raises(UserError, match="'local'"):
        run_judges(subjects(1), [Judge("local"), Judge("local")], RUBRIC, tmp_path)
    with pytest.raises(UserError, match="built in"):
        run_judges(subjects(1), [Judge("local", function=lambda item: GOOD)], RUBRIC, tmp_path)
    assert Judge("meta-llama/Llama-3.3 70B").label == "meta-llama-Llama-3.3-70B"
    assert Judge("../../x").label == "x"


@pytest.mark.parametrize(
    ("judge", "model", "kin"),
    [
        ("gpt-4o-mini", "gpt-4.1", True),
        ("openai/gpt-4o", "GPT-5", True),
        ("meta-llama/Llama-3.3", "llama-2", True),
        ("claude-3-7-sonnet", "gpt-4o", False),
        ("gpt-4o-mini", "", False),
        ("4o", "4o", False),
    ],
)
def test_kinship(judge: str, model: str, kin: bool) -> None:
    assert related(judge, model) is kin


def test_a_judge_of_the_models_own_kind_is_warned_of(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: GOOD)) as server:
        options = JudgingOptions(QUICKLY, answering_model="tested-model-7b")
        results = run_judges([subject("one")], [judge_at(server.url)], RUBRIC, tmp_path, options)
    (warning,) = results.warnings
    assert "prefer answers of their own kind" in warning
    assert results.exit_code == 0


def test_the_key_of_a_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(Script(reply=lambda body: GOOD)) as server:

        def sent(judge: Judge, number: int) -> str:
            run_judges([subject("one")], [judge], RUBRIC, tmp_path / str(number), OPTIONS)
            return server.seen.headers[-1]["authorization"]

        judge = Judge("m", base_url=server.url)
        with pytest.raises(UserError, match="JUDGE_API_KEY or OPENAI_API_KEY") as missing:
            sent(judge, 0)
        for way_out in ("--judge-key-variable none", "needs_key=False", "--no-judge"):
            assert way_out in str(missing.value)
        with pytest.raises(UserError, match="MY_KEY is not set"):
            sent(Judge("m", base_url=server.url, key_variable="MY_KEY"), 0)
        assert server.seen.connections == 0
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
        assert sent(judge, 1) == "Bearer key-of-openai"
        monkeypatch.setenv("JUDGE_API_KEY", "key-of-judge")
        assert sent(judge, 2) == "Bearer key-of-judge"
        monkeypatch.setenv("MY_KEY", "key-of-mine")
        assert sent(Judge("m", base_url=server.url, key_variable="MY_KEY"), 3) == (
            "Bearer key-of-mine"
        )


def test_the_address_of_a_judge() -> None:
    assert Judge().model == "gpt-4o-mini"
    assert Judge().endpoint({}) == "https://api.openai.com/v1"
    both = {"OPENAI_BASE_URL": "http://a/v1", "JUDGE_BASE_URL": "http://b/v1"}
    assert Judge().endpoint({"OPENAI_BASE_URL": "http://a/v1"}) == "http://a/v1"
    assert Judge().endpoint(both) == "http://b/v1"
    assert Judge(base_url="http://c/v1").endpoint(both) == "http://c/v1"


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-4o-mini", 1024),
        ("gpt-4o", 1024),
        ("gpt-5-mini", 4096),
        ("openai/gpt-oss-120b", 4096),
        ("o3", 4096),
        ("deepseek-r1", 4096),
        ("qwen3-thinking", 4096),
        ("llama-3.1-8b", 1024),
        ("phi-4-reasoning", 4096),
    ],
)
def test_reasoning_judges_have_room_to_think(model: str, tokens: int) -> None:
    assert Judge(model).all_parameters(RUBRIC)["max_completion_tokens"] == tokens
    told = Judge(model, is_reasoning=tokens == 1024)
    assert told.all_parameters(RUBRIC)["max_completion_tokens"] == 5120 - tokens


def test_a_parameter_may_be_left_out() -> None:
    judge = Judge("m", parameters={"temperature": None, "top_p": 1}, is_structured=False)
    assert judge.all_parameters(RUBRIC) == {"max_completion_tokens": 1024, "top_p": 1}


@pytest.mark.parametrize("name", shipped_rubrics())
def test_the_rule_gives_the_oracle_the_most_and_the_stranger_the_least(
    tmp_path: Path, name: str
) -> None:
    rubric = shipped_rubric(name)
    reference = "Laparoscopic appendectomy today, antibiotics before the incision."
    listed = [
        subject("oracle", reference, reference=reference),
        subject("stranger", "Zzz qqq", reference=reference),
        subject("half", "Laparoscopic appendectomy today", reference=reference),
        subject("empty", " ", reference=reference),
    ]
    results = run_judges(listed, [Judge("local")], rubric, tmp_path, OPTIONS)
    oracle, stranger, half, empty = results.subjects
    assert set(oracle.scores.values()) == {5.0}
    assert set(stranger.scores.values()) == {1.0}
    assert stranger.reward < half.reward < oracle.reward == 1.0
    assert empty.reward == 0.0
    assert results.exit_code == 0
    assert results.summary()["judging_cost"] == "0"
    again = run_judges(listed, [Judge("local")], rubric, tmp_path / "again", OPTIONS)
    assert [each.scores for each in again.subjects] == [each.scores for each in results.subjects]


def test_the_rule_may_see_credentialed_text_and_needs_a_reference(tmp_path: Path) -> None:
    closed = subject("closed", "reference closed", data_class="credentialed")
    results = run_judges([closed], [Judge("local")], RUBRIC, tmp_path, OPTIONS)
    assert results.subjects[0].reward == 1.0
    audit = json.loads((tmp_path / "audit.jsonl").read_text().splitlines()[0])
    assert (audit["ground"], audit["purpose"]) == ("in-process", "judgment")
    without = JudgingOptions(QUICKLY, variant=NO_REFERENCE)
    results = run_judges([closed], [Judge("local")], RUBRIC, tmp_path / "without", without)
    assert results.subjects[0].status is Status.FAILED
    assert results.exit_code == 1


def test_one_model_at_two_addresses_is_a_jury(tmp_path: Path) -> None:
    with (
        model_server(Script(reply=lambda body: GOOD)) as one,
        model_server(Script(reply=lambda body: verdict(2, 2, 2))) as two,
    ):
        jury = [judge_at(one.url, "m"), judge_at(two.url, "m"), Judge("local")]
        results = run_judges([subject("one")], jury, RUBRIC, tmp_path, OPTIONS)
        assert (one.seen.requests, two.seen.requests) == (1, 1)
        names = [
            *(f"m-127.0.0.1-{url.split(':')[2].split('/')[0]}" for url in (one.url, two.url)),
            "local",
        ]
        again = read_results([subject("one")], jury, RUBRIC, tmp_path, OPTIONS)
    assert [judge.judge for judge in results.judges] == names
    assert again.as_json() == results.as_json()
    assert sorted(path.name for path in tmp_path.glob("judgments-m*")) == sorted(
        f"judgments-{name}.jsonl" for name in names[:2]
    )


def test_names_with_addresses_are_as_short_as_they_can_be() -> None:
    def names(*urls: str, **more: str) -> list[str]:
        jury = [Judge("m", base_url=url, needs_key=False, **more) for url in urls]  # type: ignore[arg-type]
        return [judge.label for judge in checked_jury(jury)]

    assert names("https://a.org/v1") == ["m"]
    assert names("https://a.org/v1", "https://b.org/v1") == ["m-a.org", "m-b.org"]
    assert names("https://a.org/v1", "https://a.org/v2") == ["m-a.org-v1", "m-a.org-v2"]
    assert names("https://u:secret@a.org/v1", "https://b.org") == ["m-a.org", "m-b.org"]
    for same in (["https://a.org/v1"] * 2, ["https://a.org/v1", "https://A.org/v1"]):
        with pytest.raises(UserError, match=r"Two judges are called 'm-a\.org-v1'"):
            names(*same)
    with pytest.raises(UserError, match="Two judges are called 'mine'"):
        names("https://a.org/v1", "https://b.org/v1", name="mine")


def test_a_function_may_judge(tmp_path: Path) -> None:
    def judge(item: Item) -> str:
        if "plan two" in str(item.messages[0]["content"]):
            raise RuntimeError("no")
        return GOOD

    listed = [subject("one"), subject("two")]
    jury = [Judge("mine", function=judge)]
    results = run_judges(listed, jury, RUBRIC, tmp_path, OPTIONS)
    one, two = results.subjects
    assert one.reward == 0.8
    assert two.judgments[0].reason == "error: callable"
    assert read_results(listed, jury, RUBRIC, tmp_path, OPTIONS).as_json() == results.as_json()


def test_progress_is_told_by_judge(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    options = JudgingOptions(
        QUICKLY, on_progress=lambda judge, sums: told.append((judge, sums.ledger.asked))
    )
    with model_server(Script(reply=by_model)) as server:
        jury = [judge_at(server.url, name) for name in ("mild", "strict")]
        run_judges(subjects(3), jury, RUBRIC, tmp_path, options)
    assert sorted(told) == [(name, done) for name in ("mild", "strict") for done in (1, 2, 3)]


@pytest.mark.parametrize("wrong", [{"re_asks": -1}, {"re_asks": 10}, {"repeats": 0}, {"seed": -1}])
def test_options_that_cannot_be_meant(wrong: dict[str, int]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        JudgingOptions(**wrong)  # type: ignore[arg-type]


def test_repeats_are_judged_and_asked_again_each_for_itself(tmp_path: Path) -> None:
    count: dict[str, int] = {}

    def reply(body: Body) -> str:
        number = count[case_of(body)] = count.get(case_of(body), 0) + 1
        return [GOOD, "no", verdict(2, 2, 2), verdict(5, 5, 5)][number - 1]

    with model_server(Script(reply=reply)) as server:
        options = JudgingOptions(replace(QUICKLY, concurrency=1), repeats=3, re_asks=1)
        results = run_judges([subject("one")], [judge_at(server.url)], RUBRIC, tmp_path, options)
    (found,) = results.subjects
    assert len(found.judgments) == 3
    assert sorted(judgment.asks for judgment in found.judgments) == [1, 1, 2]
    assert found.reward == pytest.approx((0.8 + 0.4 + 1.0) / 3)
    assert sorted(line["sample"] % 10 for line in lines(tmp_path)) == [0, 0, 0, 1]
