"""Published scores: from runs into the warehouse, ranked there as the leaderboard ranks them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from builds import MODELS_ONLY, Build
from commands import PROJECT_ROOT, run_medeval
from dbt_worker import Worked
from reports import write_report

from medeval.published import create_published

SELECT = ("build", "--select", "results")
SECRET = "Zqvnote"


def scored_run(folder: Path, name: str, value: float, content: str = "a", day: int = 1) -> Path:
    """Write the folder of a scored run, whose answers hold a text."""
    interval = {"low": value - 0.1, "high": value + 0.1, "level": 0.95, "method": "m", "n": 8}
    told = {
        "task_hash": content * 64,
        "data": {"sha256": content * 64},
        "headline": "error",
        "metrics": {"error": {"n": 8, "direction": "lower"}, "f1": {"n": 8}},
        "by": {SECRET: {"n": 2}},
        "usage": {"cost": "0.125"},
    }
    about = {"run_id": f"{name}-{content}", "medeval_version": "0"}
    return write_report(
        folder / f"{name}-{content}" / "scores.json",
        name,
        "t",
        {"error": value, "f1": 1 / 3},
        {"timestamp": f"2026-03-0{day}T10:00:00Z", "metadata": about},
        inputs=[{"note": SECRET}],
        model_outputs=[{"answer": SECRET}],
        intervals={"error": interval},
        metadata=told,
    ).parent


def publish(runs: Sequence[Path], target: str, env: dict[str, str]) -> str:
    return run_medeval("publish", *runs, "--target", target, env=env, code=0).stdout


def board(runs: Sequence[Path]) -> list[tuple[Any, ...]]:
    """Return what the leaderboard in Python says, by table and place."""
    done = run_medeval("leaderboard", *runs, "--out", "-", "--format", "csv", code=0)
    return sorted(
        (
            *(row["content_sha256"], int(row["rank"]), row["run"]),
            *(float(row[name]) for name in ("value", "low", "high", "n", "cost")),
        )
        for row in csv.DictReader(StringIO(done.stdout, newline=""))
        if row["score"] == "error"
    )


RANKED = (
    "select substr(content_sha256, 1, 12), rank_in_task, run_id, value, low, high,"
    " cast(n as double precision), cost from results.results_leaderboard order by 1, 2, 3"
)


def check_publishing(build: Build, tmp_path: Path) -> None:
    env = {"MEDEVAL_DUCKDB": str(build.folder / "medeval.duckdb"), **build.env}
    # Nothing was ever published: the tables are there, and empty.
    build.dbt(*SELECT)
    assert build.rows("select count(*) from results.results_leaderboard") == [(0,)]
    runs = [
        scored_run(tmp_path / "runs", "x", 0.5),
        scored_run(tmp_path / "runs", "y", 0.25),
        scored_run(tmp_path / "runs", "z", 0.25),
        scored_run(tmp_path / "runs", "x", 0.1, content="b", day=2),
    ]
    assert publish(runs, build.target, env).count(": 2 rows\n") == 4
    build.dbt(*SELECT)
    assert build.rows(RANKED) == board(runs)
    assert [row[1:3] for row in board(runs)] == [(1, "y-a"), (1, "z-a"), (3, "x-a"), (1, "x-b")]
    # The same run again replaces its rows.
    assert "published y-a: 2 rows, in place of 2" in publish([runs[1]], build.target, env)
    assert build.rows("select count(*) from results.published_scores") == [(8,)]
    rows = build.rows("select * from results.published_scores")
    assert SECRET not in repr(rows)
    found = build.rows(
        "select distinct made_at, direction from results.published_scores where metric = 'f1'"
    )
    assert {(str(moment), direction) for moment, direction in found} == {
        ("2026-03-01 10:00:00", None),
        ("2026-03-02 10:00:00", None),
    }
    # A build changes none of them.
    build.dbt(*SELECT, "--full-refresh")
    assert build.rows("select count(*) from results.published_scores") == [(8,)]


@pytest.mark.slow
def test_published_scores_are_ranked_as_the_leaderboard_ranks_them(tmp_path: Path) -> None:
    check_publishing(Build("duckdb", tmp_path / "dbt"), tmp_path)


def test_postgres_has_the_same_table(tmp_path: Path, postgres_database: dict[str, str]) -> None:
    check_publishing(Build("postgres", tmp_path / "dbt", postgres_database), tmp_path)


@pytest.mark.slow
def test_scores_published_before_a_build_outlive_others(built: Worked, tmp_path: Path) -> None:
    built.builds("build", "--select", "yier", *MODELS_ONLY)
    assert built.rows("select 1 from duckdb_schemas() where schema_name = 'results'") == []
    run = scored_run(tmp_path / "runs", "x", 0.5)
    env = {"MEDEVAL_DUCKDB": str(built.path)}
    publish([run], "duckdb", env)
    built.builds("build", "--select", "results", *MODELS_ONLY)
    # Newest first among the runs of a model; the table is private.
    assert built.rows("select run_id, rank_in_task from results.results_leaderboard") == [
        ("x-a", 1)
    ]
    assert built.path.stat().st_mode & 0o077 == 0


def test_a_table_of_others_is_refused_and_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "medeval.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("create schema results")
        connection.execute("create table results.published_scores as select 'x-a' as run_id")
    run = scored_run(tmp_path / "runs", "x", 0.5)
    done = run_medeval("publish", run, env={"MEDEVAL_DUCKDB": str(path)}, code=2)
    assert "DuckDB stopped with" in done.stderr
    with duckdb.connect(path, read_only=True) as connection:
        rows = connection.execute("select run_id from results.published_scores").fetchall()
    assert rows == [("x-a",)]


def test_the_source_has_the_columns_that_are_published() -> None:
    path = PROJECT_ROOT / "models/results/staging/_results__sources.yml"
    ((source,),) = [yaml.safe_load(path.read_text(encoding="utf-8"))["sources"]]
    (published,) = source["tables"]
    with duckdb.connect() as connection:
        connection.execute(create_published(published["name"]))
        made = connection.execute(f"describe {published['name']}").fetchall()
    assert [column["name"] for column in published["columns"]] == [name for name, *_ in made]
