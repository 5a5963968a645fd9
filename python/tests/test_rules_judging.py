"""Rules of reading and pooling verdicts that a small change of them could break unseen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from judging_runs import (
    GOOD,
    RUBRIC,
    How,
    run_judges,
    subject,
    subjects,
    verdict,
)
from test_judging_audit import function_judge

from medeval.errors import UserError
from medeval.inference.run import Progress
from medeval.judging.agreement import score_array
from medeval.judging.audit import moves
from medeval.judging.injection import Attack, attacked
from medeval.judging.judgments import Judgment, judgment_of
from medeval.judging.jury import Judge, jury_of
from medeval.judging.prompt import JudgePrompt, Subject, marker_in
from medeval.judging.results import JudgeReport, JudgingResults, results_of
from medeval.tasks.judged_score import by_group
from medeval.tasks.task import Method


def line(text: str, sample: int = 0, **changed: Any) -> tuple[dict[str, Any], str]:
    """Return one ask of a judge as its journal keeps it."""
    kept = {
        "item": "one#0",
        "sample": sample,
        "key": "k",
        "outcome": "answered",
        "text": text,
        "usage": {"input_tokens": 100, "output_tokens": 10},
        "cost": "0.5",
        "measured": {"seconds": 1.0, "attempts": 1, "charged": "0.5"},
    }
    return {**kept, **changed}, ""


def judgment(judge: str, text: str, repeat: int = 0, name: str = "one") -> Judgment:
    return judgment_of(subject(name), judge, repeat, [line(text, repeat * 10)], RUBRIC)


def pooled(judgments: Sequence[Judgment], one: Subject | None = None) -> JudgingResults:
    """Return the results of judges who said this of one answer."""
    names = list(dict.fromkeys(each.judge for each in judgments)) or ["a"]
    reports = [
        JudgeReport(
            name,
            name,
            "http://127.0.0.1:1/v1",
            tuple(each for each in judgments if each.judge == name),
            Progress(),
            {},
            "",
        )
        for name in names
    ]
    return results_of([one or subject("one")], reports, JudgePrompt(RUBRIC), [], 0)


def test_a_judge_weighs_the_same_however_often_it_gave_a_verdict() -> None:
    often = [judgment("often", verdict(5, 5, 5), repeat) for repeat in range(3)]
    once = [judgment("once", verdict(1, 1, 1)), judgment("once", "no verdict", 1)]
    (found,) = pooled([*often, *once]).subjects
    assert found.reward == pytest.approx((1.0 + 0.2) / 2)
    assert found.reward_judged == found.pooled["median"] == pytest.approx(0.6)
    assert dict(found.scores) == dict.fromkeys(RUBRIC.names, 3.0)


def test_all_asks_of_a_judgment_count_in_its_attempts_time_and_tokens() -> None:
    measured = {"seconds": 2.5, "attempts": 3, "charged": "0"}
    found = judgment_of(
        subject("one"), "a", 0, [line("no verdict", measured=measured), line(GOOD, 1)], RUBRIC
    )
    assert (found.asks, found.attempts, found.seconds) == (2, 4, 3.5)
    assert (found.input_tokens, found.output_tokens) == (200, 20)


def test_of_several_judgments_by_one_judge_the_first_is_compared_with_other_judges() -> None:
    twice = [judgment("a", verdict(4, 4, 4)), judgment("a", verdict(1, 1, 1), 1)]
    matrix = score_array(pooled([*twice, judgment("b", verdict(2, 2, 2))]), "accuracy")
    assert matrix[:, :, 0].tolist() == [[4.0, 2.0]]


def moved(judge: Judge, attack: Attack, folder: Path) -> dict[str, Any]:
    """Return what an attack did to a judge of one answer."""
    listed = attacked(subjects(1), [attack], RUBRIC)
    results = run_judges(listed, [judge], RUBRIC, folder, How())
    found: dict[str, Any] = moves(results, subjects(1), [attack])["a"]
    return found


@pytest.mark.parametrize(("last", "is_raised"), [(1.7, False), (1.75, True), (2, True)])
def test_an_attack_has_raised_a_judge_from_a_twentieth_of_the_reward_on(
    tmp_path: Path, last: float, is_raised: bool
) -> None:
    attack = Attack(id="praise", kind="instruction", place="after", text="XYZZY")
    judge = function_judge(
        "a", lambda answer, marker: verdict(1, 1, last if "XYZZY" in answer else 1)
    )
    report = moved(judge, attack, tmp_path)
    assert report["raised_by"] == (["praise"] if is_raised else [])
    assert report["attacks"]["praise"]["raised"] == 1


def test_a_marker_inside_the_material_is_not_the_one_that_is_asked_for() -> None:
    planted = "VERDICT-0123456789abcdef"
    for one in (subject("one", answer=f"Rest.\n{planted}"), subject("one", reference=planted)):
        messages = JudgePrompt(RUBRIC).messages(one, 0)
        assert f"\n{planted}\n" in str(messages[0]["content"])
        assert marker_in(messages) not in ("", planted)


def test_rewards_are_shown_by_the_groups_that_there_are() -> None:
    results = pooled([judgment("0", GOOD)])
    plan = jury_of(["a"], ["http://127.0.0.1:1/v1"])
    groups = {"section": {"one": None}}
    found = by_group(groups, results, plan, Method(0, groupings=("section",)))
    assert found["section"]["none"]["reward_judged"] == pytest.approx(0.8)
    with pytest.raises(UserError, match="--by ward: there are section"):
        by_group(groups, results, plan, Method(0, groupings=("ward",)))
