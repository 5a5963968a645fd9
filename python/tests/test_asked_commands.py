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
from medeval.tasks.catalogue import all_names, begin, recorded_name
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


# CDM has files of its own to be read: test_cdm_command.py.
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


def test_doctor_says_what_it_found_and_exits_with_1(tmp_path: Path) -> None:
    fine = run_medeval("doctor", "--task", "clinical_qa_basic")
    assert fine.returncode == 0, fine.stderr
    assert "ok   clinical_qa_basic: accuracy: the gold answers must score 1: 1.0000" in fine.stdout
    empty = {"MEDEVAL_DUCKDB": str(tmp_path / "none.duckdb")}
    bare = run_medeval("doctor", env={**empty, "MEDEVAL_MIMIC3_DIR": str(tmp_path / "none")})
    assert bare.returncode == 1
    assert "NOT  MEDEVAL_MIMIC3_DIR is there" in bare.stdout
    assert "NOT  the warehouse opens" in bare.stdout
    broken = tmp_path / "endpoints.toml"
    broken.write_text('[[endpoint]]\nbase_url = "https://models.example.org/v1"\n')
    gaps = run_medeval("doctor", "--endpoints", broken, env=empty)
    assert "NOT  attestations hold: https://models.example.org/v1" in gaps.stdout


def test_doctor_names_what_is_built(asked_duckdb: Path, tmp_path: Path) -> None:
    warehouse = Path(shutil.copy(asked_duckdb, tmp_path))
    with duckdb.connect(warehouse) as connection:
        connection.execute("delete from medeval.medeval.builds where floor = 'mimic3'")
    done = run_medeval("doctor", env={"MEDEVAL_DUCKDB": str(warehouse)})
    assert "ok   target duckdb opens" in done.stdout
    assert "ok   yier is built" in done.stdout
    assert "NOT  mimic3 is built: mimic3 was never built here" in done.stdout
    assert done.returncode == 1


def test_tasks_and_models_are_listed(tmp_path: Path) -> None:
    listed = run_medeval("tasks", env={"COLUMNS": "200"})
    assert listed.returncode == 0, listed.stderr
    for name in [*all_names(), "phenotyping (pheno)"]:
        assert name in listed.stdout
    declared = tmp_path / "endpoints.toml"
    declared.write_text(
        '[[endpoint]]\nbase_url = "http://127.0.0.1:8000/v1"\nruns_locally = true\n'
        '[[endpoint]]\nbase_url = "https://models.example.org/v1"\nzero_retention = true\n'
    )
    models = run_medeval("models", "--endpoints", declared, env={"COLUMNS": "200"})
    assert models.returncode == 0, models.stderr
    assert "may go (local)" in models.stdout
    assert "refused: no_training is not true" in models.stdout
    assert "logistic" in models.stdout


def test_a_run_is_scored_as_the_task_that_it_is_of(tmp_path: Path) -> None:
    folder = run_of(begin("yier", {}), DEMO, tmp_path / "run")
    other = run_medeval("score", "--task", "clinical_qa_basic", folder)
    assert other.returncode == 2
    assert "is a run of yier, not of clinical_qa_basic" in other.stderr
    icu = run_medeval("score", "--task", "ihm", folder)
    assert icu.returncode == 2
    none = run_medeval("score", "--task", "yier", tmp_path)
    assert none.returncode == 2
    assert "run.json" in none.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--peer-layout"], "--peer-layout"),
        (["--listfile", "x.csv"], "--listfile"),
        (["--by", "sex"], "source, context, answers, options"),
        (["--cluster", "stay"], "by context"),
    ],
)
def test_flags_of_other_tasks_are_refused(flags: list[str], said: str, tmp_path: Path) -> None:
    folder = run_of(begin("yier", {}), DEMO, tmp_path / "run")
    done = run_medeval("score", "--task", "yier", folder, *flags)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (folder / "scores.json").exists()


def test_icu_flags_keep_their_choices() -> None:
    done = run_medeval("score", "--task", "ihm", "none.csv", "--by", "source")
    assert done.returncode == 2
    assert "sex, age_band, ethnicity, care_unit" in done.stderr
    gold = run_medeval("score", "--task", "ihm", "none.csv", "--gold", "g.json")
    assert "--gold" in gold.stderr


def test_the_questions_of_a_run_must_be_those_that_it_asked(tmp_path: Path) -> None:
    rows = json.loads(Path("demo/yier/questions.json").read_text(encoding="utf-8"))
    file = tmp_path / "questions.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    folder = run_of(begin("yier", {"questions": str(file)}), DEMO, tmp_path / "run")
    scored = run_medeval("score", "--task", "yier", folder)
    assert scored.returncode == 0
    assert "bold" not in scored.stdout  # the headline is written as such, not its markup
    file.write_text(json.dumps(rows[1:]), encoding="utf-8")
    changed = run_medeval("score", "--task", "yier", folder)
    assert changed.returncode == 2
    assert "SHA-256" in changed.stderr


def test_a_task_file_that_changed_is_not_scored_with_old_answers(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    text = (
        "task_id: own\ntask_type: qa\ndata_class: open\nmetrics: [accuracy]\n"
        "dataset:\n  - {input: {question: one}, output: {answer: 'yes'}}\n"
    )
    file.write_text(text)
    folder = run_of(begin(str(file), {}), ORACLE, tmp_path / "run")
    assert recorded_name(str(file)) == "own"
    file.write_text(text.replace("'yes'", "'no'"))
    done = run_medeval("score", "--task", file, folder)
    assert done.returncode == 2
    assert "its content differs" in done.stderr


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


def test_a_task_file_is_compared_by_item_scores(tmp_path: Path) -> None:
    task = begin("clinical_summarization_discharge", {})
    folders = [run_of(task, kind, tmp_path / kind) for kind in (ORACLE, DEMO)]
    done = run_medeval(
        "compare", "--task", "clinical_summarization_discharge", *folders, "--metric", "rouge_l",
        env={"COLUMNS": "160"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "rouge_l" in done.stdout
    unknown = run_medeval("compare", "--task", task.name, *folders, "--metric", "f1")
    assert unknown.returncode == 2
    assert "--metric f1" in unknown.stderr


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
