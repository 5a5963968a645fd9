"""A run folder that comes from others: what its record decides, what the command must name."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process import Done, Main, main_in
from judging_runs import marker_of, verdict
from model_server import Body, ModelServer, Script, model_server

from medeval.judging.rubric import shipped_rubric

RUBRIC = shipped_rubric("summarization")
SECRET = "secret-of-the-user-0123456789"
VARIABLES = (
    *("OPENAI_API_KEY", "JUDGE_API_KEY", "OPENAI_BASE_URL", "JUDGE_BASE_URL", "OTHERS_SECRET"),
)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Main:
    return main_in(monkeypatch, capsys)


def is_judge(body: Body) -> bool:
    return str(body["model"]).startswith("judge")


def reply(body: Body) -> str:
    if is_judge(body):
        return f"{marker_of(body)}\n{verdict(*[4] * len(RUBRIC.names), rubric=RUBRIC)}"
    return json.dumps({"summary": "fever"})


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(Script(reply=reply)) as running:
        yield running


def begun(folder: Path, main: Main, *more: str | Path, rows: int = 2) -> Path:
    """Begin a run of two items and return its folder."""
    task = folder / "own.yaml"
    items = "".join(
        f"  - {{input: {{document: case {number}.}}, output: {{summary: fever.}}}}\n"
        for number in range(rows)
    )
    task.write_text(
        "task_id: own\ntask_type: summarization\ndata_class: open\njudge: summarization\n"
        f"metrics: [rouge_l]\ndataset:\n{items}",
        encoding="utf-8",
    )
    done = main("run", "--task", task, "--out", folder / "runs", *more)
    assert done.code == 0, done.err
    (made,) = (folder / "runs").iterdir()
    return made


def unasked(folder: Path, main: Main, server: ModelServer, *more: str | Path) -> Path:
    """Begin a run without asking anything."""
    prompts = folder / "prompts.jsonl"
    return begun(
        folder, main, "--model", "m", "--base-url", server.url, "--export-prompts", prompts, *more
    )


def judged(folder: Path, main: Main, server: ModelServer) -> Path:
    return begun(
        folder, main, "--model", "demo", "--judge-model", "judge-a", "--judge-base-url", server.url
    )


def changed(path: Path, **fields: Any) -> None:
    """Change fields of a record; names of nested ones have two underscores between them."""
    record = json.loads(path.read_text(encoding="utf-8"))
    for name, value in fields.items():
        *above, last = name.split("__")
        place = record
        for part in above:
            place = place[int(part) if part.isdigit() else part]
        place[last] = value
    path.write_text(json.dumps(record), encoding="utf-8")


def told(done: Done) -> list[str]:
    """Return the command that a refusal gives."""
    words = shlex.split(done.err.split("`")[1])
    assert words[:3] == ["python", "-m", "medeval"]
    return words[3:]


@pytest.mark.parametrize("variable", ["OTHERS_SECRET", "OPENAI_API_KEY", "PGPASSWORD"])
def test_a_record_alone_has_no_key_sent_to_its_address(
    variable: str,
    tmp_path: Path,
    main: Main,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, SECRET)
    folder = unasked(tmp_path, main, server)
    changed(folder / "run.json", key_variable=variable)
    before = (folder / "run.json").read_bytes()
    done = main("run", "--resume", folder)
    assert (done.code, server.seen.connections) == (2, 0), done.err
    assert f"names {variable}" in done.err
    assert server.url in done.err
    assert (folder / "run.json").read_bytes() == before
    again = told(done)
    assert again == ["run", "--resume", str(folder), "--key-variable", variable]
    named = main(*again)
    assert named.code == 0, named.err
    assert f"medeval: m at {server.url}, key variable: {variable}\n" in named.err
    assert {seen["authorization"] for seen in server.seen.headers} == {f"Bearer {SECRET}"}


def test_the_usual_key_goes_to_the_usual_address_without_being_named(
    tmp_path: Path, main: Main, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    prompts = tmp_path / "prompts.jsonl"
    folder = begun(tmp_path, main, "--model", "m", "--export-prompts", prompts)
    done = main("run", "--resume", folder)
    assert done.code == 0, done.err
    assert server.seen.requests == 2
    # Elsewhere tomorrow, it is no longer the usual one.
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert main("run", "--resume", folder).code == 2


def test_a_record_alone_has_no_file_run(tmp_path: Path, main: Main, server: ModelServer) -> None:
    ran, code = tmp_path / "ran", tmp_path / "theirs.py"
    code.write_text(
        f"import pathlib\npathlib.Path({str(ran)!r}).touch()\n"
        'def answer(messages):\n    return \'{"summary": "fever"}\'\n',
        encoding="utf-8",
    )
    folder = begun(tmp_path, main, "--model", f"{code}:answer", "--judge-model", "local")
    ran.unlink()
    done = main("run", "--resume", folder)
    assert (done.code, ran.exists()) == (2, False), done.err
    assert f"{code}:answer" in done.err
    other = main("run", "--resume", folder, "--model", f"{code}:other")
    assert (other.code, ran.exists(), "leave --model away" in other.err) == (2, False, True)
    named = main(*told(done))
    assert (named.code, ran.exists()) == (0, True), named.err


@pytest.mark.parametrize(
    ("variable", "given"),
    [("OTHERS_SECRET", "OTHERS_SECRET"), (None, "JUDGE_API_KEY"), (None, "OPENAI_API_KEY")],
)
@pytest.mark.parametrize("command", ["run --resume", "judge", "judge-audit"])
def test_a_record_alone_has_no_key_sent_to_the_address_of_a_judge(
    command: str,
    variable: str | None,
    given: str,
    tmp_path: Path,
    main: Main,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = judged(tmp_path, main, server)
    # An address that is not this machine's, for which a key is needed: the record's own.
    monkeypatch.setattr("medeval.judging.jury.is_loopback", lambda address: False)
    monkeypatch.setenv(given, SECRET)
    changed(folder / "run.json", judgings__0__judges__0__key_variable=variable)
    (folder / "judgments.jsonl").unlink()
    server.seen.headers.clear()
    parts = ["--parts", "order"] if command == "judge-audit" else []
    done = main(*command.split(), folder, *parts)
    assert (done.code, server.seen.headers) == (2, []), done.err
    assert f"names {given}" in done.err
    assert server.url in done.err
    again = told(done)
    assert again == [*command.split(), str(folder), *parts, "--judge-key-variable", given]
    named = main(*again)
    assert named.code == 0, named.err
    assert f"medeval: judge-a at {server.url}, key variable: {given}\n" in named.err
    assert {seen["authorization"] for seen in server.seen.headers} == {f"Bearer {SECRET}"}


def test_a_judge_without_keys_needs_no_name(
    tmp_path: Path, main: Main, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = judged(tmp_path, main, server)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    changed(folder / "run.json", judgings__0__judges__0__key_variable="none")
    (folder / "judgments.jsonl").unlink()
    done = main("judge", folder)
    assert done.code == 0, done.err
    assert SECRET not in str(server.seen.headers)


def test_what_items_without_a_reply_are_asked_with_again_works(tmp_path: Path, main: Main) -> None:
    code, failing = tmp_path / "mine.py", tmp_path / "failing"
    code.write_text(
        f"import pathlib\ndef answer(messages):\n    if pathlib.Path({str(failing)!r}).exists():\n"
        "        raise ValueError('not now')\n    return '{\"summary\": \"fever\"}'\n",
        encoding="utf-8",
    )
    failing.touch()
    task = tmp_path / "own.yaml"
    task.write_text(
        "task_id: own\ntask_type: summarization\ndata_class: open\nmetrics: [rouge_l]\ndataset:\n"
        "  - {input: {document: case.}, output: {summary: fever.}}\n",
        encoding="utf-8",
    )
    done = main("run", "--task", task, "--model", f"{code}:answer", "--out", tmp_path / "runs")
    assert done.code == 1, done.err
    failing.unlink()
    assert main(*told(done)).code == 0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"limit": "5"}, "limit"),
        ({"limit": 0}, "limit"),
        ({"key_variable": ["OTHERS_SECRET"]}, "key_variable"),
        ({"key_variable": "sk-is-a-key-itself"}, "key_variable"),
        ({"surprise": 1}, "surprise"),
        ({"settings": {}}, "settings.endpoint"),
        ({"settings__parameters": []}, "settings.parameters"),
        ({"learned": {"temperature": "store"}}, "learned.temperature"),
        ({"judgings__0__folder": "../../elsewhere"}, "judgings.0.folder"),
        ({"judgings__0__repeats": "2"}, "judgings.0.repeats"),
        ({"judgings__0__judges__0__code": "theirs.py"}, "judgings.0.judges.0.code"),
        ({"judgings__0__judges__0__parameters": {"user": "me"}}, "judgings.0.judges.0"),
        ({"versions": "1"}, "versions"),
    ],
)
@pytest.mark.parametrize("command", ["run --resume", "judge"])
def test_a_record_that_says_what_it_may_not_is_refused_by_field(
    command: str,
    fields: dict[str, Any],
    said: str,
    tmp_path: Path,
    main: Main,
    server: ModelServer,
) -> None:
    folder = judged(tmp_path, main, server)
    before = server.seen.requests
    changed(folder / "run.json", **fields)
    done = main(*command.split(), folder)
    assert (done.code, server.seen.requests - before) == (2, 0), done.err
    assert f"{folder / 'run.json'} is not the record of a run ({said}" in done.err
    assert "sk-is-a-key" not in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"surprise": 1}, "surprise"),
        ({"settings__endpoint": None}, "settings.endpoint"),
        ({"learned": {"seed": "metadata"}}, "learned.seed"),
        ({"stopped": 3}, "stopped"),
    ],
)
def test_a_record_of_a_judge_that_says_what_it_may_not_is_refused_by_field(
    fields: dict[str, Any], said: str, tmp_path: Path, main: Main, server: ModelServer
) -> None:
    folder = judged(tmp_path, main, server)
    before = server.seen.requests
    changed(folder / "judge.json", **fields)
    done = main("judge", folder, "--judge-repeats", "2")
    assert (done.code, server.seen.requests - before) == (2, 0), done.err
    assert f"{folder / 'judge.json'} is not the record of a run ({said}" in done.err


def test_a_newest_run_with_a_broken_record_is_not_passed_over(
    tmp_path: Path, main: Main, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = judged(tmp_path, main, server)
    changed(folder / "run.json", surprise=1)
    monkeypatch.chdir(tmp_path)
    done = main("score", "--task", tmp_path / "own.yaml")
    assert (done.code, "surprise" in done.err) == (2, True), done.err
