"""The questions in the warehouse: from any file of them to the same tables and lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from builds import MODELS_ONLY, Build
from commands import run_medeval
from dbt_worker import Worked
from tables import refused, slow_after, table

from medeval.sources import Place
from medeval.tasks.yier.questions import check_records

MODELS = ("build", "--select", "yier", *MODELS_ONLY)
PLAIN = {
    "context": "",
    "question": "哪项是对的？",
    "selection": ["发热", "咳嗽", "皮疹"],
    "answer_choices": ["咳嗽"],
    "source": "test",
}
# Each says what makes a record of its own; some are refused, the others are questions.
ROWS = table("yier_records", "readers")
# Each has an id that is its name if its own is not what is amiss.
RECORDS: list[dict[str, Any]] = [
    {**PLAIN, "sample_id": row["name"], **row["changes"]} for row in ROWS
]
KEPT = [row["name"] for row in ROWS if not row["refused"]]
UNLABELLED = {"answers-null", "answers-none"}


def written(path: Path, records: Sequence[dict[str, Any]], between: str = "") -> Path:
    """Write records as an array, or with something between them."""
    texts = [json.dumps(record, ensure_ascii=False) for record in records]
    path.write_text(
        between.join(texts) + between if between else f"[{', '.join(texts)}]", encoding="utf-8"
    )
    return path


def test_the_check_refuses_what_is_called_refused_here() -> None:
    outcomes = check_records(RECORDS)
    assert [one.state == "error" for one in outcomes] == [row["refused"] for row in ROWS]


@pytest.mark.parametrize("form", slow_after(1, ["array", "lines", "loaded"]))
def test_records_that_are_no_question_are_told(built: Worked, tmp_path: Path, form: str) -> None:
    path = written(tmp_path / "Bob's.json", RECORDS, "\r\n\n" if form == "lines" else "")
    if form == "loaded":
        raw, path = path, tmp_path / "clean.jsonl"
        run_medeval("load", "yier", raw, "--out", path, code=0)
    built.builds(*MODELS, YIER=path)
    rows = built.rows("select sample_id, is_labelled from yier.yier_questions order by all")
    assert rows == [(name, name not in UNLABELLED) for name in sorted(KEPT)]
    options = built.rows("select distinct sample_id from yier.yier_options order by all")
    assert options == [(name,) for name in sorted(KEPT)]
    lines = "select context from yier.yier_questions where sample_id = 'context-lines'"
    assert built.rows(lines) == [("体温 38℃。\n第二行\u2028第三行\u0085四",)]
    # The other reasons come first; an object or a list among the answers is none of the options.
    assert dict(built.rows("select rule, rows_removed from yier.yier_attrition")) == {
        "blank_question": 3,
        "missing_or_repeated_id": 7,
        "unusable_options": 7,
        "answer_outside_options": 4,
        "refused_by_check": 13,
    }


def test_both_engines_refuse_the_same(postgres_database: dict[str, str], tmp_path: Path) -> None:
    path = written(tmp_path / "raw.json", RECORDS)
    run_medeval("load", "yier", path, env=postgres_database, code=0)
    postgres = Build("postgres", tmp_path / "postgres", postgres_database, "yier")
    postgres.dbt("build", "--select", "yier")  # the unit tests too
    # As it stands: nothing but the models says there what is refused.
    duckdb = Build("duckdb", tmp_path / "duckdb", {"MEDEVAL_YIER": str(path)}, "yier")
    duckdb.dbt(*MODELS)
    for query in (
        "select rule, rows_removed from yier.yier_attrition order by step_number",
        "select sample_id, context, question_source, option_count, answer_count"
        " from yier.yier_questions order by line_number",
    ):
        assert duckdb.rows(query) == postgres.rows(query)


WRONG = {
    b"": " holds no record",
    b"[]": " holds no record",
    b"[{]": " is not JSON",
    b'{"a": 1}\n[]\n': ": line 2 is no JSON object",
    b'{"a": 1}\n{"a":\n': ", line 2 is not JSON",
    "题".encode("gb18030"): " is not text in UTF-8",
    b'{"a": "\\ud83d"}': ": line 1 holds half of a surrogate pair",
    b'{"a": "\\\\u0000"}\n{"a": "\\u0000"}': ": line 2 holds half of a surrogate pair, or",
}


def test_a_wrong_file_is_named(tmp_path: Path) -> None:
    # It loads dbt, for which no worker has to wait that only collects this file.
    from medeval.duckdb_files import source_views

    path = tmp_path / "questions.json"
    columns = {"line_number": {}, "record": {}}
    config = {"meta": {"file_variable": "X"}}
    of_graph = {"name": "r", "source_name": "s", "columns": columns, "config": config}
    for content, said in WRONG.items():
        path.write_bytes(content)
        place = Place("file", str(path), f"the file {path}")
        assert f"{path}{said}" in refused("load", source_views, [of_graph], place)
    # The last of them is mended by what the message says.
    run_medeval("load", "yier", path, "--out", path, code=0)
    source_views([of_graph], place)
