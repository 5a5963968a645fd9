"""`score`, `compare`, `tasks`, `models` and `doctor` for tasks that models are asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import run_medeval
from hypothesis import given
from hypothesis import strategies as st

from medeval.errors import UserError
from medeval.inference.guard import DataUseGuard
from medeval.inference.run import AUDIT, Run, RunConfig, settings_of
from medeval.inference.types import Item
from medeval.tasks.catalogue import all_names, begin
from medeval.tasks.differences import mean_difference
from medeval.tasks.self_check import check_task, tolerance
from medeval.tasks.task import DEMO, EMPTY, ORACLE, AskedTask, Method


@pytest.fixture(autouse=True)
def _warehouse(asked_duckdb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(asked_duckdb))


def run_of(task: AskedTask, kind: str, folder: Path) -> Path:
    """Ask a built-in model and return the run's folder."""
    folder.mkdir()
    provider = task.local_provider(kind, DataUseGuard({}, folder / AUDIT))
    task = task.prepared(provider)
    settings = {**settings_of(provider, task.prompt_version), **task.settings()}
    run = Run(folder, settings, provider, about={"task": task.name})
    options = RunConfig(can_read=task.can_read)
    run.execute(task.samples(), options)
    return folder


# CDM has files of its own to be read: test_cdm_task.py.
@pytest.mark.parametrize("name", [name for name in all_names() if name != "cdm"])
def test_every_task_passes_its_self_checks(name: str) -> None:
    checks = list(check_task(begin(name, {})))
    assert [check for check in checks if not check.passed] == []
    assert len(checks) >= 3


class _Wrong:
    """A task whose scorer is broken in one way; all else is the real one's."""

    def __init__(self, task: AskedTask, value: Mapping[str, float]) -> None:
        self._task = task
        self._value = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def prepared(self, provider: Any) -> Any:
        return self

    def score(self, folder: Path, method: Method) -> Any:
        scored = self._task.score(folder, method)
        kind = scored.result.model_id
        if kind in self._value:
            changed = {**scored.result.metrics_results, "f1": self._value[kind]}
            scored = replace(scored, result=scored.result.model_copy(
                update={"metrics_results": changed}
            ))  # fmt: skip
        return scored


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("oracle", 0.99, "f1: the gold answers must score 1"),
        ("empty", 0.01, "f1: no answers must score 0"),
        ("shuffled", 0.9, "f1: gold answers of other items must score like chance"),
    ],
)
def test_a_scorer_that_is_wrong_fails_the_check_that_is_for_it(
    kind: str, value: float, found: str
) -> None:
    task: Any = _Wrong(begin("yier", {}), {kind: value})
    assert [check.name for check in check_task(task) if not check.passed] == [found]


def test_chance_is_the_mean_over_all_ways_of_giving_gold_to_another_item(tmp_path: Path) -> None:
    file = tmp_path / "three.yaml"
    rows = "".join(f"  - {{input: {{question: q{n}}}, output: {{answer: {a}}}}}\n"
                   for n, a in enumerate(["yes", "yes", "no"]))  # fmt: skip
    file.write_text(
        f"task_type: qa\ndata_class: open\nmetrics: [accuracy]\ndataset:\n{rows}", encoding="utf-8"
    )
    # Of the six ordered pairs of items two have the same answer.
    assert begin(str(file), {}).chance() == pytest.approx(1 / 3)
    assert tolerance(100) == pytest.approx(0.1)


def test_doctor_names_what_is_built(asked_duckdb: Path, tmp_path: Path) -> None:
    warehouse = Path(shutil.copy(asked_duckdb, tmp_path))
    with duckdb.connect(warehouse) as connection:
        connection.execute("delete from medeval.medeval.builds where floor = 'mimic3'")
    done = run_medeval("doctor", env={"MEDEVAL_DUCKDB": str(warehouse)})
    assert "ok   target duckdb opens" in done.stdout
    assert "ok   yier is built" in done.stdout
    assert "NOT  mimic3 is built: mimic3 was never built here" in done.stdout
    assert done.returncode == 1


def test_the_newest_run_is_taken_if_none_is_named(tmp_path: Path) -> None:
    yier = begin("yier", {})
    runs = tmp_path / "runs"
    runs.mkdir()
    run_of(yier, DEMO, runs / "20260101T000000Z-yier-demo")
    newest = run_of(yier, ORACLE, runs / "20260102T000000Z-yier-demo")
    run_of(begin("clinical_qa_basic", {}), DEMO, runs / "20260103T000000Z-qa-demo")
    (runs / "20260104T000000Z-phenotyping-logistic").mkdir()
    done = run_medeval("score", "--task", "yier", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert newest.name in done.stderr
    none = run_medeval("score", "--task", "clinical_qa_medications", cwd=tmp_path)
    assert none.returncode == 2
    assert "run --task clinical_qa_medications --model demo" in none.stderr


def test_runs_are_compared_on_the_same_items(tmp_path: Path) -> None:
    yier = begin("yier", {})
    folders = [run_of(yier, kind, tmp_path / kind) for kind in (ORACLE, DEMO, EMPTY)]
    out = tmp_path / "compared.json"
    done = run_medeval("compare", "--task", "yier", *folders, "--metric", "f1", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "oracle is better than demo on f1 by " in done.stdout
    compared = json.loads(out.read_text(encoding="utf-8"))["comparisons"]
    assert [(one["first"], one["second"]) for one in compared] == [
        ("oracle", "demo"),
        ("oracle", "empty"),
        ("demo", "empty"),
    ]
    assert compared[1]["difference"] == 1.0
    # Three comparisons: the smallest p value of 1000 exchanges, 1 in 1001, three times.
    assert compared[1]["adjusted_p"] == pytest.approx(3 / 1001)
    same = run_medeval("compare", "--task", "yier", folders[1], folders[1])
    assert "cannot be told apart" in same.stdout
    one = run_medeval("compare", "--task", "yier", folders[0])
    assert one.returncode == 2


def test_a_difference_leaves_out_what_one_run_has_no_score_for() -> None:
    found = mean_difference("m", [1.0, None, 0.5, 0.0], [0.0, 1.0, 0.5, None], Method(200, 3))
    assert (found.n, found.first_value, found.second_value) == (2, 0.75, 0.25)
    with pytest.raises(UserError, match="no item"):
        mean_difference("m", [None], [1.0], Method(10))
    with pytest.raises(UserError, match="--n-iters"):
        mean_difference("m", [0.0], [1.0], Method(0))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30))
def test_a_difference_changes_its_sign_with_the_order_of_the_runs(
    pairs: list[tuple[int, int]],
) -> None:
    one, two = ([value / 4 for value in values] for values in zip(*pairs, strict=True))
    there, back = mean_difference("m", one, two, Method(50)), mean_difference(
        "m", two, one, Method(50)
    )  # fmt: skip
    assert there.difference == pytest.approx(-(back.difference or 0.0))
    assert (there.low, there.high) == pytest.approx((-(back.high or 0.0), -(back.low or 0.0)))
    assert there.p_value == back.p_value
    assert there.p_value is not None
    assert 0 < there.p_value <= 1


def test_the_demo_model_looks_at_no_gold_answer() -> None:
    task: Any = begin("yier", {})
    bare = replace(
        task,
        records=[record.model_copy(update={"answer_choices": ()}) for record in task.records],
    )
    answer, blind = task.local_model(DEMO), bare.local_model(DEMO)
    asked: list[Item] = list(task.items())
    assert [answer(item) for item in asked] == [blind(item) for item in asked]
