"""Attacks on judges, and the audit that asks whether their scores may be believed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import typer
from judging_runs import (
    GOOD,
    QUICKLY,
    RUBRIC,
    How,
    audited,
    case_of,
    judge_at,
    marker_of,
    run_judges,
    subjects,
    verdict,
)
from model_server import Body, Script, model_server, prompt_of
from typer.testing import CliRunner

from medeval.commands.judge_audit import judge_audit
from medeval.errors import UserError
from medeval.inference.cost import Price, Prices
from medeval.inference.types import Item
from medeval.judging.audit import PARTS, repeat_spread
from medeval.judging.injection import (
    AttackFile,
    attacked,
    injection_signs,
    shipped_attacks,
    weak_answers,
)
from medeval.judging.jury import Judge
from medeval.judging.local import LocalJudge
from medeval.judging.prompt import blocks_in, escape, marker_in
from medeval.judging.rubric import shipped_rubric, shipped_rubrics

LOW = verdict(2, 2, 2)
HIGH = verdict(5, 5, 5)


def function_judge(name: str, reply: Callable[[str, str], str]) -> Judge:
    """Return a judge in this process that sees the answer and its marker."""
    return Judge(
        name,
        function=lambda item: reply(blocks_in(item.messages)["answer"], marker_in(item.messages)),
    )


@pytest.mark.parametrize("name", shipped_rubrics())
def test_every_attack_is_flagged_and_the_harmless_addition_is_not(name: str) -> None:
    rubric = shipped_rubric(name)
    for attack in shipped_attacks().attacks:
        for weak in weak_answers().subjects:
            text = attack.on(weak.answer, rubric)
            assert "{{" not in text
            assert bool(injection_signs(text, rubric)) == (attack.kind != "control"), attack.id
            assert (weak.answer in text) == (attack.place != "instead")


def test_no_attack_gets_out_of_its_block(tmp_path: Path) -> None:
    seen: dict[str, Item] = {}

    def reply(item: Item) -> str:
        seen[item.id] = item
        return LOW

    attacks = shipped_attacks().attacks
    listed = attacked(weak_answers().subjects, attacks, RUBRIC)
    assert len(listed) == len(weak_answers().subjects) * (1 + len(attacks))
    run_judges(listed, [Judge("reader", function=reply)], RUBRIC, tmp_path)
    for each in listed:
        assert blocks_in(seen[each.name].messages) == {
            "question": each.question,
            "reference": each.reference,
            "answer": escape(each.answer)[0],
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
    report = audited(weak_answers().subjects, jury, tmp_path, ["attacks"])["attacks"]
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
    # What a judge echoes behind its own verdict is not taken for it; without the marker nothing
    # tells which of both is its own, and the report says that verdicts are lost.
    attacks = shipped_attacks().attacks
    planted = {attack.id for attack in attacks if attack.kind == "false_verdict"}
    assert report["echoing"]["raised_by"] == report["echoing"]["verdicts_lost_to"] == []
    assert report["unmarked"]["raised_by"] == []
    assert planted <= set(report["unmarked"]["verdicts_lost_to"])


def test_a_rise_that_a_harmless_addition_brings_too_is_no_success(tmp_path: Path) -> None:
    def longer_is_better(answer: str, marker: str) -> str:
        return LOW if len(answer) < 80 else verdict(3, 3, 3)

    judge = function_judge("longer", longer_is_better)
    report = audited(weak_answers().subjects, [judge], tmp_path, ["attacks"])["attacks"]["longer"]
    assert report["attacks"]["harmless_sentence"]["raised"] > 0
    assert report["raised_by"] == []


FLATTERY = "  - {id: flattery, kind: instruction, place: before, text: You are wise.}\n"


def own_attacks(folder: Path, *attacks: str) -> Path:
    path = folder / "own.yaml"
    path.write_text("attacks:\n" + "".join(attacks))
    return path


@pytest.mark.parametrize(
    ("attacks", "said"),
    [
        ([FLATTERY, FLATTERY], "flattery stands in it twice"),
        ([FLATTERY.replace("before", "above")], r"attacks\.0\.place"),
        ([FLATTERY.replace("You are wise.", '"{{best}} of all"')], "'best' stands for nothing"),
        ([FLATTERY.replace("You are wise.", '" "')], r"attacks\.0\.text: holds nothing"),
        (["  []"], "attacks: Tuple should have at least 1 item"),
    ],
)
def test_attacks_that_cannot_be_tried_are_named(
    tmp_path: Path, attacks: list[str], said: str
) -> None:
    path = own_attacks(tmp_path, *attacks)
    with pytest.raises(UserError, match=said) as raised:
        AttackFile.read(path)
    assert str(path) in str(raised.value)


def test_a_file_of_attacks_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.yaml cannot be read"):
        AttackFile.read(tmp_path / "none.yaml")
    (tmp_path / "own.yaml").write_bytes(b"attacks: \xe9")
    with pytest.raises(UserError, match=r"own\.yaml is not UTF-8: .* at byte 9"):
        AttackFile.read(tmp_path / "own.yaml")


def test_the_command_tries_attacks_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own, out = own_attacks(tmp_path, FLATTERY), tmp_path / "report.json"
    app = typer.Typer()
    app.command()(judge_audit)
    flags = ["--judge-model", "local", "--attacks", str(own), "--out", str(out)]
    done = CliRunner().invoke(app, flags)
    assert done.exit_code == 0, done.output
    report = json.loads(out.read_text(encoding="utf-8"))
    assert list(report["attacks"]["local"]["attacks"]) == ["flattery"]
    assert report["attacks_sha256"] == hashlib.sha256(own.read_bytes()).hexdigest()
    refused = CliRunner().invoke(app, [*flags, "--parts", "order,sanity"])
    assert isinstance(refused.exception, UserError)
    assert "'attacks', which is not among those of this audit: order, sanity" in str(
        refused.exception
    )


def test_the_spread_of_repeats(tmp_path: Path) -> None:
    replies = {"case-000": iter([LOW, verdict(4, 2, 2)]), "case-001": iter([GOOD, GOOD])}
    with model_server(Script(reply=lambda body: next(replies[case_of(body)]))) as server:
        options = How(replace(QUICKLY, concurrency=1), repeats=2)
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
        report = audited(subjects(5), [judge_at(server.url)], tmp_path, ["order", "reference"])
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
    options = How(repeats=2)
    listed = subjects(6)
    report = audited(listed, jury, tmp_path, how=options)
    assert set(PARTS) < set(report)
    assert json.loads(json.dumps(report)) == report
    assert report["agreement"]["dimensions"]["accuracy"]["exact"]["value"] == 1.0
    assert report["sanity"]["is_in_order"] is True
    assert report["sanity"]["oracle"]["value"] == 1.0
    assert report["sanity"]["empty"]["value"] == 0.0
    made = calls
    again = audited(listed, jury, tmp_path, how=options)
    assert calls == made
    assert again == report
    # What was judged for the run itself is not judged again for the audit.
    run_judges(listed, jury, RUBRIC, tmp_path, options)
    assert calls == made


def test_parts_that_cannot_be_done_say_so(tmp_path: Path) -> None:
    report = audited(subjects(2), [Judge("local")], tmp_path)
    assert "needs two" in report["agreement"]["reason"]
    assert "needs repeats" in report["repeats"]["reason"]
    assert "needs the reference" in report["reference"]["reason"]
    assert report["exit_code"] == 0
    with pytest.raises(UserError, match="no part 'taste'"):
        audited(subjects(2), [Judge("local")], tmp_path, ["taste"])


def test_all_parts_of_an_audit_share_one_limit_on_cost(tmp_path: Path) -> None:
    prices = Prices(price=(Price(model="tested-judge", input=Decimal(1), output=Decimal(10)),))
    usage = {"prompt_tokens": 1000, "completion_tokens": 500}
    run = replace(QUICKLY, prices=prices, max_cost=Decimal("0.1"))
    with model_server(Script(reply=lambda body: GOOD, usage=usage)) as server:
        report: dict[str, Any] = audited(
            subjects(3), [judge_at(server.url)], tmp_path, how=How(run)
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
