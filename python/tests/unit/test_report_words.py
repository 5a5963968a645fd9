"""What a report says: headlines as sentences, every score explained, letters of models."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from medeval.models import BenchmarkReport, EvaluationResult
from medeval.models.about import About, MetricAbout
from medeval.reporting.entries import compact_letters
from medeval.reporting.report import rendered
from medeval.tasks import registry

RECORDS = Path(__file__).parents[1] / "golden" / "scenarios"


def test_the_headline_is_a_sentence_in_counts_where_items_are_right_or_wrong() -> None:
    def page_of(scores: list[float], about: About) -> str:
        result = EvaluationResult(model_id="m", task_id="t", metadata={"headline": "Found"})
        result.inputs = [{"id": str(place)} for place in range(len(scores))]
        result.model_outputs = [{} for _ in scores]
        result.item_scores = {"Found": scores}
        result.metrics_results = {"Found": sum(scores) / len(scores)}
        report = BenchmarkReport(model_id="m")
        report.add_evaluation_result(result)
        return rendered(report, "html", abouts={"t": about})

    about = About(
        title="Lost & found",
        unit="cases",
        metrics={"F*": MetricAbout(meaning="What <was> found.", right="the thing is found")},
    )
    page = page_of([1.0, 0.0, 1.0, 1.0], about)
    assert "The thing is found in 3 of 4 cases, 75.0%." in page
    assert "<h1>Lost &amp; found</h1>" in page
    assert "What &lt;was&gt; found." in page
    # A share of a case is no count, and without a glossary the score is called by its name.
    assert "Found is 0.625, over 4 cases." in page_of([1.0, 0.5, 1.0, 0.0], about)
    assert "Found is 0.750, over 4 items." in page_of([1.0, 0.0, 1.0, 1.0], About())


def test_each_benchmark_that_comes_along_explains_every_score_of_its_reports() -> None:
    told: dict[str, set[str]] = {name: set() for name in registry.BUILT_IN}

    def collect(value: Any) -> None:
        """Gather the names of scores that the records of the net have."""
        members = list(value.values() if isinstance(value, dict) else value)
        if isinstance(value, dict) and isinstance(value.get("task_scores"), dict):
            for task, scores in value["task_scores"].items():
                told.get(task, set()).update(scores)
        for one in members:
            if isinstance(one, dict | list):
                collect(one)

    for file in sorted(RECORDS.glob("*.json")):
        collect(json.loads(file.read_text(encoding="utf-8")))
    assert sum(map(bool, told.values())) > 3
    for name, scores in told.items():
        about = registry.about(name)
        assert about.title
        assert about.methods
        assert "@" in about.bibtex
        assert not [one for one in sorted(scores) if about.metric(one) is None], name


@given(st.data())
def test_two_share_a_letter_if_and_only_if_they_do_not_differ(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    pairs = list(combinations(range(count), 2))
    differing = [pair for pair in pairs if data.draw(st.booleans())]
    letters = compact_letters(count, differing)
    assert all(letters)
    assert "a" in letters[0]
    for one, two in pairs:
        assert bool({*letters[one]} & {*letters[two]}) == ((one, two) not in differing)
