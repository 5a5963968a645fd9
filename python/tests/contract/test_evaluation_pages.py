"""The code, task files and tables of the pages about task files do what the pages say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT

from medeval.evaluation.task_loader import TaskLoader
from medeval.evaluation.validators import ensure_task_schemas
from medeval.metrics.registry import default_registry
from medeval.models.task_types import TASK_CLASSES

PAGE = (PROJECT_ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")


def blocks(language: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in blocks("python"):
        exec(compile(code, "docs/evaluation.md", "exec"), names)
    written = {f"{name}.html" for name in ("report", "board", "boards")}
    written |= {"results", "saved.json", "submission.json"}
    assert {path.name for path in tmp_path.iterdir()} == written
    assert names["report"] == names["again"]
    assert 0 < names["report"].overall_scores["rouge_l"] < 1
    assert len(names["outputs"]) == 25
    ids = [row.task_id for row in names["rows"]]
    assert ids == ["clinical_qa_basic", "clinical_qa_medications"]


def test_the_task_files_and_the_tables_of_the_pages_are_right(tmp_path: Path) -> None:
    page = (PROJECT_ROOT / "docs" / "task_files.md").read_text(encoding="utf-8")
    known = sorted(metric.name for metric in default_registry())
    texts = blocks("yaml", page)
    (rows,) = blocks("json", page)
    (tmp_path / "questions.jsonl").write_text(rows, encoding="utf-8")
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.yaml").write_text(text, encoding="utf-8")
    tasks = [TaskLoader().load_task(tmp_path / f"{number}.yaml") for number in range(2)]
    assert [task.data_class for task in tasks] == ["open", "open"]
    assert set(tasks[0].metrics) <= set(known)
    assert tasks[1].pairs()[1] == [{"answer": "B"}, {"answer": "A, C"}]
    table = page.partition("## Types and rows")[2].partition("\n\n- ")[0]
    cells = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", table, flags=re.MULTILINE)
    assert [task_type for task_type, *_ in cells] == sorted(TASK_CLASSES, key=table.index)
    for task_type, *sides in cells:
        for side, schema in zip(sides, ensure_task_schemas(task_type, None, None), strict=True):
            assert all(f"`{key}`" in side for key in schema["required"])
    section = PAGE.partition("## Metrics")[2].partition("\n## ")[0]
    named = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert sorted(name for row in named for name in re.findall(r"`([a-z0-9_]+)`", row)) == known
