"""The class of a text is decided by its content: what is not known to be open reaches nobody.

Questions, task files and functions are in the net (`guard_classes`, `guard_functions`).
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from dbt_worker import Worked, Worker
from in_process import Main
from model_server import ModelServer, model_server

SECRET = "Mr. Quillfeather has rebound tenderness"
MODELS = ("build", "--select", "mtsamples", "--resource-type", "seed", "--resource-type", "model")


@pytest.fixture
def cases(asked_export: Path, tmp_path: Path) -> Path:
    """A copy of the demo's export of cases, which may be changed."""
    return shutil.copytree(asked_export, tmp_path / "cases")


def refused(main: Main, server: ModelServer, *words: str | Path) -> None:
    """Run a command that may send nothing to an endpoint."""
    done = main(*words)
    assert (done.code, server.seen.connections, server.seen.bytes) == (2, 0, 0), done.err
    assert "Nothing was sent" in done.err
    assert SECRET not in done.out + done.err


def test_notes_of_ones_own_are_sent_to_no_undeclared_endpoint(
    worker: Worker, tmp_path: Path, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"filename": "a.txt", "text": f"{SECRET}\nPLAN: rest", "data_class": "open"}
    unsaid = {"filename": "b.txt", "text": f"{SECRET}\nPLAN: walk"}  # so none of them is open
    notes = tmp_path / "notes.jsonl"
    notes.write_text(json.dumps(said) + "\n" + json.dumps(unsaid) + "\n", encoding="utf-8")
    warehouse = Worked(worker, tmp_path)
    warehouse.builds(*MODELS, MTSAMPLES=notes)
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(warehouse.path))
    run = ("run", "--task", "mtsamples", "--no-judge", "--as-built", "--out", tmp_path / "runs")
    assert main(*run, "--model", "demo").code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    with model_server() as server:
        undeclared = ["--endpoints", tmp_path / "endpoints.toml"]
        refused(main, server, *run, "--model", "m", "--base-url", server.url, *undeclared)
        # A run that goes on keeps the class of its notes.
        judge = ["--judge-model", "j", "--judge-base-url", server.url, *undeclared]
        refused(main, server, "judge", folder, *judge, "--judge-key-variable", "none")
    exported = tmp_path / "mtsamples"
    assert main("export", "--task", "mtsamples", "--out", tmp_path, "--as-built").code == 0
    manifest = json.loads((exported / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["data_class"] == "credentialed"
    assert exported.stat().st_mode & 0o077 == 0


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def side_file(cases: Path) -> None:
    """Cases that are not open, and a file beside them that says they are."""
    edit(cases / "benchmark.jsonl", '"data_class": "open"', '"data_class": "credentialed"')
    lines = (cases / "benchmark.jsonl").read_text(encoding="utf-8").split("\n")
    ids = [json.loads(line)["hadm_id"] for line in lines if line]
    own = [json.dumps({"hadm_id": each, "data_class": "open"}) + "\n" for each in ids]
    (cases / "cases_provenance.jsonl").write_text("".join(own), encoding="utf-8")
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


HISTORY = '"history_of_present_illness": "'


@pytest.mark.parametrize(
    "change",
    [
        lambda cases: edit(cases / "benchmark.jsonl", HISTORY, f"{HISTORY}{SECRET} "),
        side_file,
        unlisted_side_file,
        lambda cases: (cases / "manifest.json").unlink(),
        lambda cases: edit(cases / "manifest.json", '_class": "open"', '_class": "credentialed"'),
        lambda cases: edit(cases / "lab_test_mapping.json", "[", "[ "),
    ],
)
def test_cases_are_open_only_by_all_that_speaks_of_them(
    cases: Path, tmp_path: Path, main: Main, change: Callable[[Path], object]
) -> None:
    words = ["run", "--task", "cdm", "--mode", "full_information", "--cases", cases, "--model", "m"]
    with model_server() as server:
        more = ["--limit", "1", "--out", tmp_path / "runs"]
        assert main(*words, "--base-url", server.url, *more).code == 1  # no diagnosis
        assert server.seen.requests > 0
    change(cases)
    with model_server() as server:
        refused(main, server, *words, "--base-url", server.url, *more)
