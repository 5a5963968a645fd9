"""What a start of a run leaves as it was, and what its record may say; more is in the net."""

from __future__ import annotations

import fcntl
import json
import shlex
from pathlib import Path

import pytest
from commands import run_medeval
from in_process import Main
from tables import changed, table

QUESTIONS = Path(__file__).parent / "inputs" / "questions.json"
TABLES = table("records")
# Where nobody listens; the folder of the runs comes next.
ASKED = ["run", "--task", "yier", "--model", "m", "--base-url", "http://127.0.0.1:1/v1", "--out"]


def begun(folder: Path, main: Main) -> Path:
    """Begin a run of which nothing is asked."""
    given = ("--questions", QUESTIONS, "--export-prompts", folder / "batch.jsonl")
    main(*ASKED, folder / "runs", *given, code=0)
    (made,) = (folder / "runs").iterdir()
    return made


def test_a_start_that_is_refused_changes_nothing_of_the_run(tmp_path: Path, main: Main) -> None:
    folder = begun(tmp_path, main)
    (tmp_path / "prices.toml").write_text('[[price]]\nmodel = "m"\ninput = 0\noutput = 1\n')
    before = (folder / "run.json").read_bytes()
    priced = ["--max-cost", "5", "--prices", tmp_path / "prices.toml", "--max-tokens", "9"]
    with (folder / "responses.jsonl").open("ab") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)  # as if it were still going
        held = main("run", "--resume", folder, "--limit", "1")
    assert (held.code, "Another run is writing" in held.err) == (2, True), held.err
    for given in (["--max-cost", "5"], ["--prices", tmp_path / "none.toml"], priced):
        main("run", "--resume", folder, *given, code=2)
    assert (folder / "run.json").read_bytes() == before


def test_a_class_in_a_file_goes_on_with_runs_of_its_own(checkout: Path, main: Main) -> None:
    code = "from medeval.tasks.yier.task import YierTask\n\n\nclass Own(YierTask):\n    pass\n"
    Path("own.py").write_text(code)
    both = ["run", "--task", "yier", "--task", "own.py:Own", "--model", "demo", "--limit", "1"]
    for _ in range(2):
        assert main(*both, "--questions", QUESTIONS).code == 0
    records = [json.loads(one.read_text()) for one in Path("runs").glob("*/run.json")]
    assert sorted(one.get("asked_task", "") for one in records) == ["", "own.py:Own"]


def test_judges_go_to_the_tasks_that_have_them(checkout: Path, main: Main) -> None:
    asked = ["run", "--task", "yier", "--questions", QUESTIONS, "--model", "demo", "--limit", "1"]
    judges = ["--judge-model", "local", "--rubric", "summarization"]
    main(*asked, "--task", "clinical_qa_basic", *judges, code=0)
    records = [json.loads(one.read_text()) for one in Path("runs").glob("*/run.json")]
    assert sorted(len(one["judgings"]) for one in records) == [0, 1]


@pytest.mark.parametrize(("function", "said"), [("f", "Credentialed text"), ("g", "no function")])
def test_a_later_run_is_checked_first(checkout: Path, main: Main, function: str, said: str) -> None:
    Path("own.py").write_text("f = str\n")
    Path("own.json").write_text(QUESTIONS.read_text().replace('"open"', '"credentialed"'))
    asked = ["run", "--task", "yier", "--questions", "own.json", "--model", "demo", "--model"]
    done = main(*asked, f"own.py:{function}", code=2)
    assert (said in done.err, done.out, Path("runs").exists()) == (True, "", False), done.err


def test_cut_import_is_resumed(tmp_path: Path, main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    folder = begun(tmp_path, main)
    (tmp_path / "answers.jsonl").touch()
    monkeypatch.setattr("medeval.inference.batch.import_batch", interrupted)
    asked = ["run", "--resume", folder, "--import-answers", tmp_path / "answers.jsonl"]
    done = main(*asked, code=130)
    assert "0 of 8 items are done" in done.err
    assert shlex.split(done.err.split("`")[1])[3:] == [str(word) for word in asked]


def test_a_line_of_a_batch_that_is_nested_without_end_is_named(tmp_path: Path, main: Main) -> None:
    (tmp_path / "deep.jsonl").write_text("[" * 100_000 + "\n")
    answers = ("--import-answers", tmp_path / "deep.jsonl")
    done = main(*ASKED, tmp_path / "runs", *answers, code=2)
    assert "deep.jsonl, line 1: not a line of a batch" in done.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("command", ["run --resume", "judge"])
@pytest.mark.parametrize(("place", "value", "said"), TABLES["refused"])
def test_a_record_that_says_what_it_may_not_is_refused_by_field(
    command: str, place: str, value: object, said: str, tmp_path: Path, main: Main
) -> None:
    record = changed(TABLES["record"], place, value)
    (tmp_path / "run.json").write_text(json.dumps(record), encoding="utf-8")
    done = main(*command.split(), tmp_path, code=2)
    assert f"{tmp_path / 'run.json'} is not the record of a run ({said}" in done.err
    assert "sk-is-a-key" not in done.err


def test_ctrl_c_within_an_import_ends_as_elsewhere(tmp_path: Path) -> None:
    """Python ends by the signal itself where a text that it runs, as for a dataclass, is hit."""
    model = tmp_path / "model.py"
    model.write_text(
        "known = []\ndef reply(messages):\n    known.append(0)\n"
        "    exec('raise ValueError' if len(known) == 1 else 'raise KeyboardInterrupt')\n"
    )
    done = run_medeval(
        "run", "--task", "yier", "--questions", QUESTIONS, "--model", f"{model}:reply", "--out",
        tmp_path / "runs", "--concurrency", "1",
    )  # fmt: skip
    status = "1 of 8 items are done, errored: 1 (ValueError); go on with"
    assert (done.returncode, status in done.stderr) == (130, True), done.stderr
