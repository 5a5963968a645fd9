"""Records that the check refuses are in no table, whether their file was loaded or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builds import Build
from commands import run_medeval
from dbt_worker import Worked, Worker

from medeval.yier.questions import check_records, clean_questions
from medeval.yier.reading import QuestionFile

pytestmark = pytest.mark.slow

MODELS = ("build", "--select", "yier", "--resource-type", "seed", "--resource-type", "model")
# Each is what makes a record of its own; all are refused.
REFUSED: dict[str, dict[str, Any]] = {
    "context-number": {"context": 5},
    "context-list": {"context": ["体温 38℃"]},
    "context-false": {"context": False},
    "question-number": {"question": 7},
    "question-list": {"question": ["哪项？"]},
    "question-null": {"question": None},
    "question-no-width": {"question": "\u200b \ufeff"},
    "source-true": {"source": True},
    "source-object": {"source": {"a": 1}},
    "answer-object": {"answer_choices": [{"a": "咳嗽"}]},
    "answers-object": {"answer_choices": {"a": "咳嗽"}},
    "answer-true": {"answer_choices": True},
    "answer-null": {"answer_choices": ["咳嗽", None]},
    "answer-list": {"answer_choices": [["咳嗽"]]},
    "answer-other": {"answer_choices": ["头痛"]},
    "answer-alone-other": {"answer_choices": "头痛"},
    "prediction-object": {"predict_answers": {}},
    "prediction-null": {"predict_answers": [None]},
    "option-null": {"selection": ["咳嗽", None]},
    "option-object": {"selection": ["咳嗽", {"a": 1}]},
    "options-text": {"selection": "咳嗽"},
    "options-object": {"selection": {"a": "咳嗽"}},
    "options-none": {"selection": []},
    "options-composed": {"selection": ["咳嗽", "caf\u00e9", "cafe\u0301"]},
    "options-no-width": {"selection": ["咳嗽", "皮疹", "皮\u200b疹"]},
    "options-blanks": {"selection": ["咳嗽", "皮疹", "皮疹\u3000"]},
    "id-list": {"sample_id": ["a"]},
    "id-true": {"sample_id": True},
    "id-no-width": {"sample_id": "\u200b"},
    "id-null": {"sample_id": None},
}
# And these are questions as they stand.
KEPT: dict[str, dict[str, Any]] = {
    "plain": {},
    "context-null": {"context": None},
    "context-no-width": {"context": "\u200b"},
    "source-number": {"source": 3},
    "source-null": {"source": None},
    "answer-alone": {"answer_choices": "咳嗽"},
    "answers-null": {"answer_choices": None},
    "answer-blank": {"answer_choices": ["咳嗽", " "]},
    "answer-number": {"answer_choices": [7], "selection": ["7", "8"]},
    "option-number": {"answer_choices": ["8"], "selection": [7, 8]},
    "predictions": {"predict_answers": ["咳嗽", 7]},
    "own-key": {"year": {"of": 2023}},
}
UNLABELLED = "answers-null"


def records() -> list[dict[str, Any]]:
    """All of them, each with an id that is its name if its own is not what is amiss."""
    plain = {
        "context": "",
        "question": "哪项是对的？",
        "selection": ["发热", "咳嗽", "皮疹"],
        "answer_choices": ["咳嗽"],
        "source": "test",
    }
    return [
        {**plain, "sample_id": name, **changes} for name, changes in {**REFUSED, **KEPT}.items()
    ]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A file of them as they stand."""
    path = tmp_path / "raw.json"
    path.write_text(json.dumps(records()), encoding="utf-8")
    return path


def test_the_check_refuses_what_is_called_refused_here() -> None:
    states = [outcome.state for outcome in check_records(records()).outcomes]
    assert states[: len(REFUSED)] == ["error"] * len(REFUSED)
    assert "error" not in states[len(REFUSED) :]


@pytest.mark.parametrize("is_loaded", [False, True])
def test_what_the_check_refuses_is_in_no_table_and_counted(
    worker: Worker, tmp_path: Path, raw: Path, is_loaded: bool
) -> None:
    path = raw
    if is_loaded:
        path = tmp_path / "clean.jsonl"
        done = run_medeval("load", "yier", raw, "--out", path)
        assert done.returncode == 0, done.stderr
    warehouse = Worked(worker, tmp_path)
    warehouse.builds(*MODELS, YIER=path)
    rows = warehouse.rows("select sample_id, is_labelled from yier.yier_questions order by all")
    assert rows == [(name, name != UNLABELLED) for name in sorted(KEPT)]
    options = warehouse.rows("select distinct sample_id from yier.yier_options order by all")
    assert options == [(name,) for name in sorted(KEPT)]
    steps = dict(warehouse.rows("select rule, rows_removed from yier.yier_attrition"))
    assert sum(steps.values()) == len(REFUSED)
    # The other reasons come first; an object or a list among the answers is none of the options.
    assert steps == {
        "blank_question": 2,
        "missing_or_repeated_id": 4,
        "unusable_options": 7,
        "answer_outside_options": 4,
        "refused_by_check": 13,
    }


def test_both_engines_refuse_the_same(
    postgres_database: dict[str, str], tmp_path: Path, raw: Path
) -> None:
    done = run_medeval("load", "yier", raw, env=postgres_database)
    assert done.returncode == 0, done.stderr
    postgres = Build("postgres", tmp_path / "postgres", postgres_database, "yier")
    postgres.dbt("build", "--select", "yier")  # the unit tests too
    # As it stands: nothing but the models says there what is refused.
    duckdb = Build("duckdb", tmp_path / "duckdb", {"MEDEVAL_YIER": str(raw)}, "yier")
    duckdb.dbt(*MODELS)
    for query in (
        "select rule, rows_removed from yier.yier_attrition order by step_number",
        "select sample_id, context, question_source, option_count, answer_count"
        " from yier.yier_questions order by line_number",
    ):
        assert duckdb.rows(query) == postgres.rows(query)


def test_a_record_that_is_mended_is_marked_no_more() -> None:
    def cleaned(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return clean_questions(QuestionFile(content, "array")).records

    once = cleaned([{**records()[0], "sample_id": "a"}])
    assert once[0]["refused_by_check"] == "context: Input should be a valid string"
    assert cleaned(once) == once
    (mended,) = cleaned([{**once[0], "context": "体温 38℃"}])
    assert "refused_by_check" not in mended
