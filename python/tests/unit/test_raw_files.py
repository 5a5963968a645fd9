"""Raw files in any form: found, checked, and turned into one stream of CSV."""

from __future__ import annotations

import csv
import gzip
import io
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medeval.errors import UserError
from medeval.raw_files import RowCounter, count_rows, find_tables, read_blocks, read_header


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
    found = find_tables([tmp_path], ["admissions"])
    assert found == {"admissions": ([tmp_path / name], ["a", "b"])}
    rows = csv.reader(io.StringIO(b"".join(read_blocks(tmp_path / name)).decode()))
    assert list(rows) == [["A", "b"], ["1", "2"]]


def test_a_quote_without_an_end_is_no_header(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'"' + b"x" * 200_000)
    with pytest.raises(UserError, match=r"t.csv.* cannot be read as CSV"):
        read_header(tmp_path / "t.csv")


@pytest.mark.parametrize("damage", ["cut", "flipped", "tail"])
def test_a_damaged_gzip_stops_with_its_name(tmp_path: Path, damage: str) -> None:
    data = bytearray(gzip.compress(b"a,b\n" + b"1,2\n" * 50_000))
    if damage == "cut":
        del data[len(data) * 7 // 10 :]
    elif damage == "flipped":
        data[-6] ^= 1
    else:
        data += b"garbage"
    (tmp_path / "t.csv.gz").write_bytes(data)
    with pytest.raises(UserError, match=r"t\.csv\.gz looks truncated or damaged"):
        count_rows(tmp_path / "t.csv.gz")


@given(
    st.lists(st.lists(st.text('a",\r\n'), min_size=2, max_size=2)), st.sampled_from(["\n", "\r\n"])
)
def test_logical_rows_are_counted_wherever_a_block_ends(rows: list[list[str]], end: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *rows])
    for data in (text.getvalue().encode(), text.getvalue().rstrip("\r\n").encode()):
        for cut in range(1, len(data)):
            counter = RowCounter()
            counter.feed(data[:cut])
            counter.feed(data[cut:])
            assert counter.rows == len(rows)


def test_parquet_becomes_csv_that_tells_nothing_from_empty(tmp_path: Path) -> None:
    when = datetime(2150, 3, 8, 2, 10)  # noqa: DTZ001  # MIMIC's times have no zone.
    path = parquet_file(
        # No sign in a path is a pattern.
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
    rows = b"".join(read_blocks(path)).decode()
    assert rows == (
        '"text","code","name","id","time","fine"\n'
        '"","0042","é","142345","2150-03-08 02:10:00","2150-03-08 02:10:00.000005"\n'
        ',"V4501",,,,\n'
        '"a ""b"",\nc","E8788","","3","2150-03-08 02:10:00",\n'
    )
    assert count_rows(path) == 3


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
    for read in (read_header, count_rows):
        with pytest.raises(UserError, match=r"t\.parquet looks truncated or damaged"):
            read(path)
