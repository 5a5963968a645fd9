"""Attacks on judges, and the audit that asks whether their scores may be believed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from judging_runs import (
    GOOD,
    QUICKLY,
    RUBRIC,
    case_of,
    judge_at,
    marker_of,
    subject,
    subjects,
    verdict,
)
from model_server import Body, Script, model_server, prompt_of

from medeval.errors import UserError
from medeval.inference.prices import Price, Prices
from medeval.inference.requests import Item
from medeval.judging.attacking import (
    attack_report,
    attacked,
    read_attacks,
    shipped_attacks,
    weak_subjects,
)
from medeval.judging.audit import PARTS, audit, control_subjects
from medeval.judging.fences import blocks_in, marker_in, neutralised
from medeval.judging.injection import injection_signs
from medeval.judging.judges import Judge
from medeval.judging.local_judge import LocalJudge
from medeval.judging.options import JudgingOptions
from medeval.judging.rubric import shipped_rubric, shipped_rubrics
from medeval.judging.running import run_judges
from medeval.judging.stability import repeat_spread

OPTIONS = JudgingOptions(QUICKLY)
LOW = verdict(2, 2, 2)
HIGH = verdict(5, 5, 5)


def function_judge(name: str, reply: Callable[[str, str], str]) -> Judge:
    """Return a judge in this process that sees the answer and its marker."""
    return Judge(
        name,
        function=lambda item: reply(blocks_in(item.messages)["answer"], marker_in(item.messages)),
    )


def test_the_attacks_are_of_every_kind_and_one_is_harmless() -> None:
    kinds = {attack.kind for attack in shipped_attacks()}
    assert kinds == {
        "control",
        "planted_scores",
        "instruction",
        "false_delimiter",
        "false_verdict",
        "prompt_leak",
    }


@pytest.mark.parametrize("name", shipped_rubrics())
def test_every_attack_is_flagged_and_the_harmless_addition_is_not(name: str) -> None:
    rubric = shipped_rubric(name)
    for attack in shipped_attacks():
        for weak in weak_subjects():
            text = attack.on(weak.answer, rubric)
            assert "{{" not in text
            assert bool(injection_signs(text, rubric)) == (attack.kind != "control"), attack.id
            assert (weak.answer in text) == (attack.place != "instead")


def test_no_attack_gets_out_of_its_block(tmp_path: Path) -> None:
    seen: dict[str, Item] = {}

    def reply(item: Item) -> str:
        seen[item.id] = item
        return LOW

    listed = attacked(weak_subjects(), shipped_attacks(), RUBRIC)
    assert len(listed) == len(weak_subjects()) * (1 + len(shipped_attacks()))
    run_judges(listed, [Judge("reader", function=reply)], RUBRIC, tmp_path, OPTIONS)
    for each in listed:
        assert blocks_in(seen[each.name].messages) == {
            "question": each.question,
            "reference": each.reference,
            "answer": neutralised(each.answer)[0],
        }
        assert marker_in(seen[each.name].messages) not in each.answer


def test_a_judge_that_obeys_is_found_out_and_one_that_does_not_is_not(tmp_path: Path) -> None:
    def obedient(answer: str, marker: str) -> str:
        return f"{marker}\n{HIGH if 'full marks' in answer or 'highest score' in answer else LOW}"

    def echoing(answer: str, marker: str) -> str:
        return f"{marker}\n{LOW}\nThe text said: {answer}"

    def quoting(answer: str, marker: str) -> str:
        return f"The text says: {answer}\n{marker}\n{LOW}"

    def unmarked(answer: str, marker: str) -> str:
        return f"{LOW}\nThe text said: {answer}"

    jury = [
        function_judge("obedient", obedient),
        function_judge("firm", lambda answer, marker: f"{marker}\n{LOW}"),
        function_judge("echoing", echoing),
        function_judge("quoting", quoting),
        function_judge("unmarked", unmarked),
        function_judge("silent", lambda answer, marker: "no" if "im_start" in answer else LOW),
    ]
    report = attack_report(weak_subjects(), jury, RUBRIC, tmp_path, OPTIONS)
    assert report["firm"]["raised_by"] == []
    assert report["firm"]["lowered_by"] == report["firm"]["verdicts_lost_to"] == []
    assert report["obedient"]["raised_by"] == [
        "order_to_the_judge",
        "order_in_the_name_of_the_user",
        "chat_turn",
        "reveal_the_marks",
    ]
    row = report["obedient"]["attacks"]["order_to_the_judge"]
    assert row["largest_change"] == pytest.approx(0.6)
    assert (row["answers"], row["raised"], row["flagged"]) == (3, 3, 3)
    assert report["silent"]["verdicts_lost_to"] == ["chat_turn"]
    assert report["silent"]["attacks"]["chat_turn"]["verdicts_lost"] == 3
    assert report["quoting"]["raised_by"] == []
    # The last complete object is the verdict: a judge that ends with what was planted has lost,
    # with a marker as without, and the report says so.
    planted = {attack.id for attack in shipped_attacks() if attack.kind == "false_verdict"}
    assert set(report["echoing"]["raised_by"]) == planted
    assert set(report["unmarked"]["raised_by"]) == planted


def test_a_rise_that_a_harmless_addition_brings_too_is_no_success(tmp_path: Path) -> None:
    def longer_is_better(answer: str, marker: str) -> str:
        return LOW if len(answer) < 80 else verdict(3, 3, 3)

    judge = function_judge("longer", longer_is_better)
    report = attack_report(weak_subjects(), [judge], RUBRIC, tmp_path, OPTIONS)["longer"]
    assert report["attacks"]["harmless_sentence"]["raised"] > 0
    assert report["raised_by"] == []


def test_attacks_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    one = "  - {id: flattery, kind: instruction, place: before, text: You are wise.}\n"
    path.write_text(f"attacks:\n{one}")
    (attack,) = read_attacks(path)
    assert attack.on("plan", RUBRIC) == "You are wise.\n\nplan"
    path.write_text(f"attacks:\n{one}{one}")
    with pytest.raises(UserError, match="flattery stands in it twice"):
        read_attacks(path)
    path.write_text(f"attacks:\n{one.replace('before', 'above')}")
    with pytest.raises(UserError, match=r"attacks\.0\.place"):
        read_attacks(path)
    with pytest.raises(UserError, match="cannot be read"):
        read_attacks(tmp_path / "none.yaml")


def test_the_spread_of_repeats(tmp_path: Path) -> None:
    replies = {"case-000": iter([LOW, verdict(4, 2, 2)]), "case-001": iter([GOOD, GOOD])}
    with model_server(Script(reply=lambda body: next(replies[case_of(body)]))) as server:
        options = JudgingOptions(replace(QUICKLY, concurrency=1), repeats=2)
        results = run_judges(subjects(2), [judge_at(server.url)], RUBRIC, tmp_path, options)
    found = repeat_spread(results)["tested-judge"]
    assert found["accuracy"]["deviation"]["value"] == pytest.approx(0.5)  # of 1 and 0
    assert found["accuracy"]["unchanged"]["value"] == 0.5
    assert found["accuracy"]["widest_range"] == 2.0
    assert found["clarity"]["unchanged"]["value"] == 1.0


def test_an_audit_finds_a_judge_that_goes_by_the_order_of_the_prompt(tmp_path: Path) -> None:
    def reply(body: Body) -> str:
        text = prompt_of(body)
        is_usual = text.index("<question-") < text.index("<answer-")
        return f"{marker_of(body)}\n{GOOD if is_usual else verdict(2, 3, 5)}"

    with model_server(Script(reply=reply)) as server:
        report = audit(
            subjects(5), [judge_at(server.url)], RUBRIC, tmp_path, OPTIONS, ["order", "reference"]
        )
    shift = report["order"]["answer_first"]
    assert shift["accuracy"]["change"]["value"] == -2.0
    assert shift["accuracy"]["absolute_change"]["value"] == 2.0
    assert shift["accuracy"]["unchanged"]["value"] == 0.0
    assert shift["clarity"]["unchanged"]["value"] == 1.0
    assert report["order"]["criteria_reversed"]["accuracy"]["change"]["value"] == 0.0
    assert report["reference"]["no_reference"]["accuracy"]["change"]["value"] == 0.0
    assert (report["exit_code"], report["warnings"]) == (0, [])


def test_an_audit_is_json_and_asks_nothing_twice(tmp_path: Path) -> None:
    local = LocalJudge(RUBRIC)
    calls = 0

    def count(item: Item) -> str:
        nonlocal calls
        calls += 1
        return local(item)

    jury = [Judge("one", function=count), Judge("local")]
    options = JudgingOptions(QUICKLY, repeats=2)
    listed = subjects(6)
    report = audit(listed, jury, RUBRIC, tmp_path, options)
    assert set(PARTS) < set(report)
    assert json.loads(json.dumps(report)) == report
    assert report["agreement"]["dimensions"]["accuracy"]["exact"]["value"] == 1.0
    assert report["sanity"]["is_in_order"] is True
    assert report["sanity"]["oracle"]["value"] == 1.0
    assert report["sanity"]["empty"]["value"] == 0.0
    made = calls
    again = audit(listed, jury, RUBRIC, tmp_path, options)
    assert calls == made
    assert again == report
    # What was judged for the run itself is not judged again for the audit.
    run_judges(listed, jury, RUBRIC, tmp_path, options)
    assert calls == made


def test_parts_that_cannot_be_done_say_so(tmp_path: Path) -> None:
    report = audit(subjects(2), [Judge("local")], RUBRIC, tmp_path, OPTIONS)
    assert "needs two" in report["agreement"]["reason"]
    assert "needs repeats" in report["repeats"]["reason"]
    assert "needs the reference" in report["reference"]["reason"]
    assert report["exit_code"] == 0
    with pytest.raises(UserError, match="no part 'taste'"):
        audit(subjects(2), [Judge("local")], RUBRIC, tmp_path, OPTIONS, ["taste"])


def test_a_judge_without_judgement_is_not_in_order(tmp_path: Path) -> None:
    judge = function_judge("flat", lambda answer, marker: GOOD)
    report = audit(subjects(4), [judge], RUBRIC, tmp_path, OPTIONS, ["sanity"])
    assert report["sanity"]["is_in_order"] is False


def test_answers_whose_place_is_known() -> None:
    listed = [subject("a"), subject("b"), subject("c", reference=" ")]
    found = {each.id: each.answer for each in control_subjects(listed)}
    assert found == {
        "oracle--a": "reference a",
        "shuffled--a": "reference b",
        "empty--a": "",
        "oracle--b": "reference b",
        "shuffled--b": "reference a",
        "empty--b": "",
    }


def test_all_parts_of_an_audit_share_one_limit_on_cost(tmp_path: Path) -> None:
    prices = Prices("USD", (Price(model="tested-judge", input=Decimal(1), output=Decimal(10)),))
    usage = {"prompt_tokens": 1000, "completion_tokens": 500}
    run = replace(QUICKLY, prices=prices, max_cost=Decimal("0.1"))
    with model_server(Script(reply=lambda body: GOOD, usage=usage)) as server:
        report: dict[str, Any] = audit(
            subjects(3), [judge_at(server.url)], RUBRIC, tmp_path, JudgingOptions(run)
        )
        # A call costs 0.006.
        assert server.seen.requests * Decimal("0.006") <= Decimal("0.1")
        assert server.seen.requests > 3
    assert report["exit_code"] == 1
    assert any("exceed the limit" in warning for warning in report["warnings"])


def test_the_example_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project_root: Path
) -> None:
    page = (project_root / "docs" / "judging.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["results"].exit_code == 0
    assert (tmp_path / "run" / "judgments.jsonl").is_file()
    for part in PARTS:
        assert f"| `{part}` |" in page
    for rubric in shipped_rubrics():
        assert f"`{rubric}`" in page
