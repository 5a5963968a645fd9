"""What people gave answers: read from CSV files, and how far judges agree with it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judging_runs import GOOD, RUBRIC, audited, run_judges, subject, verdict
from sklearn.metrics import cohen_kappa_score

from medeval.errors import UserError
from medeval.inference.types import Item
from medeval.judging.agreement import pair_agreement
from medeval.judging.human import HumanRatings, human_agreement, read_human_ratings
from medeval.judging.jury import Judge
from medeval.judging.results import JudgingResults

WIDE = "id,sample,rater,accuracy,completeness,clarity\n"


def read(folder: Path, text: str) -> HumanRatings:
    path = folder / "ratings.csv"
    path.write_text(text, encoding="utf-8")
    return read_human_ratings(path, RUBRIC)


def judged_by(folder: Path, **scores: list[tuple[int, ...]]) -> JudgingResults:
    """Return the results of judges that give case-0, case-1, ... these scores."""

    def judge(given: list[tuple[int, ...]]) -> Any:
        def reply(item: Item) -> str:
            own = given[int(item.id.split("#")[0].removeprefix("case-"))]
            return verdict(*own) if own else "no verdict"

        return reply

    count = len(next(iter(scores.values())))
    judges = [Judge(name, function=judge(given)) for name, given in scores.items()]
    listed = [subject(f"case-{number}") for number in range(count)]
    return run_judges(listed, judges, RUBRIC, folder)


def test_both_forms_say_the_same(tmp_path: Path) -> None:
    wide = read(tmp_path, f"{WIDE}a,,Ann,4,,5\na,,Bob,3,2,1\nb,1,Ann,1,2.5,3\n")
    long = read(
        tmp_path,
        "item,dimension,score,rater,sample\na,accuracy,4,Ann,0\na,clarity,5,Ann,0\n"
        "a,accuracy,3,Bob,0\na,completeness,2,Bob,0\na,clarity,1,Bob,0\nb,accuracy,1,Ann,1\n"
        "b,completeness,2.5,Ann,1\nb,clarity,3,Ann,1\nb,clarity,,Bob,1\n",
    )
    for found in (wide, long):
        assert found.raters == ("Ann", "Bob")
        assert found.answers == (("a", 0), ("b", 1))
        scores = found.matrix([("b", 1), ("none", 0), ("a", 0)], "completeness")
        assert np.array_equal(
            scores, [[2.5, math.nan], [math.nan, math.nan], [math.nan, 2]], equal_nan=True
        )


def test_one_rater_needs_no_name_and_a_spreadsheet_may_have_written_the_file(
    tmp_path: Path,
) -> None:
    text = '\ufeffexample_id,clarity,comment\r\n"a, b",5,"good,\r\nnearly"\r\n,,\r\nc,1,\r\n'
    found = read(tmp_path, text)
    assert found.raters == ("",)
    assert [(each.answer, each.dimension, each.score) for each in found.ratings] == [
        (("a, b", 0), "clarity", 5.0),
        (("c", 0), "clarity", 1.0),
    ]


# The text of a file, and what is said of it.
WRONG = json.loads((Path(__file__).parent / "readers" / "ratings.json").read_text("utf-8"))


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_cannot_be_meant_is_named_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        read(tmp_path, text)
    assert str(tmp_path / "ratings.csv") in str(raised.value)
    assert said in str(raised.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_human_ratings(tmp_path / "none.csv", RUBRIC)
    path = tmp_path / "latin.csv"
    path.write_bytes("id,rater,clarity\na,Zoë,4\n".encode("latin-1"))
    with pytest.raises(UserError, match="is not UTF-8"):
        read_human_ratings(path, RUBRIC)


def test_ratings_of_other_answers_are_an_error_before_a_judge_is_asked(tmp_path: Path) -> None:
    asked: list[Item] = []

    def reply(item: Item) -> str:
        asked.append(item)
        return GOOD

    human = read(tmp_path, "id,clarity\nother,4\n")
    with pytest.raises(UserError, match="none of the 1 rated answers"):
        audited([subject("case-0")], [Judge("j", function=reply)], tmp_path, [], human=human)
    assert not asked


def test_judges_and_their_mean_are_compared_with_the_mean_of_people_and_with_each(
    tmp_path: Path,
) -> None:
    results = judged_by(
        tmp_path,
        mild=[(5, 4, 4), (4, 4, 4), (2, 2, 2), (5, 5, 5)],
        strict=[(3, 2, 2), (2, 2, 2), (2, 2, 2), ()],
    )
    human = read(
        tmp_path,
        f"{WIDE}case-0,,Ann,4,3,4\ncase-0,,Bob,4,3,2\ncase-1,,Ann,3,3,3\ncase-1,,Bob,4,4,4\n"
        "case-2,,Ann,2,2,2\ncase-3,,Ann,5,5,5\nelsewhere,,Ann,1,1,1\n",
    )
    report = human_agreement(results, human)
    assert report["raters"] == 2
    assert report["answers_rated"] == 5
    assert report["answers_rated_and_of_the_run"] == 4
    assert report["answers_not_rated"] == 0
    accuracy = report["dimensions"]["accuracy"]
    mild = accuracy["judges"]["mild"]
    # Means of people: 4, 3.5, 2, 5; the judge: 5, 4, 2, 5.
    assert (mild["with_mean"]["exact"]["value"], mild["with_mean"]["exact"]["n"]) == (0.5, 4)
    assert mild["with_mean"]["within_1"]["value"] == 1.0
    # With Ann on four answers: 5-4, 4-3, 2-2, 5-5; with Bob on two: 5-4, 4-4.
    assert mild["with_each"]["exact"]["value"] == pytest.approx(3 / 6)
    # A judge without a verdict on an answer is not compared on it.
    strict = accuracy["judges"]["strict"]["with_mean"]
    assert strict["exact"]["n"] == 3
    # The jury's mean: 4, 3, 2, 5.
    assert accuracy["jury"]["with_mean"]["exact"]["value"] == 0.75
    # The people among themselves, on two answers: 4-4, 3-4.
    assert accuracy["raters"]["exact"]["value"] == 0.5
    assert accuracy["raters"]["exact"]["n"] == 2
    # The reward in points of the scale, Ann and Bob 11/3 and 3, 3 and 4, 2, 5; the jury's 10/3 ...
    reward = report["dimensions"]["reward"]
    assert reward["judges"]["mild"]["with_mean"]["within_1"]["value"] == 1.0
    assert reward["jury"]["with_mean"]["exact"]["value"] == pytest.approx(0.75)


def test_a_blank_answer_is_not_compared_and_a_report_names_nobody(tmp_path: Path) -> None:
    listed = [subject("case-0", " "), subject("case-1"), subject("case-2")]
    results = run_judges(listed, [Judge("j", function=lambda _: GOOD)], RUBRIC, tmp_path)
    text = f"{WIDE}case-0,,Dr. Ann Example,1,1,1\ncase-1,,Dr. Ann Example,4,3,5\n"
    report = human_agreement(results, read(tmp_path, text))
    assert report["dimensions"]["reward"]["judges"]["j"]["with_mean"]["exact"]["n"] == 1
    assert report["answers_not_rated"] == 1
    assert "Example" not in str(report)


def test_several_pairs_are_a_mean_by_the_answers_that_they_share() -> None:
    gap = math.nan
    scores = np.array([[1, 2, 1], [2, 2, 3], [4, 5, 5], [3, 1, gap], [5, 4, gap], [2, 3, gap]])
    found = pair_agreement(scores, [(0, 1), (0, 2)], 0)["quadratic_kappa"]
    first = cohen_kappa_score(scores[:, 0], scores[:, 1], weights="quadratic", labels=range(1, 6))
    second = cohen_kappa_score(
        scores[:3, 0], scores[:3, 2], weights="quadratic", labels=range(1, 6)
    )
    assert found["value"] == pytest.approx((6 * first + 3 * second) / 9)
    assert found["n"] == 6
    assert found["low"] <= found["value"] <= found["high"]
