"""The model runner: names, inputs, and models that are Python."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT
from folder_changes import filled
from tables import refused, table

from medeval.errors import UserError
from medeval.evaluation.model_runner import ModelRunner
from medeval.metrics.registry import default_registry

Row = dict[str, Any]

TABLES = table("model_runner")
FIXTURE = Path(__file__).parents[1] / "fixtures" / "simple_local_model.py"
NOTES = [{"document": f"Note {number}. More."} for number in range(5)]
SUMMARIES = [{"summary": f"Note {number}."} for number in range(5)]


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT_ROOT)
    monkeypatch.syspath_prepend(str(FIXTURE.parent))


@pytest.fixture
def runner() -> ModelRunner:
    runner = ModelRunner()
    runner.load_model({"type": "local", "path": str(FIXTURE), "callable": "predict"})
    return runner


def test_a_model_from_a_file_has_the_name_of_the_file(runner: ModelRunner) -> None:
    assert runner.loaded == ("simple_local_model",)
    assert runner.run_model("simple_local_model", NOTES) == SUMMARIES
    assert runner.run_model("simple_local_model", []) == []

    async def both() -> list[Any]:
        return [
            await runner.run_model_async("simple_local_model", NOTES, batch_size=2),
            await runner.run_model_async(NOTES),
        ]

    assert asyncio.run(both()) == [SUMMARIES, SUMMARIES]


def test_a_failing_batch_or_item_is_an_error_of_its_own_only(runner: ModelRunner) -> None:
    broken = [*NOTES[:2], {"text": "no document"}, *NOTES[3:]]
    failed = {"error": {"type": "KeyError", "attempts": 1, "batch": 2}}
    assert runner.run_model(broken, batch_size=2) == [*SUMMARIES[:2], failed, failed, SUMMARIES[4]]
    form = {"path": FIXTURE, "callable": "predict_one", "per_item": True, "name": "one by one"}
    runner.load_model(form)
    alone = {"error": {"type": "KeyError", "attempts": 1}}
    assert runner.run_model("one by one", broken) == [*SUMMARIES[:2], alone, *SUMMARIES[3:]]


@pytest.mark.parametrize(("code", "outputs"), TABLES["outputs"])
def test_an_output_is_that_of_its_input(tmp_path: Path, code: str, outputs: list[Any]) -> None:
    inputs, runner = [{"labs": [1, 2]} for _ in range(3)], ModelRunner()
    (tmp_path / "model.py").write_text(code, encoding="utf-8")
    runner.load_model({"path": tmp_path / "model.py"})
    assert runner.run_model(inputs) == outputs
    assert inputs == [{"labs": [1, 2]}] * 3


@pytest.mark.parametrize(("given", "error", "message"), TABLES["refused"])
def test_no_model_is_told_at_once(tmp_path: Path, given: Row, error: str, message: str) -> None:
    given = json.loads(filled(json.dumps(given), tmp_path).replace("$FIXTURE", str(FIXTURE)))
    (tmp_path / "model.py").write_text(given.pop("code", ""), encoding="utf-8")
    runner, before = ModelRunner(folder=tmp_path), set(sys.modules)
    with pytest.raises(Exception, match=message) as caught:
        runner.load_model(given.pop("name"), **given)
    assert error in {kind.__name__ for kind in type(caught.value).__mro__}
    assert "sk-secret" not in str(caught.value)
    assert runner.loaded == ()
    # Of a file that cannot be run no module is left.
    left = {name for name in set(sys.modules) - before if "medeval_model_" in name}
    assert error != "ImportError" or not left


def test_a_module_loads_a_model_with_the_other_keywords() -> None:
    runner = ModelRunner()
    model = runner.load_model(
        "imported", model_path="weights", module_path="simple_local_model", prefix="> "
    )
    assert callable(model)
    question = {"question": "why?"}
    assert runner.run_model("imported", [question]) == [{"answer": "> weights: why?"}]
    assert runner.run_model("imported", [question], suffix="!") == [{"answer": "> weights: why?!"}]


class Constant:
    """An object as the interface wants it."""

    model_id = "constant"
    metadata = {"version": "1.0"}  # noqa: RUF012  as a user may write it

    def predict(self, rows: list[Row]) -> list[Row]:
        return [{"answer": "yes"} for _ in rows]


def test_an_object_that_predicts_is_a_model_and_a_name_keeps_its_model() -> None:
    runner = ModelRunner()
    refused("loaded are: none", runner.run_model, NOTES, error=ValueError)
    model = Constant()
    assert runner.load_model("mine", model_type="interface", model=model) is model
    assert runner.run_model("mine", [{}, {}]) == [{"answer": "yes"}] * 2
    assert runner.model("mine").settings["metadata"] == {"version": "1.0"}
    with pytest.warns(UserWarning, match="'mine' is loaded already"):
        assert runner.load_model("mine", model_type="interface", model=Constant()) is model
    runner.load_model({"type": "interface", "model": model})
    assert runner.loaded == ("mine", "constant")
    refused(r"name the model .* mine, constant", runner.run_model, NOTES, error=ValueError)
    runner.unload_model("mine")
    runner.unload_model("never loaded")
    assert runner.loaded == ("constant",)


@pytest.mark.parametrize(("given", "more", "message"), TABLES["calls"])
def test_bad_calls_are_told(runner: ModelRunner, given: list[Any], more: Row, message: str) -> None:
    refused(message, runner.run_model, *given, **more, error=ValueError)


@pytest.mark.skipif(find_spec("transformers") is not None, reason="the extras are installed")
def test_a_missing_extra_is_named_and_its_metric_not_listed() -> None:
    with pytest.raises(UserError, match=r"pip install 'medeval\[huggingface\]'") as caught:
        ModelRunner().load_model("m", model_type="huggingface", model_path="somewhere")
    assert isinstance(caught.value, ImportError)
    assert "bertscore" not in default_registry()
