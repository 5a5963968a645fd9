"""The extraction in SQL against real notes, known cases and an extraction in Python."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from builds import MODELS_ONLY, Build
from commands import run_medeval
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import read_lines, table

pytestmark = pytest.mark.slow

MODELS = ("build", "--select", "mtsamples", *MODELS_ONLY)
SECTIONS = ("PLAN", "SUMMARY", "FINDINGS")


class Example(NamedTuple):
    """What the table has of one note."""

    extracted_section: str
    question: str
    answer: str
    medical_specialty: str | None
    sample_name: str | None
    leak: bool


# What a note is made of, and what is nearly that.
PIECES = st.sampled_from(table("mtsamples_files")["pieces"])
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8
)
NOTES = st.lists(PIECES | TEXTS, max_size=12).map("".join)


def random_notes() -> list[str]:
    """Return the same many notes in every run."""
    notes: list[str] = []

    @settings(max_examples=1500, derandomize=True, database=None, deadline=None)
    @given(NOTES)
    def collect(note: str) -> None:
        # Before PostgreSQL 18 such a line ends a COPY; `load` says so.
        if "\\." not in note:
            notes.append(note)

    collect()
    return notes


def extracted(text: str) -> Example | None:
    """Extract as the rules say, with the tools of Python."""
    note = re.sub(r"\r\n?", "\n", text).strip()
    found = [re.search(rf"{section}:([^\n]*)", note) for section in SECTIONS]
    kept = [
        (section, hit[1].strip())
        for section, hit in zip(SECTIONS, found, strict=True)
        if hit and hit[1].strip()
    ]
    if not kept:
        return None
    question = note[: min(hit.start() for hit in found if hit)].strip()
    section, answer = kept[0]
    headings = [
        re.search(rf"(?:\A|\n){heading}:([^\n]*)", note)
        for heading in ("Medical Specialty", "Sample Name")
    ]
    specialty, name = ((hit[1].strip() or None) if hit else None for hit in headings)
    return Example(section, question, answer, specialty, name, answer in question)


def built(
    folder: Path, notes: dict[str, str], address: dict[str, str] | None = None, **variables: str
) -> dict[str, Example]:
    """Build a warehouse from notes; return its examples by the names of their files."""
    path = folder / "notes.jsonl.gz"
    entries = ({"filename": name, "text": text} for name, text in notes.items())
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, entries)).encode()))
    if address is None:
        build = Build("duckdb", folder, {"MEDEVAL_MTSAMPLES": str(path)}, "mtsamples")
    else:
        run_medeval("load", "mtsamples", path, "--replace", env=address, code=0)
        build = Build("postgres", folder, address, "mtsamples")
    build.dbt(*MODELS, "--vars", json.dumps(variables))
    rows = build.rows(
        f"select filename, {', '.join(Example._fields)} from mtsamples.mtsamples_procedures"
        " order by source_index"
    )
    assert build.rows("select max(rows_in), min(rows_out) from mtsamples.mtsamples_attrition") == [
        (len(notes), len(rows))
    ]
    return {name: Example(*values) for name, *values in rows}


@pytest.fixture(scope="module")
def real_notes(shared: Path) -> dict[str, str]:
    """The notes of the published development subset."""
    text = gzip.decompress((shared / "data/mtsamples_procedures/notes.jsonl.gz").read_bytes())
    entries = [json.loads(line) for line in text.decode().split("\n") if line]
    return {entry["filename"]: entry["text"] for entry in entries}


def golden(shared: Path, name: str) -> list[dict[str, Any]]:
    return read_lines(shared / "golden" / "mtsamples_procedures" / name)


@pytest.fixture(scope="module")
def notes(shared: Path, real_notes: dict[str, str]) -> dict[str, str]:
    """Real notes, and behind their names known cases and random notes."""
    cases = {f"~{case['name']}.txt": case["text"] for case in golden(shared, "edge_cases.jsonl")}
    drawn = {f"~random {number:04}.txt": note for number, note in enumerate(random_notes())}
    return {**real_notes, **cases, **drawn}


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def examples(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, notes: dict[str, str]
) -> dict[str, Example]:
    """The examples that one build of an engine makes of all notes."""
    address = request.getfixturevalue("databases")() if request.param == "postgres" else None
    return built(tmp_path_factory.mktemp(request.param), notes, address)


def test_random_and_real_notes_give_the_examples_of_the_rules(
    notes: dict[str, str], examples: dict[str, Example]
) -> None:
    ruled = {name: note for name, note in notes.items() if name[0] != "~" or "random" in name}
    expected = {name: extracted(note) for name, note in ruled.items()}
    found = {name: example for name, example in examples.items() if name in ruled}
    assert found == {name: example for name, example in expected.items() if example}


def test_real_notes_and_known_cases_give_what_is_expected(
    examples: dict[str, Example], shared: Path, real_notes: dict[str, str]
) -> None:
    expected = golden(shared, "expected.jsonl")
    assert [
        (name, example.extracted_section, example.question, example.answer)
        for name, example in examples.items()
        if name in real_notes
    ] == [
        (one["filename"], one["extracted_section"], one["question"], one["answer"])
        for one in expected
    ]
    named = [one for name, one in examples.items() if name in real_notes and one.medical_specialty]
    assert len(named) > 0.9 * len(expected)
    for case in golden(shared, "edge_cases.jsonl"):
        example = examples.get(f"~{case['name']}.txt")
        wanted = case["recommended"]
        assert (example is not None) == (wanted["status"] == "example"), case["name"]
        if example is not None:
            for field in ("extracted_section", "question", "answer"):
                assert getattr(example, field) == wanted[field], (case["name"], field)


def test_medarc_keeps_sections(shared: Path, real_notes: dict[str, str], tmp_path: Path) -> None:
    found = built(tmp_path, real_notes, mtsamples_truncation="medarc")
    expected = golden(shared, "expected.jsonl")
    assert [(name, example.question) for name, example in found.items()] == [
        (one["filename"], one["question_medarc"]) for one in expected
    ]
    differing = sum(one["question_differs"] for one in expected)
    assert sum(one["question"] != one["question_medarc"] for one in expected) == differing > 0
