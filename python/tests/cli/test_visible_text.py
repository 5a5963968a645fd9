"""Names of models and tasks are shown as text: on the terminal, on pages, in spreadsheets."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import pytest
from in_process import Main
from reports import write_report
from tables import table

from medeval.models import EvaluationResult

NAMES, FORMULAS = table("visible_text").values()


def acts(text: str) -> bool:
    """Tell whether a character in the text acts on what shows it."""
    return any(
        ord(one) in (*range(9), *range(11, 32), *range(127, 160), *range(0x2028, 0x202F))
        or 0x2066 <= ord(one) <= 0x2069
        for one in text
    )


def written(main: Main, folder: Path, model: str, count: int, suffix: str) -> str:
    """Return the report of so many runs of a model, whose scores may come from elsewhere."""
    scores, known = {"accuracy": 0.5, model: -0.5}, {"task_hash": "a" * 64}
    reports = [
        write_report(folder / f"{number}.json", model, f"{model} task", scores, metadata=known)
        for number in range(count)
    ]
    main("report", *reports, "--out", folder / f"page.{suffix}", code=0)
    return (folder / f"page.{suffix}").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_the_terminal_shows_names_as_text(
    name: str, tmp_path: Path, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    # A sentence, and a table whose cell is a name.
    done = main("run", "--task", "yier", "--questions", f"{name}.json", code=2)
    assert not acts(done.err)
    endpoints = tmp_path / "endpoints.toml"
    address = f"http://127.0.0.1:1/{name}"
    endpoints.write_text(f"[[endpoint]]\nbase_url = {json.dumps(address)}\n")
    done = main("models", "--endpoints", endpoints)
    assert not acts(done.out + done.err)
    # An address loses its line ends.
    shown = "".join(ascii(one)[1:-1] if acts(one) else one for one in name)
    assert shown.replace("\\r", "") in done.out + done.err


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("suffix", ["html", "md"])
@pytest.mark.parametrize("count", [1, 2], ids=["report", "leaderboard"])
def test_pages_show_names_as_text(
    name: str, suffix: str, count: int, tmp_path: Path, main: Main
) -> None:
    page = written(main, tmp_path, NAMES[name], count, suffix)
    assert not acts(page)
    assert "<img" not in page.replace("\\<img", "")
    if name == "escape codes":
        assert "x1b[2J" in page.replace("\\", "")
    if name == "html":
        assert "&amp;lt;b" in page or "\\&lt;b" in page


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("count", [1, 2], ids=["report", "leaderboard"])
def test_spreadsheets_get_names_as_text(name: str, count: int, tmp_path: Path, main: Main) -> None:
    text = written(main, tmp_path, name, count, "csv")
    header, *rows = csv.reader(StringIO(text, newline=""))
    for row in rows:
        assert float(dict(zip(header, row, strict=True))["value"]) in (0.5, -0.5)
        for cell in row:
            assert not cell.lstrip().startswith(("=", "+", "@", "\uff1d"))
            assert not cell.startswith(("\t", "\r"))
            assert not cell.startswith("-") or float(cell)
    assert any("'" in row[0] + row[1] for row in rows)


def test_what_programs_read_is_written_as_it_is() -> None:
    made = EvaluationResult(model_id="m", task_id="t", inputs=[{"answer": "=1+1", "-x": "@a"}])
    assert made.inputs_to_csv().splitlines() == ["answer,-x", "=1+1,@a"]
