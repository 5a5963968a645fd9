"""The class of a text is decided by its content: what is not known to be open reaches nobody."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from unittest import mock

import duckdb
import pytest
from commands import PROJECT_ROOT
from dbt_worker import Worked, Worker
from model_server import ModelServer, model_server

from medeval.cli import main

SECRET = "Mr. Quillfeather has rebound tenderness"
QUESTIONS = PROJECT_ROOT / "demo" / "yier" / "questions.json"
SAYS_SO = {"data_class": "open"}
MODELS = ("build", "--select", "mtsamples", "--resource-type", "seed", "--resource-type", "model")
# Options of `run` beside those of the endpoint, and variables of the environment.
Asked = tuple[list[str | Path], dict[str, str]]


def question(number: int = 1, **more: object) -> dict[str, object]:
    return {
        "sample_id": f"own-{number}",
        "context": SECRET,
        "question": "Which one?",
        "selection": ["yes", "no"],
        "answer_choices": ["yes"],
        "source": "",
        **more,
    }


def questions(folder: Path, *records: dict[str, object], name: str = "own.json") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(records), encoding="utf-8")
    return folder / name


def with_manifest(file: Path, data_class: str = "open", content: bytes | None = None) -> Path:
    """Write the manifest of an export beside a file: of these bytes, or of others."""
    digest = hashlib.sha256(file.read_bytes() if content is None else content).hexdigest()
    listed = {"data_class": data_class, "files": [{"path": file.name, "sha256": digest}]}
    (file.parent / "manifest.json").write_text(json.dumps(listed), encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def own_notes(worker: Worker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of notes of one's own, one of which does not say that it is open."""
    folder = tmp_path_factory.mktemp("own-notes")
    said = {"filename": "a.txt", "text": f"{SECRET}\nPLAN: rest", **SAYS_SO}
    unsaid = {"filename": "b.txt", "text": f"{SECRET}\nPLAN: walk"}
    notes = folder / "notes.jsonl"
    notes.write_text(json.dumps(said) + "\n" + json.dumps(unsaid) + "\n", encoding="utf-8")
    warehouse = Worked(worker, folder)
    warehouse.builds(*MODELS, MTSAMPLES=notes)
    return warehouse.path


@pytest.fixture(scope="session")
def said_notes(own_notes: Path, worker: Worker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, when each of them says so."""
    folder = tmp_path_factory.mktemp("said-notes")
    text = (own_notes.parent / "notes.jsonl").read_text(encoding="utf-8")
    lines = [json.dumps({**json.loads(line), **SAYS_SO}) + "\n" for line in text.splitlines()]
    (folder / "notes.jsonl").write_text("".join(lines), encoding="utf-8")
    warehouse = Worked(worker, folder)
    warehouse.builds(*MODELS, MTSAMPLES=folder / "notes.jsonl")
    return warehouse.path


@pytest.fixture
def ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Asked, ModelServer], tuple[int, str]]:
    """Return `run` with a model at a server that nobody declared: its exit code and its words."""

    def run(asked: Asked, server: ModelServer) -> tuple[int, str]:
        options, environment = asked
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        words = ["run", *options, "--model", "m", "--base-url", server.url, "--limit", "1"]
        words += ["--out", tmp_path / "runs", "--endpoints", tmp_path / "endpoints.toml"]
        return medeval(*words), capsys.readouterr().err

    return run


def medeval(*words: str | Path) -> int:
    """Run the command line in this process and return its exit code."""
    argv = mock.patch.object(sys, "argv", ["medeval", *map(str, words)])
    with argv, pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.fixture
def cases(asked_export: Path, tmp_path: Path) -> Path:
    """A copy of the demo's export of cases, which may be changed."""
    return shutil.copytree(asked_export, tmp_path / "cases")


def yier(*options: str | Path) -> list[str | Path]:
    return ["--task", "yier", *options]


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def task_file(folder: Path, *lines: str) -> Path:
    rows = f"dataset: [{{input: {{question: '{SECRET}?'}}, output: {{answer: 'yes'}}}}]"
    head = ["task_type: qa", "metrics: [accuracy]", *lines, rows]
    (folder / "own.yaml").write_text("\n".join(head) + "\n", encoding="utf-8")
    return folder / "own.yaml"


def edited_demo(folder: Path) -> Path:
    """The demo's questions with one of one's own in the place of another."""
    records = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    return questions(folder, *records[:-1], question())


UNKNOWN = {
    "yier": lambda t: (yier("--questions", questions(t, question())), {}),
    "yier-by-its-variable": lambda t: (
        yier(),
        {"MEDEVAL_YIER": str(questions(t, question()))},
    ),
    "yier-one-record-of-two-says-so": lambda t: (
        yier("--questions", questions(t, question(1, **SAYS_SO), question(2))),
        {},
    ),
    "yier-in-other-words": lambda t: (
        yier("--questions", questions(t, question(data_class="Open"))),
        {},
    ),
    "yier-the-demo-changed": lambda t: (yier("--questions", edited_demo(t)), {}),
    "yier-examples": lambda t: (
        yier("--questions", QUESTIONS, "--examples", questions(t, question()), "--shots", "1"),
        {},
    ),
    "yier-an-export-that-was-changed": lambda t: (
        yier("--questions", with_manifest(questions(t / "e", question()), content=b"[]")),
        {},
    ),
    "yier-a-credentialed-export": lambda t: (
        yier("--questions", with_manifest(questions(t / "e", question()), "credentialed")),
        {},
    ),
    "task-file": lambda t: (["--task", task_file(t)], {}),
    "task-file-that-says-so": lambda t: (
        ["--task", task_file(t, "data_class: credentialed")],
        {},
    ),
}
OPEN = {
    "yier-the-demo": lambda t: (yier(), {}),
    "yier-a-copy-of-the-demo": lambda t: (
        yier("--questions", shutil.copy(QUESTIONS, t / "copy.json")),
        {},
    ),
    "yier-each-record-says-so": lambda t: (
        yier("--questions", questions(t, question(1, **SAYS_SO), question(2, **SAYS_SO))),
        {},
    ),
    "yier-an-open-export": lambda t: (
        yier("--questions", with_manifest(questions(t / "e", question()))),
        {},
    ),
    "task-file-that-says-so": lambda t: (["--task", task_file(t, "data_class: open")], {}),
}


def refused(asked: Asked, ask: Callable[[Asked, ModelServer], tuple[int, str]]) -> None:
    with model_server() as server:
        code, said = ask(asked, server)
        assert (server.seen.connections, server.seen.bytes) == (0, 0)
    assert code == 2
    assert "Nothing was sent" in said
    assert SECRET not in said


def let_through(asked: Asked, ask: Callable[[Asked, ModelServer], tuple[int, str]]) -> None:
    with model_server() as server:
        code, said = ask(asked, server)
        assert server.seen.requests > 0, said
    assert code == 0, said


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_undeclared_endpoint_is_sent_no_unknown_text(
    tmp_path: Path, ask: Callable[[Asked, ModelServer], tuple[int, str]], name: str
) -> None:
    refused(UNKNOWN[name](tmp_path), ask)


@pytest.mark.parametrize("name", OPEN)
def test_an_undeclared_endpoint_is_sent_open_text(
    tmp_path: Path, ask: Callable[[Asked, ModelServer], tuple[int, str]], name: str
) -> None:
    let_through(OPEN[name](tmp_path), ask)


NOTES: list[str | Path] = ["--task", "mtsamples", "--no-judge", "--as-built"]


def test_notes_of_ones_own_are_sent_to_no_undeclared_endpoint(
    own_notes: Path, tmp_path: Path, ask: Callable[[Asked, ModelServer], tuple[int, str]]
) -> None:
    warehouse = {"MEDEVAL_DUCKDB": str(own_notes)}
    refused((NOTES, warehouse), ask)
    assert medeval("export", "--task", "mtsamples", "--out", tmp_path, "--as-built") == 0
    manifest = json.loads((tmp_path / "mtsamples" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["data_class"] == "credentialed"
    assert (tmp_path / "mtsamples").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_notes_that_say_so_and_the_demo_are_sent(
    said_notes: Path, asked_duckdb: Path, ask: Callable[[Asked, ModelServer], tuple[int, str]]
) -> None:
    for warehouse in (said_notes, asked_duckdb):
        let_through((NOTES, {"MEDEVAL_DUCKDB": str(warehouse)}), ask)


def test_a_run_that_goes_on_keeps_the_class_of_its_notes(
    own_notes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(own_notes))
    assert medeval("run", *NOTES, "--model", "demo", "--out", tmp_path) == 0
    (folder,) = tmp_path.iterdir()
    with model_server() as server:
        judge = ["--judge-model", "j", "--judge-base-url", server.url]
        judge += ["--judge-key-variable", "none", "--endpoints", str(tmp_path / "none.toml")]
        assert medeval("judge", folder, *judge) == 2
        assert server.seen.connections == 0
    assert "Nothing was sent" in capsys.readouterr().err


def edited_line(cases: Path) -> None:
    edit(cases / "benchmark.jsonl", '"history_of_present_illness": "', f'"history_of_present_illness": "{SECRET} ')  # fmt: skip  # noqa: E501


def side_file(cases: Path) -> None:
    """Cases that are not open, and a file beside them that says they are."""
    edited = (cases / "benchmark.jsonl").read_text(encoding="utf-8")
    edited = edited.replace('"data_class": "open"', '"data_class": "credentialed"')
    (cases / "benchmark.jsonl").write_text(edited, encoding="utf-8")
    ids = [json.loads(line)["hadm_id"] for line in edited.split("\n") if line]
    lines = [json.dumps({"hadm_id": one, "data_class": "open"}) + "\n" for one in ids]
    (cases / "cases_provenance.jsonl").write_text("".join(lines), encoding="utf-8")
    manifest = json.loads((cases / "manifest.json").read_text(encoding="utf-8"))
    names = ("benchmark.jsonl", "cases_provenance.jsonl", "lab_test_mapping.json")
    manifest["files"] = [
        {"path": name, "sha256": hashlib.sha256((cases / name).read_bytes()).hexdigest()}
        for name in names
    ]
    (cases / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def unlisted_side_file(cases: Path) -> None:
    line = (cases / "benchmark.jsonl").read_text(encoding="utf-8").split("\n")[0]
    own = {"hadm_id": json.loads(line)["hadm_id"], "data_class": "open"}
    (cases / "cases_provenance.jsonl").write_text(json.dumps(own) + "\n", encoding="utf-8")


CHANGED_CASES: dict[str, Callable[[Path], object]] = {
    "an-edited-line": edited_line,
    "a-side-file-that-says-otherwise": side_file,
    "a-side-file-that-the-manifest-does-not-list": unlisted_side_file,
    "no-manifest": lambda cases: (cases / "manifest.json").unlink(),
    "a-credentialed-manifest": lambda cases: edit(
        cases / "manifest.json", '"data_class": "open"', '"data_class": "credentialed"'
    ),
    "an-edited-table-of-tests": lambda cases: edit(cases / "lab_test_mapping.json", "[", "[ "),
}


@pytest.mark.parametrize("name", CHANGED_CASES)
def test_cases_are_open_only_by_all_that_speaks_of_them(
    cases: Path, ask: Callable[[Asked, ModelServer], tuple[int, str]], name: str
) -> None:
    CHANGED_CASES[name](cases)
    refused((["--task", "cdm", "--cases", cases], {}), ask)


def test_cases_of_the_demo_are_sent(
    cases: Path, ask: Callable[[Asked, ModelServer], tuple[int, str]]
) -> None:
    let_through((["--task", "cdm", "--mode", "full_information", "--cases", cases], {}), ask)


@pytest.fixture
def function(tmp_path: Path) -> Path:
    """A file with a function that notes that it was called."""
    file = tmp_path / "model.py"
    place = tmp_path / "called"
    file.write_text(
        "from pathlib import Path\n"
        "def answer(messages):\n"
        f"    Path({str(place)!r}).touch()\n"
        '    return \'{"answer": ["A"]}\'\n',
        encoding="utf-8",
    )
    return file


def entry(file: Path, **changes: str) -> str:
    fields = {
        "path": f'"{file.name}"',
        "sha256": f'"{hashlib.sha256(file.read_bytes()).hexdigest()}"',
        "sends_nothing": "true",
        "who": '"the data steward"',
        "date": "2026-01-15",
        **changes,
    }
    return "[[function]]\n" + "".join(f"{name} = {value}\n" for name, value in fields.items() if value)  # fmt: skip  # noqa: E501


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (None, "does not declare it"),
        ({"sha256": f'"{"0" * 64}"'}, "its sha256 is not that of the file"),
        ({"path": '"other.py"'}, "does not declare it"),
        ({"sends_nothing": "false"}, "sends_nothing"),
        ({"who": ""}, "who"),
        ({"date": f"{date.max}"}, "lies ahead"),
        ({}, ""),
    ],
)
def test_a_function_is_declared_by_its_file(
    tmp_path: Path,
    function: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, str] | None,
    said: str,
) -> None:
    endpoints = tmp_path / "endpoints.toml"
    if changes is not None:
        endpoints.write_text(entry(function, **changes), encoding="utf-8")
    own = yier("--questions", questions(tmp_path, question()), "--out", tmp_path / "runs")
    code = medeval("run", *own, "--model", f"{function}:answer", "--endpoints", endpoints)
    printed = " ".join(capsys.readouterr().err.split())
    assert said in printed
    assert SECRET not in printed
    assert (code, (tmp_path / "called").exists()) == ((0, True) if changes == {} else (2, False))


def test_a_function_may_have_open_text_and_built_in_models_all(
    tmp_path: Path, function: Path
) -> None:
    out = ["--out", tmp_path / "runs", "--endpoints", tmp_path / "none.toml"]
    assert medeval("run", *yier(*out), "--limit", "1", "--model", f"{function}:answer") == 0
    assert (tmp_path / "called").exists()
    own = yier("--questions", questions(tmp_path, question()), *out)
    assert medeval("run", *own, "--model", "demo") == 0


def test_declared_functions_are_listed(
    tmp_path: Path, function: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoints = tmp_path / "endpoints.toml"
    endpoints.write_text(entry(function), encoding="utf-8")
    assert medeval("models", "--endpoints", endpoints) == 0
    assert "may go (attested)" in capsys.readouterr().out
    function.unlink()
    assert medeval("models", "--endpoints", endpoints) == 0
    assert "cannot be read" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_the_warehouse_gives_questions_the_same_class(
    asked_duckdb: Path, worker: Worker, tmp_path: Path
) -> None:
    with duckdb.connect(asked_duckdb, read_only=True) as connection:
        assert connection.execute("select edition, data_class from yier.yier_data_class").fetchall() == [("medeval demo", "open")]  # fmt: skip  # noqa: E501
    warehouse = Worked(worker, tmp_path)
    kinds = ("--resource-type", "seed", "--resource-type", "model")
    warehouse.builds("build", "--select", "yier", *kinds, YIER=edited_demo(tmp_path / "own"))
    query = "select edition, data_class from yier.yier_data_class"
    assert warehouse.rows(query) == [(None, "credentialed")]
