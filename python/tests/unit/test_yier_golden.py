"""The YIER-LLM task against what was worked out by hand: files, matches, counts, replies."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import refused

from medeval.tasks.choice_replies import read_choices
from medeval.tasks.task import Method
from medeval.tasks.yier.files import Document, Raw, read_file
from medeval.tasks.yier.questions import (
    Answered,
    Counts,
    Record,
    check_records,
    fill,
    total,
    usable_records,
)
from medeval.tasks.yier.scores import bootstrap, join, score_answers, submitted_records

TOLERANCE = 1e-12


@pytest.fixture(scope="session")
def golden(shared: Path) -> Path:
    return shared / "golden" / "yier_llm"


def content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def cases(path: Path) -> dict[str, Any]:
    return {case.get("id") or case["record"]["sample_id"]: case for case in content(path)["cases"]}


def test_files_give_their_records(golden: Path) -> None:
    for expected in content(golden / "files" / "manifest.json")["files"]:
        found = read_file(golden / "files" / expected["file"])
        assert json.dumps(found.records) == json.dumps(expected["records"])
        assert len(found.records) == expected["n_records"]
        for what in ("encoding", "layout", "repaired"):
            assert getattr(found, what) == expected[what], expected["file"]
        assert all(entry.state == "ok" for entry in check_records(found.records))


def scored(golden_cases: list[dict[str, Any]]) -> tuple[list[Answered], dict[str, Any]]:
    """The questions and the values of the predictions of some cases."""
    gold = usable_records(Document([case["record"] for case in golden_cases], "array"))
    handed_in = [
        case["record"] | {"predict_answers": case["predict_answers"]} for case in golden_cases
    ]
    answered = join(gold, submitted_records(Document(handed_in, "array")))
    made = score_answers(answered, Method(n_iters=0), "cases", {})
    return answered, made.result.metadata["details"]


def test_questions_count_as_worked_by_hand(golden: Path) -> None:
    for name, case in cases(golden / "micro_f1_cases.json").items():
        (question,), _ = scored([case])
        assert question.counts._asdict() == case["expected"], name


def test_totals_are_as_worked_by_hand(golden: Path) -> None:
    golden_cases = content(golden / "micro_f1_cases.json")
    questions, found = scored(golden_cases["cases"])
    totals = golden_cases["totals"]
    sums = total(one.counts for one in questions)
    assert sums._asdict() == {name: totals[name] for name in sums._fields}
    assert (sums.n_pred - sums.tp, sums.n_gold - sums.tp) == (totals["fp"], totals["fn"])
    assert Fraction(sums.tp, sums.n_pred) == Fraction(*totals["micro_precision"])
    assert Fraction(sums.tp, sums.n_gold) == Fraction(*totals["micro_recall"])
    assert sums.f1 == Fraction(*totals["micro_f1"])
    right, asked = totals["exact_set_match"]
    expected = {
        **sums._asdict(),
        "n": totals["n_questions"],
        "f1": totals["micro_f1_float"],
        "exact_set_accuracy": right / asked,
        "mean_question_f1": totals["mean_question_f1"],
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("name", [f"ed{number:02}" for number in range(1, 9)])
def test_zero_cases_are_as_worked_by_hand(golden: Path, name: str) -> None:
    golden_cases = cases(golden / "edge_totals.json")
    assert len(golden_cases) == 8
    case, expected = golden_cases[name], golden_cases[name]["expected"]
    asked = []
    for number, question in enumerate(case["questions"]):
        record = {
            "question": "症状题",
            "sample_id": str(number),
            "selection": question["selection"],
        }
        record["answer_choices"] = question["gold"]
        asked.append({"record": record, "predict_answers": question["predicted"]})
    if "error" in expected:
        refused(expected["error"], scored, asked)
        return
    _, found = scored(asked)
    for key, value in expected.items():
        if key == "warning":
            assert any(value in warning for warning in found["warnings"])
        else:
            assert found[key] == pytest.approx(value, abs=TOLERANCE), key


def test_replies_are_read_as_listed(golden: Path) -> None:
    for name, case in cases(golden / "answer_extraction.json").items():
        found = read_choices(case["response"], case["selection"])
        said = [case["selection"][place] for place in found.options]
        assert said == case["expected_options"], name


def submitted(raw: Raw, prediction: object, *, overwrite: bool = False) -> Raw:
    """Return a record as `submit` writes it."""
    record = Record.model_validate(raw)
    answers = {record.sample_id: record.options.answers(prediction)}
    (filled,) = fill(Document([raw], "object"), answers, overwrite=overwrite).records
    return filled


def test_submissions_are_written_as_listed(golden: Path) -> None:
    for name, case in cases(golden / "submission_cases.json").items():
        is_refused = case.get("expected_without_overwrite") == "error"
        if is_refused:
            refused("--overwrite", submitted, case["record"], case["prediction"])
        found = submitted(case["record"], case["prediction"], overwrite=is_refused)
        expected = case["expected_with_overwrite" if is_refused else "expected"]
        assert list(found.items()) == list(expected.items()), name


@pytest.mark.parametrize("number", range(3))
def test_draws_agree_with_all_resamples(golden: Path, number: int) -> None:
    case = content(golden / "bootstrap_exact.json")["cases"][number]
    units = [Counts(**counts) for counts in case["question_counts"]]
    every = [float(total(drawn).f1) for drawn in product(units, repeat=len(units))]
    assert len(every) == case["n_resamples_enumerated"]
    _, found = bootstrap(units, Method(n_iters=10_000, seed=7))
    assert found["value"] == pytest.approx(case["micro_f1"], abs=TOLERANCE)
    expected = np.mean(every), np.std(every)
    assert (found["mean"], found["std"]) == pytest.approx(expected, abs=0.01)
    for end, name in (("low", "025"), ("median", "50"), ("high", "975")):
        quantile = np.quantile(every, float(f"0.{name}"))
        assert quantile == pytest.approx(case[f"q{name}"], abs=1e-6)
        below = max((value for value in every if value <= quantile + TOLERANCE), default=0.0)
        above = min((value for value in every if value >= quantile - TOLERANCE), default=1.0)
        assert below - TOLERANCE <= found[end] <= above + TOLERANCE
