"""Agreement of judges, against published figures and independent implementations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging_runs import (
    GOOD,
    RUBRIC,
    How,
    case_of,
    judge_at,
    run_judges,
    subjects,
    verdict,
)
from model_server import Body, Script, model_server
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from medeval.judging.agreement import STATISTICS, agreement, agreement_of, score_array, statistics
from medeval.judging.audit import length_bias
from medeval.judging.prompt import Subject
from medeval.judging.results import JudgingResults
from medeval.metrics.matching import token_f1

NAN = float("nan")
# Shrout and Fleiss 1979, table 2: six targets, four judges.
SHROUT_FLEISS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]
# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C: four observers.
KRIPPENDORFF = [
    [1, 1, NAN, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [NAN, 5, 5, 5],
    [NAN, NAN, 1, 1],
    [NAN, NAN, 3, NAN],
]


def array(rows: list[list[Any]]) -> Any:
    return np.array(rows, dtype=np.float64)


def figures(rows: list[list[Any]], weights: Any = None) -> dict[str, float]:
    scores = array(rows)
    drawn = np.ones((1, len(scores))) if weights is None else np.array([weights], dtype=float)
    return {name: float(values[0]) for name, values in statistics(scores, drawn).items()}


def test_intraclass_correlations_are_those_of_shrout_and_fleiss() -> None:
    found = figures(SHROUT_FLEISS)
    assert found["icc_2_1"] == pytest.approx(0.29, abs=0.005)
    # Their table 4: mean squares 11.24, 32.49 and 1.02.
    assert found["icc_3_k"] == pytest.approx((11.24 - 1.02) / 11.24, abs=0.001)
    # An item with a gap does not count.
    assert figures([*SHROUT_FLEISS, [1, NAN, 10, 1]])["icc_2_1"] == found["icc_2_1"]


def test_alpha_is_krippendorffs_own() -> None:
    # As the package krippendorff 0.9.0 gives it; 0.815 in the paper.
    alpha = pytest.approx(0.8153875037548814)
    assert figures(KRIPPENDORFF)["krippendorff_alpha"] == alpha
    assert figures(array(KRIPPENDORFF) ** 3)["krippendorff_alpha"] == alpha
    assert figures(array(KRIPPENDORFF)[::-1, ::-1])["krippendorff_alpha"] == alpha
    halves = [[1, 2], [2, 2], [3, 4.5], [5, 4], [NAN, 3], [1, 1]]
    assert figures(halves)["krippendorff_alpha"] == pytest.approx(0.8050955414012739)


pairs_of_scores = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40
).filter(lambda pairs: len({score for pair in pairs for score in pair}) > 1)


@given(pairs_of_scores)
def test_weighted_kappa_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    expected = cohen_kappa_score(first, second, labels=[1, 2, 3, 4, 5], weights="quadratic")
    found = figures([list(pair) for pair in pairs])["quadratic_kappa"]
    assert found == pytest.approx(expected, abs=1e-9)


items = st.tuples(
    st.lists(st.sampled_from([1, 2, 3.5, 5, NAN]), min_size=3, max_size=3), st.integers(0, 3)
)


@given(st.lists(items, min_size=1, max_size=12))
def test_a_weight_is_how_often_an_item_counts(rows: list[tuple[list[float], int]]) -> None:
    weighed = figures([row for row, _ in rows], [times for _, times in rows])
    repeated = [row for row, times in rows for _ in range(times)]
    expected = figures(repeated or [[NAN] * 3])
    for name in STATISTICS:
        assert weighed[name] == pytest.approx(expected[name], abs=1e-9, nan_ok=True), name


def test_shares_of_equal_and_near_scores() -> None:
    found = figures([[4, 4, 5], [1, 3, NAN], [2, NAN, NAN]])
    # Pairs: 4-4, 4-5, 4-5, 1-3.
    assert (found["exact"], found["within_1"]) == (pytest.approx(1 / 4), pytest.approx(3 / 4))
    # Means that differ by rounding are equal.
    assert figures([[0.1 + 0.2, 0.3], [1.0, 2.0]])["exact"] == 0.5
    assert figures([[1.0 + 0.1 + 0.2, 0.3]])["within_1"] == 1.0


@pytest.mark.parametrize(
    "scores",
    [[[3, 3], [3, 3]], [[3, NAN], [NAN, 2]], [[1, 2]]],
    ids=["all the same", "never both", "one item"],
)
def test_what_has_no_meaning_has_no_value(scores: list[list[float]]) -> None:
    found = agreement_of(array(scores), ["a", "b"])
    for name in ("icc_2_1", "icc_3_k"):
        assert found[name]["value"] is None
        assert found[name]["reason"]
        assert found[name]["low"] is found[name]["high"] is None
    if scores != [[1, 2]]:
        assert found["krippendorff_alpha"]["value"] is None
        assert found["quadratic_kappa"][0]["value"] is None


def test_perfect_agreement_is_1_everywhere() -> None:
    scores = array([[score] * 3 for score in (1, 2, 3, 4, 5, 5, 2)])
    found = agreement_of(scores, ["a", "b", "c"])
    for name in ("exact", "within_1", "krippendorff_alpha", "icc_2_1", "icc_3_k"):
        assert found[name]["value"] == pytest.approx(1.0), name
    assert [each["judges"] for each in found["quadratic_kappa"]] == [
        ["a", "b"],
        ["a", "c"],
        ["b", "c"],
    ]
    assert all(each["value"] == pytest.approx(1.0) for each in found["quadratic_kappa"])
    assert found["complete_items"] == 7


def test_an_interval_is_seeded_holds_the_value_and_says_how_it_was_made() -> None:
    scores = array(SHROUT_FLEISS * 5)
    found = agreement_of(scores, list("abcd"), seed=3)
    assert found == agreement_of(scores, list("abcd"), seed=3)
    assert found != agreement_of(scores, list("abcd"), seed=4)
    icc = found["icc_2_1"]
    assert icc["low"] < icc["value"] < icc["high"]
    assert icc["n"] == 30
    assert icc["method"] == "bootstrap_percentile"


def test_resamples_without_a_value_are_counted() -> None:
    # A resample of these has one value only in (3/4)^4 + (1/4)^4 of all cases.
    found = agreement_of(array([[1, 1], [1, 1], [1, 1], [5, 5]]), ["a", "b"])
    assert 250 < found["krippendorff_alpha"]["n_undefined"] < 400
    assert found["krippendorff_alpha"]["value"] == 1.0


def jury(tmp_path: Path, replies: dict[str, list[str]]) -> JudgingResults:
    def reply(body: Body) -> str:
        return replies[body["model"]][int(case_of(body).removeprefix("case-"))]

    with model_server(Script(reply=reply)) as server:
        judges = [judge_at(server.url, name) for name in replies]
        listed = subjects(len(next(iter(replies.values()))))
        options = How(re_asks=0)
        return run_judges(listed, judges, RUBRIC, tmp_path, options)


def test_agreement_of_a_jury_leaves_gaps_as_gaps(tmp_path: Path) -> None:
    mild = [verdict(5, 4, 4), verdict(4, 4, 4), verdict(2, 2, 2), GOOD]
    strict = [verdict(4, 4, 4), verdict(4, 4, 4), verdict(1), "no"]
    results = jury(tmp_path, {"mild": mild, "strict": strict})
    matrix = score_array(results, "completeness")[:, :, 0]
    assert np.array_equal(matrix, array([[4, 4], [4, 4], [2, NAN], [3, NAN]]), equal_nan=True)
    found = agreement(results)
    assert found["judges"] == ["mild", "strict"]
    assert found["dimensions"]["accuracy"]["exact"]["value"] == pytest.approx(1 / 3)
    assert found["dimensions"]["accuracy"]["within_1"]["value"] == 1.0
    assert found["dimensions"]["clarity"]["complete_items"] == 2


def lengths(tmp_path: Path, cases: list[tuple[str, str]]) -> dict[str, Any]:
    """Judge answers, each with its verdict, and return the bias of length."""
    listed = [
        Subject(f"case-{number:03}", f"notes case-{number:03}", answer, "alpha beta gamma", "open")
        for number, (answer, _) in enumerate(cases)
    ]
    replies = {subject.id: reply for subject, (_, reply) in zip(listed, cases, strict=True)}
    with model_server(Script(reply=lambda body: replies[case_of(body)])) as server:
        results = run_judges(listed, [judge_at(server.url)], RUBRIC, tmp_path, How())
    return length_bias(results)


def test_length_bias_is_the_rank_correlation_of_scipy(tmp_path: Path) -> None:
    words = [3, 9, 5, 12, 7, 7]
    scores = [1, 4, 2, 5, 2, 3]
    cases = [
        ("alpha " + "word " * (n - 1), verdict(s, 3, 3)) for n, s in zip(words, scores, strict=True)
    ]
    found = lengths(tmp_path, cases)["accuracy"]
    assert found["spearman"]["value"] == pytest.approx(spearmanr(words, scores).statistic)
    assert found["spearman"]["n"] == 6
    assert lengths(tmp_path / "same", cases)["clarity"]["spearman"]["value"] is None


def test_length_among_equally_good_answers(tmp_path: Path) -> None:
    # Longer answers are better here, and the score follows how good they are, not how long.
    cases = [
        ("alpha", verdict(2, 2, 2)),
        ("alpha beta", verdict(3, 3, 3)),
        ("alpha beta word word word", verdict(2, 2, 2)),
        ("alpha beta gamma", verdict(5, 5, 5)),
        ("alpha beta gamma word", verdict(4, 4, 4)),
        ("gamma word word word", verdict(3, 3, 3)),
        ("word word word word word word", verdict(1, 1, 1)),
    ]
    found = lengths(tmp_path, cases)["reward"]["partial_on_overlap"]
    length = [len(answer.split()) for answer, _ in cases]
    reward = [0.4, 0.6, 0.4, 1.0, 0.8, 0.6, 0.2]
    overlap = [token_f1("alpha beta gamma", answer) for answer, _ in cases]
    pairs = [
        spearmanr(*both).statistic
        for both in ((length, reward), (length, overlap), (reward, overlap))
    ]
    expected = (pairs[0] - pairs[1] * pairs[2]) / np.sqrt((1 - pairs[1] ** 2) * (1 - pairs[2] ** 2))
    assert found["value"] == pytest.approx(expected)
