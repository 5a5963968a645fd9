"""`python -m medeval load --to parquet`: all tables of a source for Spark, or nothing."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from pathlib import Path

import duckdb
import mimic3_folder
from commands import PROJECT_ROOT
from in_process import Main

COHORT = "10000032\n10000033\n"


def cells(parquet: Path) -> tuple[list[str], Counter[tuple[str | None, ...]]]:
    read = duckdb.sql(f"select * from read_parquet('{parquet}/*.parquet')")
    assert {str(kind) for kind in read.types} == {"VARCHAR"}
    return read.columns, Counter(read.fetchall())


def test_every_cell_is_written(tmp_path: Path, main: Main) -> None:
    source, out = PROJECT_ROOT / "demo" / "mimic4", tmp_path / "parquet"
    (tmp_path / "ids.txt").write_text(COHORT, encoding="utf-8")
    listed = ("--cohort-file", tmp_path / "ids.txt")
    done = main("load", "mimic4", source, *listed, "--to", "parquet", out, code=0)
    assert f"MEDEVAL_MIMIC4_DIR={out} MEDEVAL_MIMIC4_NOTE_DIR={out}" in done.out
    files = [path for path in source.glob("*/*.csv*") if (out / path.parent.name).is_dir()]
    assert len(files) >= 12
    for path in files:
        text = path.read_bytes()
        text = gzip.decompress(text) if path.suffix == ".gz" else text
        header, *rows = csv.reader(io.StringIO(text.decode(), newline=""))
        columns, written = cells(out / path.parent.name / f"{path.name.split('.')[0]}.parquet")
        assert columns == [name.lower() for name in header]
        assert written == Counter(tuple(cell or None for cell in row) for row in rows)
    columns, written = cells(out / "note_extract" / "cohort_list.parquet")
    listed = dict(zip(columns, zip(*sorted(written), strict=True), strict=True))
    assert listed["hadm_id"] == tuple(COHORT.split())


def test_nothing_is_left_of_a_load_that_stops(tmp_path: Path, main: Main) -> None:
    source = mimic3_folder.write_folder(tmp_path / "mimic3")
    (file,) = source.glob("*[oO][uU][tT][pP][uU][tT]*")
    file.write_bytes(file.read_bytes()[:-1])  # the last line has no end
    done = main("load", "mimic3", source, "--to", "parquet", tmp_path / "out")
    assert (done.code, "looks truncated" in done.err) == (2, True), done.err
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
