"""A judge's reply is read whatever its form, and nothing that is no score becomes one."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging_runs import GOOD, RUBRIC, in_full, verdict
from tables import read_lines, table

from medeval.judging.results import combined, helm_jury_score, pooled, rewards_of
from medeval.judging.verdict import read_verdict

HALF = verdict(4, 3)
NAMES = RUBRIC.names
MARKER = "VERDICT-00112233445566ff"
TABLES = table("judging")
# By rule: a reply, how it is read, its scores, and how much of a verdict it is.
CASES = table("verdicts", "readers")
MARKED = ("before_the_marker", "behind_the_marker", "marker_again", "without_the_marker")


def read(text: str | None, marker: str = "") -> tuple[str, list[float | None], str]:
    found = read_verdict(text, RUBRIC, marker)
    return str(found.parse), [found.scores[name] for name in NAMES], str(found.status)


@pytest.mark.parametrize("rule", CASES)
def test_a_reply_is_read_by_its_rule(rule: str) -> None:
    marker = MARKER if rule in MARKED else ""
    for reply, parse, scores, status in CASES[rule]:
        given_ = [None if score == "-" else float(score) for score in scores.split()]
        assert read(in_full(reply, MARKER), marker) == (parse, given_, status), reply
    assert read_verdict(f"{MARKER}{GOOD}", RUBRIC, MARKER).is_marked
    assert not read_verdict(GOOD, RUBRIC, MARKER).is_marked


@pytest.mark.parametrize(("score", "read_as"), TABLES["scores"])
def test_what_is_a_score(score: str, read_as: float | None) -> None:
    value = json.loads(score)
    found = read_verdict(verdict(4, 3, value), RUBRIC)
    assert found.scores["clarity"] == read_as
    assert found.status is ("partial" if read_as is None else "ok")
    # NaN is no value, so it is as if its key were not there; what stood there else is kept.
    is_there = value is not None and not (isinstance(value, float) and not math.isfinite(value))
    is_kept = read_as is None and is_there
    assert found.unusable == ({"clarity": json.dumps(value)[:100]} if is_kept else {})
    assert found.explanations["accuracy"] == "about accuracy"


@pytest.mark.parametrize(("reply", "status", "is_marked"), TABLES["cut"])
def test_a_cut_reply_is_not_taken_for_its_quote(reply: str, status: str, is_marked: bool) -> None:
    found = read_verdict(in_full(reply, MARKER), RUBRIC, MARKER, is_cut=True)
    assert (found.status, found.is_marked) == (status, is_marked)


@given(st.text(), st.sampled_from([GOOD, HALF, "", verdict(9, 0, 3.5), GOOD[:50]]), st.text())
def test_any_reply_is_read_and_on_the_scale(before: str, middle: str, after: str) -> None:
    found = read_verdict(before + middle + after, RUBRIC)
    assert set(found.scores) == set(NAMES)
    assert all(score is None or 1 <= score <= 5 for score in found.scores.values())
    assert (found.parse in ("empty", "unparseable")) <= (found.status == "failed")


@given(st.lists(st.integers(1, 5), min_size=3, max_size=3), st.integers(0, 400))
def test_a_reply_that_is_cut_off_never_changes_a_score(scores: list[int], length: int) -> None:
    found = read_verdict(verdict(*scores)[:length], RUBRIC)
    for name, score in zip(NAMES, scores, strict=True):
        assert found.scores[name] in (score, None)


@pytest.mark.slow
@pytest.mark.parametrize("part", TABLES["endless"])
def test_an_endless_reply_is_no_whole_verdict(part: str) -> None:
    assert read(part.replace("$MARKER", MARKER) * 1000, MARKER)[2] in ("failed", "partial")


def test_a_verdict_far_into_a_reply_is_found() -> None:
    assert read('{"' * 9000 + GOOD)[1] == [4, 3, 5]
    assert read("{so} " * 9000 + GOOD[:-2])[1] == [4, 3, None]
    assert read('{"a":' * 20_000)[0] == "unparseable"


def test_half_an_emoji_in_an_explanation_is_replaced() -> None:
    for reply in (GOOD, GOOD[:-2]):
        found = read_verdict(reply.replace("about accuracy", "cut \\ud83d"), RUBRIC)
        assert found.explanations["accuracy"] == "cut \ufffd"


# A judge without a verdict is left out of every kind of mean; what one left out is missing, not 0.
@pytest.mark.parametrize(("jury", "reward", "means"), TABLES["pooled"])
def test_a_jury_is_pooled_in_three_ways(
    jury: list[list[float | None]], reward: float, means: dict[str, float | None]
) -> None:
    own = [rewards_of(dict(zip(NAMES, scores, strict=True)), RUBRIC) for scores in jury]
    assert combined(own)["reward"] == pytest.approx(reward)
    found = {name.removeprefix("reward_"): value for name, value in pooled(own).items()}
    found["mean"] = found["judged"]
    assert [found[name] for name in means] == [pytest.approx(value) for value in means.values()]


def test_the_score_of_helms_jury_is_a_mean_of_whole_numbers_and_1_without_judges() -> None:
    whole = dict(zip(NAMES, (4.0, 3.0, 4.5), strict=True))
    part = dict(zip(NAMES, (1.0, None, None), strict=True))
    assert helm_jury_score([("ok", whole), ("partial", part)]) == pytest.approx(11 / 3)
    assert helm_jury_score([("partial", part)]) == 1.0


def test_the_canned_replies_of_the_reference_study(shared: Path) -> None:
    cases = read_lines(shared / "golden" / "mtsamples_procedures" / "judge_cases.jsonl")
    assert len(cases) == 43
    for case in cases:
        if case["answer"] is not None:
            continue  # a blank answer, which no judge sees: test_judging_runs
        expected = case["recommended"]
        found = [read_verdict(reply, RUBRIC) for reply in case["replies"]]
        if case["name"] == "planted":  # two objects that differ, and no marker
            assert [str(each.parse) for each in found] == ["ambiguous"]
            continue
        own = [rewards_of(each.scores, RUBRIC) for each in found]
        for each, reward, judge in zip(found, own, expected["per_judge"], strict=True):
            read_ = {"parse": each.parse, "scores": each.scores, "status": each.status}
            assert read_ == {name: judge[name] for name in read_}, case["name"]
            assert reward["reward"] == pytest.approx(judge["reward"], abs=1e-9)
        together = combined(own)
        assert together["reward"] == pytest.approx(expected["reward"], abs=1e-9)
        assert together["reward_judged"] == pytest.approx(expected["reward_judged"], abs=1e-9)
        used = sum(each.status != "failed" for each in found)
        assert used == expected["judges_used"], case["name"]
