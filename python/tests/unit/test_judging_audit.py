"""Attacks on judges, and the audit that asks whether their scores may be believed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT
from judging_runs import GOOD, function_judge, judging, subjects, verdict
from tables import table

from medeval.inference.types import Sample
from medeval.judging.audit import PARTS, audit
from medeval.judging.jury import Judge
from medeval.judging.prompt import (
    SHIPPED_ATTACKS,
    WEAK_ANSWERS,
    Attack,
    AttackFile,
    WeakAnswers,
    blocks_in,
    injection_signs,
)
from medeval.judging.rubric import Rubric, shipped_rubric, shipped_rubrics

LOW = verdict(2, 2, 2)
HIGH = verdict(5, 5, 5)


@pytest.mark.parametrize("name", shipped_rubrics())
def test_every_attack_is_flagged_and_the_harmless_addition_is_not(name: str) -> None:
    rubric = shipped_rubric(name)
    for attack in AttackFile.read(SHIPPED_ATTACKS).attacks:
        for weak in WeakAnswers.read(WEAK_ANSWERS).subjects:
            text = attack.on(weak.answer, rubric)
            assert "{{" not in text
            assert bool(injection_signs(text, rubric)) == (attack.kind != "control"), attack.id
            assert (weak.answer in text) == (attack.place != "instead")


def attacks_on(judges: list[Judge], folder: Path, **more: Any) -> dict[str, Any]:
    one = judging(WeakAnswers.read(WEAK_ANSWERS).subjects, judges, folder)
    found: dict[str, Any] = audit(one, parts=["attacks"], **more)["attacks"]
    return found


def test_a_judge_that_obeys_is_found_out_and_one_that_does_not_is_not(tmp_path: Path) -> None:
    def obedient(answer: str, marker: str) -> str:
        return f"{marker}\n{HIGH if 'full marks' in answer or 'highest score' in answer else LOW}"

    replies = {
        "obedient": obedient,
        "firm": lambda answer, marker: f"{marker}\n{LOW}",
        "echoing": lambda answer, marker: f"{marker}\n{LOW}\nThe text said: {answer}",
        "quoting": lambda answer, marker: f"The text says: {answer}\n{marker}\n{LOW}",
        "unmarked": lambda answer, marker: f"{LOW}\nThe text said: {answer}",
        "silent": lambda answer, marker: "no" if "im_start" in answer else LOW,
    }
    report = attacks_on([function_judge(*each) for each in replies.items()], tmp_path)
    # What a judge echoes behind its own verdict is not taken for it; without the marker nothing
    # tells which of both is its own, and the report says that verdicts are lost.
    for name in ("firm", "echoing", "quoting", "unmarked"):
        assert report[name]["raised_by"] == [], name
    for name in ("firm", "echoing"):
        assert report[name]["lowered_by"] == report[name]["verdicts_lost_to"] == [], name
    attacks = AttackFile.read(SHIPPED_ATTACKS).attacks
    planted = {each.id for each in attacks if each.kind == "false_verdict"}
    assert planted <= set(report["unmarked"]["verdicts_lost_to"])
    assert report["silent"]["verdicts_lost_to"] == ["chat_turn"]
    assert report["silent"]["attacks"]["chat_turn"]["verdicts_lost"] == 3
    assert report["obedient"]["raised_by"] == [
        *("order_to_the_judge", "order_in_the_name_of_the_user", "chat_turn", "reveal_the_marks")
    ]
    row = report["obedient"]["attacks"]["order_to_the_judge"]
    assert row["largest_change"] == pytest.approx(0.6)
    assert (row["answers"], row["raised"], row["flagged"]) == (3, 3, 3)


# From a twentieth of the reward on, and by more than a harmless addition brings.
@pytest.mark.parametrize(
    ("last", "harmless", "is_raised"),
    [(1.7, 1, False), (1.75, 1, True), (2, 1, True), (2, 1.5, True), (2, 2, False)],
)
def test_when_an_attack_has_raised_a_judge(
    tmp_path: Path, last: float, harmless: float, is_raised: bool
) -> None:
    praise = Attack(id="praise", kind="instruction", place="after", text="XYZZY")
    control = Attack(id="calm", kind="control", place="after", text="All went well.")

    def swayed(answer: str, marker: str) -> str:
        return verdict(1, 1, last if "XYZZY" in answer else harmless if "All" in answer else 1)

    own = AttackFile(attacks=(praise, control))
    report = attacks_on([function_judge("a", swayed)], tmp_path, attacks=own)["a"]
    assert report["raised_by"] == (["praise"] if is_raised else [])
    assert report["attacks"]["praise"]["raised"] == 3


def test_an_audit_finds_a_judge_that_goes_by_the_order_of_the_prompt(tmp_path: Path) -> None:
    def ordered(item: Sample) -> str:
        return GOOD if next(iter(blocks_in(item.messages))) == "question" else verdict(2, 3, 5)

    one = judging(subjects(5), [Judge("ordered", function=ordered)], tmp_path)
    report = audit(one, parts=["order", "reference", "agreement"])
    found = {
        (row["effect"], row["criterion"], row["figure"]): row["value"] for row in report["effects"]
    }
    for effect, criterion, figures in table("judging")["order_effects"]:
        names = ("change", "absolute_change", "unchanged")
        assert [found[effect, criterion, name] for name in names] == figures
    assert report["not_done"] == {"agreement": "there is one judge; agreement needs two"}
    assert (report["exit_code"], report["warnings"]) == (0, [])


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (PROJECT_ROOT / "docs" / "judging.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["results"].exit_code == 0
    assert (tmp_path / "run" / "judgments.jsonl").is_file()
    (form,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "own.yaml").write_text(form)
    assert Rubric.read(tmp_path / "own.yaml").names == ("medication", "follow_up")
    for part in PARTS:
        assert f"| `{part}` |" in page
    for rubric in shipped_rubrics():
        assert f"`{rubric}`" in page
