"""The questions in the warehouse: from any file of them to the same tables and lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builds import Build
from commands import PROJECT_ROOT, run_dbt, run_medeval
from dbt_worker import Worked, Worker
from marks import slow_after

DEMO = PROJECT_ROOT / "demo" / "yier" / "questions.json"
TABLES = ("yier_attrition", "yier_data_class", "yier_options", "yier_questions")
MODELS = ("build", "--select", "yier", "--resource-type", "seed", "--resource-type", "model")


def question(sample_id: str | None, **changes: Any) -> dict[str, Any]:
    record = {
        "context": "",
        "question": "哪项是对的？",
        "selection": ["发热", "咳嗽", "皮疹"],
        "answer_choices": ["咳嗽"],
        "sample_id": sample_id,
        "source": "test",
    }
    return record | changes


@pytest.fixture
def demo(demo_folder: Path) -> Build:
    """The demo's questions on DuckDB."""
    return Build("duckdb", demo_folder, floor="yier")


@pytest.fixture(scope="module")
def duckdb_build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The demo's questions on DuckDB, with every dbt test passed."""
    build = Build("duckdb", tmp_path_factory.mktemp("yier-duckdb"), floor="yier")
    build.dbt("build", "--select", "yier")
    return build


def test_both_engines_have_the_same_tables_and_files(
    duckdb_build: Build, postgres_database: dict[str, str], tmp_path: Path
) -> None:
    done = run_medeval("load", "yier", env=postgres_database)
    assert done.returncode == 0, done.stderr
    assert "reading the synthetic demo" in done.stderr
    postgres = Build("postgres", tmp_path, postgres_database, "yier")
    postgres.dbt("build", "--select", "yier")
    for table in TABLES:
        names, rows = duckdb_build.published(table, "yier")
        assert rows
        assert (names, rows) == postgres.published(table, "yier")
    exported = (postgres.export() / "questions.jsonl").read_bytes()
    assert exported == (duckdb_build.export() / "questions.jsonl").read_bytes()


def test_the_export_holds_the_questions_of_the_file(demo: Build) -> None:
    folder = demo.export()
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == json.loads(DEMO.read_text(encoding="utf-8"))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["data_class"] == "open"
    assert manifest["tasks"]["yier"]["left_out"] == {}


@pytest.mark.parametrize("form", slow_after(1, ["array", "lines"]))
def test_records_that_are_no_questions_are_counted(
    worker: Worker, tmp_path: Path, form: str
) -> None:
    records = [
        question("a"),
        question("a", question="again"),
        question("b", question="　"),
        question("c", selection=[]),
        question("d", answer_choices=["头痛"]),
        question("e", answer_choices=[], context="体温 38℃。\n第二行\u2028第三行"),
        question(" a "),
        question("　"),
    ]
    path = tmp_path / "Bob's questions.json"
    if form == "array":
        path.write_text(json.dumps(records, ensure_ascii=False, indent=1), encoding="utf-8")
    else:
        lines = [json.dumps(record, ensure_ascii=False) for record in records]
        path.write_text("\n\n".join(lines) + "\r\n", encoding="utf-8")
    warehouse = Worked(worker, tmp_path)
    warehouse.builds(*MODELS, YIER=path)
    kept = warehouse.rows(
        "select sample_id, context, is_labelled from yier.yier_questions order by all"
    )
    assert kept == [("a", None, True), ("e", "体温 38℃。\n第二行\u2028第三行", False)]
    lost = warehouse.rows("select rule, rows_removed from yier.yier_attrition order by step_number")
    assert lost == [
        ("blank_question", 1),
        ("missing_or_repeated_id", 3),
        ("unusable_options", 1),
        ("answer_outside_options", 1),
        ("refused_by_check", 0),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    slow_after(
        1,
        [
            (b"", "holds no record"),
            (b"[]", "holds no record"),
            (b"[{]", "is not valid JSON"),
            (b'{"a": 1}\n[]\n', "holds something else than an object in line 2"),
            (b'{"a": 1}\n{"a":\n', "has a line behind line 1 that is not JSON"),
            ("题".encode("gb18030"), "is not text in UTF-8"),
        ],
    ),
)
def test_what_is_wrong_with_a_file_is_named(
    worker: Worker, tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "questions.json"
    path.write_bytes(content)
    warehouse = Worked(worker, tmp_path)
    warehouse.stops(*MODELS, says=(f"The file {path} {said}", "load"), YIER=path)


@pytest.mark.slow
def test_load_mends_a_file_that_the_models_read(tmp_path: Path) -> None:
    """Curly quotes, full-width commas, GB18030, and an answer that is a letter."""
    damaged = (
        "[{“context”：null，“question”: “选哪个”，“selection”: [“甲”，“乙”]，"
        "“answer_choices”: [“B”]，“sample_id”: 7，“source”: “s”}]"
    )
    path, out = tmp_path / "damaged.json", tmp_path / "clean.jsonl"
    path.write_bytes(damaged.encode("gb18030"))
    done = run_medeval("load", "yier", path, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "gb18030" in done.stdout
    built = run_dbt(*MODELS, env={"MEDEVAL_YIER": str(out)}, folder=tmp_path)
    assert built.returncode == 0, built.stdout


def test_a_sign_that_looks_like_a_line_end_splits_no_record(
    postgres_database: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "questions.json"
    records = [question("a", context="一\u2028二\u0085三"), question("b")]
    path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    done = run_medeval("load", "yier", path, env=postgres_database)
    assert done.returncode == 0, done.stderr
    build = Build("postgres", tmp_path, postgres_database, "yier")
    rows = build.rows(
        "select record from yier_source.records order by cast(line_number as integer)"
    )
    assert [json.loads(record)["context"] for (record,) in rows] == ["一\u2028二\u0085三", ""]


@pytest.mark.slow
def test_the_demo_does_not_replace_the_users_questions(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "questions.json"
    path.write_text(json.dumps([question("a")]), encoding="utf-8")
    warehouse = Worked(worker, tmp_path)
    warehouse.builds(*MODELS, YIER=path)
    warehouse.stops(*MODELS, says=(f"This warehouse holds yier of {path}", "MEDEVAL_YIER"))
