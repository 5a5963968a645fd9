"""Metrics against the published task project, rouge-score, and numbers worked out by hand."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import pytest

from medeval.metrics.concepts import Lexicon, number_facts
from medeval.metrics.metric import Sample, fold_accents, has_cjk
from medeval.metrics.registry import default_registry
from medeval.metrics.texts import plain_rouge_l, rouge
from medeval.models.medical_task import TaskType
from medeval.models.schemas import Row
from medeval.models.task_types import TASK_CLASSES, EvaluatedTask

TOLERANCE = 1e-9
FAMILIES = {"qa": 30, "diagnostic": 18, "summarization": 28, "communication": 8}
TYPES = dict(
    zip(FAMILIES, ("qa", "diagnostic_reasoning", "summarization", "communication"), strict=True)
)
CLASSES = {family: TASK_CLASSES[TaskType(kind)] for family, kind in TYPES.items()}
CASES = [(family, number) for family, size in FAMILIES.items() for number in range(size)]
each_case = pytest.mark.parametrize(("family", "number"), CASES)


@pytest.fixture(scope="module")
def golden(shared: Path) -> Row:
    folder = shared / "golden" / "medaisure"
    return {
        name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in (*FAMILIES, "proper_metrics")
    }


def task_of(family: str, case: Row) -> EvaluatedTask:
    task = CLASSES[family]("golden")
    task.expected_outputs = case["references"]
    return task


def assert_same(found: dict[str, float | None], expected: dict[str, float | None]) -> None:
    assert list(found) == list(expected)
    for name, value in expected.items():
        same = None if value is None else pytest.approx(value, rel=0, abs=TOLERANCE)
        assert found[name] == same, name


def test_no_golden_case_is_left_out(golden: Row) -> None:
    sizes = {family: len(golden[family]["cases"]) for family in FAMILIES}
    assert sizes == FAMILIES
    assert len(golden["proper_metrics"]["cases"]) == 20


@each_case
def test_level_simple_gives_published_numbers(golden: Row, family: str, number: int) -> None:
    case = golden[family]["cases"][number]
    if "simple" not in case:
        assert family == "communication"
        return
    task, outputs = task_of(family, case), case["predictions"]
    if len(outputs) == len(case["references"]):
        values = task.evaluate(outputs)
    else:
        with pytest.warns(UserWarning, match="the surplus is ignored"):
            values = task.evaluate(outputs)
        with pytest.raises(ValueError, match="references"):
            task.evaluate(outputs, strict=True)
    assert_same(values, case["simple"]["result"])


@each_case
def test_level_calculator_gives_published_numbers(golden: Row, family: str, number: int) -> None:
    case = golden[family]["cases"][number]
    task, outputs = task_of(family, case), case["predictions"]
    if "raises" in case["calculator"]:
        assert case["calculator"]["raises"] == "ValueError"
        with pytest.raises(ValueError, match="references"):
            task.evaluate(outputs, level="calculator")
        return
    values = task.evaluate(outputs, level="calculator")
    known = {name: None if math.isnan(value or 0) else value for name, value in values.items()}
    assert_same(known, case["calculator"])


@each_case
def test_rouge_gives_the_packages_numbers(golden: Row, family: str, number: int) -> None:
    case = golden[family]["cases"][number]
    assert ("rouge" in case) == (family in ("summarization", "communication"))
    if "rouge" not in case:
        return
    target = CLASSES[family].own_output
    pairs = zip(case["references"], case["predictions"], strict=False)
    for (reference, output), expected in zip(pairs, case.get("rouge", []), strict=True):
        texts = reference[target], output.get(target, "")
        assert plain_rouge_l(*texts) == pytest.approx(
            expected["stemmed"]["rougeL"]["f"], abs=TOLERANCE
        )
        if not texts[0] or any(has_cjk(text) or fold_accents(text) != text for text in texts):
            continue  # where ours differs on purpose; see the tables of test_metrics.py
        for ours, theirs in (("rouge_1", "rouge1"), ("rouge_l", "rougeL")):
            found = rouge(ours, *texts)
            assert found is not None
            assert {"p": found.precision, "r": found.recall, "f": found.f} == pytest.approx(
                expected["stemmed"][theirs], rel=0, abs=TOLERANCE
            )


@pytest.mark.parametrize("number", range(20))
def test_numbers_and_concepts_are_those_of_hand_work(golden: Row, number: int) -> None:
    lexicon = Lexicon(golden["proper_metrics"]["lexicon"])
    registry = default_registry(lexicon=lexicon)
    case = golden["proper_metrics"]["cases"][number]
    output = {"summary": case["hypothesis"]}
    item = Sample({"case": case["source"]}, {"summary": case["reference"]}, output, "summary")
    names = ("number_precision", "number_recall", "clinical_relevance", "factual_consistency")
    found = {
        "number_facts": [list(fact) for fact in number_facts(case["hypothesis"])],
        "concepts": sorted(map(list, lexicon.findings(case["hypothesis"]))),
        **{name: registry.find(name).record(item) for name in names},
    }
    expected = case["expected"]
    listed = ("number_facts", "concepts")
    assert {name: found[name] for name in listed} == {name: expected[name] for name in listed}
    values = {name: value for name, value in expected.items() if name not in listed}
    assert_same({name: found[name] for name in values}, values)


def test_rouge_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plain_rouge_l("fever and cough", "fever and cough") == 1
