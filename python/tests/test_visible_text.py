"""Names of models and tasks are shown as text: on the terminal, on pages, in spreadsheets."""

from __future__ import annotations

import csv
import json
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from medeval import cli
from medeval.models.csv_rows import rows_to_csv

MARKUP = "[red]m[/red] [link=https://evil.example]x[/link] :smile:"
ESCAPES = "m\x1b[2J\x1b]8;;https://evil.example\x07\rgood"
OVERRIDE = "m\u202egpj.exe\u2066 \x9b31m"
HTML = "<img src=x onerror=alert(1)>&lt;b&gt;"
NAMES = [MARKUP, ESCAPES, OVERRIDE, HTML]
IDS = ["markup", "escape codes", "directions", "html"]


def say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: object
) -> tuple[int, str]:
    """Run a command on a wide terminal; return its exit code and all that it said."""
    monkeypatch.setattr(sys, "argv", ["medeval", *map(str, args)])
    monkeypatch.setenv("COLUMNS", "400")
    code = 0
    try:
        cli.main()
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out + err


def acts(text: str) -> bool:
    """Tell whether a character in the text acts on what shows it."""
    return any(
        ord(one) in (*range(9), *range(11, 32), *range(127, 160), *range(0x2028, 0x202F))
        or 0x2066 <= ord(one) <= 0x2069
        for one in text
    )


def scored(folder: Path, model: str) -> Path:
    """Write the scores of a run, as they may come from elsewhere."""
    one: dict[str, Any] = {
        "model_id": model,
        "task_id": f"{model} task",
        "metrics_results": {"accuracy": 0.5, model: -0.5},
        "metadata": {"task_hash": "a" * 64},
    }
    report = {
        "model_id": model,
        "overall_scores": {"accuracy": 0.5, model: -0.5},
        "task_scores": {one["task_id"]: one["metrics_results"]},
        "detailed_results": [one],
        "metadata": {},
    }
    path = folder / f"{len(list(folder.iterdir()))}.json"
    path.write_text(json.dumps(report), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", NAMES, ids=IDS)
def test_the_terminal_shows_names_as_text(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = "".join(ascii(one)[1:-1] if acts(one) else one for one in name)
    # A sentence, and a table whose cell is a name.
    code, said = say(monkeypatch, capsys, "run", "--task", "yier", "--questions", f"{name}.json")
    assert code == 2
    assert not acts(said)
    endpoints = tmp_path / "endpoints.toml"
    address = f"http://127.0.0.1:1/{name}"
    endpoints.write_text(f"[[endpoint]]\nbase_url = {json.dumps(address)}\n")
    code, said = say(monkeypatch, capsys, "models", "--endpoints", endpoints)
    assert not acts(said)
    # An address loses its line ends.
    assert shown.replace("\\r", "") in said, said


@pytest.mark.parametrize("name", NAMES, ids=IDS)
@pytest.mark.parametrize("suffix", ["html", "md"])
@pytest.mark.parametrize("count", [1, 2], ids=["report", "leaderboard"])
def test_pages_show_names_as_text(
    name: str,
    suffix: str,
    count: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reports = [scored(tmp_path, name) for _ in range(count)]
    out = tmp_path / f"page.{suffix}"
    code, said = say(monkeypatch, capsys, "report", *reports, "--out", out)
    assert code == 0, said
    page = out.read_text(encoding="utf-8")
    assert not acts(page)
    assert "<img" not in page.replace("\\<img", "")
    if name == ESCAPES:
        assert "x1b[2J" in page.replace("\\", "")
    if name == HTML:
        assert "&amp;lt;b" in page or "\\&lt;b" in page


FORMULAS = [
    '=HYPERLINK("https://evil.example")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "  =1+1",
    "\uff1d1+1",
]


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("count", [1, 2], ids=["report", "leaderboard"])
def test_spreadsheets_get_names_as_text_and_numbers_as_numbers(
    name: str,
    count: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reports = [scored(tmp_path, name) for _ in range(count)]
    out = tmp_path / "board.csv"
    code, said = say(monkeypatch, capsys, "report", *reports, "--out", out)
    assert code == 0, said
    header, *rows = csv.reader(StringIO(out.read_text(encoding="utf-8"), newline=""))
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        assert float(cells["value"]) in (0.5, -0.5)
        for cell in row:
            assert not cell.lstrip().startswith(("=", "+", "@", "\uff1d"))
            assert not cell.startswith(("\t", "\r"))
            assert not cell.startswith("-") or float(cell)
    assert any("'" in row[0] + row[1] for row in rows)


def test_what_programs_read_is_written_as_it_is() -> None:
    assert rows_to_csv([{"answer": "=1+1", "-x": "@a"}]).splitlines() == ["answer,-x", "=1+1,@a"]
