"""The same tables and files of notes and questions on both engines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builds import Build, published_tables
from commands import run_medeval


@pytest.mark.parametrize(
    ("floor", "file"), [("mtsamples", "examples.jsonl"), ("yier", "questions.jsonl")]
)
def test_both_engines_have_the_same_tables_and_files(
    postgres_database: dict[str, str], tmp_path: Path, floor: str, file: str
) -> None:
    duckdb = Build("duckdb", tmp_path / "duckdb", floor=floor)
    assert "WARN=0" in duckdb.dbt("build", "--select", floor)  # with every test of dbt
    assert "the synthetic demo" in run_medeval("load", floor, env=postgres_database, code=0).stderr
    postgres = Build("postgres", tmp_path / "postgres", postgres_database, floor)
    postgres.dbt("build", "--select", floor)
    for name in filter(re.compile(floor).match, published_tables(floor)):
        assert duckdb.published(name) == postgres.published(name)
    assert (postgres.export() / file).read_bytes() == (duckdb.export() / file).read_bytes()
