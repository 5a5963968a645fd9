"""What models write, as a table of scripted replies: outcome and what is read of each."""

# ruff: noqa: RUF001 (full-width signs are what is tested)

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from in_process import Main, main_in
from scripted_questions import OPTIONS, Reply, asked, read_as

HIDDEN = {"prompt_tokens": 9, "completion_tokens": 50}
A, B, C = "A", "B", "C"
# A thought is not read, whatever its tag is called; a tag that is spoken of is text.
THOUGHTS: list[tuple[Reply, str, str]] = [
    ("<analysis>答案：B</analysis>\n答案：A", "answered", A),
    ("<思考>答案：B</思考>答案：A", "answered", A),
    ("<|begin_of_analysis|>答案：B<|end_of_analysis|>A", "answered", A),
    ("<|scratchpad|>答案：B<|/scratchpad|>答案：A", "answered", A),
    ('<details type="reasoning">答案：B</details><think>C？</think>答案：A', "answered", A),
    ("<scratchpad>答案：B", "truncated_reasoning", ""),
    ("<|begin_of_planning|>答案：B", "truncated_reasoning", ""),
    ("<p>答案：A</p>", "answered", A),
    ("<|im_start|>assistant\n答案：A", "answered", A),
    ("The `<think>` tag is not used here.\n答案：A", "answered", A),
    ("答案：A\n(no <think> section was needed)", "answered", A),
    ("答案：A\n(I left out </think> on purpose)", "answered", A),
    ("答案：A。我省略了 </think> 标签", "answered", A),
    ("<think>I write `</think>` and B</think>答案：A", "answered", A),
    ("B is said </think> 答案：A", "answered", A),
    ({"content": "", "finish_reason": "length"}, "truncated", ""),
]
# What stands between the tags of an answer is the answer.
TAGS: list[tuple[Reply, str, str]] = [
    ("<answer>A</answer>", "answered", A),
    ("<think>B？</think>\n<answer>\nA\n</answer>", "answered", A),
    ("最终答案是<|begin_of_box|>A<|end_of_box|>。", "answered", A),
    ('B 不对。<answer>["A"]</answer>', "answered", A),
    ("先看B。<final_answer>A</final_answer> 完", "answered", A),
    ("排除B之后：<答案>A、C</答案>（见上）", "answered", A + C),
    ("排除B之后：<answer>A", "answered", A),
    ("I put it in <answer> tags.", "unparsed", ""),
]
# Nothing behind the end is read.
ENDS: list[tuple[Reply, str, str]] = [
    ("答案：A<|endoftext|>下一题的答案：B", "answered", A),
    ("答案：A\n<|im_start|>user\n第二题<|im_end|>\n<|im_start|>assistant\n答案：B", "answered", A),
    ("答案：A<｜end▁of▁sentence｜>答案：B", "answered", A),
    ("答案：A<end_of_turn>\n<start_of_turn>user\n答案：B", "answered", A),
    ("答案：A</s>\nHuman: 再来一题\nAssistant: 答案：B", "answered", A),
    ("答案：A\nUser: and now?\n答案：B", "answered", A),
    ("答案：A\n\n【题目】下列哪一项\n【选项】\nA. x\nB. y\n\n答案：B", "answered", A),
    ("Answer: A\n\nQuestion: next one?\nA. x\nB. y\nAnswer: B", "answered", A),
    ("答案：A\n第2题：下列\n答案：B", "answered", A),
    ("题目：第1题\n答案：A\n下一题：x\n答案：B", "answered", A),
]
# Options by label and text, parted by blanks alone.
LABELS: list[tuple[Reply, str, str]] = [
    ("答案：A.甲项 C.丙项", "answered", A + C),
    ("Answer: A. 甲项 C. 丙项", "answered", A + C),
    ("答案：(A) 甲项 (B) 乙项", "answered", A + B),
    ("故选A．甲项　B．乙项　C．丙项。", "answered", A + B + C),
    ("答案：A.甲项 C.丁项", "unparsed", ""),
    ("答案：A.甲项 C.别的", "unparsed", ""),
]


@pytest.mark.parametrize(
    "table", [THOUGHTS, TAGS, ENDS, LABELS], ids=["thoughts", "tags", "ends", "labels"]
)
def test_each_reply_is_read_as_its_rule_says(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    table: list[tuple[Reply, str, str]],
) -> None:
    main: Main = main_in(monkeypatch, capsys)
    ran = asked(main, tmp_path, [reply for reply, _, _ in table])
    read = read_as(main, ran)
    letters: dict[Any, str] = dict(zip(OPTIONS, "ABCD", strict=True))
    found = [
        (reply, outcome, "".join(letters.get(text, text) for text in read.get(number, [])))
        for number, ((reply, _, _), outcome) in enumerate(zip(table, ran.outcomes, strict=True))
    ]
    assert found == table


def test_a_budget_that_hidden_thinking_ate_is_a_cut_thought(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    main = main_in(monkeypatch, capsys)
    cut: Reply = {"content": "", "finish_reason": "length"}
    for number, thought in enumerate((50, 51, 20, None)):
        details = {"completion_tokens_details": {"reasoning_tokens": thought}}
        folder = tmp_path / str(number)
        folder.mkdir()
        ran = asked(main, folder, [cut], usage={**HIDDEN, **details})
        whole = thought is not None and thought >= 50
        assert ran.outcomes == ["truncated_reasoning" if whole else "truncated"]
