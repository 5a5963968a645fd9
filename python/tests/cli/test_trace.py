"""Where a score comes from: `trace` to the rows of the source, and the items of a report."""

from __future__ import annotations

import csv
import gzip
import html
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from builds import Build
from case_files import Case, read_cases
from commands import PROJECT_ROOT, folder_in
from in_process import Done, Main

DEMO = PROJECT_ROOT / "demo" / "mimic4"


def source_rows(table: str) -> list[dict[str, str]]:
    with gzip.open(DEMO / f"{table}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, main: Main, tmp_path: Path, demo_cdm: Build) -> Any:
    """Run the demo model on a case of an export and score it."""

    def function(export: Path, case: Case) -> Path:
        demo_cdm.use(monkeypatch)
        (tmp_path / "one").write_text(str(case["hadm_id"]), encoding="utf-8")
        words = ("--cases", export, "--subset", f"one={tmp_path / 'one'}", "--model", "demo")
        asked = main("run", "--task", "cdm", "--out", tmp_path / "runs", *words, code=0)
        folder = folder_in(asked.out + asked.err)
        main("score", folder, "--n-iters", "0", code=0)
        return folder

    return function


def rows_of(done: Done) -> dict[str, list[dict[str, Any]]]:
    assert done.code == 0, done.err
    return {one["source"]: one["rows"] for one in json.loads(done.out)["sources"]}


@pytest.mark.parametrize(
    "mode", ["--extended", pytest.param("--first-only", marks=pytest.mark.slow)]
)
def test_a_case_is_traced_to_what_its_export_shows(
    demo_cdm: Build, asked_export: Path, main: Main, run: Any, mode: str
) -> None:
    export = asked_export if mode == "--extended" else demo_cdm.export(mode)
    case = next(one for one in read_cases(export) if len(one["microbiology_events"]) > 1)
    folder = run(export, case)
    words = ("trace", folder, str(case["hadm_id"]), "--exports", export.parent)
    done = main(*words, "--json")
    rows = rows_of(done)
    assert done.err == ""
    shown = sorted(one["labevent_id"] for one in case["lab_results"])
    assert [one["labevent_id"] for one in rows["labevents"]] == shown
    reports = [one["note_id"] for one in case["radiology_reports"]]
    assert [one["note_id"] for one in rows["radiology"]] == reports
    cultures = {(one["charttime"], one["test_itemid"]) for one in case["microbiology_events"]}
    traced = {(one["charttime"], one["test_itemid"]) for one in rows["microbiologyevents"]}
    assert traced == {(time and time.replace("T", " "), item) for time, item in cultures}
    # Each is a row of the source's own files, of this patient.
    patient = str(rows["admissions"][0]["subject_id"])
    for table, key in (("hosp/labevents", "labevent_id"), ("note/radiology", "note_id")):
        owners = {row[key]: row["subject_id"] for row in source_rows(table)}
        found = rows[table.partition("/")[2]]
        assert {owners[str(one[key])] for one in found} == {patient}
    told = json.loads((export / "manifest.json").read_text(encoding="utf-8"))
    content = json.loads(done.out)
    assert content["build"]["invocation_id"] == told["build"]["invocation_id"]
    assert content["scores"][0].keys() > {"Diagnosis", "Laboratory Tests"}
    screen = main(*words)
    assert f"{len(shown)}" in screen.out
    # Keys, and no text of a note.
    assert case["history_of_present_illness"][:40] not in done.out + screen.out


def test_a_manifest_counts_the_rows_of_the_source(asked_export: Path) -> None:
    told = json.loads((asked_export / "manifest.json").read_text(encoding="utf-8"))["source"]
    counts = {name: one["rows"] for name, one in told["tables"].items()}
    tables = [path.relative_to(DEMO) for path in DEMO.glob("*/*.csv.gz")]
    wanted = {path.name.partition(".")[0]: path.as_posix().partition(".")[0] for path in tables}
    assert wanted.keys() < counts.keys()
    for name, count in counts.items():
        assert count == (len(source_rows(wanted[name])) if name in wanted else 0), name
    assert {one["edition"] for one in told["tables"].values()} == {told["edition"]}


@pytest.mark.parametrize("kind", ["open", "credentialed"])
def test_an_item_of_a_report_says_what_was_shown_said_and_right(
    run: Any, main: Main, asked_export: Path, tmp_path: Path, kind: str
) -> None:
    export = tmp_path / "cdm"
    shutil.copytree(asked_export, export)
    case = next(one for one in read_cases(export) if one["radiology_reports"])
    if kind != "open":
        (export / "benchmark.jsonl").write_text(
            json.dumps({**case, "data_class": kind}) + "\n", encoding="utf-8"
        )
    folder = run(export, case)
    main("report", folder, code=0)
    page = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    scores = (folder / "scores.json").read_text(encoding="utf-8")
    texts = [
        case["history_of_present_illness"][:60],
        case["physical_exams"][:60],
        "[assistant]",
        f'"{case["ground_truth"]["treatments"][0]["title"]}"',
        "Correct Laboratory Tests",
    ]
    if kind == "open":
        assert all(text in page for text in texts), [text for text in texts if text not in page]
    else:
        assert not any(text in page + scores for text in texts)
        assert "Inputs and outputs are not shown" in page
        main("report", folder, "--show-text", "--out", tmp_path / "whole.html", code=0)
        whole = html.unescape((tmp_path / "whole.html").read_text(encoding="utf-8"))
        assert all(text in whole for text in texts), [text for text in texts if text not in whole]
        assert (folder / "scores.json").read_text(encoding="utf-8") == scores
    # The run keeps what was shown and said.
    kept = (folder / "responses.jsonl").read_text(encoding="utf-8")
    (messages,) = (json.loads(line)["episode"]["messages"] for line in kept.splitlines())
    assert [one["role"] for one in messages[:3]] == ["system", "user", "assistant"]
    assert messages[-1]["role"] == "assistant"
    assert len([one for one in messages if one["role"] == "tool"]) >= 1
