"""Answers by rule: from the input alone, the same every time, and far from perfect."""

from __future__ import annotations

from typing import Any

import pytest

from medeval.evaluation.demo_answers import demo_answer
from medeval.evaluation.task_loader import TaskLoader, bundled_tasks_dir
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import required_keys

LOADER = TaskLoader(bundled_tasks_dir())
BUNDLED = sorted(LOADER.discover_tasks())


def task_of(kind: str, **fields: Any) -> MedicalTask:
    return MedicalTask(task_id="t", task_type=kind, inputs=[{"x": "?"}], **fields)


DIAGNOSIS = task_of("diagnostic_reasoning")


@pytest.mark.parametrize("name", BUNDLED)
def test_every_bundled_row_gets_an_output_that_ignores_its_gold(name: str) -> None:
    task = LOADER.load_task(name)
    for row, shown in zip(task.dataset, task.pairs()[0], strict=True):
        output = demo_answer(task, shown)
        assert set(required_keys(task.output_schema)) <= set(output)
        assert all(value for value in output.values())
        wrong = dict.fromkeys(row["output"], "something else")
        assert output == demo_answer(task, row) == demo_answer(task, {**row, "output": wrong})


def test_a_summary_is_the_first_two_sentences() -> None:
    document = "Dr. Ray saw a man of 3.5 years. He coughs! No fever.\nHome."
    summary = {"summary": "Dr. Ray saw a man of 3.5 years. He coughs!"}
    assert demo_answer(task_of("summarization"), {"document": document}) == summary
    assert demo_answer(task_of("summarization"), {"document": "发热。咳嗽。好转。"}) == {
        "summary": "发热。 咳嗽。"
    }


def test_diagnoses_are_ranked_by_the_share_of_their_findings() -> None:
    output = demo_answer(DIAGNOSIS, {"symptoms": ["fever", "dysuria", "nitrite in the urine"]})
    ranked = ["urinary tract infection", "pyelonephritis", "acute cholecystitis"]
    assert output["differential_diagnosis"] == ranked
    assert output["diagnosis"] == ranked[0]
    assert output["explanation"].endswith("because the case has: dysuria, nitrite.")
    assert 0 < output["confidence"] < 1


def test_a_finding_that_is_denied_counts_for_nothing() -> None:
    case = "Headache with photophobia, no neck stiffness. She denies fever."
    assert demo_answer(DIAGNOSIS, {"case": case})["diagnosis"] == "migraine"
    case = "Headache with photophobia, neck stiffness and fever."
    assert demo_answer(DIAGNOSIS, {"case": case})["differential_diagnosis"][0] == "meningitis"


def test_without_a_known_finding_nothing_is_claimed() -> None:
    output = demo_answer(DIAGNOSIS, {"case": "Tired."})
    assert output["diagnosis"] == "unknown"
    assert output["confidence"] == 0


def test_a_fact_needs_all_its_words() -> None:
    ask = task_of("qa")
    assert demo_answer(ask, {"question": "What reverses heparin?"}) == {"answer": "protamine"}
    assert demo_answer(ask, {"question": "What is heparin?"}) == {"answer": "unknown"}


def test_advice_is_general_where_no_rule_fits() -> None:
    task = task_of("communication")
    assert "double dose" in demo_answer(task, {"prompt": "I forgot my pill."})["response"]
    assert "your doctor" in demo_answer(task, {"prompt": "I am worried."})["response"]


def test_of_given_choices_the_first_is_taken() -> None:
    schema = {"required": ["label"], "properties": {"label": {"enum": ["neutral", "yes"]}}}
    task = task_of("qa", output_schema=schema)
    assert demo_answer(task, {"premise": "a", "hypothesis": "b"}) == {"label": "neutral"}


def test_the_rules_are_neither_perfect_nor_useless() -> None:
    correct = total = 0
    for name in BUNDLED:
        task = LOADER.load_task(name)
        for shown, gold in zip(*task.pairs(), strict=True):
            key = next(iter(gold))
            if key in ("answer", "diagnosis"):
                total += 1
                correct += demo_answer(task, shown)[key] == gold[key]
    assert 0.3 < correct / total < 0.95
