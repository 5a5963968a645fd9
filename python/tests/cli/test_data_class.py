"""The class of a text is decided by its content: what is not known to be open reaches nobody.

Questions, task files, cases and functions are in the net (`guard_classes`, `guard_cases`,
`guard_functions`).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dbt_worker import Worked, Worker
from in_process import Main
from model_server import ModelServer, model_server

SECRET = "Mr. Quillfeather has rebound tenderness"
MODELS = ("build", "--select", "mtsamples", "--resource-type", "seed", "--resource-type", "model")


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
