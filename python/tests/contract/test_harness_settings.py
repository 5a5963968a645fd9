"""Secrets are written nowhere, and what else a model was loaded with is; and the page's code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT
from harness_runs import always, harness_for, questions

from medeval.evaluation.model_runner import ModelRunner
from medeval.evaluation.task_loader import TaskLoader
from medeval.evaluation.validators import ensure_task_schemas
from medeval.metrics.registry import default_registry
from medeval.models.task_types import TASK_CLASSES

KEY = "sk-hidden-0123456789abcdef"
WITHHELD = "[withheld]"
PAGE = (PROJECT_ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")


def all_text(folder: Path) -> str:
    return "\n".join(
        path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file()
    )


class Quoting(ModelRunner):
    """A runner that quotes what it was given in an error."""

    def run_model(self, *given: Any, **more: Any) -> list[dict[str, Any]]:
        raise ConnectionError(f"401: Bearer {KEY} and own-value-0123; none are known")

    def load_model(self, *given: Any, **more: Any) -> Any:
        return super().load_model(given[0], "interface", model=always({}))


def test_secrets_are_in_neither_record_nor_error(tmp_path: Path) -> None:
    given = {
        "api_key": KEY,
        "headers": {"X-Own": "own-value-0123", "Authorization": f"Bearer {KEY}"},
        "extra": {"token": "inner-token-99", "keep": 1, "note": f"uses {KEY}", "pwd": "none"},
        "endpoint": f"https://user:pass@host.example:8443/v1?key={KEY}&version=2#x",
        "max_tokens": 50,
        "stop": ["a", ("b",)],
        "note": "nonetheless",
    }
    runner = Quoting(folder=tmp_path / "models")
    with harness_for(tmp_path, questions(2), runner=runner) as harness:
        report = harness.evaluate("m", ["questions"], "api", report_formats=["html"], **given)
    assert report.metadata["model"]["parameters"] == {
        "headers": {"Authorization": WITHHELD, "X-Own": WITHHELD},
        "extra": {"keep": 1, "note": f"uses {WITHHELD}"},
        "endpoint": "https://host.example:8443/v1?version=2",
        "max_tokens": 50,
        "stop": ["a", ["b"]],
        # Short secrets are withheld, but words are not garbled.
        "note": "nonetheless",
    }
    assert report.detailed_results[0].metadata["error"] == {
        "type": "ConnectionError",
        "message": f"401: {WITHHELD} and {WITHHELD}; none are known",
    }
    text = report.to_json() + all_text(tmp_path)
    for secret in (KEY, "own-value-0123", "inner-token-99", "user:pass"):
        assert secret not in text


def blocks(language: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in blocks("python"):
        exec(compile(code, "docs/evaluation.md", "exec"), names)
    written = {"results", "report.html", "saved.json", "board.html", "submission.json"}
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
