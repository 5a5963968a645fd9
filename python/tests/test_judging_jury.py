"""Juries and who sits in them: dead judges, kin, keys, the rule that is built in."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inference_runs import QUICK
from judging_runs import (
    GOOD,
    QUICKLY,
    RUBRIC,
    How,
    case_of,
    judge_at,
    lines,
    read_results,
    run_judges,
    subject,
    subjects,
    verdict,
)
from model_server import BAD_KEY, Body, Script, model_server

from medeval.errors import UserError
from medeval.inference.types import Item
from medeval.judging.jury import Judge, Jury, jury_of, warnings_of_kinship
from medeval.judging.prompt import NO_REFERENCE
from medeval.judging.results import judge_feedback
from medeval.judging.rubric import shipped_rubric, shipped_rubrics
from medeval.judging.verdict import Status


@pytest.fixture(autouse=True)
def _no_endpoints_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUDGE_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def by_model(body: Body) -> str:
    return {"strict": verdict(1, 3, 5), "mild": GOOD, "mixed": verdict(2, 3, 2)}[body["model"]]


def test_a_jury_scores_by_its_mean_and_keeps_every_row(tmp_path: Path) -> None:
    with model_server(Script(reply=by_model)) as server:
        jury = [judge_at(server.url, name) for name in ("mild", "strict", "mixed")]
        results = run_judges(subjects(3), jury, RUBRIC, tmp_path)
        assert server.seen.requests == 9
    for each in results.subjects:
        assert each.reward == pytest.approx((0.8 + 0.6 + 7 / 15) / 3)
        assert each.pooled["median"] == pytest.approx(0.6)
        assert each.pooled["trimmed_mean"] == pytest.approx(0.6)
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


def test_a_jury_with_a_dead_judge_still_scores_and_says_so(tmp_path: Path) -> None:
    with socket.socket() as taken, model_server(Script(reply=by_model)) as server:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        jury = [judge_at(server.url, "mild"), judge_at(dead, "dead"), judge_at(server.url, "mixed")]
        options = How(replace(QUICKLY, concurrency=2))
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


def test_a_judge_whose_key_is_wrong_stops_alone(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Any:
        return BAD_KEY if body["model"] == "strict" else None

    with model_server(Script(fault, by_model)) as server:
        jury = [judge_at(server.url, name) for name in ("mild", "strict")]
        results = run_judges(subjects(5), jury, RUBRIC, tmp_path)
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
        results = run_judges(subjects(5), jury, RUBRIC, tmp_path)
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
    assert bool(warnings_of_kinship([Judge(judge)], model)) is kin


def test_a_judge_of_the_models_own_kind_is_warned_of(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: GOOD)) as server:
        options = How(answering_model="tested-model-7b")
        results = run_judges([subject("one")], [judge_at(server.url)], RUBRIC, tmp_path, options)
    (warning,) = results.warnings
    assert "prefer answers of their own kind" in warning
    assert results.exit_code == 0


def test_the_key_of_a_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away = Judge("m", base_url="https://judges.example.org/v1")
    with pytest.raises(UserError, match="JUDGE_API_KEY or OPENAI_API_KEY") as missing:
        run_judges([subject("one")], [away], RUBRIC, tmp_path)
    for way_out in ("--judge-key-variable none", 'key_variable="none"', "--no-judge"):
        assert way_out in str(missing.value)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    assert away.key_name() == "OPENAI_API_KEY"
    with model_server(Script(reply=lambda body: GOOD)) as server:

        def sent(judge: Judge) -> str:
            folder = tmp_path / str(server.seen.requests)
            run_judges([subject("one")], [judge], RUBRIC, folder)
            return server.seen.headers[-1]["authorization"]

        here, mine = Judge("m", server.url), Judge("m", server.url, "MY_KEY")
        with pytest.raises(UserError, match="MY_KEY is not set"):
            sent(mine)
        assert server.seen.connections == 0
        # The usual key of others is not sent to an endpoint on this machine.
        assert "key-of-openai" not in sent(here)
        monkeypatch.setenv("JUDGE_API_KEY", "key-of-judge")
        assert sent(here) == "Bearer key-of-judge"
        monkeypatch.setenv("MY_KEY", "key-of-mine")
        assert sent(mine) == "Bearer key-of-mine"


def test_the_address_of_a_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (Judge().model, Judge().endpoint) == ("gpt-4o-mini", "https://api.openai.com/v1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://a/v1")
    assert Judge().endpoint == "http://a/v1"
    monkeypatch.setenv("JUDGE_BASE_URL", "http://b/v1")
    assert Judge().endpoint == "http://b/v1"
    assert Judge(base_url="http://c/v1").endpoint == "http://c/v1"
    # What a record keeps is the address of when the judge was named.
    assert jury_of(["m"]).judges[0].base_url == "http://b/v1"


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
    results = run_judges(listed, [Judge("local")], rubric, tmp_path)
    oracle, stranger, half, empty = results.subjects
    assert set(oracle.scores.values()) == {5.0}
    assert set(stranger.scores.values()) == {1.0}
    assert stranger.reward < half.reward < oracle.reward == 1.0
    assert empty.reward == 0.0
    assert results.exit_code == 0
    assert results.summary()["judging_cost"] == "0"
    again = run_judges(listed, [Judge("local")], rubric, tmp_path / "again")
    assert [each.scores for each in again.subjects] == [each.scores for each in results.subjects]


def test_the_rule_may_see_credentialed_text_and_needs_a_reference(tmp_path: Path) -> None:
    closed = subject("closed", "reference closed", data_class="credentialed")
    results = run_judges([closed], [Judge("local")], RUBRIC, tmp_path)
    assert results.subjects[0].reward == 1.0
    audit = json.loads((tmp_path / "audit.jsonl").read_text().splitlines()[0])
    assert (audit["ground"], audit["purpose"]) == ("in-process", "judgment")
    without = How(variant=NO_REFERENCE)
    results = run_judges([closed], [Judge("local")], RUBRIC, tmp_path / "without", without)
    assert results.subjects[0].status is Status.FAILED
    assert results.exit_code == 1


def test_one_model_at_two_addresses_is_a_jury(tmp_path: Path) -> None:
    with (
        model_server(Script(reply=lambda body: GOOD)) as one,
        model_server(Script(reply=lambda body: verdict(2, 2, 2))) as two,
    ):
        jury = [judge_at(one.url, "m"), judge_at(two.url, "m"), Judge("local")]
        results = run_judges([subject("one")], jury, RUBRIC, tmp_path)
        assert (one.seen.requests, two.seen.requests) == (1, 1)
        names = [
            *(f"m-127.0.0.1-{url.split(':')[2].split('/')[0]}" for url in (one.url, two.url)),
            "local",
        ]
        again = read_results([subject("one")], jury, RUBRIC, tmp_path)
    assert [judge.judge for judge in results.judges] == names
    assert again.as_json() == results.as_json()
    assert sorted(path.name for path in tmp_path.glob("judgments-m*")) == sorted(
        f"judgments-{name}.jsonl" for name in names[:2]
    )


def test_names_with_addresses_are_as_short_as_they_can_be() -> None:
    def names(*urls: str, **more: str) -> list[str]:
        jury = [Judge("m", base_url=url, key_variable="none", **more) for url in urls]
        return [judge.label for judge in Jury(judges=tuple(jury)).seated]

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
    results = run_judges(listed, jury, RUBRIC, tmp_path)
    one, two = results.subjects
    assert one.reward == 0.8
    assert two.judgments[0].reason == "error: callable"
    assert read_results(listed, jury, RUBRIC, tmp_path).as_json() == results.as_json()


def test_repeats_are_judged_and_asked_again_each_for_itself(tmp_path: Path) -> None:
    count: dict[str, int] = {}

    def reply(body: Body) -> str:
        number = count[case_of(body)] = count.get(case_of(body), 0) + 1
        return [GOOD, "no", verdict(2, 2, 2), verdict(5, 5, 5)][number - 1]

    with model_server(Script(reply=reply)) as server:
        options = How(replace(QUICKLY, concurrency=1), repeats=3, re_asks=1)
        results = run_judges([subject("one")], [judge_at(server.url)], RUBRIC, tmp_path, options)
    (found,) = results.subjects
    assert len(found.judgments) == 3
    assert sorted(judgment.asks for judgment in found.judgments) == [1, 1, 2]
    assert found.reward == pytest.approx((0.8 + 0.4 + 1.0) / 3)
    assert sorted(line["sample"] % 10 for line in lines(tmp_path)) == [0, 0, 0, 1]
