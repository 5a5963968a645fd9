"""Categories, combined scores, and the intervals of what is averaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness_runs import Model, always, evaluate, number_of, questions, right_below
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from medeval.errors import UserError
from medeval.evaluation.harness import CATEGORIES
from medeval.metrics.registry import default_registry
from medeval.models.evaluation_result import EvaluationResult
from medeval.reporting.resampling import METHOD, TaskScores, mean_interval

TABLES = table("harness_averages")

REGISTRY = default_registry()


def test_a_category_is_the_mean_of_the_metrics_that_are_there(tmp_path: Path) -> None:
    metrics = ["accuracy", "token_f1", "rouge_l", "rouge1"]
    task = questions(4, metrics=metrics)
    report = evaluate(tmp_path, right_below(1), [task])
    scores = report.task_scores["questions"]
    assert scores["diagnostics"] == scores["accuracy"] == 0.25
    assert scores["summarization"] == (scores["rouge1"] + scores["rouge_l"]) / 2
    assert "safety" not in scores
    assert report.metadata["categories"]["questions"] == {
        "diagnostics": ["accuracy"],
        "summarization": ["rouge1", "rouge_l"],
    }
    assert report.overall_scores["diagnostics"] == 0.25
    # The result keeps to the metrics of its task.
    report.validate_against_tasks({"questions": task})


def test_a_combined_score_may_be_of_metrics_and_categories(tmp_path: Path) -> None:
    def answer(row: dict[str, Any]) -> dict[str, str]:
        return {"answer": "0 or 1"} if number_of(row) == 0 else {"answer": str(number_of(row))}

    tasks = [questions(2, "a", ["accuracy", "token_f1"]), questions(2, "b", ["token_f1"])]
    report = evaluate(
        tmp_path,
        Model(answer),
        tasks,
        combined_weights={"diagnostics": 3, "token_f1": 1},
        combined_metric_name="all",
    )
    # Item 0: not equal, token F1 of one in three and one in one.
    assert report.task_scores["a"]["all"] == pytest.approx(0.75 * 0.5 + 0.25 * 0.75)
    assert report.task_scores["b"]["all"] == pytest.approx(0.75)
    assert report.overall_scores["all"] == pytest.approx((0.5625 + 0.75) / 2)
    assert report.metadata["combined"] == {
        "name": "all",
        "weights": {"diagnostics": 3, "token_f1": 1},
    }


@pytest.mark.parametrize(
    ("options", "message"),
    TABLES["averages_that_cannot_be_made_are_errors_before_any_call"],
)
def test_averages_that_cannot_be_made_are_errors_before_any_call(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    model = always({"answer": "0"})
    task = questions(2, metrics=["accuracy", "brier", "readability"])
    with pytest.raises(UserError, match=message):
        evaluate(tmp_path, model, [task], **options)
    assert model.asked == []


def result_of(task_id: str = "t", **scores: list[float | None]) -> EvaluationResult:
    count = len(next(iter(scores.values())))
    return EvaluationResult(
        model_id="m",
        task_id=task_id,
        inputs=[{"n": n} for n in range(count)],
        item_scores=scores,
    )


def test_the_interval_of_a_mean_is_that_of_items_drawn_within_tasks() -> None:
    rng = np.random.default_rng(1)
    values = [list(map(float, rng.random(200))), list(map(float, rng.random(400)))]
    tasks = [
        TaskScores(result_of(f"t{n}", a=scores), {}, 4000, 0) for n, scores in enumerate(values)
    ]
    found = mean_interval(tasks, "a", 0.95)
    assert found is not None
    assert (found.method, found.n, found.level) == (METHOD, 600, 0.95)
    # The standard error of a mean of two independent means.
    error = np.sqrt(sum(np.var(scores) / len(scores) for scores in values)) / 2
    middle = np.mean([np.mean(scores) for scores in values])
    assert found.low == pytest.approx(middle - 1.96 * error, abs=0.003)
    assert found.high == pytest.approx(middle + 1.96 * error, abs=0.003)


def test_metrics_of_one_task_are_drawn_together() -> None:
    # Two metrics that add up to one on every item: their mean does not vary, each of them does.
    scores = [float(n % 2) for n in range(50)]
    result = result_of(a=scores, b=[1 - score for score in scores])
    task = TaskScores(
        result, {"mean": {"a": 1.0, "b": 1.0}, "tilted": {"a": 3.0, "b": 1.0}}, 500, 0
    )
    assert task.interval("mean", 0.95) is None
    alone, tilted = task.interval("a", 0.95), task.interval("tilted", 0.95)
    assert alone is not None
    assert tilted is not None
    assert alone.low is not None
    assert alone.high is not None
    assert tilted.low == pytest.approx(0.25 + alone.low / 2)
    assert tilted.high == pytest.approx(0.25 + alone.high / 2)


def test_there_is_no_interval_without_items_that_can_vary() -> None:
    one = TaskScores(result_of("one", a=[0.5]), {}, 100, 0)
    some = TaskScores(result_of("some", a=[0.5, 1.0], b=[1.0, 1.0]), {}, 100, 0)
    pooled = TaskScores(result_of("pooled", b=[0.0, 1.0]), {"mean": {"b": 1.0, "f1": 1.0}}, 100, 0)
    assert mean_interval([one, some], "a", 0.95) is None
    assert mean_interval([some, pooled], "a", 0.95) is None
    assert some.interval("b", 0.95) is None
    assert pooled.interval("mean", 0.95) is None
    assert TaskScores(result_of(a=[0.5, 1.0]), {}, 0, 0).interval("a", 0.95) is None


SCORES = st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=2, max_size=12)


@given(scores=SCORES, data=st.data())
def test_an_interval_is_within_the_scores_and_no_order_matters(
    scores: list[float | None], data: st.DataObject
) -> None:
    defined = [score for score in scores if score is not None]
    shuffled = data.draw(st.permutations(scores))
    first, again = (
        TaskScores(result_of(a=list(one)), {}, 50, 3).interval("a", 0.9)
        for one in (scores, shuffled)
    )
    assert first == again
    if first is not None:
        assert first.low is not None
        assert first.high is not None
        assert min(defined) - 1e-12 <= first.low < first.high <= max(defined) + 1e-12
        assert first.n == len(defined)


def test_a_report_has_the_intervals_of_its_averages(tmp_path: Path) -> None:
    tasks = [questions(8, "a", ["accuracy", "exact_match"]), questions(8, "b")]
    report = evaluate(tmp_path, right_below(4), tasks)
    found = report.metadata["intervals"]
    assert set(found["overall_scores"]) == {"accuracy", "exact_match", "diagnostics"}
    assert found["overall_scores"]["accuracy"]["n"] == 16
    assert found["overall_scores"]["accuracy"]["method"] == METHOD
    # Of one task alone, so the task's own.
    assert found["overall_scores"]["exact_match"]["method"] == "wilson"
    assert found["task_scores"]["a"]["diagnostics"]["method"] == METHOD
    assert found["task_scores"]["b"]["diagnostics"]["method"] == "wilson"
    none = evaluate(tmp_path, right_below(4), tasks[:1], harness={"draws": 0})
    assert none.metadata["intervals"]["task_scores"] == {}


def test_the_categories_are_those_that_are_documented() -> None:
    assert {name: len(metrics) for name, metrics in CATEGORIES.items()} == {
        "diagnostics": 6,
        "safety": 4,
        "communication": 5,
        "summarization": 8,
    }
