"""The commands for files of questions, and the demo's own questions."""

# ruff: noqa: RUF001 (full-width signs are what is tested)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT
from typer.testing import CliRunner, Result

from medeval.commands.yier import app
from medeval.errors import UserError
from medeval.yier.matching import Answers
from medeval.yier.questions import Record, check_records, fill
from medeval.yier.reading import Document, read_file

DEMO = PROJECT_ROOT / "demo" / "yier" / "questions.json"
DAMAGED = (
    "{“question”:“何者正确”，“selection”:[“甲”，“乙”]，“sample_id”:“1”，“answer_choices”:[“甲”]}"
)


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def test_the_demo_is_whole_and_of_all_kinds() -> None:
    found = read_file(DEMO)
    checked = check_records(found.records, strict=True)
    assert [entry.state for entry in checked.outcomes] == ["ok"] * len(found.records)
    assert (found.encoding, found.repaired, checked.split) == ("utf-8", False, "train")
    records = checked.records
    assert len(records) >= 40
    assert {len(one.selection) for one in records} == {4, 5, 6}
    assert {len(one.gold.options) for one in records} >= {1, 2, 3, 4, 5}
    contexts = [one.context for one in records if one.context]
    assert len(contexts) > len(set(contexts)) > 5
    assert sum(one.question.isascii() for one in records) >= 10
    assert {"术语", "知识", "临床", "规范", "计算"} <= {one.source[2:4] for one in records}
    assert len({one.question for one in records}) == len(records)


def test_validate_finds_nothing_in_the_demo() -> None:
    result = run("validate", DEMO)
    assert result.exit_code == 0
    assert "layout array" in result.stdout
    assert "split train" in result.stdout


def test_validate_lists_what_is_wrong_and_exits_with_one(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    rows: list[dict[str, Any]] = [
        {"question": "q", "selection": ["甲", "乙"], "sample_id": 1, "answer_choices": ["丙"]},
        {"question": "q", "selection": ["甲", "乙"], "sample_id": 2, "answer_choices": ["A", "甲"]},
        {"question": "q", "selection": ["甲", "乙"], "sample_id": 3},
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
    result = run("validate", path)
    assert result.exit_code == 1
    assert "1 labelled, 1 unlabelled, 1 left out" in result.stdout
    assert "record 1 (sample_id '1'): error: gold answer not in selection" in result.stdout
    assert "record 2 (sample_id '2'): warning: duplicate gold" in result.stdout


@pytest.mark.parametrize("to", ["array", "lines"])
def test_convert_keeps_every_record(tmp_path: Path, to: str) -> None:
    out = tmp_path / "out"
    assert run("convert", DEMO, "--to", to, "--out", out).exit_code == 0
    found = read_file(out)
    assert (found.records, found.layout) == (read_file(DEMO).records, to)
    assert not out.read_bytes().startswith(b"\xef\xbb\xbf")
    assert "下列" in out.read_text(encoding="utf-8")
    again = run("convert", out, "--to", to)
    assert again.stdout == out.read_text(encoding="utf-8")


def test_convert_repairs_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text(DAMAGED, encoding="gb18030")
    result = run("convert", path, "--to", "lines")
    assert json.loads(result.stdout)["selection"] == ["甲", "乙"]
    assert "repaired" in result.stderr


def test_prompt_writes_one_line_a_question_and_pass() -> None:
    result = run("prompt", DEMO, "--language", "en", "--shuffle-seed", "3", "--passes", "2")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(lines) == 2 * len(read_file(DEMO).records)
    assert [line["sample"] for line in lines[:4]] == [0, 1, 0, 1]
    assert lines[0]["language"] == "en"
    assert lines[0]["prompt_version"] == "yier-1"
    assert sorted(lines[0]["order"]) == list(range(len(lines[0]["order"])))
    assert (
        result.stdout
        == run("prompt", DEMO, "--language", "en", "--shuffle-seed", "3", "--passes", "2").stdout
    )


def test_prompt_with_examples_and_contexts_only(tmp_path: Path) -> None:
    out = tmp_path / "prompts.jsonl"
    result = run(
        *("prompt", DEMO, "--examples", DEMO, "--shots", "2"),
        *("--skip-without-context", "--out", out),
    )
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert 0 < len(lines) < len(read_file(DEMO).records)
    assert all(line["messages"][0]["content"].count("【示例答案】") == 2 for line in lines)
    assert isinstance(run("prompt", DEMO, "--shots", "2").exception, UserError)


RAW: dict[str, Any] = {
    "question": "q",
    "selection": ["发热", "", "Ｖ１ 导联"],
    "sample_id": 5,
    "answer_choices": [],
    "year": 2023,
}


def test_a_submission_has_official_texts_in_order_then_the_unknown() -> None:
    answers = Record.model_validate(RAW).options.answers(["呕吐", "v1导联", "A", "呕吐。"])
    (found,) = fill(Document([RAW], "object"), {"5": answers}).records
    assert found == RAW | {"predict_answers": ["发热", "Ｖ１ 导联", "呕吐"]}
    assert list(found) == [*RAW, "predict_answers"]
    assert "predict_answers" not in RAW


def test_predictions_are_replaced_only_when_asked() -> None:
    filled = RAW | {"predict_answers": ["发热"]}
    document = Document([filled], "wrapped", envelope={"data": [], "by": "x"}, key="data")
    with pytest.raises(UserError, match="--overwrite"):
        fill(document, {"5": Answers()})
    found = fill(document, {"5": Answers((1,))}, overwrite=True)
    assert found.records[0]["predict_answers"] == ["Ｖ１ 导联"]
    assert (found.layout, found.envelope) == ("wrapped", {"data": [], "by": "x"})
    with pytest.raises(UserError, match="not in the file"):
        fill(document, {"6": Answers()}, overwrite=True)


def test_records_that_are_no_questions_are_handed_in_without_an_answer() -> None:
    """One without an id, one without options, and one whose id an earlier record has."""
    again = RAW | {"selection": ["一", "二"]}
    odd: list[dict[str, Any]] = [{"question": "q"}, {"sample_id": "x"}, RAW, again]
    found = fill(Document(odd, "array"), {"5": Answers((1,))}).records
    assert [record["predict_answers"] for record in found] == [[], [], ["Ｖ１ 导联"], []]
    assert [{**record, "predict_answers": None} for record in odd] == [
        {**record, "predict_answers": None} for record in found
    ]
