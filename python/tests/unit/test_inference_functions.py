"""Files that functions come from, as a task's models load them; runs are `engine_functions`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from inference_runs import run_of

from medeval.evaluation.model_runner import ModelRunner
from medeval.inference.guard import DataUseGuard
from medeval.inference.python_model import PythonModel, module_of
from medeval.inference.run import AUDIT, RunConfig
from medeval.inference.types import Sample


def test_neighbours_of_the_same_name_are_not_mistaken_for_each_other(tmp_path: Path) -> None:
    runner, before = ModelRunner(), list(sys.path)
    code = "import neighbour\ndef predict(rows): return [{'a': neighbour.TEXT} for _ in rows]\n"
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "neighbour.py").write_text(f"TEXT = {name!r}\n", encoding="utf-8")
        (folder / "model.py").write_text(code, encoding="utf-8")
        runner.load_model({"type": "local", "name": name, "path": folder / "model.py"})
    assert [runner.run_model(name, [{}])[0]["a"] for name in ("one", "two")] == ["one", "two"]
    assert "neighbour" not in sys.modules
    assert sys.path == before


def test_what_an_environment_has_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = tmp_path / ".venv" / "packages"
    packages.mkdir(parents=True)
    (packages / "installed_one.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(str(packages))
    (tmp_path / "fn.py").write_text("import installed_one\n", encoding="utf-8")
    module_of(tmp_path / "fn.py")
    assert sys.modules.pop("installed_one").__file__ == str(packages / "installed_one.py")


def test_what_a_function_does_to_its_messages_is_seen_by_no_other_sample(tmp_path: Path) -> None:
    shared = [{"role": "user", "content": "question"}]
    seen: list[str] = []

    def function(item: Sample) -> str:
        seen.append(item.messages[0]["content"])
        item.messages[0]["content"] = "CHANGED"  # type: ignore[index]
        return "A"

    run = run_of(tmp_path, PythonModel(function, "f", DataUseGuard({}, tmp_path / AUDIT)))
    for _ in range(2):
        run.execute([Sample("one", shared, "open", sample) for sample in range(2)], RunConfig())
    assert seen == ["question"] * 2
    assert shared == [{"role": "user", "content": "question"}]
