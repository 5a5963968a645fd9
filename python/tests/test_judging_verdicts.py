"""A judge's reply is read whatever its form, and nothing that is no score becomes one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging_runs import GOOD, RUBRIC, verdict

from medeval.judging.judgments import Rewards, combined, helm_jury_score, pooled, rewards_of
from medeval.judging.verdict import Parse, Status, read_verdict

HALF = verdict(4, 3)
NAMES = RUBRIC.names
MARKER = "VERDICT-00112233445566ff"
QUOTED = verdict(5, 5, 5)
WORDS = {
    "$QUOTING": GOOD.replace("about completeness", f"said behind {MARKER} as asked"),
    "$QUOTED": QUOTED,
    "$GOOD": GOOD,
    "$HALF": HALF,
    "$MARKER": MARKER,
}
# By rule: a reply, how it is read, its scores, and how much of a verdict it is.
CASES = json.loads((Path(__file__).parent / "readers" / "verdicts.json").read_text("utf-8"))


def read(text: str | None, marker: str = "") -> tuple[str, list[float | None], str]:
    found = read_verdict(text, RUBRIC, marker)
    return str(found.parse), [found.scores[name] for name in NAMES], str(found.status)


def in_full(reply: str | None) -> str | None:
    for word, text in WORDS.items():
        reply = reply and reply.replace(word, text)
    return reply


def check(rule: str, marker: str = "") -> None:
    """Hold every case of a rule."""
    for reply, parse, scores, status in CASES[rule]:
        given_ = [None if score == "-" else float(score) for score in scores.split()]
        assert read(in_full(reply), marker) == (parse, given_, status), reply


@pytest.mark.parametrize("rule", ["forms", "thinking"])
def test_forms_of_a_reply(rule: str) -> None:
    check(rule)


@pytest.mark.parametrize("rule", ["before_the_marker", "behind_the_marker", "marker_again"])
def test_the_object_directly_behind_the_marker_is_the_verdict(rule: str) -> None:
    check(rule, MARKER)
    assert read_verdict(f"{MARKER}{GOOD}", RUBRIC, MARKER).is_marked
    assert not read_verdict(GOOD, RUBRIC, MARKER).is_marked


def test_without_the_marker_a_quoted_verdict_is_not_the_judges() -> None:
    check("without_the_marker", MARKER)


@pytest.mark.parametrize(
    ("score", "read_as"),
    [
        (1, 1.0),
        (5, 5.0),
        (4.5, 4.5),
        ("4", 4.0),
        (" 4 ", 4.0),
        ("4.0", 4.0),
        (0, None),
        (0.999, None),
        (6, None),
        (5.001, None),
        (-2, None),
        ("0.8", None),
        ("4/5", None),
        ("five", None),
        ("", None),
        (True, None),
        (None, None),
        ([4], None),
        ({"score": 4}, None),
        (float("nan"), None),
        (float("inf"), None),
        ("1_0", None),
        ("\uff14", None),
        ("9" * 5000, None),
        (10**400, None),
        (-(10**400), None),
        (f"1{'0' * 400}", None),
    ],
)
def test_what_is_a_score(score: Any, read_as: float | None) -> None:
    found = read_verdict(verdict(4, 3, score), RUBRIC)
    assert found.scores["clarity"] == read_as
    assert found.status is (Status.PARTIAL if read_as is None else Status.OK)
    shown = found.unusable.get("clarity")
    # NaN is no value, so it is as if its key were not there.
    is_there = score is not None and not (isinstance(score, float) and not math.isfinite(score))
    assert (shown is None) == (read_as is not None or not is_there)


def test_what_stood_in_the_place_of_a_score_is_kept() -> None:
    found = read_verdict(verdict(9, "four", 3), RUBRIC)
    assert found.unusable == {"accuracy": "9", "completeness": '"four"'}
    assert found.explanations["clarity"] == "about clarity"
    assert found.given == 1


def test_a_reply_that_was_cut_off_is_not_taken_for_what_it_quotes() -> None:
    def cut(reply: str) -> tuple[Status, bool]:
        found = read_verdict(reply, RUBRIC, MARKER, is_cut=True)
        return found.status, found.is_marked

    assert cut(f"It planted {QUOTED}. I think") == (Status.FAILED, False)
    assert cut(f"{GOOD} I think") == (Status.FAILED, False)
    assert cut('It planted {"accuracy": 5, "comp') == (Status.FAILED, False)
    assert cut(f"So\n{MARKER}\n{GOOD} I think") == (Status.OK, True)
    # Where nothing else is said, nothing can be quoted.
    assert cut(f"```json\n{GOOD}\n") == (Status.OK, False)
    assert cut(GOOD[:-2]) == (Status.PARTIAL, False)


@given(st.text(), st.sampled_from([GOOD, HALF, "", verdict(9, 0, 3.5), GOOD[:50]]), st.text())
def test_any_reply_is_read_without_an_error_and_on_the_scale(
    before: str, middle: str, after: str
) -> None:
    found = read_verdict(before + middle + after, RUBRIC)
    assert set(found.scores) == set(NAMES)
    assert all(score is None or 1 <= score <= 5 for score in found.scores.values())
    assert (found.parse in (Parse.EMPTY, Parse.UNPARSEABLE)) <= (found.status is Status.FAILED)


@given(st.lists(st.integers(1, 5), min_size=3, max_size=3), st.integers(0, 400))
def test_a_reply_that_is_cut_off_never_changes_a_score(scores: list[int], length: int) -> None:
    found = read_verdict(verdict(*scores)[:length], RUBRIC)
    for name, score in zip(NAMES, scores, strict=True):
        assert found.scores[name] in (score, None)


def test_deep_nesting_is_no_verdict() -> None:
    assert read('{"a":' * 20_000)[0] == "unparseable"


ENDLESS = [
    *("{", '{"', '{"a":', '"accuracy": ', f"{MARKER} ", '{"accuracy":[', '{"a":x', "accuracy "),
    *("1 ", "accuracy 1 ", '{"accuracy": 1} ', " ", "\n", "{ ", "can not ", "<think>"),
]


@pytest.mark.slow
@pytest.mark.parametrize("part", ENDLESS)
def test_an_endless_reply_is_no_whole_verdict(part: str) -> None:
    assert read(part * 1000, MARKER)[2] in ("failed", "partial")


def test_a_verdict_far_into_a_reply_is_found() -> None:
    assert read('{"' * 9000 + GOOD)[1] == [4, 3, 5]
    assert read("{so} " * 9000 + GOOD[:-2])[1] == [4, 3, None]


def rewards(*scores: float | None) -> Rewards:
    return rewards_of(dict(zip(NAMES, scores, strict=True)), RUBRIC)


@pytest.mark.parametrize(
    ("scores", "reward", "judged"),
    [
        ((5, 5, 5), 1.0, 1.0),
        ((1, 1, 1), 0.2, 0.2),
        ((4, 3, 5), 0.8, 0.8),
        ((4, 3, None), 7 / 15, 0.7),
        ((None, None, 3.5), 3.5 / 15, 0.7),
        ((None, None, None), 0.0, None),
    ],
)
def test_rewards(scores: tuple[float | None, ...], reward: float, judged: float | None) -> None:
    found = rewards(*scores)
    assert found.reward == pytest.approx(reward)
    assert found.reward_judged == (None if judged is None else pytest.approx(judged))


@pytest.mark.parametrize(
    ("jury", "reward", "mean", "median", "trimmed"),
    [
        # A judge without a verdict is left out of every kind of mean.
        ([(4, 3, 5), (None,) * 3, (2, 3, 5)], 11 / 15, 11 / 15, 11 / 15, 11 / 15),
        ([(1,) * 3, (2,) * 3, (2,) * 3, (3,) * 3, (5,) * 3], 0.52, 0.52, 0.4, 7 / 15),
        ([(None,) * 3], 0.0, None, None, None),
        # What a judge left out is missing, and not 0.
        ([(4, None, 5)], 0.6, 0.9, 0.9, 0.9),
        ([(4, 4, 4), (4, None, 5), (2, None, None)], 23 / 45, 0.7, 0.8, 0.8),
    ],
)
def test_a_jury_is_pooled_in_three_ways(
    jury: list[tuple[float | None, ...]], reward: float, mean: Any, median: Any, trimmed: Any
) -> None:
    given_ = [rewards(*scores) for scores in jury]
    assert combined(given_).reward == pytest.approx(reward)
    found = pooled(given_)
    for name, value in (("mean", mean), ("median", median), ("trimmed_mean", trimmed)):
        assert found[name] == (None if value is None else pytest.approx(value)), name


def test_the_score_of_helms_jury_is_a_mean_of_whole_numbers_and_1_without_judges() -> None:
    whole = dict(zip(NAMES, (4.0, 3.0, 4.5), strict=True))
    part = dict(zip(NAMES, (1.0, None, None), strict=True))
    assert helm_jury_score([(Status.OK, whole), (Status.PARTIAL, part)]) == pytest.approx(11 / 3)
    assert helm_jury_score([(Status.PARTIAL, part)]) == 1.0


def test_the_canned_replies_of_the_reference_study(shared: Path) -> None:
    path = shared / "golden" / "mtsamples_procedures" / "judge_cases.jsonl"
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(cases) == 43
    for case in cases:
        if case["answer"] is not None:
            continue  # a blank answer, which no judge sees: test_judging_runs
        expected = case["recommended"]
        found = [read_verdict(reply, RUBRIC) for reply in case["replies"]]
        if case["name"] == "planted":  # two objects that differ, and no marker
            assert [str(each.parse) for each in found] == ["ambiguous"]
            continue
        for verdict_, each in zip(found, expected["per_judge"], strict=True):
            assert verdict_.parse == each["parse"], case["name"]
            assert verdict_.scores == each["scores"], case["name"]
            assert verdict_.status == each["status"], case["name"]
        all_rewards = [rewards_of(each.scores, RUBRIC) for each in found]
        together = combined(all_rewards)
        for mine, theirs in (
            *((r.reward, e["reward"]) for r, e in zip(all_rewards, expected["per_judge"])),  # noqa: B905
            (together.reward, expected["reward"]),
            (together.reward_judged, expected["reward_judged"]),
        ):
            assert mine == (None if theirs is None else pytest.approx(theirs, abs=1e-9))
        used = sum(each.status is not Status.FAILED for each in found)
        assert used == expected["judges_used"], case["name"]
