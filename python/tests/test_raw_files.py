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
from medeval.raw_files import (
    RawFile,
    RowCounter,
    count_rows,
    find_files,
    read_blocks,
    read_header,
)


def raw_file(path: Path, content: bytes) -> RawFile:
    form = next(form for form in (".csv.gz", ".csv", ".parquet") if path.name.endswith(form))
    path.write_bytes(gzip.compress(content) if form == ".csv.gz" else content)
    return RawFile("t", path, form)


def parquet_file(path: Path, columns: dict[str, pa.Array]) -> RawFile:
    pq.write_table(pa.table(columns), path)
    return RawFile("t", path, ".parquet")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("ADMISSIONS.csv", ".csv"),
        ("Admissions.CSV.GZ", ".csv.gz"),
        ("admissions.csv.gz", ".csv.gz"),
        ("Admissions.Parquet", ".parquet"),
    ],
)
def test_a_table_is_found_in_any_form_and_case(tmp_path: Path, name: str, form: str) -> None:
    (tmp_path / name).touch()
    (tmp_path / "admissions.csv.bak").touch()
    (tmp_path / "._admissions.csv").touch()
    (tmp_path / "admissions").mkdir()
    assert find_files([tmp_path], ["admissions"]) == {
        "admissions": [RawFile("admissions", tmp_path / name, form)]
    }


def test_a_quote_without_an_end_is_no_header(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"t.csv.* cannot be read as CSV"):
        read_header(raw_file(tmp_path / "t.csv", b'"' + b"x" * 200_000))


@pytest.mark.parametrize("damage", ["cut", "flipped", "tail"])
def test_a_damaged_gzip_stops_with_its_name(tmp_path: Path, damage: str) -> None:
    file = raw_file(tmp_path / "t.csv.gz", b"a,b\n" + b"1,2\n" * 50_000)
    data = bytearray(file.path.read_bytes())
    if damage == "cut":
        del data[len(data) * 7 // 10 :]
    elif damage == "flipped":
        data[-6] ^= 1
    else:
        data += b"garbage"
    file.path.write_bytes(data)
    with pytest.raises(UserError, match=r"t\.csv\.gz looks truncated or damaged"):
        count_rows(file)


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
    file = parquet_file(
        tmp_path / "t.parquet",
        {
            "text": pa.array(["", None, 'a "b",\nc']),
            "code": pa.array(["0042", "V4501", "E8788"]).dictionary_encode(),
            "id": pa.array([142345.0, None, 3.0]),
            "time": pa.array([when, None, when], pa.timestamp("us")),
            "fine": pa.array([when.replace(microsecond=5), None, None], pa.timestamp("us")),
        },
    )
    rows = b"".join(read_blocks(file)).decode()
    assert rows == (
        '"text","code","id","time","fine"\n'
        '"","0042","142345","2150-03-08 02:10:00","2150-03-08 02:10:00.000005"\n'
        ',"V4501",,,\n'
        '"a ""b"",\nc","E8788","3","2150-03-08 02:10:00",\n'
    )
    assert count_rows(file) == 3


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pa.array([datetime(2150, 3, 8, tzinfo=UTC)]), "column bad has a time zone"),
        (pa.array([b"\xff"]), "column bad .* cannot be written as text"),
        (pa.array([{"x": 1}]), "column bad .* cannot be written as text"),
    ],
)
def test_a_parquet_column_that_has_no_text_stops(
    tmp_path: Path, column: pa.Array, reason: str
) -> None:
    file = parquet_file(tmp_path / "t.parquet", {"good": pa.array([1]), "bad": column})
    with pytest.raises(UserError, match=f"t.parquet: {reason}"):
        list(read_blocks(file))


def test_a_cut_parquet_stops_with_its_name(tmp_path: Path) -> None:
    file = parquet_file(tmp_path / "t.parquet", {"a": pa.array(["1"])})
    file.path.write_bytes(file.path.read_bytes()[:-20])
    for read in (read_header, count_rows, lambda file: list(read_blocks(file))):
        with pytest.raises(UserError, match=r"t\.parquet looks truncated or damaged"):
            read(file)
