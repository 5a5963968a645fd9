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
# Each is what makes a record of its own; some are refused, the others are questions as they stand.
ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "readers" / "yier_records.jsonl").read_text().splitlines()
]
REFUSED, KEPT = (
    {row["name"]: row["changes"] for row in ROWS if row["refused"] is refused}
    for refused in (True, False)
)
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
        return clean_questions(QuestionFile(content, "array"))[0]

    once = cleaned([{**records()[0], "sample_id": "a"}])
    assert once[0]["refused_by_check"] == "context: Input should be a valid string"
    assert cleaned(once) == once
    (mended,) = cleaned([{**once[0], "context": "体温 38℃"}])
    assert "refused_by_check" not in mended
