"""The procedure notes in the warehouse: from folders, files and downloads to the same tables."""

from __future__ import annotations

import dataclasses
import gzip
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from builds import MODELS_ONLY, Build
from commands import run_medeval
from dbt_worker import Worked
from mtsamples_listing import write_listing
from tables import refused, slow_after, table

from medeval.tasks.mtsamples.notes import PINNED, read_notes

MODELS = ("build", "--select", "mtsamples", *MODELS_ONLY)
CACHE = "MTSAMPLES_PROCEDURES_CACHE_DIR"


def fill(folder: Path, notes: Mapping[str, str | bytes]) -> Path:
    """Make a folder of files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in notes.items():
        content = text if isinstance(text, bytes) else text.encode(errors="surrogateescape")
        (folder / name).write_bytes(content)
    return folder


def lines(*notes: tuple[str, str], **more: str) -> bytes:
    """Return notes as JSON Lines."""
    entries = (json.dumps({"filename": name, "text": text, **more}) for name, text in notes)
    return "".join(entry + "\n" for entry in entries).encode()


ODD_NAMES: dict[str, str] = table("mtsamples_files")["files"]
ODD_EXAMPLES = [tuple(example) for example in table("mtsamples_files")["examples"]]
SHORT = (
    "select example_id, source_index, question, answer from mtsamples.mtsamples_procedures"
    " order by source_index"
)


@pytest.fixture(scope="module")
def odd_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = fill(tmp_path_factory.mktemp("odd") / "Bob's [notes] x=1", ODD_NAMES)
    (folder / "sub.txt").mkdir()
    return folder


@pytest.mark.parametrize("form", slow_after(1, ["folder", "cache", "jsonl", "JSONL.GZ"]))
def test_notes_in_each_form(built: Worked, tmp_path: Path, odd_folder: Path, form: str) -> None:
    read = [name for name in ODD_NAMES if name.lower().endswith(".txt") and name[0] != "."]
    place = tmp_path / f"my [notes].{form}"
    if form == "folder":
        place = odd_folder
    elif form == "cache":
        shutil.copytree(odd_folder, place / "txt_files")
    else:
        content = b"\r\n".join(lines((name, ODD_NAMES[name])) for name in reversed(read))
        place.write_bytes(gzip.compress(content) if form == "JSONL.GZ" else content)
    built.builds(*MODELS, MTSAMPLES=place)
    assert built.rows(SHORT) == ODD_EXAMPLES
    lost = built.rows(
        "select rule, rows_removed from mtsamples.mtsamples_attrition order by step_number"
    )
    assert lost == [("blank_note", 1), ("no_header", 0), ("no_text_behind_header", 0)]


def test_load_copies_a_folder_as_it_is(
    postgres_database: dict[str, str], tmp_path: Path, odd_folder: Path
) -> None:
    done = run_medeval("load", "mtsamples", odd_folder, env=postgres_database, code=0)
    assert "6 notes" in done.stdout
    build = Build("postgres", tmp_path, postgres_database, "mtsamples")
    build.dbt(*MODELS)
    assert build.rows(SHORT) == ODD_EXAMPLES
    again = run_medeval("load", "mtsamples", odd_folder, env=postgres_database, code=2)
    assert "--replace" in again.stderr
    changed = fill(tmp_path / "changed", {"x.txt": "PLAN: x"})
    run_medeval("load", "mtsamples", changed, "--replace", env=postgres_database, code=0)
    assert build.rows("select filename, text from mtsamples_source.notes") == [("x.txt", "PLAN: x")]
    query = "select data_class from mtsamples.mtsamples_data_class"
    assert build.rows(query) == [("credentialed",)]
    said = tmp_path / "said.jsonl"
    said.write_bytes(lines(("x.txt", "PLAN: x"), data_class="open"))
    run_medeval("load", "mtsamples", said, "--replace", env=postgres_database, code=0)
    build.dbt(*MODELS)
    assert build.rows(query) == [("open",)]


DEEP = "[" * 200_000
# Bytes that are no UTF-8 stand in the table as halves of surrogate pairs.
FAULTY: list[dict[str, Any]] = [
    *table("mtsamples_faults", "readers"),
    {"lines": f'{{"filename": "a", "text": "x"}}\n{DEEP}', "said": "line 2 is nested too deep"},
    {"lines": f'{{"filename": "a", "text": {DEEP}', "said": "line 1 is nested too deep"},
    {"lines": f'{{"filename": {"7" * 5_000}, "text": "x"}}', "said": "no text called filename"},
    {"lines": f'{{"filename": "{"x" * 2**24}"}}', "said": "line 1 has 16,777,2"},
]


@pytest.mark.parametrize("case", FAULTY)
def test_what_is_wrong_with_a_folder_or_file_is_named(tmp_path: Path, case: dict[str, Any]) -> None:
    place = tmp_path / "notes.jsonl"
    if "files" in case:
        fill(place, case["files"])
    else:
        place.write_bytes(case["lines"].encode(errors="surrogateescape"))
    assert str(place) in refused(case["said"], read_notes, place)


def test_a_file_name_that_is_no_utf_8_is_named(tmp_path: Path) -> None:
    try:
        with open(bytes(tmp_path) + b"/caf\xe9.txt", "wb") as file:  # noqa: PTH123 (bytes)
            file.write(b"PLAN: x")
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    refused(r"caf\\xe9.txt.*is not UTF-8", read_notes, tmp_path)


@pytest.mark.slow
def test_the_cache_is_read_where_no_notes_are_named(built: Worked, tmp_path: Path) -> None:
    notes = fill(tmp_path / "cache" / "txt_files", {"a.txt": "PLAN: of the cache"})
    named = fill(tmp_path / "named", {"b.txt": "PLAN: of the folder"})
    warehouse = dataclasses.replace(built, env={CACHE: str(notes.parent)})
    assert f"is read from the download in {notes.parent}" in warehouse.builds(*MODELS)
    answers = "select answer from mtsamples.mtsamples_procedures"
    assert warehouse.rows(answers) == [("of the cache",)]
    warehouse.builds(*MODELS, MTSAMPLES=named)
    assert warehouse.rows(answers) == [("of the folder",)]
    # The demo stands in for neither of them.
    built.stops(*MODELS, says=("This warehouse holds mtsamples of", f"or {CACHE}"))
    shutil.rmtree(notes.parent)
    warehouse.stops(*MODELS, says=("load mtsamples --download",))


@pytest.mark.parametrize(
    ("origin", "text", "data_class"),
    slow_after(
        2,
        [
            (PINNED, "PLAN: b", "open"),
            (PINNED, "PLAN: B", "credentialed"),
            ((*PINNED[:2], "0" * 40), "PLAN: b", "credentialed"),
            (("owner/name", *PINNED[1:]), "PLAN: b", "credentialed"),
        ],
    ),
)
def test_a_download_is_open_as_the_pinned_commit_has_it(
    built: Worked, tmp_path: Path, origin: tuple[str, str, str], text: str, data_class: str
) -> None:
    fill(tmp_path / "cache" / "txt_files", {"a.txt": "PLAN: a", "b.txt": text})
    write_listing(tmp_path / "cache", {"a.txt": "PLAN: a", "b.txt": "PLAN: b"}, origin)
    models = "stg_mtsamples__notes mtsamples_open_data mtsamples_build_settings"
    selected = f"{models} mtsamples_data_class".split()
    built.builds("build", "--select", *selected, *MODELS_ONLY, MTSAMPLES=tmp_path / "cache")
    assert built.rows("select data_class from mtsamples.mtsamples_data_class") == [(data_class,)]


def test_a_compressed_file_that_is_cut_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl.gz"
    path.write_bytes(gzip.compress(lines(("a", "x")))[:-6])
    refused(r"notes\.jsonl\.gz looks truncated", read_notes, path)
