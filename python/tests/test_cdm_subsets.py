"""A part of the cases by name: asked by itself, or scored by itself beside the whole."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from cdm_cases import case
from cdm_cases import scored as score_of_case
from cdm_runs import (
    exported,
    folder_of,
    hadm_ids,
    lines,
    plain,
    result_of,
    run_cdm,
    scored,
    settings_in,
)
from commands import run_medeval

from medeval.cdm.aggregate import ScoredCase
from medeval.cdm.cases import Subset
from medeval.cdm.scores import SCORES
from medeval.errors import UserError
from medeval.tasks.catalogue import begin
from medeval.tasks.cdm import CdmTask, options_of
from medeval.tasks.cdm_tables import by_subset, subset_scores, subset_sentences, subset_table
from medeval.tasks.self_check import check_task
from medeval.tasks.task import Method

POSSIBLE = ["Diagnosis"]
NOT_IN_RUN = "are not in this run; its values are of the others only."


def ids_file(folder: Path, ids: Sequence[int], name: str = "ids.txt") -> Path:
    path = folder / name
    path.write_text("".join(f"{one}\n" for one in ids), encoding="utf-8")
    return path


def task_of(export: Path, **given: Any) -> CdmTask:
    task = begin("cdm", {"cases": str(export), **given})
    assert isinstance(task, CdmTask)
    return task


def scores(right: Sequence[bool | str | None], ids: Sequence[int]) -> dict[str, Any]:
    """Return the scores of a subset of cases 1, 2, … that are right, wrong, or failed, and why."""
    made = []
    for number, each in enumerate(right, start=1):
        is_failed = not isinstance(each, bool)
        score = score_of_case(case(), diagnosis="appendicitis" if each else "gastritis")
        made.append(
            ScoredCase(
                number,
                "appendicitis",
                None if is_failed else score,
                (str(each) if each else "timeout") if is_failed else None,
            )
        )
    return subset_scores(made, [Subset("readers", tuple(ids), "f")], Method(50), POSSIBLE)[0]


@pytest.mark.parametrize(
    ("right", "ids", "counts", "value", "told"),
    [
        ([True, True, False, None, False], [2, 3, 4], (3, 1, 0, 0), "0.3333", ""),
        ([True, False], [1, 2, 3, 4, 5], (2, 0, 0, 3), "0.5000",
         f"subset readers: 3 of its 5 cases {NOT_IN_RUN}"),
        ([True, "not_asked"], [1, 2], (2, 1, 1, 0), "0.5000",
         "subset readers: 1 of its 2 cases were never asked and count as failed."),
        # None is too small: it is named by whoever reads it, and a share has its interval.
        ([True, False], [2], (1, 0, 0, 0), "0.0000", ""),
        ([True], [7, 8], (0, 0, 0, 2), "undefined",
         f"subset readers: 2 of its 2 cases {NOT_IN_RUN}"),
    ],
)  # fmt: skip
def test_a_subset_is_scored_over_its_cases_alone(
    right: list[Any], ids: list[int], counts: tuple[int, ...], value: str, told: str
) -> None:
    found = scores(right, ids)
    names = ("n", "n_failed", "not_asked", "not_in_run")
    assert tuple(found[name] for name in names) == counts
    assert list(subset_sentences([found])) == ([told] if told else [])
    row = subset_table([found]).rows[0]
    assert (row[:3], row[4]) == (("readers", "Diagnosis", value), str(counts[0]))
    assert (row[3] != "") is (value != "undefined")
    assert by_subset([found])["readers"]["n"] == counts[0]


# A run of a subset


def test_only_the_cases_of_the_subset_are_asked(tmp_path: Path, asked_export: Path) -> None:
    every = hadm_ids(asked_export)
    wanted = [every[9], every[2], every[30]]
    task = task_of(asked_export, subset=f"readers={ids_file(tmp_path, wanted)}")
    # In the order of the export, not of the file.
    assert [int(item.id) for item in task.items()] == [every[2], every[9], every[30]]
    assert [int(item.id) for item in task.items(2)] == [every[2], every[9]]
    of = {one["hadm_id"]: one["pathology"] for one in exported(asked_export)}
    counts = Counter(of[one] for one in wanted)
    assert task.settings()["cdm"]["pathologies"] == dict(sorted(counts.items()))
    # How often another case of the subset, not of the export, has the same pathology.
    assert task.chance() == sum(count * (count - 1) for count in counts.values()) / (3 * 2)
    assert [check for check in check_task(task) if not check.passed] == []


def test_the_record_of_a_run_holds_its_subset(tmp_path: Path, asked_export: Path) -> None:
    wanted = hadm_ids(asked_export)[:3]
    path = ids_file(tmp_path, wanted)
    task = task_of(asked_export, subset=f"readers={path}")
    settings = json.loads(json.dumps(task.settings()))
    kept = settings["cdm"]["subset"]
    assert (kept["name"], kept["cases"], kept["hadm_ids"]) == ("readers", 3, sorted(wanted))
    assert str(path) not in json.dumps(settings)
    path.unlink()
    again = task_of(asked_export, **{**options_of(settings), "cases": str(asked_export)})
    assert again.settings() == task.settings()
    assert [item.id for item in again.items()] == [item.id for item in task.items()]
    assert "subset" not in task_of(asked_export).settings()["cdm"]


def test_a_subset_of_the_record_is_no_option_of_the_user(asked_export: Path) -> None:
    given = {"name": "readers", "hadm_ids": [20000001], "file_sha256": "f"}
    with pytest.raises(UserError, match="option subset"):
        begin("cdm", {"cases": str(asked_export), "subset": given})


def test_a_run_of_a_subset_goes_on_without_its_file(tmp_path: Path, asked_export: Path) -> None:
    wanted = hadm_ids(asked_export)[4:9]
    path = ids_file(tmp_path, wanted)
    begun = run_cdm(
        tmp_path, asked_export, "--model", "demo", "--subset", f"readers={path}", "--limit", "2"
    )
    assert begun.returncode == 0, begun.stderr
    folder = folder_of(begun)
    assert [int(line["item"]) for line in lines(folder)] == wanted[:2]
    before = settings_in(folder)
    path.unlink()
    refused = run_medeval("run", "--resume", folder, "--subset", f"readers={path}")
    assert refused.returncode == 2
    assert "leave --subset away" in plain(refused.stderr)
    done = run_medeval("run", "--resume", folder, "--limit", "100")
    assert done.returncode == 0, done.stderr
    assert sorted(int(line["item"]) for line in lines(folder)) == sorted(wanted)
    assert settings_in(folder) == before
    score = run_medeval("score", "--task", "cdm", folder)
    assert "The run is of the subset readers: 5 cases of the export." in plain(score.stdout)
    metadata = result_of(folder)["metadata"]
    assert metadata["n"] == 5
    assert metadata["data"]["subset"]["ids_sha256"] == before["subset"]["ids_sha256"]
    assert "hadm_ids" not in metadata["data"]["subset"]


def test_a_run_asks_one_subset(tmp_path: Path, asked_export: Path) -> None:
    path = ids_file(tmp_path, hadm_ids(asked_export)[:1])
    both = ("--subset", f"a={path}", "--subset", f"b={path}")
    done = run_cdm(tmp_path / "runs", asked_export, "--model", "demo", *both)
    assert done.returncode == 2
    assert "--subset was given 2 times" in plain(done.stderr)
    other = ids_file(tmp_path, [5], "other.txt")
    done = run_cdm(tmp_path / "runs", asked_export, "--model", "demo", "--subset", f"a={other}")
    assert done.returncode == 2
    assert "line 1: hadm_id 5 is none of the 118 cases" in plain(done.stderr)
    assert not (tmp_path / "runs").exists()


# A subset of a run


def test_subsets_are_scored_beside_the_whole(tmp_path: Path, asked_export: Path) -> None:
    every = hadm_ids(asked_export)
    readers = ids_file(tmp_path, [*every[20:5:-1], every[50]], "readers.txt")
    hard = ids_file(tmp_path, every[10:12], "hard.txt")
    done = run_cdm(tmp_path, asked_export, "--model", "demo", "--limit", "30")
    folder = folder_of(done)
    whole = scored(folder)
    assert "subsets" not in whole["metadata"]
    score = run_medeval(
        "score", "--task", "cdm", folder, "--by", "gender", "--min-cell", "1",
        "--subset", f"readers={readers}", "--subset", f"hard={hard}",
    )  # fmt: skip
    assert score.returncode == 0, score.stderr
    assert "subset readers: 1 of its 16 cases are not in this run" in plain(score.stderr)
    assert "subset hard" not in score.stderr
    assert "by subset" in score.stdout
    result = result_of(folder)
    assert result["metrics_results"] == whole["metrics_results"]
    assert result["intervals"] == whole["intervals"]
    first, second = result["metadata"]["subsets"]
    assert (first["name"], first["cases"], first["n"], first["not_in_run"]) == (
        "readers", 16, 15, 1,
    )  # fmt: skip
    assert (second["name"], second["cases"], second["n"], second["not_in_run"]) == (
        "hard", 2, 2, 0,
    )  # fmt: skip
    places = [place for place, row in enumerate(result["inputs"]) if row["hadm_id"] in every[6:21]]
    assert set(first["scores"]) == set(SCORES)
    for name, mean in first["scores"].items():
        values = [result["item_scores"][name][place] for place in places]
        assert mean["mean_failures_as_zero"] == pytest.approx(fmean(values))
        assert mean["low_failures_as_zero"] <= fmean(values) <= mean["high_failures_as_zero"]


def test_subsets_have_names_of_their_own(tmp_path: Path, asked_export: Path) -> None:
    path = ids_file(tmp_path, hadm_ids(asked_export)[:1])
    folder = folder_of(run_cdm(tmp_path, asked_export, "--model", "demo", "--limit", "1"))
    twice = ("--subset", f"a={path}", "--subset", f"a={path}")
    done = run_medeval("score", "--task", "cdm", folder, *twice)
    assert done.returncode == 2
    assert "another subset is called a too" in plain(done.stderr)
    assert not (folder / "scores.json").exists()


@pytest.mark.parametrize("task", ["yier", "ihm"])
def test_other_tasks_have_no_subsets(tmp_path: Path, task: str) -> None:
    path = ids_file(tmp_path, [5])
    # A file that is handed in takes another way than a run.
    done = run_medeval("score", "--task", task, path, "--subset", f"a={path}")
    assert done.returncode == 2
    assert f"{task} has no place for --subset" in plain(done.stderr)


def test_a_run_of_a_subset_is_compared_on_the_cases_of_both(
    tmp_path: Path, asked_export: Path
) -> None:
    every = hadm_ids(asked_export)
    path = ids_file(tmp_path, every[3:8])
    whole = folder_of(run_cdm(tmp_path, asked_export, "--model", "demo", "--limit", "6"))
    part = folder_of(
        run_cdm(tmp_path, asked_export, "--model", "demo", "--subset", f"readers={path}")
    )
    out = tmp_path / "compared.json"
    done = run_medeval("compare", "--task", "cdm", whole, part, "--out", out, "--n-iters", "10")
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text(encoding="utf-8"))["comparisons"]
    assert found[0]["metric"] == "Diagnosis"
    assert len(found) == 7
    # Cases 3, 4 and 5 are of both, and the same model answers them alike.
    assert {(one["n"], one["difference"]) for one in found} == {(3, 0.0)}


def test_a_subset_counts_what_was_never_asked(tmp_path: Path, asked_export: Path) -> None:
    every = hadm_ids(asked_export)
    path = ids_file(tmp_path, every[:3])
    folder = folder_of(run_cdm(tmp_path, asked_export, "--model", "demo", "--limit", "5"))
    journal = folder / "responses.jsonl"
    kept = [line for line in lines(folder) if line["item"] != str(every[1])]
    journal.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
    score = run_medeval("score", "--task", "cdm", folder, "--subset", f"readers={path}")
    assert score.returncode == 1
    assert "subset readers: 1 of its 3 cases were never asked" in plain(score.stderr)
    found = result_of(folder)["metadata"]["subsets"][0]
    assert (found["n"], found["n_failed"], found["not_asked"], found["not_in_run"]) == (3, 1, 1, 0)
