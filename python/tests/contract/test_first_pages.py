"""The first pages, followed to the letter: what they show is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from commands import PROJECT_ROOT, link_project
from in_process import Main
from model_server import RuledEndpoint, model_server
from tables import table

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([\w.]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What differs from run to run, and the frames and blanks of tables.
TIME = re.compile(r"\d{8}T\d{6}Z")
FRAME = re.compile(r"[\s\u2500-\u257f]+")


@pytest.fixture
def main(main: Main, monkeypatch: pytest.MonkeyPatch) -> Main:
    monkeypatch.setenv("COLUMNS", "100")
    return main


def page(name: str) -> str:
    return (PROJECT_ROOT / "docs" / name).read_text(encoding="utf-8")


def plain(line: str) -> str:
    return FRAME.sub(" ", TIME.sub("TIME", line)).strip()


def follow(main: Main, text: str) -> list[str]:
    """Run the commands of a page; return the shown lines that did not come.

    A block of commands and the block behind it, which shows what they print, go together.
    """
    missing, printed = list[str](), ""
    for kind, content in BLOCK.findall(text):
        if kind == "sh":
            printed = ""
            for command in re.findall(r"^python -m medeval .*", content, re.MULTILINE):
                words = shlex.split(command)[3:]
                found = ([*Path().glob(word)] if "*" in word else [word] for word in words)
                done = main(*(each for several in found for each in several), code=0)
                printed += done.out + done.err
        elif kind == "text" and printed:
            came = {plain(line) for line in printed.splitlines()}
            shown = [plain(line) for line in content.splitlines()]
            missing += [line for line in shown if line not in came | {"", "..."}]
    return missing


@pytest.mark.slow
def test_the_clinician_s_walk_prints_what_its_page_shows(
    main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked_duckdb: Path
) -> None:
    endpoint = RuledEndpoint(table("first_pages")["clinician"])
    link_project(tmp_path)
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(asked_duckdb))
    monkeypatch.chdir(tmp_path)
    with model_server(endpoint.script) as server:
        text = page("first_clinician.md").replace("http://127.0.0.1:8000/v1", server.url)
        (declared,) = (content for kind, content in BLOCK.findall(text) if kind == "toml")
        (tmp_path / "endpoints.toml").write_text(declared, encoding="utf-8")
        assert follow(main, text) == []


@pytest.mark.slow
def test_the_evaluation_walk_prints_what_its_page_shows(
    main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page("first_evaluation.md")
    files = dict(FILE.findall(text))
    assert files.keys() == {"letters.yaml", "letters.jsonl", "letter_rubric.yaml", "models.py"}
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert follow(main, text) == []
