"""Functions as models: whatever they do, it stays theirs; and the files that they come from."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import run_medeval
from inference_runs import MODEL, QUICK, lines, open_item, open_items

from medeval.errors import UserError
from medeval.evaluation.model_runner import ModelRunner
from medeval.inference.guard import DataUseGuard
from medeval.inference.python_model import PythonModel
from medeval.inference.run import AUDIT, Run, RunConfig, RunResult, settings_of
from medeval.inference.types import Item, Outcome
from medeval.tasks.catalogue import begin
from medeval.tasks.models import ModelChoice, model_of

SECRET = "sk-planted-0123456789"


class OwnEndError(BaseException):
    """What a library raises that wants to be caught by nobody."""


ENDS = [asyncio.CancelledError, GeneratorExit, SystemExit, StopAsyncIteration, OwnEndError]


def asked(function: Callable[[Item], Any], folder: Path, items: list[Item]) -> RunResult:
    provider = PythonModel(function, MODEL, DataUseGuard({}, folder / AUDIT))
    run = Run(folder, settings_of(provider, ""), provider)
    return run.execute(items, RunConfig(concurrency=2, retries=QUICK))


def raising(raised: type[BaseException], when: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def function(value: Any) -> Any:
        if when(value):
            raise raised(f"the key is {SECRET}")
        return value if isinstance(value, list) else "A"

    return function


@pytest.mark.parametrize("raised", ENDS)
def test_what_would_end_the_process_is_an_error_of_its_item(
    tmp_path: Path, raised: type[BaseException]
) -> None:
    function = raising(raised, lambda item: item.id == "item-001")
    ended = asked(function, tmp_path, open_items(3))
    assert ended.progress.ledger[Outcome.ANSWERED] == 2
    (failed,) = [line for line in lines(tmp_path) if line["outcome"] == "errored"]
    assert (failed["item"], failed["error"]["code"]) == ("item-001", raised.__name__)


def test_the_message_of_an_error_is_not_kept_but_its_place_is(tmp_path: Path) -> None:
    asked(raising(ValueError, lambda item: True), tmp_path, [open_item("one")])
    (line,) = lines(tmp_path)
    assert line["error"]["code"] == "ValueError"
    name, _, number = line["error"]["detail"].removeprefix("at ").partition(":")
    assert name == Path(__file__).name
    code = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert "raise raised(" in code[int(number) - 1]
    for path in tmp_path.iterdir():
        assert SECRET not in path.read_text(encoding="utf-8")


def test_a_model_that_ends_the_program_does_not(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import sys\ndef predict(rows): sys.exit(3)\n", encoding="utf-8")
    runner = ModelRunner()
    runner.load_model({"type": "local", "path": path})
    error = {"type": "SystemExit", "attempts": 1, "batch": 1}
    assert runner.run_model([{"question": "?"}]) == [{"error": error}]


def test_what_a_function_does_to_its_messages_changes_nothing_of_other_samples(
    tmp_path: Path,
) -> None:
    shared = [{"role": "user", "content": "question"}]
    items = [replace(open_item("one"), messages=shared, sample=sample) for sample in (0, 1)]
    seen: list[Any] = []

    def function(item: Item) -> str:
        seen.append(json.loads(json.dumps(list(item.messages))))
        item.messages[0]["content"] = "CHANGED"  # type: ignore[index]
        item.messages.append({"role": "assistant", "content": "A"})  # type: ignore[attr-defined]
        return "A"

    asked(function, tmp_path, items)
    before = [line["key"] for line in lines(tmp_path)]
    again = asked(function, tmp_path, items)
    assert again.progress.before == 2
    assert seen == [[{"role": "user", "content": "question"}]] * 2
    assert shared == [{"role": "user", "content": "question"}]
    assert [line["key"] for line in lines(tmp_path)] == before


# The command line's functions


def provider_from(folder: Path, code: str, **given: Any) -> PythonModel:
    path = folder / "fn.py"
    path.write_text(code, encoding="utf-8")
    choice = ModelChoice(f"{path}:answer", **given)
    found = model_of(choice, begin("clinical_qa_basic", {}), DataUseGuard({}, folder / AUDIT))
    assert isinstance(found, PythonModel)
    return found


def answered(provider: PythonModel, folder: Path) -> list[dict[str, Any]]:
    run = Run(folder, settings_of(provider, ""), provider)
    run.execute([open_item("one")], RunConfig(retries=QUICK))
    return lines(folder)


def test_the_timeout_holds_for_functions(tmp_path: Path) -> None:
    # Whoever waited for this function would wait for ever.
    code = "import time\ndef answer(messages):\n    while True: time.sleep(1)\n"
    (line,) = answered(provider_from(tmp_path, code, timeout=0.3), tmp_path)
    assert line["error"]["code"] == "TimeoutError"
    assert "0.3 seconds" in line["error"]["detail"]


LOADABLE = {
    "a dataclass with postponed annotations": """
from __future__ import annotations
from dataclasses import dataclass

@dataclass
class Reply:
    text: str

def answer(messages): return Reply("A").text
""",
    "a neighbour": "import neighbour\ndef answer(messages): return neighbour.TEXT\n",
    "a neighbour's part": "from near.part import TEXT\ndef answer(messages): return TEXT\n",
}


@pytest.fixture
def neighbours(tmp_path: Path) -> Iterator[Path]:
    before = list(sys.path)
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "__init__.py").write_text("", encoding="utf-8")
    for name in ("neighbour.py", "near/part.py"):
        (tmp_path / name).write_text('TEXT = "A"\n', encoding="utf-8")
    yield tmp_path
    assert sys.path == before


@pytest.mark.parametrize("code", LOADABLE.values(), ids=LOADABLE)
def test_files_that_scripts_may_be_can_be_loaded(neighbours: Path, code: str) -> None:
    (line,) = answered(provider_from(neighbours, code), neighbours)
    assert line["text"] == "A"
    runner = ModelRunner()
    path = neighbours / "fn.py"
    runner.load_model({"type": "local", "path": path, "callable": "answer", "per_item": True})
    assert runner.run_model([{"q": 1}]) == [{"error": {"type": "NotAMapping", "attempts": 1}}]


def test_neighbours_of_the_same_name_are_not_mistaken_for_each_other(tmp_path: Path) -> None:
    runner = ModelRunner()
    code = "import neighbour\ndef predict(rows): return [{'a': neighbour.TEXT} for _ in rows]\n"
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "neighbour.py").write_text(f"TEXT = {name!r}\n", encoding="utf-8")
        (folder / "model.py").write_text(code, encoding="utf-8")
        runner.load_model({"type": "local", "name": name, "path": folder / "model.py"})
    assert [runner.run_model(name, [{}])[0]["a"] for name in ("one", "two")] == ["one", "two"]
    assert "neighbour" not in sys.modules


def test_what_stands_in_an_environment_below_stays_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / ".venv" / "packages"
    packages.mkdir(parents=True)
    (packages / "installed_one.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(str(packages))
    provider_from(tmp_path, "import installed_one\ndef answer(messages): return 'A'\n")
    assert sys.modules.pop("installed_one").__file__ == str(packages / "installed_one.py")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import sys\nsys.exit(0)\n", r"fn\.py cannot be run \(SystemExit: 0\)"),
        ("1 / 0\n", r"cannot be run \(ZeroDivisionError: division by zero\)"),
        ("def answer(:\n", r"cannot be run \(SyntaxError"),
        ("import no_such_module_here\n", "No module named 'no_such_module_here'"),
        ("import asyncio\nraise asyncio.CancelledError\n", r"\(CancelledError\)"),
        ("answer = 3\n", "has no function 'answer'"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(tmp_path: Path, code: str, told: str) -> None:
    known = set(sys.modules)
    with pytest.raises(UserError, match=told):
        provider_from(tmp_path, code)
    if "answer =" not in code:
        assert not [name for name in set(sys.modules) - known if name.startswith("medeval_model")]
        with pytest.raises(ImportError, match="cannot be run"):
            ModelRunner().load_model({"type": "local", "path": tmp_path / "fn.py"})


def test_a_file_that_ends_the_process_is_bad_input_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "fn.py"
    path.write_text("import sys\nsys.exit(0)\n", encoding="utf-8")
    model = ["--task", "clinical_qa_basic", "--model", f"{path}:answer"]
    done = run_medeval("run", *model, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "SystemExit" in " ".join(done.stderr.split())
