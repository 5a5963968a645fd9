"""Task files: found by id, path and URL, completed, checked, and read again when they change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from medeval.evaluation.fetching import FetchRules, fetch
from medeval.evaluation.task_loader import TaskFileWarning, TaskLoader, bundled_tasks_dir
from medeval.evaluation.validators import validate_task_dataset
from medeval.models import MedicalTask, TaskType
from medeval.models.task_types import (
    TASK_CLASSES,
    ClinicalSummarizationTask,
    DiagnosticReasoningTask,
    MedicalQATask,
)
from medeval.models.yaml_text import write_yaml

QUESTION = {"question": "What does BP stand for?"}
ANSWER = {"answer": "blood pressure"}
ROW = {"input": QUESTION, "output": ANSWER}
QA: dict[str, Any] = {"task_type": "qa", "dataset": [ROW]}
CUSTOM = """\
schema_version: 1
task_id: qa-custom
task_type: qa
description: A question of one's own.
inputs:
  - question: What is hypertension?
expected_outputs:
  - answer: high blood pressure
metrics: [accuracy]
input_schema:
  required: [question]
output_schema:
  required: [answer]
dataset:
  - input: {question: What is tachycardia}
    output: {answer: a fast heart rate}
"""
ON_LOOPBACK = FetchRules(allow_http=True, allow_private_hosts=True, timeout=10)


def written(folder: Path, file: str = "task.yaml", **fields: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file
    text = json.dumps(fields) if file.endswith("json") else write_yaml(fields)
    path.write_text(text, encoding="utf-8")
    return path


def loaded(folder: Path, **fields: Any) -> MedicalTask:
    return TaskLoader(folder).load_task(written(folder, **fields))


def refusal(folder: Path, **fields: Any) -> str:
    with pytest.raises(ValueError, match=r"task\.yaml: ") as caught:
        loaded(folder, **fields)
    return str(caught.value)


@pytest.mark.parametrize("name", ["t.yaml", "t.yml", "t.json"])
def test_a_task_is_found_by_id_and_by_path(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, **QA)
    loader = TaskLoader(tmp_path)
    task = loader.load_task("t")
    assert isinstance(task, MedicalQATask)
    assert (task.task_id, task.inputs, task.expected_outputs) == ("t", [QUESTION], [ANSWER])
    assert loader.load_task(path) is loader.load_task(str(path)) is task
    assert loader.discover_tasks() == {"t": path}
    # A byte order mark is no part of the text, and of files with one stem YAML comes first.
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert loader.load_task("t") == task
    written(tmp_path, "t.json", **QA)
    first = written(tmp_path, "t.yaml", **QA)
    assert TaskLoader(tmp_path).discover_tasks() == {"t": first}


def test_the_files_own_id_wins_and_is_an_id_to_load_by(tmp_path: Path) -> None:
    written(tmp_path, "file.yaml", **QA, task_id="own")
    written(tmp_path, "broken.yaml", task_type="none")
    loader = TaskLoader(tmp_path)
    assert loader.load_task("file").task_id == "own"
    assert loader.load_task("own") is loader.load_task("file")
    written(tmp_path, "second.yaml", **QA, task_id="own")
    with pytest.raises(ValueError, match=r"file\.yaml, second\.yaml"):
        TaskLoader(tmp_path).load_task("own")


def test_an_id_does_not_climb_out_of_the_folder(tmp_path: Path) -> None:
    written(tmp_path, "outside.yaml", **QA)
    loader = TaskLoader(tmp_path / "tasks")
    for ref in ("../outside", "sub/../../outside"):
        with pytest.raises(FileNotFoundError):
            loader.load_task(ref)
    assert loader.load_task(tmp_path / "outside.yaml").task_id == "outside"


def test_an_own_task_by_file_and_by_loader(tmp_path: Path) -> None:
    path = tmp_path / "custom.yaml"
    path.write_text(CUSTOM, encoding="utf-8")
    plain = MedicalTask.from_file(path)
    validate_task_dataset(plain)
    assert plain.task_id == "qa-custom"
    assert plain.inputs == [{"question": "What is hypertension?"}]
    task = TaskLoader().load_task(path)
    assert task.task_id == "qa-custom"
    assert task.inputs == [{"question": "What is tachycardia"}]
    assert task.expected_outputs == [{"answer": "a fast heart rate"}]


def test_rows_win_over_blank_inputs(tmp_path: Path) -> None:
    document = {"document": "Patient with HTN."}
    task = loaded(
        tmp_path,
        task_type="summarization",
        inputs=[{"document": ""}],
        expected_outputs=[{"summary": ""}],
        dataset=[{"input": document, "output": {"summary": "HTN."}}],
    )
    assert isinstance(task, ClinicalSummarizationTask)
    assert (task.inputs, task.expected_outputs) == ([document], [{"summary": "HTN."}])


@pytest.mark.parametrize("inputs", [{}, {"inputs": []}, {"inputs": None}])
def test_a_row_without_output_has_an_empty_one(tmp_path: Path, inputs: dict[str, Any]) -> None:
    task = loaded(tmp_path, task_type="qa", dataset=[ROW, {"input": QUESTION}], **inputs)
    assert (task.inputs, task.expected_outputs) == ([QUESTION] * 2, [ANSWER, {}])


def test_defaults_fill_empty_schemas_and_explicit_ones_win(tmp_path: Path) -> None:
    task = loaded(tmp_path, **QA)
    assert task.input_schema == {"required": ["question"]}
    assert task.output_schema == {"required": ["answer"]}
    own = {"required": ["stem"]}
    task = loaded(tmp_path, task_type="qa", input_schema=own, dataset=[{"input": {"stem": "q"}}])
    assert (task.input_schema, task.output_schema) == (own, {"required": ["answer"]})
    task = loaded(tmp_path, task_type="qa", inputs=[QUESTION], metrics=[])
    assert (task.input_schema, task.metrics) == ({"required": ["question"]}, [])


@pytest.mark.parametrize(
    ("row", "key"), [({"symptoms": ["fever", "cough"]}, "symptoms"), ({"case": "60M"}, "case")]
)
def test_a_diagnostic_task_without_a_schema_may_have_either_input(
    tmp_path: Path, row: dict[str, Any], key: str
) -> None:
    rows = [{"input": row, "output": {"diagnosis": "ACS"}}]
    task = loaded(tmp_path, task_type="diagnostic_reasoning", dataset=rows)
    assert isinstance(task, DiagnosticReasoningTask)
    assert (task.input_schema, task.inputs) == ({"required": [key]}, [row])
    assert task.evaluate([{"diagnosis": "acs"}])["diagnostic_accuracy"] == 1.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"dataset": [{"input": {"q": 1}}]},
            "dataset.input[0] missing required keys: ['question']",
        ),
        ({"dataset": [{"q": 1}]}, "dataset[0] missing required keys: ['question']"),
        ({"dataset": [{"output": ANSWER}]}, "dataset.input[0] is not a mapping"),
        ({"dataset": ["q"]}, "dataset.0: "),
        ({"dataset": []}, "inputs: "),
        ({"dataset": 1}, "dataset: "),
        ({"dataset": [ROW], "input_schema": {"required": 5}}, "input_schema: "),
        ({"dataset": [ROW], "expected_outputs": None}, "expected_outputs: "),
        ({"dataset": [ROW], "metrics": [{"weight": 1}]}, "lacks a `name`"),
        ({"dataset": [ROW], "task_type": "triage"}, "task_type: "),
        ({"dataset": [ROW], "task_type": None}, "task_type: "),
        ({"dataset": [ROW], "schema_version": 2}, "schema_version: "),
        ({"dataset": [ROW], "task_id": " "}, "task_id: "),
    ],
)
def test_what_is_no_task_is_refused_naming_the_file_and_the_field(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    assert message in refusal(tmp_path, **{"task_type": "qa", **fields})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.yaml", "", "empty"),
        ("t.yaml", "- a\n", "a list"),
        ("t.yaml", "a: [\n", "not valid YAML: line"),
        ("t.json", "{", "not valid JSON: "),
        ("t.json", '"text"', "a str"),
        ("t.json", "[" * 100_000, "nested too deeply"),
        ("t.txt", "a: b", "unsupported format"),
    ],
)
def test_a_file_that_holds_no_mapping_is_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        TaskLoader().load_task(tmp_path / name)
    assert name in str(caught.value)


def test_without_a_type_a_task_is_a_question_task_with_a_warning(tmp_path: Path) -> None:
    path = written(tmp_path, dataset=[ROW])
    with pytest.warns(TaskFileWarning, match=r"task\.yaml: no task_type, read as qa"):
        assert TaskLoader().load_task(path).task_type == "qa"


def test_a_changed_file_is_read_again_and_only_then(tmp_path: Path) -> None:
    path = written(tmp_path, **QA, description="a")
    loader = TaskLoader(tmp_path)
    first = loader.load_task("task")
    assert loader.load_task("task") is first
    written(tmp_path, **QA, description="longer")
    second = loader.load_task("task")
    assert second.description == "longer"
    state = path.stat()
    written(tmp_path, **QA, description="equals")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert loader.load_task("task") is second
    assert loader.load_task("task", reload=True).description == "equals"
    path.unlink()
    with pytest.raises(FileNotFoundError):
        loader.load_task("task")


def test_several_tasks_of_a_type(tmp_path: Path) -> None:
    written(tmp_path, "a.yaml", **QA)
    written(tmp_path, "b.json", **QA)
    loader = TaskLoader(tmp_path)
    tasks = loader.load_tasks(["b", "a"], task_type=TaskType.QA)
    assert {ref: task.task_id for ref, task in tasks.items()} == {"b": "b", "a": "a"}
    with pytest.raises(ValueError, match="a: a task of type qa, not summarization"):
        loader.load_tasks(["a"], "summarization")
    assert loader.load_tasks([]) == {}


def test_the_list_leaves_broken_files_out_with_a_warning(tmp_path: Path) -> None:
    path = written(tmp_path, "a.yaml", **QA, name="A", metrics=["accuracy"], difficulty="easy")
    written(tmp_path, "tasks.json", nothing=1)
    written(tmp_path / "deeper", "c.yaml", **QA)
    loader = TaskLoader(tmp_path)
    (entry,) = loader.list_available_tasks()
    assert entry == {
        "task_id": "a",
        "name": "A",
        "description": "",
        "metrics": ["accuracy"],
        "num_examples": 1,
        "file": str(path),
        "difficulty": "easy",
    }
    (tmp_path / "b.yaml").write_text("a: [", encoding="utf-8")
    with pytest.warns(TaskFileWarning, match=r"left out: .*b\.yaml"):
        assert [each["task_id"] for each in loader.list_available_tasks()] == ["a"]


def test_the_bundled_tasks_are_open_and_two_of_each_type() -> None:
    loader = TaskLoader(bundled_tasks_dir())
    tasks = loader.load_tasks(loader.discover_tasks())
    for task_type, task_class in TASK_CLASSES.items():
        assert sum(type(task) is task_class for task in tasks.values()) >= 2, task_type
    for name, task in tasks.items():
        assert (task.task_id, task.data_class) == (name, "open")
        task.validate()
        assert task.name != task.task_id
    assert "clinical_summarization_basic" in tasks


Page = tuple[int, dict[str, str], bytes]


class Site:
    """Pages on a server of its own, and what was asked of it."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []
        self.url = ""

    def add(self, path: str, content: Any = QA, kind: str = "application/json") -> str:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.pages[path] = (200, {"Content-Type": kind}, body)
        return self.url + path

    def add_redirect(self, path: str, target: str) -> str:
        self.pages[path] = (302, {"Location": target}, b"")
        return self.url + path


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            status, headers, body = site.pages.get(self.path, (404, {}, b"nothing here"))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Keep the test's output to itself."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        site.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/t.json", "text/html"),
        ("/t.json?version=2", "text/plain"),
        ("/t", "application/json; charset=utf-8"),
        ("/t", "application/vnd.task+json"),
        ("/t", "text/json"),
        ("/t.yaml", "text/plain"),
        ("/deep/t.YML", "text/plain"),
        ("/t.txt", "application/x-yaml"),
        ("/t", "text/yaml"),
    ],
)
def test_a_task_from_the_web(site: Site, path: str, kind: str) -> None:
    loader = TaskLoader(rules=ON_LOOPBACK)
    url = site.add(path, QA, kind)
    task = loader.load_task(url)
    assert isinstance(task, MedicalQATask)
    assert (task.task_id, task.inputs) == ("t", [QUESTION])
    assert loader.load_task(url) is task
    assert len(site.asked) == 1
    assert loader.load_task(url, reload=True) is not task
    assert len(site.asked) == 2


@pytest.mark.parametrize("kind", ["text/plain", "text/html", ""])
def test_a_type_that_is_neither_json_nor_yaml_is_refused(site: Site, kind: str) -> None:
    for path in ("/t", "/t.html", "/t?file=t.json"):
        with pytest.raises(ValueError, match="neither its suffix nor its content type"):
            TaskLoader(rules=ON_LOOPBACK).load_task(site.add(path, QA, kind))


@pytest.mark.parametrize(
    ("status", "content", "message"),
    [
        (200, b"{", "not valid JSON"),
        (200, b"\xff{}", "not UTF-8"),
        (200, b"[]", "a list"),
        (200, b'{"task_type": "qa", "dataset": 1}', "dataset: "),
        (404, b"", "HTTP status 404"),
        (500, b"", "HTTP status 500"),
        (204, b"", "HTTP status 204"),
    ],
)
def test_what_is_no_task_on_the_web_is_refused_naming_the_address(
    site: Site, tmp_path: Path, status: int, content: bytes, message: str
) -> None:
    site.pages["/t.json"] = (status, {}, content)
    with pytest.raises(ValueError, match=message) as caught:
        TaskLoader(rules=ON_LOOPBACK, cache_dir=tmp_path).load_task(site.url + "/t.json")
    assert f"{site.url}/t.json: " in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_redirects_are_followed_and_the_first_address_names_the_format(site: Site) -> None:
    site.add("/moved/file", QA, "text/plain")
    url = site.add_redirect("/t.json", "moved/file")
    assert TaskLoader(rules=ON_LOOPBACK).load_task(url).task_id == "t"
    site.add("/moved/file.json", QA, "text/plain")
    with pytest.raises(ValueError, match="neither its suffix"):
        TaskLoader(rules=ON_LOOPBACK).load_task(site.add_redirect("/t", "/moved/file.json"))


def test_at_most_five_redirects(site: Site) -> None:
    site.add("/5.json")
    for number in range(5):
        site.add_redirect(f"/{number}.json", f"/{number + 1}.json")
    loader = TaskLoader(rules=ON_LOOPBACK)
    assert loader.load_task(site.url + "/0.json").task_id == "0"
    with pytest.raises(ValueError, match="more than 5 redirects"):
        loader.load_task(site.add_redirect("/more.json", "/0.json"))


@pytest.mark.parametrize(
    "target",
    ["file:///etc/hostname", "ftp://127.0.0.1/t.json", "http://user:secret@127.0.0.1/t.json"],
)
def test_a_redirect_leads_only_where_a_url_may(site: Site, target: str) -> None:
    url = site.add_redirect("/t.json", target)
    with pytest.raises(ValueError, match=r"not a web address|not allowed") as caught:
        TaskLoader(rules=ON_LOOPBACK).load_task(url)
    assert "secret" not in str(caught.value)


def test_plain_http_and_private_hosts_must_be_allowed(site: Site) -> None:
    with pytest.raises(ValueError, match="only https is allowed"):
        fetch(site.add("/t.json"), FetchRules(allow_private_hosts=True))
    with pytest.raises(ValueError, match=r"has the address 127\.0\.0\.1, which is not public"):
        fetch(site.url + "/t.json", FetchRules(allow_http=True))
    assert site.asked == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://example.org/t.json", "only https is allowed"),
        ("https:///t.json", "not a web address"),
        ("https://example.org:port/t.json", "not a web address"),
        ("https://example.org/a b.json", "percent-encoded"),
        ("https://example.org/é.json", "percent-encoded"),
        ("https://example.org/a\r\nHost: b", "percent-encoded"),
    ],
)
def test_addresses_that_are_refused_before_anything_is_sent(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TaskLoader().load_task(url)


def test_a_file_that_is_too_large_is_refused(site: Site) -> None:
    url = site.add("/t.json", b" " * 1001)
    rules = FetchRules(allow_http=True, allow_private_hosts=True, max_bytes=1000)
    with pytest.raises(ValueError, match="larger than 1000 bytes"):
        fetch(url, rules)
    assert len(fetch(site.add("/s.json", b" " * 1000), rules).content) == 1000
    assert FetchRules().max_bytes == 5 * 1024 * 1024


def test_a_file_that_ends_early_is_refused(site: Site) -> None:
    site.pages["/t.json"] = (200, {"Content-Length": "100"}, b"{}")
    with pytest.raises(ValueError, match="cannot be fetched: IncompleteRead"):
        fetch(site.url + "/t.json", FetchRules(True, True, timeout=2))


def test_a_server_that_cannot_be_reached_or_speaks_no_tls_is_an_error(site: Site) -> None:
    rules = FetchRules(allow_private_hosts=True, timeout=5)
    with pytest.raises(ValueError, match="cannot be fetched"):
        fetch(site.url.replace("http:", "https:") + "/t.json", rules)
    with serving() as gone:
        url = gone.url
    with pytest.raises(ValueError, match="cannot be fetched"):
        fetch(url + "/t.json", ON_LOOPBACK)


def test_tasks_from_the_web_are_kept_on_disk_by_content(site: Site, tmp_path: Path) -> None:
    url = site.add("/t", QA)

    def load(**options: Any) -> MedicalTask:
        loader = TaskLoader(rules=ON_LOOPBACK, cache_dir=tmp_path / "cache")
        return loader.load_task(url, **options)

    assert load() == load()
    assert len(site.asked) == 1
    (kept,) = (tmp_path / "cache").glob("content-*")
    assert json.loads(kept.read_bytes()) == QA
    site.add("/t", {**QA, "description": "new"})
    assert load().description == ""
    assert load(reload=True).description == "new"
    assert load().description == "new"
    assert len(site.asked) == 2
    for content in (tmp_path / "cache").glob("content-*"):
        content.write_bytes(b"spoilt")
    assert load().description == "new"
    assert len(site.asked) == 3
