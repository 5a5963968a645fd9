"""JSON of files is strict, and what is wrong with it is said without its text."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from tables import refused, table

from medeval.duckdb_files import source_views
from medeval.files import read_json, read_json_lines
from medeval.sources import Place


@pytest.mark.parametrize(
    ("text", "said"), [*table("text_files")["json"], ("[" * 100_000, "is nested too deep")]
)
def test_json_that_is_not_strict_stops_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    assert refused("", read_json, path) == f"{path} {said}."
    path.write_text(f'\ufeff{{"a": "\u2028"}}\n\n{text}\n', encoding="utf-8")
    lines = read_json_lines(path)
    assert next(lines) == (1, {"a": "\u2028"})
    assert refused("", next, lines) == f"{path}, line 3 {said}."


@pytest.mark.parametrize("text", ['[{"a": 1}, {"a": 2}]', '{"a": 1}\n\n{"a": 2}\n'])
def test_records_with_a_byte_order_mark_are_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "records.json"
    path.write_text(text, encoding="utf-8-sig")
    columns = [{"name": "line_number"}, {"name": "record"}]
    config = {"meta": {"file_variable": "X"}}
    table = {"name": "r", "source_name": "s", "columns": columns, "config": config}
    views = source_views([table], Place("file", str(path), f"the file {path}"))
    rows = duckdb.sql(f"{views.queries['r']} order by line_number").fetchall()
    assert [record.replace(" ", "") for _, record in rows] == ['{"a":1}', '{"a":2}']
