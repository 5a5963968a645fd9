"""The page on adding a benchmark, followed to the letter: its files, its commands, its package."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from commands import PROJECT_ROOT, run_dbt, run_medeval
from model_server import RuledEndpoint, model_server

pytestmark = pytest.mark.slow
PAGE = (PROJECT_ROOT / "docs" / "adding_a_benchmark.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w/.]+)`:\n\n```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
WAREHOUSE = {"MEDEVAL_DUCKDB": "medeval.duckdb"}
OWN = "abbreviations.py:Abbreviations"
RULES = [{"when": "CHF", "text": "Congestive heart failure."}, {"text": "deep vein thrombosis"}]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with the files of the page, and its tables."""
    folder = tmp_path_factory.mktemp("checkout")
    for part in ("models", "macros", "seeds", "tests", "demo"):
        shutil.copytree(PROJECT_ROOT / part, folder / part)
    for part in ("dbt_project.yml", "profiles.yml"):
        shutil.copy(PROJECT_ROOT / part, folder)
    assert len(FILES) == 4
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    run_dbt("build", "--select", "abbreviations", env=WAREHOUSE, cwd=folder, code=0)
    return folder


def medeval(folder: Path, *words: str, path: str = "") -> str:
    return run_medeval(*words, env={**WAREHOUSE, "PYTHONPATH": path}, cwd=folder, code=0).stdout


def run_of(folder: Path, out: str) -> str:
    (run,) = (folder / out).iterdir()
    return f"{out}/{run.name}"


def test_a_task_in_a_file_runs_scores_compares_and_reports(checkout: Path) -> None:
    assert "--politely" in medeval(checkout, "run", "--task", OWN, "--help")
    with model_server(RuledEndpoint(RULES).script) as server:
        for out, more in (("one", []), ("two", ["--politely"])):
            medeval(
                checkout,
                *("run", "--task", OWN, "--model", "m", "--base-url", server.url, "--out", out),
                *more,
            )
        assert server.seen.bodies[-1]["messages"][0]["content"].startswith("Please: what")
    one, two = run_of(checkout, "one"), run_of(checkout, "two")
    shown = medeval(checkout, "score", "--task", OWN, one, "--by", "field", "--min-cell", "1")
    assert re.search(r"accuracy\W+0\.3333\W+0\.0968 to 0\.7000\W+6", shown), shown
    assert re.search(r"cardiology\W+2\W+1\.0000 \(0\.3424 to 1\.0000\)", shown), shown
    assert "nephrology" in shown
    medeval(checkout, "score", "--task", OWN, two, "--n-iters", "0")
    compared = json.loads(medeval(checkout, "compare", "--task", OWN, one, two, "--json"))
    assert [one["metric"] for one in compared["comparisons"]] == ["accuracy", "in_the_line"]
    medeval(checkout, "report", one)
    assert "accuracy" in (checkout / one / "report.html").read_text(encoding="utf-8")
    medeval(checkout, "report", one, two, "--out", "board.md")
    assert "abbreviations" in (checkout / "board.md").read_text(encoding="utf-8")
    assert "NOT" not in medeval(checkout, "doctor", "--task", OWN)


def test_a_record_does_not_choose_the_code_that_is_run(checkout: Path) -> None:
    medeval(checkout, "run", "--task", OWN, "--model", "demo", "--out", "three")
    run = run_of(checkout, "three")
    (checkout / "evil.py").write_text("open('was_run', 'w').close()\nEvil = None\n")
    record = json.loads((checkout / run / "run.json").read_text(encoding="utf-8"))
    shutil.copytree(checkout / run, checkout / "four")
    for field in ("task", "asked_task"):
        changed = json.dumps({**record, field: "evil.py:Evil"})
        (checkout / "four" / "run.json").write_text(changed, encoding="utf-8")
        for words in (["score"], ["compare", run], ["judge"], ["run", "--resume"]):
            done = run_medeval(*words, "four", env=WAREHOUSE, cwd=checkout, code=2)
    assert not (checkout / "was_run").exists()
    done = run_medeval("score", run, env=WAREHOUSE, cwd=checkout, code=2)
    assert f"is a run of {OWN}. Name that with --task" in done.stderr


def test_an_installed_package_has_the_task_under_its_name(checkout: Path, tmp_path: Path) -> None:
    entry, words = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    about = tmp_path / "abbreviations-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: abbreviations\nVersion: 1\n")
    points = entry.replace('project.entry-points."medeval.tasks"', "medeval.tasks")
    (about / "entry_points.txt").write_text(points.replace('"', ""))
    (tmp_path / "abbreviations.py").write_text(FILES["abbreviations.py"])
    # The checkout has the page's module too, and comes first where commands run in it.
    for folder in (tmp_path, checkout):
        (folder / "about.toml").write_text(words)
    path = str(tmp_path)
    assert "abbreviations" in medeval(checkout, "tasks", path=path)
    medeval(checkout, "run", "--task", "abbreviations", "--model", "demo", "--out", "4", path=path)
    scored = medeval(checkout, "score", run_of(checkout, "4"), "--json", path=path)
    assert json.loads(scored)["task_scores"]["abbreviations"]["accuracy"] == 0.0
    medeval(checkout, "report", run_of(checkout, "4"), "--out", "report.html", path=path)
    page = (checkout / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"<h1>(.*?)</h1>", page) == ["Abbreviations"]
    assert "The meaning is right in 0 of 6 abbreviations" in page
