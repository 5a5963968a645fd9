"""`judge-audit`: judges tried on the answers of a run, beside people, and without a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from click.testing import Result
from commands import run_medeval
from judging_runs import marker_of, verdict
from model_server import Body, ModelServer, Script, model_server
from typer.testing import CliRunner

from medeval.commands.judge_audit import REPORT, judge_audit
from medeval.judging.audit import PARTS
from medeval.judging.rubric import shipped_rubric

TASK = """\
task_id: own_summaries
task_type: summarization
data_class: open
judge: summarization
metrics: [rouge_l]
dataset:
  - {input: {document: Fever and cough for five days.}, output: {summary: Fever and cough.}}
  - {input: {document: A broken left wrist after a fall.}, output: {summary: Wrist fracture.}}
  - {input: {document: Chest pain on exertion since May.}, output: {summary: Exertional angina.}}
"""
RUBRIC = shipped_rubric("summarization")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of three answers that the built-in rule has judged."""
    file, runs = tmp_path / "own.yaml", tmp_path / "runs"
    file.write_text(TASK, encoding="utf-8")
    judge = ["--judge-model", "local"]
    done = run_medeval("run", "--task", file, "--model", "demo", *judge, "--out", runs)
    assert done.returncode == 0, done.stderr
    (found,) = runs.iterdir()
    return found


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A judge of every name: `judge-kind` gives more."""

    def reply(body: Body) -> str:
        score = {"judge-kind": 4}.get(body["model"], 3)
        names = len(RUBRIC.names)
        return f"{marker_of(body)}\n{verdict(*[score] * names, rubric=RUBRIC)}"

    with model_server(Script(reply=reply)) as running:
        yield running


def audited(*args: str | Path, columns: int = 160) -> Result:
    app = typer.Typer()
    app.command("judge-audit")(judge_audit)
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, [str(arg) for arg in args])


def report_of(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return found


def at(server: ModelServer, *models: str) -> list[str]:
    named = [word for model in models for word in ("--judge-model", model)]
    return [*named, "--judge-base-url", server.url]


def test_a_run_is_audited_by_those_who_judged_it_and_nothing_is_asked_twice(folder: Path) -> None:
    before = (folder / "run.json").read_bytes(), (folder / "judgments.jsonl").read_bytes()
    done = audited(folder)
    assert done.exit_code == 0, done.output
    report = report_of(folder / REPORT)
    assert set(PARTS) < set(report)
    assert report["run"] == folder.name
    assert report["rubric"] == RUBRIC.name
    assert report["sanity"]["is_in_order"] is True
    assert (report["cost"], report["warnings"]) == ("0", [])
    assert "attacks on local" in done.output
    assert "they come in their order" in done.output
    assert "agreement: there is one judge" in done.output
    assert str(folder / REPORT) in done.output.replace("\n", "")
    # The run's own judging is as it was.
    assert (folder / "run.json").read_bytes() == before[0]
    assert (folder / "judgments.jsonl").read_bytes() == before[1]
    assert (folder / REPORT).stat().st_mode & 0o777 == 0o600


def test_other_judges_do_not_change_the_score_of_the_run(folder: Path, server: ModelServer) -> None:
    judges = at(server, "judge-kind", "judge-b")
    done = audited(folder, *judges, "--parts", "agreement,repeats", "--judge-repeats", "2")
    assert done.exit_code == 0, done.output
    assert server.seen.requests == 3 * 2 * 2
    report = report_of(folder / REPORT)
    agreed = report["agreement"]["dimensions"][RUBRIC.names[0]]
    assert (agreed["exact"]["value"], agreed["within_1"]["value"]) == (0.0, 1.0)
    assert report["repeats"]["judge-kind"][RUBRIC.names[0]]["widest_range"] == 0.0
    assert "attacks" not in report
    assert report["calls"] == 12
    assert "cost unknown" in done.output
    assert audited(folder, *judges, "--parts", "agreement").exit_code == 0
    assert server.seen.requests == 12
    scored = run_medeval("score", "--task", folder.parent.parent / "own.yaml", folder)
    assert scored.returncode == 0, scored.stderr
    judging = report_of(folder / "scores.json")["detailed_results"][0]["metadata"]["judging"]
    assert [judge["judge"] for judge in judging["judges"]] == ["local"]


def test_heads_and_names_are_whole_on_a_narrow_terminal(
    folder: Path, server: ModelServer, tmp_path: Path
) -> None:
    ratings = tmp_path / "ratings.csv"
    rows = [
        f"{item},{rater},{score}\n"
        for rater in ("Ann", "Bob")
        for item, score in (("0", 2 if rater == "Ann" else 3), ("1", 4), ("2", 5))
    ]
    ratings.write_text(f"id,rater,{RUBRIC.names[0]}\n{''.join(rows)}", encoding="utf-8")
    judges = at(server, "judge-kind", "judge-of-a-very-long-name-that-fits-no-column")
    more = ["--human", ratings, "--judge-repeats", "2"]
    done = audited(folder, *judges, *more, columns=80)
    assert done.exit_code == 0, done.output
    assert "\u2026" not in done.output
    lines = done.output.splitlines()
    assert {len(line) for line in lines if "\u2500" in line} <= set(range(81))
    for head in ("ICC(2,1)", "ICC(3,k)", "kappa", "alpha", "verdicts lost", "unchanged"):
        assert any(head in line for line in lines), head
