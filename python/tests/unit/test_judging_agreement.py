"""Agreement of judges, with each other and with people, against published figures and scipy."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging_runs import (
    GOOD,
    RUBRIC,
    by_answer,
    function_judge,
    judging,
    subject,
    subjects,
    verdict,
)
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score
from tables import refused, table

from medeval.errors import UserError
from medeval.judging.agreement import (
    STATISTICS,
    HumanRatings,
    agreement_of,
    human_agreement,
    read_human_ratings,
    statistics,
)
from medeval.judging.audit import audit, length_bias
from medeval.metrics.matching import token_f1

NAN = float("nan")
TABLES = table("agreement")
SHROUT_FLEISS, KRIPPENDORFF = TABLES["shrout_fleiss"], TABLES["krippendorff"]


def array(rows: Any) -> Any:
    return np.array(rows, dtype=np.float64)


def figures(rows: Any, weights: Any = None) -> dict[str, float]:
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
    scores = array(KRIPPENDORFF)
    for same in (scores, scores**3, scores[::-1, ::-1]):
        assert figures(same)["krippendorff_alpha"] == pytest.approx(0.8153875037548814)
    halves = [[1, 2], [2, 2], [3, 4.5], [5, 4], [NAN, 3], [1, 1]]
    assert figures(halves)["krippendorff_alpha"] == pytest.approx(0.8050955414012739)


pairs_of_scores = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40
).filter(lambda pairs: len({score for pair in pairs for score in pair}) > 1)


@given(pairs_of_scores)
def test_weighted_kappa_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    expected = cohen_kappa_score(first, second, labels=[1, 2, 3, 4, 5], weights="quadratic")
    assert figures(pairs)["quadratic_kappa"] == pytest.approx(expected, abs=1e-9)


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


@pytest.mark.parametrize("scores", [[[3, 3], [3, 3]], [[3, NAN], [NAN, 2]], [[1, 2]]], ids=str)
def test_what_has_no_meaning_has_no_value(scores: list[list[float]]) -> None:
    found = agreement_of(array(scores), [(0, 1)], 0)
    for name in ("icc_2_1", "icc_3_k"):
        assert found[name]["value"] is found[name]["low"] is found[name]["high"] is None
        assert found[name]["reason"]
    if scores != [[1, 2]]:
        assert found["krippendorff_alpha"]["value"] is None
        assert found["quadratic_kappa"]["value"] is None


def test_intervals_are_seeded_and_count_the_resamples_without_a_value() -> None:
    scores = array(SHROUT_FLEISS * 5)
    found = agreement_of(scores, [range(4)], seed=3)
    assert found == agreement_of(scores, [range(4)], seed=3)
    assert found != agreement_of(scores, [range(4)], seed=4)
    icc = found["icc_2_1"]
    assert icc["low"] < icc["value"] < icc["high"]
    assert (icc["n"], icc["method"]) == (30, "bootstrap_percentile")
    # Of more than two there is no kappa.
    assert (found["answers"], found["quadratic_kappa"]["value"]) == (30, None)
    # A resample of these has one value only in (3/4)^4 + (1/4)^4 of all cases.
    found = agreement_of(array([[1, 1], [1, 1], [1, 1], [5, 5]]), [(0, 1)], 0)
    assert 250 < found["krippendorff_alpha"]["n_undefined"] < 400
    assert found["krippendorff_alpha"]["value"] == 1.0


def test_length_bias_is_the_rank_correlation_of_scipy(tmp_path: Path) -> None:
    reference, scores = "alpha beta gamma", TABLES["lengths"]
    listed = [subject(answer, answer, reference=reference) for answer in scores]
    judge = function_judge("mine", lambda answer, marker: verdict(*[scores[answer]] * 2, 3))
    rows = length_bias(judging(listed, [judge], tmp_path).run())
    found = {(row["criterion"], row["figure"]): row for row in rows}
    length = [len(answer.split()) for answer in scores]
    overlap = [token_f1(reference, answer) for answer in scores]
    whole, by_overlap, score_overlap = (
        spearmanr(*both).statistic
        for both in ((length, [*scores.values()]), (length, overlap), ([*scores.values()], overlap))
    )
    assert found["accuracy", "spearman"]["value"] == pytest.approx(whole)
    assert found["accuracy", "spearman"]["n"] == 7
    expected = (whole - by_overlap * score_overlap) / np.sqrt(
        (1 - by_overlap**2) * (1 - score_overlap**2)
    )
    assert found["accuracy", "partial_on_overlap"]["value"] == pytest.approx(expected)
    assert found["clarity", "spearman"]["value"] is None


def read(folder: Path, text: str) -> HumanRatings:
    path = folder / "ratings.csv"
    path.write_text(text, encoding="utf-8")
    return read_human_ratings(path, RUBRIC)


def test_both_forms_of_ratings_say_the_same(tmp_path: Path) -> None:
    for found in (read(tmp_path, TABLES[form]) for form in ("wide", "long")):
        assert (found.raters, found.answers) == (("Ann", "Bob"), (("a", 0), ("b", 1)))
        scores = found.matrix([("b", 1), ("none", 0), ("a", 0)], "completeness")
        assert np.array_equal(scores, [[2.5, NAN], [NAN, NAN], [NAN, 2]], equal_nan=True)
    assert read(tmp_path, TABLES["of_a_spreadsheet"]).answers == (("a, b", 0), ("c", 0))


# The text of a file, and what is said of it.
@pytest.mark.parametrize(("text", "said"), table("ratings", "readers"))
def test_what_cannot_be_meant_is_named_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    raised = refused("", read, tmp_path, text)
    assert str(tmp_path / "ratings.csv") in raised
    assert said in raised


def test_ratings_that_cannot_be_read_or_are_of_other_answers(tmp_path: Path) -> None:
    asked: list[str] = []
    judge = function_judge("j", lambda answer, marker: asked.append(answer) or GOOD)
    human = read(tmp_path, "id,clarity\nother,4\n")
    with pytest.raises(UserError, match="none of the 1 rated answers"):
        audit(judging([subject("case-0")], [judge], tmp_path), parts=[], human=human)
    assert not asked
    (tmp_path / "latin.csv").write_bytes("id,rater,clarity\na,Zoë,4\n".encode("latin-1"))
    refused("is not text in UTF-8", read_human_ratings, tmp_path / "latin.csv", RUBRIC)


def test_judges_and_their_mean_are_compared_with_people(tmp_path: Path) -> None:
    replies = {
        name: [verdict(*scores) if scores else "no verdict" for scores in TABLES[name]]
        for name in ("mild", "strict")
    }
    jury = [by_answer(*judge) for judge in replies.items()]
    human = read(tmp_path, TABLES["people"])
    # An answer that no judge was shown is compared with nobody.
    listed = [*subjects(4), subject("blank", " "), subject("unrated", " ")]
    report = human_agreement(judging(listed, jury, tmp_path).run(), human)
    counts = ("raters", "answers_rated", "answers_rated_and_of_the_run", "answers_not_rated")
    assert [report[name] for name in counts] == [2, 6, 5, 1]
    assert "Ann" not in str(report)
    rows = {(row["criterion"], row["who"], row["with"]): row for row in report["agreement"]}
    for criterion, who, other, answers, exact in TABLES["compared"]:
        row = rows[criterion, who, other]
        share = pytest.approx(float(Fraction(exact)))
        assert (row["answers"], row["exact"]["value"]) == (answers, share), row
    for criterion in ("accuracy", "reward"):
        assert rows[criterion, "mild", "raters' mean"]["within_1"]["value"] == 1.0
