"""The page about evaluation: its code runs, and its table has every metric."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT

from medeval.metrics.registry import default_registry
from medeval.models.medical_task import MedicalTask

PAGE = (PROJECT_ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in blocks("python"):
        exec(compile(code, "docs/evaluation.md", "exec"), names)
    assert {path.name for path in tmp_path.iterdir()} == {
        "results",
        "report.html",
        "saved.json",
        "board.html",
        "submission.json",
    }
    assert names["report"] == names["again"]
    assert 0 < names["report"].overall_scores["rouge_l"] < 1
    assert len(names["outputs"]) == 2
    assert [row.task_id for row in names["rows"]] == [
        "clinical_qa_basic",
        "clinical_qa_medications",
    ]


def test_the_task_file_of_the_page_is_one() -> None:
    (text,) = blocks("yaml")
    task = MedicalTask.from_yaml(text)
    task.validate()
    assert task.data_class == "open"
    assert set(task.metrics) <= {metric.name for metric in default_registry()}


def test_the_table_has_every_metric() -> None:
    section = PAGE.partition("## Metrics")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`([a-z0-9_]+)`", row)]
    assert sorted(listed) == sorted(metric.name for metric in default_registry())
