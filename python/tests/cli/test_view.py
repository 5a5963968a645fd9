"""`view` in a process of its own: pages of the runs of a folder, for this machine alone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from commands import PROJECT_ROOT
from reports import write_report
from tables import table

GIVEN = table("view")
NOTE = "chest pain <b>since</b> Monday"


def write_run(folder: Path, name: str, task: str, model: str, scores: dict[str, float]) -> None:
    data_class = "open" if task == "quiz" else "credentialed"
    write_report(
        folder / name / "scores.json",
        model,
        task,
        {"accuracy": sum(scores.values()) / len(scores)},
        inputs=[{"id": item, "question": NOTE} for item in scores],
        model_outputs=[{"answer": f"{model} says {item}"} for item in scores],
        item_scores={"accuracy": list(scores.values())},
        metadata={"headline": "accuracy", "data_class": data_class, "metrics": {}},
    )
    told = json.dumps({"task": task, "model": model})
    (folder / name / "run.json").write_text(told, encoding="utf-8")


class Served:
    """A `view` that runs, and what it answers."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "medeval", "view", str(folder), *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=PROJECT_ROOT,
        )
        assert self.process.stdout is not None
        self.address = urlsplit(self.process.stdout.readline().strip())

    def get(self, place: str, *, path: str | None = None, host: str = "") -> tuple[int, str]:
        connection = HTTPConnection(str(self.address.hostname), self.address.port, timeout=10)
        headers = {"Host": host} if host else {}
        connection.request("GET", path or self.address.path + place, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8")

    def close(self) -> tuple[int, str]:
        self.process.terminate()
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("view") / "runs"
    for row in GIVEN["runs"]:
        write_run(runs, *row)
    (runs / "5-begun").mkdir()
    (runs / "5-begun" / "run.json").write_text('{"task": "quiz", "model": "C"}', encoding="utf-8")
    return runs


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    one = Served(folder)
    yield one
    one.close()


@pytest.mark.parametrize("row", GIVEN["pages"], ids=lambda row: row["get"] or "list")
def test_a_page_has_what_its_row_says(served: Served, row: dict[str, Any]) -> None:
    status, page = served.get(row["get"])
    assert status == row["status"]
    assert [text for text in row["has"] if text not in page] == []
    assert [text for text in row.get("lacks", ()) if text in page] == []


def test_two_runs_are_shown_item_by_item(served: Served) -> None:
    cells = re.findall(r"<t[hd]\b[^>]*>([^<]*)", served.get("compare?a=1-quiz-A&b=2-quiz-B")[1])
    found = dict(zip(cells[:4], map(int, cells[4:8]), strict=True))
    assert found == {"only A": 2, "only B": 1, "neither": 1, "both right": 1}


def test_only_the_printed_link_answers_and_only_with_runs(served: Served, folder: Path) -> None:
    assert served.address.hostname == "127.0.0.1"
    assert served.get("", path="/")[0] == 404
    assert served.get("", path="/guess/")[0] == 404
    assert served.get("", host="evil.example")[0] == 404
    secret = folder.parent / "elsewhere"
    write_run(folder.parent, "elsewhere", "quiz", "A", {"a": 1.0})
    for name in ("../elsewhere", "%2e%2e/elsewhere", quote(str(secret), safe=""), "9-none"):
        assert served.get(f"run/{name}")[0] == 404


@pytest.mark.parametrize(("content", "told"), GIVEN["damaged"])
def test_a_run_whose_scores_cannot_be_read_is_a_row_that_says_so(
    served: Served, folder: Path, content: str, told: str
) -> None:
    damaged = folder / "0-damaged"
    damaged.mkdir()
    try:
        (damaged / "run.json").write_text('{"task": "quiz", "model": "E"}', encoding="utf-8")
        (damaged / "scores.json").write_bytes(content.encode("latin-1"))
        page = served.get("")[1]
        (row,) = (one for one in page.split("<tr>") if ">0-damaged<" in one)
        assert f"{damaged / 'scores.json'} is no report of a benchmark: " in row
        assert told in row
        assert [tag for tag in ("<input", "<a") if tag in row] == []
        assert 'href="run/1-quiz-A"' in page
        status, page = served.get("run/0-damaged")
        assert (status, told in page) == (400, True)
    finally:
        shutil.rmtree(damaged)


def test_a_new_run_changes_the_state(served: Served, folder: Path) -> None:
    before = served.get("state")
    assert before == served.get("state")
    write_run(folder, "6-quiz-D", "quiz", "D", {"a": 1.0})
    assert served.get("state") != before
    assert "6-quiz-D" in served.get("")[1]


def test_text_is_shown_if_asked_and_a_request_to_end_ends_it(folder: Path) -> None:
    one = Served(folder, "--show-text")
    assert "chest pain" in one.get("compare?a=3-notes-A&b=4-notes-B")[1]
    code, errors = one.close()
    assert code == 143
    assert "Traceback" not in errors
