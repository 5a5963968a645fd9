"""The YIER-LLM task against what was worked out by hand: files, matches, counts, replies."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medeval.errors import UserError
from medeval.tasks.yier_score import bootstrap
from medeval.yier.questions import check_records, fill, submitted_records
from medeval.yier.reading import Document, Raw, read_file
from medeval.yier.replies import read_reply
from medeval.yier.score import NOTHING, Answered, Counts, join, score

FILES = [
    "array_utf8.json",
    "array_bom.json",
    "array_gb18030.json",
    "array_utf16.json",
    "lines.jsonl",
    "single_object.json",
    "wrapped.json",
    "curly_quotes.json",
    "mixed_quotes.json",
    "content_quotes_survive.json",
    "test_split_empty_answers.json",
    "empty.json",
]
EDGES = [f"ed{number:02}" for number in range(1, 9)]
EXTRACTIONS = [f"ax{number:02}" for number in range(1, 33)]
COUNTED = [f"g{number:02}" for number in range(1, 19)]
SUBMISSIONS = [f"sub{number:02}" for number in range(1, 9)]
TOLERANCE = 1e-12


@pytest.fixture(scope="session")
def golden(shared: Path) -> Path:
    return shared / "golden" / "yier_llm"


def content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def cases(path: Path) -> dict[str, Any]:
    return {case.get("id") or case["record"]["sample_id"]: case for case in content(path)["cases"]}


def test_every_golden_case_is_named_here(golden: Path) -> None:
    assert [
        entry["file"] for entry in content(golden / "files" / "manifest.json")["files"]
    ] == FILES
    assert list(cases(golden / "edge_totals.json")) == EDGES
    assert list(cases(golden / "answer_extraction.json")) == EXTRACTIONS
    assert list(cases(golden / "micro_f1_cases.json")) == COUNTED
    assert list(cases(golden / "submission_cases.json")) == SUBMISSIONS


@pytest.mark.parametrize("name", FILES)
def test_files_give_their_records(golden: Path, name: str) -> None:
    manifest = content(golden / "files" / "manifest.json")["files"]
    expected = next(entry for entry in manifest if entry["file"] == name)
    found = read_file(golden / "files" / name)
    assert found.records == expected["records"]
    assert len(found.records) == expected["n_records"]
    assert [list(record) for record in found.records] == [
        list(record) for record in expected["records"]
    ]
    assert (found.encoding, found.layout, found.repaired) == (
        expected["encoding"],
        expected["layout"],
        expected["repaired"],
    )
    assert all(entry.state == "ok" for entry in check_records(found.records).outcomes)


@pytest.mark.parametrize("name", COUNTED)
def test_questions_count_as_worked_by_hand(golden: Path, name: str) -> None:
    case = cases(golden / "micro_f1_cases.json")[name]
    gold = check_records([case["record"]]).records
    handed_in = case["record"] | {"predict_answers": case["predict_answers"]}
    (question,) = score(join(gold, submitted_records([handed_in], name))).questions
    assert vars(question.counts) == case["expected"]


def test_totals_are_as_worked_by_hand(golden: Path) -> None:
    golden_cases = content(golden / "micro_f1_cases.json")
    gold = check_records([case["record"] for case in golden_cases["cases"]]).records
    handed_in = [
        case["record"] | {"predict_answers": case["predict_answers"]}
        for case in golden_cases["cases"]
    ]
    found = score(join(gold, submitted_records(handed_in, "all cases")))
    totals = golden_cases["totals"]
    sums = Counts(*(found.summary[name] for name in ("tp", "n_pred", "n_gold")))
    assert vars(sums) == {name: totals[name] for name in vars(sums)}
    assert (sums.n_pred - sums.tp, sums.n_gold - sums.tp) == (totals["fp"], totals["fn"])
    assert Fraction(sums.tp, sums.n_pred) == Fraction(*totals["micro_precision"])
    assert Fraction(sums.tp, sums.n_gold) == Fraction(*totals["micro_recall"])
    assert sums.exact_f1 == Fraction(*totals["micro_f1"])
    right, asked = totals["exact_set_match"]
    expected = {
        "n": totals["n_questions"],
        "f1": totals["micro_f1_float"],
        "exact_set_accuracy": right / asked,
        "mean_question_f1": totals["mean_question_f1"],
    }
    found_values = {name: found.summary[name] for name in expected}
    assert found_values == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("name", EDGES)
def test_zero_cases_are_as_worked_by_hand(golden: Path, name: str) -> None:
    case = cases(golden / "edge_totals.json")[name]
    expected = case["expected"]
    raws = [
        {
            "question": "症状题",
            "selection": question["selection"],
            "answer_choices": question["gold"],
            "sample_id": str(number),
        }
        for number, question in enumerate(case["questions"])
    ]

    def scored() -> Any:
        records = [entry.record for entry in check_records(raws, strict=True).outcomes]
        return score(
            [
                Answered(record, record.options.answers(question["predicted"]))
                for record, question in zip(records, case["questions"], strict=True)
            ]
        )

    if "error" in expected:
        with pytest.raises(UserError, match=expected["error"]):
            scored()
        return
    found = scored()
    written = found.summary | {"n_unlabelled": found.n_unlabelled}
    for key, value in expected.items():
        if key == "warning":
            assert any(value in warning for warning in found.warnings)
        else:
            assert written[key] == pytest.approx(value, abs=TOLERANCE), key


@pytest.mark.parametrize("name", EXTRACTIONS)
def test_replies_are_read_as_listed(golden: Path, name: str) -> None:
    case = cases(golden / "answer_extraction.json")[name]
    found = read_reply(case["response"], case["selection"])
    assert [case["selection"][place] for place in found.options] == case["expected_options"]


def submitted(raw: Raw, prediction: object, *, overwrite: bool = False) -> Raw:
    """Return a record as `submit` writes it."""
    (record,) = check_records([raw]).records
    answers = {record.sample_id: record.options.answers(prediction)}
    (filled,) = fill(Document([raw], "object"), answers, overwrite=overwrite).records
    return filled


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_submissions_are_written_as_listed(golden: Path, name: str) -> None:
    case = cases(golden / "submission_cases.json")[name]
    if case.get("expected_without_overwrite") == "error":
        with pytest.raises(UserError, match="--overwrite"):
            submitted(case["record"], case["prediction"])
        found = submitted(case["record"], case["prediction"], overwrite=True)
        expected = case["expected_with_overwrite"]
    else:
        found = submitted(case["record"], case["prediction"])
        expected = case["expected"]
    assert found == expected
    assert list(found) == list(expected)


@pytest.mark.parametrize("number", range(3))
def test_draws_agree_with_all_resamples(golden: Path, number: int) -> None:
    case = content(golden / "bootstrap_exact.json")["cases"][number]
    units = [Counts(**counts) for counts in case["question_counts"]]
    every = [sum(drawn, NOTHING).f1 for drawn in product(units, repeat=len(units))]
    assert len(every) == case["n_resamples_enumerated"]
    found = bootstrap(units, n_iters=10_000, seed=7)
    assert found.value == pytest.approx(case["micro_f1"], abs=TOLERANCE)
    assert (found.mean, found.std) == pytest.approx((np.mean(every), np.std(every)), abs=0.01)
    for end, name in ((found.low, "025"), (found.median, "50"), (found.high, "975")):
        quantile = np.quantile(every, float(f"0.{name}"))
        assert quantile == pytest.approx(case[f"q{name}"], abs=1e-6)
        below = max((value for value in every if value <= quantile + TOLERANCE), default=0.0)
        above = min((value for value in every if value >= quantile - TOLERANCE), default=1.0)
        assert below - TOLERANCE <= (end or 0) <= above + TOLERANCE
