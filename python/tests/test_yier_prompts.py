"""What a model is asked, how letters are mapped back, and a run read out of its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from medeval.commands.yier import app
from medeval.errors import UserError
from medeval.inference.journal import Journal
from medeval.inference.run import RESPONSES, Run
from medeval.yier.evaluating import Method, report
from medeval.yier.prompts import (
    PROMPT_VERSION,
    agreement,
    asked,
    build_prompt,
    choose_examples,
    shuffled_order,
)
from medeval.yier.reading import read_file
from medeval.yier.records import Record, usable_records
from medeval.yier.runs import SETTINGS, Plan, items, prompts, read_run

DEMO = PROJECT_ROOT / "demo" / "yier" / "questions.json"
SELECTION = ["发热", "咳嗽", "皮疹", "腹痛"]


def record(**changes: Any) -> Record:
    raw = {
        "context": "男，30岁。",
        "question": "何者正确？",
        "selection": SELECTION,
        "answer_choices": ["咳嗽", "腹痛"],
        "sample_id": "p1",
    }
    return Record.model_validate(raw | changes)


@pytest.fixture(scope="module")
def demo() -> list[Record]:
    return usable_records(read_file(DEMO).records, str(DEMO))


def test_the_chinese_prompt_word_for_word() -> None:
    assert build_prompt(record()).text == (
        "你是一名医学考试的答题者，请根据医学知识回答下面的题目。\n\n"
        "【病历资料】\n男，30岁。\n\n"
        "【题目】\n何者正确？\n\n"
        "【选项】\nA. 发热\nB. 咳嗽\nC. 皮疹\nD. 腹痛\n\n"
        "本题为不定项选择，可能有一个或多个正确选项。\n\n"
        '请只输出一个 JSON 对象，列出全部正确选项的字母，格式如：{"answer": ["A", "C"]}'
    )
    assert PROMPT_VERSION == "yier-1", "another wording is another version"


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("context", [None, "", " \n"])
def test_without_a_context_its_heading_is_absent(language: Any, context: str | None) -> None:
    text = build_prompt(record(context=context), language=language).text
    assert "【病历资料】" not in text
    assert "[Case notes]" not in text
    assert "何者正确？" in text
    assert "\n\n\n" not in text


def test_the_english_prompt_has_the_same_blocks_and_the_same_question() -> None:
    text = build_prompt(record(), language="en").text
    places = [
        text.index(part)
        for part in (
            "[Case notes]",
            "[Question]",
            "何者正确？",
            "[Options]",
            "A. 发热",
            '{"answer"',
        )
    ]
    assert places == sorted(places)
    assert "More than one option may be right" in text


def test_the_prompt_does_not_say_how_many_or_which_are_right(demo: list[Record]) -> None:
    for one in demo:
        hidden = Record.model_validate({**one.model_dump(), "answer_choices": ()})
        assert build_prompt(one).text == build_prompt(hidden).text


def test_own_labels_of_options_are_not_shown_twice() -> None:
    prompt = build_prompt(record(selection=["A. 甲", "B. 乙"], answer_choices=[]), order=[1, 0])
    assert "【选项】\nA. 乙\nB. 甲" in prompt.text
    assert prompt.read("答案：A").options == (1,)


def test_the_schema_allows_each_letter_once() -> None:
    schema = build_prompt(record()).schema["properties"]["answer"]
    assert schema["items"]["enum"] == ["A", "B", "C", "D"]
    assert schema["uniqueItems"] is True


def test_an_order_must_name_each_option_once() -> None:
    with pytest.raises(ValueError, match="order"):
        build_prompt(record(), order=[0, 0, 1, 2])


@given(st.integers(), st.integers(0, 5), st.sets(st.integers(0, 3)))
def test_shuffled_letters_are_mapped_back(seed: int, number: int, places: set[int]) -> None:
    order = shuffled_order(record(), seed, number)
    assert order == shuffled_order(record(), seed, number)
    prompt = build_prompt(record(), order=order)
    letters = [letter for letter, place in zip("ABCD", order, strict=True) if place in places]
    assert prompt.read(json.dumps({"answer": letters})).options == tuple(sorted(places))
    texts = [SELECTION[place] for place in sorted(places)]
    assert prompt.read(json.dumps({"answer": texts})).options == tuple(sorted(places))


def test_passes_and_questions_have_orders_of_their_own(demo: list[Record]) -> None:
    assert len({shuffled_order(record(), 1, number) for number in range(20)}) > 5
    six = [one for one in demo if len(one.selection) == 5]
    assert len({shuffled_order(one, 1) for one in six}) > 3


def test_options_that_are_letters_are_not_shuffled() -> None:
    blood = record(selection=["A", "B", "AB", "O"], answer_choices=["AB"])
    assert {shuffled_order(blood, seed) for seed in range(20)} == {(0, 1, 2, 3)}
    assert [build_prompt(blood).read(f"答案：{letter}").options[0] for letter in "ABCD"] == [
        0,
        1,
        2,
        3,
    ]


def test_agreement_of_passes() -> None:
    read = build_prompt(record()).read
    passes = [read("答案：AB"), read("答案：BA"), read("答案：A")]
    assert agreement(passes) == pytest.approx(1 / 3)
    assert agreement(passes[:2]) == 1
    assert agreement(passes[:1]) is None


def test_examples_come_from_the_training_file_never_the_item(demo: list[Record]) -> None:
    one = demo[3]
    chosen = choose_examples(demo, one, 5, 1)
    assert chosen == choose_examples(list(reversed(demo)), one, 5, 1)
    assert chosen != choose_examples(demo, one, 5, 2)
    everything = choose_examples(demo, one, len(demo) - 1, 1)
    assert one.sample_id not in {other.sample_id for other in everything}
    with pytest.raises(UserError, match="examples wanted"):
        choose_examples(demo, one, len(demo), 1)
    copy = one.model_copy(update={"sample_id": "other"})
    assert copy not in choose_examples([*demo, copy], one, len(demo) - 1, 1)


def test_examples_show_their_answers_and_the_question_comes_last() -> None:
    example = record(sample_id="e", question="例题？")
    prompt = build_prompt(record(), examples=[example])
    assert '【示例答案】\n{"answer": ["B", "D"]}' in prompt.text
    assert prompt.text.index("例题？") < prompt.text.index("何者正确？")


def test_questions_without_context_are_kept_unless_asked_otherwise(demo: list[Record]) -> None:
    assert asked(demo) == demo
    kept = asked(demo, skip_without_context=True)
    assert 0 < len(kept) < len(demo)
    assert all(one.context for one in kept)


def test_a_plan_refuses_what_asks_nothing() -> None:
    for changes in ({"passes": 0}, {"shots": 2}, {"training": "f"}, {"language": "fr"}):
        with pytest.raises(UserError):
            Plan("f", "0", **changes)


def line(item: str, sample: int, outcome: str, text: str) -> dict[str, Any]:
    named = {"item": item, "sample": sample, "key": "k", "outcome": outcome}
    said = {"error": {"kind": "server"}} if outcome == "errored" else {"text": text}
    return {**named, **said, "cost": None, "measured": {"seconds": 0.1, "attempts": 1}}


def make_run(folder: Path, plan: Plan, replies: dict[tuple[str, int], str]) -> None:
    Run(folder, {SETTINGS: plan.as_json()})
    with Journal(folder / RESPONSES) as journal:
        for (item, sample), text in replies.items():
            journal.append(line(item, sample, "answered", text))


def letters_of(prompt: Any, places: tuple[int, ...]) -> str:
    return "答案：" + "、".join("ABCDEF"[prompt.order.index(place)] for place in places)


def plan_of(file: Path, **changes: Any) -> Plan:
    return Plan(str(file), read_file(file).sha256, **changes)


def test_an_oracle_run_scores_one_also_with_shuffled_passes(
    tmp_path: Path, demo: list[Record]
) -> None:
    plan = plan_of(DEMO, shuffle_seed=9, passes=2)
    replies = {
        (prompt.record.sample_id, number): letters_of(prompt, prompt.record.gold.options)
        for number, prompt in prompts(plan, demo)
    }
    assert len({item.id for item in items(plan, demo)}) == len(demo)
    assert not any(item.is_open for item in items(plan, demo))
    assert all(item.is_open for item in items(plan, demo, data_class="open"))
    make_run(tmp_path / "run", plan, replies)
    run = read_run(tmp_path / "run")
    found = report(run.answered, Method(n_iters=20), run.agreement)
    assert found.score.summary.micro.f1 == 1
    assert found.agreement == 1
    assert found.score.extractions == {"cue": len(demo)}


def test_a_run_is_handed_in_and_scored_as_a_file(tmp_path: Path, demo: list[Record]) -> None:
    plan = plan_of(DEMO, shuffle_seed=9)
    replies = {
        (prompt.record.sample_id, number): letters_of(prompt, (0,))
        for number, prompt in prompts(plan, demo)
    }
    replies.popitem()
    make_run(tmp_path / "run", plan, replies)
    out = tmp_path / "out.json"
    result = CliRunner().invoke(app, ["submit", str(tmp_path / "run"), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "1 questions have no answer" in result.stderr
    written = read_file(out).records
    assert [list(one)[-1] for one in written] == ["predict_answers"] * len(demo)
    assert [one["predict_answers"] for one in written[:-1]] == [
        [one.selection[0]] for one in demo[:-1]
    ]
    assert written[-1]["predict_answers"] == []
    plain = [{k: v for k, v in one.items() if k != "predict_answers"} for one in written]
    assert plain == read_file(DEMO).records


def test_what_did_not_come_back_whole_is_no_answer(tmp_path: Path, demo: list[Record]) -> None:
    plan = plan_of(DEMO)
    Run(tmp_path / "run", {SETTINGS: plan.as_json()})
    with Journal(tmp_path / "run" / RESPONSES) as journal:
        for one, outcome in zip(demo, ["truncated", "refused", "errored"], strict=False):
            journal.append(line(one.sample_id, 0, outcome, "答案：A、"))
    found = read_run(tmp_path / "run").answered
    assert [entry.extraction for entry in found[:4]] == ["truncated", "refused", "errored", None]
    assert not any(entry.answers.options for entry in found)
    assert [entry.missing for entry in found[:4]] == [False, False, False, True]


def test_another_file_than_was_asked_is_refused(tmp_path: Path) -> None:
    moved, other = tmp_path / "moved.json", tmp_path / "other.json"
    moved.write_bytes(DEMO.read_bytes())
    other.write_bytes(DEMO.read_bytes() + b" ")
    make_run(tmp_path / "run", plan_of(moved), {})
    moved.rename(tmp_path / "now_here.json")
    with pytest.raises(UserError, match=r"moved\.json"):
        read_run(tmp_path / "run")
    assert read_run(tmp_path / "run", tmp_path / "now_here.json").answered
    with pytest.raises(UserError, match="SHA-256"):
        read_run(tmp_path / "run", other)
    with pytest.raises(UserError, match="Cannot read"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text('{"settings": {}}', encoding="utf-8")
    with pytest.raises(UserError, match="not a run of the task yier"):
        read_run(tmp_path)
