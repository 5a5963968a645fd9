"""Small files that hold far more than they seem to: refused with a sentence, or streamed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tables import refused

from medeval import files
from medeval.raw_files import RawFile, count_rows, read_header
from medeval.tasks.mimic3.predictions import read_rows
from medeval.tasks.mimic3.task import InHospitalMortality
from medeval.tasks.mtsamples.notes import read_notes


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Take no more than this many bytes from a gzip file that is held in memory."""
    monkeypatch.setattr(files, "LONGEST", 2_000_000)
    return files.LONGEST


def test_notes_of_a_gzip_file_are_unpacked_up_to_a_size(tmp_path: Path, small: int) -> None:
    path = tmp_path / "notes.jsonl.gz"
    lines = [json.dumps({"filename": f"{n}.txt", "text": "x" * 1000}) for n in range(1000)]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert len(read_notes(path).notes) == 1000
    path.write_bytes(gzip.compress("\n".join(lines * 2).encode()))
    refused(r"notes\.jsonl\.gz holds more than 2,000,000 bytes", read_notes, path)


def test_predictions_of_a_gzip_file_are_unpacked_up_to_a_size(small: int) -> None:
    row = b"a,0.5,1\n"
    fits = gzip.compress(b"stay,prediction,y_true\n" + row * 200_000)
    task = InHospitalMortality
    assert len(read_rows(task, "p.csv.gz", fits).stays) == 200_000
    for content in (gzip.compress(row * 300_000), gzip.compress(b"\0" * 50_000_000)):
        refused(r"p\.csv\.gz holds more than 2,000,000", read_rows, task, "p.csv.gz", content)


@pytest.mark.slow
def test_a_raw_table_is_streamed_however_large_it_is(tmp_path: Path, small: int) -> None:
    path = tmp_path / "labevents.csv.gz"
    path.write_bytes(gzip.compress(b"subject_id,value\n" + b"1,2\n" * 1_000_000))
    assert read_header(path) == ["subject_id", "value"]
    assert count_rows(RawFile(path, read_header(path))) == 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize("unit", [b"a,", b'"a",', b"\0", b"x" * 1000])
def test_a_header_without_an_end_is_an_error(tmp_path: Path, unit: bytes) -> None:
    path = tmp_path / "labevents.csv.gz"
    path.write_bytes(gzip.compress(unit * (40_000_000 // len(unit))))
    refused(r"labevents\.csv\.gz: the header is longer than 1,048,576", read_header, path)
