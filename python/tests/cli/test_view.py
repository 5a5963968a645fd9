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
from urllib.parse import quote, urlsplit

import pytest
from commands import PROJECT_ROOT
from reports import write_report

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
    write_run(runs, "1-quiz-A", "quiz", "A", {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0, "e": 1.0})
    write_run(runs, "2-quiz-B", "quiz", "B", {"e": 1.0, "d": 1.0, "c": 0.0, "b": 0.0, "a": 0.0})
    write_run(runs, "3-notes-A", "notes", "A", {"a": 1.0, "b": 0.25})
    write_run(runs, "4-notes-B", "notes", "B", {"a": 0.5, "b": 0.25})
    (runs / "5-begun").mkdir()
    (runs / "5-begun" / "run.json").write_text('{"task": "quiz", "model": "C"}', encoding="utf-8")
    return runs


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    one = Served(folder)
    yield one
    one.close()


def test_the_list_has_all_runs_and_leads_to_reports(served: Served) -> None:
    status, page = served.get("")
    assert status == 200
    assert all(name in page for name in ("1-quiz-A", "4-notes-B", "5-begun", "not scored"))
    status, report = served.get("run/1-quiz-A")
    assert status == 200
    assert "0.600" in report
    assert "chest pain &lt;b&gt;since&lt;/b&gt; Monday" in report


def test_two_runs_are_shown_item_by_item(served: Served) -> None:
    status, page = served.get("compare?a=1-quiz-A&b=2-quiz-B")
    assert status == 200
    table = re.findall(r"<t[hd]\b[^>]*>([^<]*)", page)
    names, counts = table[:4], list(map(int, table[4:8]))
    found = dict(zip(names, counts, strict=True))
    assert found == {"only A": 2, "only B": 1, "neither": 1, "both right": 1}
    assert "A says a" in page
    assert "B says a" in page
    # Scores between 0 and 1 are neither right nor wrong, and closed text stays closed.
    status, page = served.get("compare?a=3-notes-A&b=4-notes-B")
    assert status == 200
    assert "A higher" in page
    assert "both right" not in page
    assert "chest pain" not in page
    assert "--show-text" in page


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("compare?a=1-quiz-A&b=3-notes-A", "quiz"),
        ("compare?a=1-quiz-A&b=nothing", "nothing"),
        ("compare?a=1-quiz-A&b=5-begun", "Score the run first"),
        ("compare?a=1-quiz-A&b=2-quiz-B&metric=recall", "recall"),
        ("compare", "Choose A and B"),
    ],
)
def test_what_cannot_be_compared_is_said(served: Served, asked: str, told: str) -> None:
    status, page = served.get(asked)
    assert status == 400
    assert told in page


def test_only_the_printed_link_answers_and_only_with_runs(served: Served, folder: Path) -> None:
    assert served.address.hostname == "127.0.0.1"
    assert served.get("", path="/")[0] == 404
    assert served.get("", path="/guess/")[0] == 404
    assert served.get("", host="evil.example")[0] == 404
    secret = folder.parent / "elsewhere"
    write_run(folder.parent, "elsewhere", "quiz", "A", {"a": 1.0})
    for name in ("../elsewhere", "%2e%2e/elsewhere", quote(str(secret), safe=""), "9-none"):
        assert served.get(f"run/{name}")[0] == 404


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"accuracy": 0.9}', "model_id: Field required"),
        ('{"model_id": "E", "detailed_res', "Invalid JSON"),
        ('{"model_id": "E", "detailed_results": [{"model_id": "E"}]}', "task_id"),
        (b"\xff\xfe", "is not UTF-8"),
    ],
)
def test_a_run_whose_scores_cannot_be_read_is_a_row_that_says_so(
    served: Served, folder: Path, content: str | bytes, told: str
) -> None:
    damaged = folder / "0-damaged"
    damaged.mkdir()
    try:
        (damaged / "run.json").write_text('{"task": "quiz", "model": "E"}', encoding="utf-8")
        text = content if isinstance(content, bytes) else content.encode()
        (damaged / "scores.json").write_bytes(text)
        status, page = served.get("")
        assert status == 200
        (row,) = (one for one in page.split("<tr>") if ">0-damaged<" in one)
        assert f"{damaged / 'scores.json'} is no report of a benchmark: " in row
        assert told in row
        assert "<input" not in row
        assert "<a" not in row
        assert 'href="run/1-quiz-A"' in page
        status, page = served.get("run/0-damaged")
        assert status == 400
        assert told in page
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
