"""The model runner: names, inputs, and models that are Python."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from medeval.errors import UserError
from medeval.evaluation.model_kinds import MissingExtraError
from medeval.evaluation.model_runner import MODEL_TYPES, ModelRunner
from medeval.evaluation.task_loader import TaskLoader
from medeval.metrics.registry import default_registry

FIXTURE = Path(__file__).parent / "fixtures" / "simple_local_model.py"
NOTES = [{"document": f"Note {number}. More."} for number in range(5)]
SUMMARIES = [{"summary": f"Note {number}."} for number in range(5)]


def file_of(folder: Path, code: str, name: str = "model.py") -> dict[str, Any]:
    path = folder / name
    path.write_text(code, encoding="utf-8")
    return {"type": "local", "path": path, "callable": "predict"}


@pytest.fixture
def runner() -> ModelRunner:
    runner = ModelRunner()
    runner.load_model({"type": "local", "path": str(FIXTURE), "callable": "predict"})
    return runner


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FIXTURE.parent))


def test_the_documented_example_runs(project_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project_root)
    tasks = "python/medeval/task_files"
    task = TaskLoader().load_task(f"{tasks}/clinical_summarization_basic.yaml")
    runner = ModelRunner()
    runner.load_model(
        {
            "type": "local",
            "path": "python/tests/fixtures/simple_local_model.py",
            "callable": "predict",
        }
    )
    scores = task.evaluate(runner.run_model(task.inputs))  # type: ignore[attr-defined]
    assert set(scores) == {"rouge_l", "clinical_relevance", "factual_consistency"}
    assert 0 < scores["rouge_l"] < 1


def test_a_model_from_a_file_has_the_name_of_the_file(runner: ModelRunner) -> None:
    assert runner.loaded == ("simple_local_model",)
    assert runner.run_model("simple_local_model", NOTES) == SUMMARIES
    assert runner.run_model(NOTES, batch_size=2) == SUMMARIES
    assert runner.run_model("simple_local_model", []) == []


def test_a_callable_may_take_one_input_at_a_time() -> None:
    runner = ModelRunner()
    form = {"path": FIXTURE, "callable": "predict_one", "per_item": True, "name": "one by one"}
    runner.load_model(form)
    broken = [*NOTES[:2], {"text": "no document"}, *NOTES[3:]]
    failed = {"error": {"type": "KeyError", "attempts": 1}}
    expected = [*SUMMARIES[:2], failed, *SUMMARIES[3:]]
    assert runner.run_model("one by one", broken) == expected


def test_a_failing_batch_is_an_error_for_its_own_items_only(runner: ModelRunner) -> None:
    broken = [*NOTES[:2], {"text": "no document"}, *NOTES[3:]]
    failed = {"error": {"type": "KeyError", "attempts": 1, "batch": 2}}
    assert runner.run_model(broken, batch_size=2) == [*SUMMARIES[:2], failed, failed, SUMMARIES[4]]


def test_a_short_reply_is_shifted_onto_no_other_input(tmp_path: Path) -> None:
    runner = ModelRunner()
    runner.load_model(file_of(tmp_path, "def predict(rows): return rows[1:]"))
    outputs = runner.run_model(NOTES[:3], batch_size=2)
    wrong = [each["error"]["type"] for each in outputs]
    assert wrong == ["WrongLength"] * 3


def test_an_output_that_is_no_mapping_is_an_error_of_its_item(tmp_path: Path) -> None:
    runner = ModelRunner()
    runner.load_model(file_of(tmp_path, "def predict(rows): return [{'answer': 1}, 'text', None]"))
    failed = {"error": {"type": "NotAMapping", "attempts": 1}}
    assert runner.run_model(NOTES[:3]) == [{"answer": 1}, failed, failed]


def test_a_model_that_changes_its_inputs_changes_only_copies(tmp_path: Path) -> None:
    code = "def predict(rows):\n    for row in rows: row['labs'].clear()\n    return rows"
    runner = ModelRunner()
    runner.load_model(file_of(tmp_path, code))
    inputs = [{"labs": [1, 2]}]
    runner.run_model(inputs)
    assert inputs == [{"labs": [1, 2]}]


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("x = 1", ValueError, "has no function predict"),
        ("predict = 1", ValueError, "has no function predict"),
        ("def predict(:", ImportError, "cannot be run .SyntaxError"),
        ("raise RuntimeError('no weights')", ImportError, "RuntimeError: no weights"),
    ],
)
def test_a_file_that_is_no_model_is_named(
    tmp_path: Path, code: str, error: type[Exception], message: str
) -> None:
    before = set(sys.modules)
    runner = ModelRunner()
    with pytest.raises(error, match=message) as caught:
        runner.load_model(file_of(tmp_path, code))
    assert "model.py" in str(caught.value)
    assert runner.loaded == ()
    if error is ImportError:
        assert not [name for name in set(sys.modules) - before if "medeval_model_" in name]


def test_other_wrong_files_are_named_too(tmp_path: Path) -> None:
    runner = ModelRunner()
    with pytest.raises(FileNotFoundError, match=r"nowhere\.py"):
        runner.load_model({"path": tmp_path / "nowhere.py"})
    with pytest.raises(ValueError, match=r"must end in \.py"):
        runner.load_model(file_of(tmp_path, "def predict(rows): ...", "model.txt"))
    with pytest.raises(TypeError, match="colour"):
        runner.load_model({"path": FIXTURE, "colour": "red"})
    with pytest.raises(ValueError, match="needs a name"):
        runner.load_model({"type": "local", "module_path": "json"})


@pytest.mark.usefixtures("importable")
def test_a_module_loads_a_model_with_the_other_keywords() -> None:
    runner = ModelRunner()
    model = runner.load_model(
        "imported", model_path="weights", module_path="simple_local_model", prefix="> "
    )
    assert callable(model)
    question = {"question": "why?"}
    assert runner.run_model("imported", [question]) == [{"answer": "> weights: why?"}]
    assert runner.run_model("imported", [question], suffix="!") == [{"answer": "> weights: why?!"}]


@pytest.mark.usefixtures("importable")
def test_a_local_model_says_what_it_lacks() -> None:
    runner = ModelRunner()
    with pytest.raises(ValueError, match="needs model_path"):
        runner.load_model("m", module_path="simple_local_model")
    with pytest.raises(ValueError, match="needs module_path"):
        runner.load_model("m", model_path="weights")
    with pytest.raises(ValueError, match="simple_local_model has no function load_it"):
        runner.load_model(
            "m", model_path="w", module_path="simple_local_model", load_func="load_it"
        )
    with pytest.raises(ImportError, match="no_such_module"):
        runner.load_model("m", model_path="w", module_path="no_such_module")
    with pytest.raises(ValueError, match="returned a str, which cannot be called"):
        runner.load_model("m", model_path="w", module_path="json", load_func="dumps", indent=None)


class Constant:
    """An object as the interface wants it."""

    model_id = "constant"
    metadata = {"version": "1.0"}  # noqa: RUF012  as a user may write it

    def predict(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"answer": "yes"} for _ in rows]


def test_an_object_that_predicts_is_a_model() -> None:
    runner = ModelRunner()
    model = Constant()
    assert runner.load_model("mine", model_type="interface", model=model) is model
    assert runner.run_model("mine", [{}, {}]) == [{"answer": "yes"}] * 2
    assert runner.describe("mine")["metadata"] == {"version": "1.0"}
    runner.load_model({"type": "interface", "model": model})
    assert runner.loaded == ("mine", "constant")
    for given in ({}, {"model": object()}):
        with pytest.raises(ValueError, match="needs model="):
            runner.load_model("other", model_type="interface", **given)


def test_a_name_that_is_loaded_keeps_its_model(runner: ModelRunner) -> None:
    first = runner.load_model("mine", model_type="interface", model=Constant())
    with pytest.warns(UserWarning, match="'mine' is loaded already"):
        second = runner.load_model("mine", model_type="interface", model=Constant())
    assert second is first
    runner.unload_model("mine")
    runner.unload_model("never loaded")
    assert runner.loaded == ("simple_local_model",)
    assert runner.load_model("mine", model_type="interface", model=Constant()) is not first


def test_a_model_that_is_not_loaded_is_an_error_with_the_names(runner: ModelRunner) -> None:
    with pytest.raises(ValueError, match="'other' is not loaded; loaded are: simple_local_model"):
        runner.run_model("other", NOTES)
    runner.load_model("mine", model_type="interface", model=Constant())
    with pytest.raises(ValueError, match=r"name the model .* simple_local_model, mine"):
        runner.run_model(NOTES)
    with pytest.raises(ValueError, match="loaded are: none"):
        ModelRunner().run_model(NOTES)


def test_inputs_must_be_mappings(runner: ModelRunner) -> None:
    bad: Any
    for bad in (["text"], [NOTES[0], 3], [None]):
        with pytest.raises(ValueError, match=r"inputs\[\d\] is a \w+, not a mapping"):
            runner.run_model("simple_local_model", bad)
    for bad in ({"document": "x"}, "text", None):
        with pytest.raises(ValueError, match="list of mappings"):
            runner.run_model("simple_local_model", bad)
    with pytest.raises(ValueError, match="name of the model"):
        runner.run_model(NOTES, NOTES)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="batch_size"):
        runner.run_model(NOTES, batch_size=0)


def test_other_types_and_parameters_are_refused() -> None:
    runner = ModelRunner()
    with pytest.raises(ValueError, match="unknown model type 'gpt': use one of local, api"):
        runner.load_model("m", model_type="gpt")
    with pytest.raises(TypeError, match="as one mapping"):
        runner.load_model({"path": FIXTURE}, per_item=True)
    with pytest.raises(ValueError, match=r"interface .* has no model_path"):
        runner.load_model("m", model_type="interface", model_path="w", model=Constant())
    assert set(MODEL_TYPES) == {"local", "api", "huggingface", "interface", "openai"}


def test_a_description_is_json_and_tells_contents_apart(tmp_path: Path) -> None:
    descriptions = []
    for code in ("def predict(rows): return rows", "def predict(rows): return []"):
        runner = ModelRunner()
        runner.load_model(file_of(tmp_path, code))
        descriptions.append(runner.describe("model"))
        json.dumps(descriptions[-1])
    assert descriptions[0]["type"] == "local"
    assert descriptions[0]["sha256"] != descriptions[1]["sha256"]
    with pytest.raises(ValueError, match="not loaded"):
        ModelRunner().describe("model")


def test_the_asynchronous_call_gives_the_same(runner: ModelRunner) -> None:
    async def both() -> list[Any]:
        return [
            await runner.run_model_async("simple_local_model", NOTES, batch_size=2),
            await runner.run_model_async(NOTES),
        ]

    assert asyncio.run(both()) == [SUMMARIES, SUMMARIES]


@pytest.mark.skipif(find_spec("transformers") is not None, reason="the extras are installed")
def test_a_missing_extra_is_named_and_its_metric_not_listed() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'medeval\[huggingface\]'") as caught:
        ModelRunner().load_model("m", model_type="huggingface", model_path="somewhere")
    assert isinstance(caught.value, UserError)
    assert isinstance(caught.value, ImportError)
    assert "bertscore" not in default_registry()


class OwnEndError(BaseException):
    """What a library raises that wants to be caught by nobody."""


@pytest.mark.parametrize("per_item", [True, False])
@pytest.mark.parametrize(
    "raised", [ValueError, SystemExit, GeneratorExit, asyncio.CancelledError, OwnEndError]
)
def test_whatever_a_function_raises_is_an_error_and_an_interrupt_stays_one(
    tmp_path: Path, raised: type[BaseException], per_item: bool
) -> None:
    runner = ModelRunner()
    form = file_of(tmp_path, "def predict(rows): raise RAISED")
    function = runner.load_model({**form, "per_item": per_item})
    function.__globals__["RAISED"] = raised
    batch = {} if per_item else {"batch": 2}
    error = {"type": raised.__name__, "attempts": 1, **batch}
    assert runner.run_model(NOTES[:2]) == [{"error": error}] * 2
    if raised is ValueError:
        function.__globals__["RAISED"] = KeyboardInterrupt
        with pytest.raises(KeyboardInterrupt):
            runner.run_model(NOTES[:2])


def test_values_that_json_lacks_and_halves_of_characters_are_no_harm(tmp_path: Path) -> None:
    code = "def predict(rows): return [{'a': float('nan')}, {'a': {1}}, {'a': 'pain \\ud83d'}]"
    runner = ModelRunner()
    runner.load_model(file_of(tmp_path, code))
    failed = {"error": {"type": "NotJson", "attempts": 1}}
    assert runner.run_model(NOTES[:3]) == [failed, failed, {"a": "pain \ufffd"}]
