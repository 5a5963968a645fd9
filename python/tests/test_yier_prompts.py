"""What a model is asked, how letters are mapped back, and a run read out of its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT, run_medeval
from hypothesis import given
from hypothesis import strategies as st

from medeval.errors import UserError
from medeval.tasks.yier import YierOptions, begin
from medeval.yier.prompts import (
    PROMPT_VERSION,
    agreement,
    build_prompt,
    choose_examples,
    shuffled_order,
)
from medeval.yier.questions import Record, usable_records
from medeval.yier.reading import read_file

DEMO = PROJECT_ROOT / "demo" / "yier" / "questions.json"
SELECTION = ["发热", "咳嗽", "皮疹", "腹痛"]
MODEL = """
import json, re
def ends(messages):

    shown = re.findall(r"^([A-Z])\\. (.*)$", messages[-1]["content"], re.M)
    return "答案：" + "、".join(letter for letter, text in shown if text in ("one", "two"))
"""


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
    schema = build_prompt(record()).schema["properties"]["answer"]
    assert (schema["items"]["enum"], schema["uniqueItems"]) == (list("ABCD"), True)


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("context", [None, "", " \n"])
def test_without_a_context_its_heading_is_absent(language: Any, context: str | None) -> None:
    text = build_prompt(record(context=context), language=language).text
    assert not [part for part in ("【病历资料】", "[Case notes]", "\n\n\n") if part in text]
    assert "何者正确？" in text


def test_the_english_prompt_has_the_same_blocks_and_the_same_question() -> None:
    text = build_prompt(record(), language="en").text
    parts = [
        "[Case notes]",
        "[Question]",
        "何者正确？",
        "[Options]",
        "A. 发热",
        "More than one",
        '{"a',
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_the_prompt_does_not_say_how_many_or_which_are_right(demo: list[Record]) -> None:
    for one in demo:
        hidden = Record.model_validate({**one.model_dump(), "answer_choices": ()})
        assert build_prompt(one).text == build_prompt(hidden).text


def test_own_labels_of_options_are_not_shown_twice() -> None:
    prompt = build_prompt(record(selection=["A. 甲", "B. 乙"], answer_choices=[]), order=[1, 0])
    assert "【选项】\nA. 乙\nB. 甲" in prompt.text
    assert prompt.read("答案：A").options == (1,)
    with pytest.raises(ValueError, match="order"):
        build_prompt(record(), order=[0, 0, 1, 2])


@given(st.integers(), st.integers(0, 5), st.sets(st.integers(0, 3)))
def test_shuffled_letters_are_mapped_back(seed: int, number: int, places: set[int]) -> None:
    order = shuffled_order(record(), seed, number)
    assert order == shuffled_order(record(), seed, number)
    prompt = build_prompt(record(), order=order)
    letters = [letter for letter, place in zip("ABCD", order, strict=True) if place in places]
    texts = [SELECTION[place] for place in places]
    for answer in (letters, texts):
        assert prompt.read(json.dumps({"answer": answer})).options == tuple(sorted(places))


def test_passes_have_orders_of_their_own_but_options_that_are_letters_none() -> None:
    assert len({shuffled_order(record(), 1, number) for number in range(20)}) > 5
    blood = record(selection=["A", "B", "AB", "O"], answer_choices=["AB"])
    assert {shuffled_order(blood, seed) for seed in range(20)} == {(0, 1, 2, 3)}
    read = build_prompt(record()).read
    passes = [read("答案：AB"), read("答案：BA"), read("答案：A")]
    shares = [agreement(passes[:count]) for count in (3, 2, 1)]
    assert shares == [pytest.approx(1 / 3), 1, None]


def test_examples_come_from_the_training_file_never_the_item(demo: list[Record]) -> None:
    one = demo[3]
    chosen = choose_examples(demo, one, 5, 1)
    assert chosen == choose_examples(list(reversed(demo)), one, 5, 1)
    assert chosen != choose_examples(demo, one, 5, 2)
    copy = one.model_copy(update={"sample_id": "other"})
    everything = choose_examples([*demo, copy], one, len(demo) - 1, 1)
    assert not {"other", one.sample_id} & {other.sample_id for other in everything}
    with pytest.raises(UserError, match="examples wanted"):
        choose_examples(demo, one, len(demo), 1)
    prompt = build_prompt(record(), examples=[record(sample_id="e", question="例题？")])
    assert '【示例答案】\n{"answer": ["B", "D"]}' in prompt.text
    assert prompt.text.index("例题？") < prompt.text.index("何者正确？")


def test_options_that_do_not_go_together_are_refused(demo: list[Record]) -> None:
    for changes in ({"shots": 2}, {"examples": str(DEMO)}):
        with pytest.raises(UserError, match="both a training file and a number"):
            begin(YierOptions(questions=str(DEMO), **changes))
    kept = begin(YierOptions(questions=str(DEMO), skip_without_context=True)).asked()
    assert 0 < len(kept) < len(demo)
    assert all(one.context for one in kept)


def test_a_shuffled_run_is_handed_in_as_the_file_with_official_texts(tmp_path: Path) -> None:
    questions = [
        {
            "question": f"case-{n}?",
            "selection": ["one", "two", "six"],
            "sample_id": f"q{n}",
            "own": n,
            "data_class": "open",
        }
        for n in range(4)
    ]
    asked, moved = tmp_path / "asked.json", tmp_path / "moved.json"
    asked.write_text(json.dumps(questions), encoding="utf-8")
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    model = f"{tmp_path / 'model.py'}:ends"
    words = ("--model", model, "--out", tmp_path / "runs", "--limit", "3")
    shuffled = ("--shuffle-seed", "9", "--samples", "2", "--questions", asked)
    assert run_medeval("run", "--task", "yier", *words, *shuffled).returncode == 0
    (run,) = (tmp_path / "runs").iterdir()
    out = tmp_path / "out.json"
    done = run_medeval("yier", "submit", run, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "100.0% of the pairs of passes agree" in done.stdout
    assert "1 questions have no answer" in done.stderr
    answers: list[list[str]] = [["one", "two"]] * 3 + [[]]
    handed = json.loads(out.read_text(encoding="utf-8"))
    assert handed == [
        {**question, "predict_answers": answer}
        for question, answer in zip(questions, answers, strict=True)
    ]
    asked.rename(moved)
    refused = run_medeval("yier", "submit", run, "--out", out)
    assert (refused.returncode, "asked.json" in refused.stderr) == (2, True)
    assert run_medeval("yier", "submit", run, "--out", out, "--questions", moved).returncode == 0
    moved.write_bytes(moved.read_bytes() + b" ")
    refused = run_medeval("yier", "submit", run, "--out", out, "--questions", moved)
    assert (refused.returncode, "SHA-256" in refused.stderr) == (2, True)
