"""JSON of files, and raw tables in any form: found, checked, and read as one stream of CSV."""

from __future__ import annotations

import gzip
import os
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables import refused, table

from medeval.duckdb_files import source_views
from medeval.errors import UserError
from medeval.files import read_json, read_json_lines, replace_file, require_different
from medeval.raw_files import count_rows, find_tables, read_header, read_rows
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


def test_a_link_is_what_it_leads_to(tmp_path: Path) -> None:
    (link := tmp_path / "link").symlink_to(tmp_path)
    named = [tmp_path, link]
    assert "link and" in refused(" are the same.", require_different, named, named)


def test_a_pipe_is_written_into() -> None:
    read, write = os.pipe()
    replace_file(Path(f"/dev/fd/{write}"), b"text")
    assert os.read(read, 9) == b"text"


# Raw tables


def parquet_file(path: Path, columns: dict[str, pa.Array]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("name", ["ADMISSIONS.csv", "Admissions.CSV.GZ", "Admissions.Parquet"])
def test_a_table_is_found_in_any_form_and_case(tmp_path: Path, name: str) -> None:
    content = b"A,b\n1,2\n"
    if name.endswith("Parquet"):
        parquet_file(tmp_path / name, {"A": pa.array(["1"]), "b": pa.array(["2"])})
    else:
        (tmp_path / name).write_bytes(gzip.compress(content) if "GZ" in name else content)
    for other in ("admissions.csv.bak", "._admissions.csv"):
        (tmp_path / other).touch()
    (tmp_path / "admissions").mkdir()
    (file,) = find_tables([tmp_path], ["admissions"])["admissions"]
    assert file == (tmp_path / name, ["a", "b"])
    assert list(read_rows(file)) == [(1, b'"1","2"\n')]


def test_a_quote_without_an_end_is_no_header(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'"' + b"x" * 200_000)
    refused(r"t.csv.* cannot be read as CSV", read_header, tmp_path / "t.csv")


@pytest.mark.parametrize("damage", ["cut", "flipped", "tail"])
def test_a_damaged_gzip_stops_with_its_name(tmp_path: Path, damage: str) -> None:
    data = bytearray(gzip.compress(b"a,b\n" + b"1,2\n" * 500_000))
    if damage == "cut":
        del data[len(data) * 7 // 10 :]
    elif damage == "flipped":
        data[-6] ^= 1
    else:
        data += b"garbage"
    (tmp_path / "t.csv.gz").write_bytes(data)
    (file,) = find_tables([tmp_path], ["t"])["t"]
    refused(r"t\.csv\.gz looks truncated or damaged", list, read_rows(file))


def test_a_fault_far_behind_the_header_is_named_by_its_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b'1,"x\ny"\n' * 600_000 + b"1,Zqvmarker,3\n", 1))
    (file,) = find_tables([tmp_path], ["t"])["t"]
    with pytest.raises(UserError) as caught:
        list(read_rows(file))
    said = f"{path}, row 600001 (the header not counted): the header has 2 cells and this row 3."
    assert str(caught.value).startswith(said)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_are_told_from_lines_and_nothing_from_empty(tmp_path: Path, end: str) -> None:
    # No sign in a path is a pattern.
    folder = tmp_path / "a*b?[c]"
    folder.mkdir()
    (folder / "t.csv").write_bytes(
        end.join(["a,b", '1,"x', 'y ""z"""', '2,""', "3,", "\\.,4", ""]).encode()
    )
    (file,) = find_tables([folder], ["t"])["t"]
    text = f'"1","x{end}y ""z"""\n"2",""\n"3",\n"\\.","4"\n'
    assert list(read_rows(file)) == [(4, text.encode())]
    assert count_rows(file) == 4


def test_parquet_becomes_csv_that_tells_nothing_from_empty(tmp_path: Path) -> None:
    when = datetime(2150, 3, 8, 2, 10)  # noqa: DTZ001  # MIMIC's times have no zone.
    parquet_file(
        tmp_path / "t[1]*.parquet",
        {
            "text": pa.array(["", None, 'a "b",\nc']),
            "code": pa.array(["0042", "V4501", "E8788"]).dictionary_encode(),
            "name": pa.array(["é".encode(), None, b""]),
            "id": pa.array([142345, None, 3]),
            "time": pa.array([when, None, when], pa.timestamp("us")),
            "fine": pa.array([when.replace(microsecond=5), None, None], pa.timestamp("us")),
        },
    )
    (file,) = find_tables([tmp_path], ["t[1]*"])["t[1]*"]
    ((count, rows),) = read_rows(file)
    assert rows.decode() == (
        '"","0042","é","142345","2150-03-08 02:10:00","2150-03-08 02:10:00.000005"\n'
        ',"V4501",,,,\n'
        '"a ""b"",\nc","E8788","","3","2150-03-08 02:10:00",\n'
    )
    assert count == count_rows(file) == 3


@pytest.mark.parametrize(
    "column", [pa.array([datetime(2150, 3, 8, tzinfo=UTC)]), pa.array([[1]]), pa.array([{"x": 1}])]
)
def test_a_parquet_column_that_has_no_text_stops(tmp_path: Path, column: pa.Array) -> None:
    path = parquet_file(tmp_path / "t.parquet", {"good": pa.array([1]), "bad": column})
    with pytest.raises(UserError, match=r"t\.parquet: column bad .* text, number or time without"):
        find_tables([tmp_path], [path.stem])


def test_a_cut_parquet_stops_with_its_name(tmp_path: Path) -> None:
    path = parquet_file(tmp_path / "t.parquet", {"a": pa.array(["1"])})
    path.write_bytes(path.read_bytes()[:-20])
    refused(r"t\.parquet looks truncated or damaged", read_header, path)
