"""The kinds of models that the runner loads, and those that are Python: functions and objects.

A model turns inputs into items of the engine, says who answers them, and reads
outputs from the lines of the journal. The engine of `run` does all that is between.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from medeval.errors import UserError
from medeval.inference.errors import CallFailedError, Failure, Kind, RetryPolicy
from medeval.inference.guard import IN_PROCESS
from medeval.inference.journal import Line
from medeval.inference.openai_model import ParameterFallbacks
from medeval.inference.python_model import module_of
from medeval.inference.run import RunConfig
from medeval.inference.types import Completion, Item, Outcome, Request
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row
from medeval.text import whole_json


class MissingExtraError(UserError, ImportError):
    """A part of the package is wanted whose dependencies are not installed."""


@dataclass(frozen=True)
class Call:
    """Inputs, and how they are put to a model.

    Attributes:
        rows: the inputs.
        batch_size: inputs at a time, for models that take several.
        task: which the inputs are of; None if the caller does not say.
        data_class: of the inputs; what is not `open` may not go to an endpoint at will.
        options: more for the model's own function.
        asked: the inputs by the names of their items, where these are no places.
    """

    rows: Sequence[Row] = ()
    batch_size: int = 1
    task: MedicalTask | None = None
    data_class: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    asked: dict[str, Row] = field(default_factory=dict)


class LoadedModel:
    """A model that was loaded under a name.

    Its `items` are what is asked, with the places of the inputs that each is made of, `answering`
    is who answers them, `config` how they are run, and `outputs` are read from their lines.

    Attributes:
        handle: what loading it returns: the object behind it where there is one.
        settings: what decides its answers, as JSON values, and never a key.
        folder: where its answers are kept; None if it keeps none of its own accord.
        asked: how many items of the last call were asked, and not known from earlier ones.
        measured: what is known of each input of the last call.
    """

    handle: Any
    settings: Mapping[str, Any]
    folder: Path | None = None
    asked: int = 0
    measured: Sequence[Mapping[str, Any]] = ()

    def unload(self) -> None:
        """Give back the memory that it holds."""


def failed(kind: str, attempts: int, **more: Any) -> Row:
    """Return what stands in the place of an output.

    Args:
        kind: class of the error, or outcome of the item.
        attempts: calls that were made for it.
        more: what else is known.
    """
    known = {key: value for key, value in more.items() if value is not None}
    return {"error": {"type": kind, "attempts": attempts, **known}}


def failed_line(line: Line | None, **more: Any) -> Row:
    """Return the error of an item without a reply; what an endpoint wrote may quote the input."""
    if line is None:
        return failed("not_asked", 0)
    error = line.get("error") or {}
    kind = error.get("kind") if line["outcome"] == Outcome.ERRORED else line["outcome"]
    told = {"status": error.get("status"), "code": error.get("code"), **more}
    if kind == Kind.CALLABLE:
        kind = told.pop("code")
    return failed(str(kind), line["measured"]["attempts"], **told)


def writable(output: Any) -> Any:
    """Return an output, or the error of one that holds values that JSON lacks."""
    try:
        json.dumps(output, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return failed("NotJson", 1)
    return output


class BatchModel(LoadedModel):
    """A model that takes lists of inputs: one item of the engine is one batch.

    A batch that fails, or is answered with another number of outputs, is an error for each of its
    items and for no other.

    Args:
        name: what the audit calls the model.
        handle: what loading it returns.
        settings: what decides its answers.
        function: takes a list of inputs and returns a list of outputs, or one of each; what a
            model of another kind has its own `predict` or `reply` for.
        is_per_item: it takes one input at a time.
        retries: when and how often a failed batch is asked again.
    """

    address = IN_PROCESS

    def __init__(
        self,
        name: str,
        handle: Any,
        settings: Mapping[str, Any],
        function: Callable[..., Any] = list,
        *,
        is_per_item: bool = False,
        retries: RetryPolicy | None = None,
    ) -> None:
        self.model, self.handle, self.settings = name, handle, settings
        self.function, self.is_per_item = function, is_per_item
        self.parameters: Mapping[str, Any] = {}
        self.fallbacks = ParameterFallbacks()
        self._retries = retries or RetryPolicy(attempts=1)
        self._call = Call()

    def items(self, call: Call, lines: Iterable[Line]) -> list[tuple[Item, Sequence[int]]]:
        """Return batches; one that is answered stays as it was made, whatever its size.

        Args:
            call: the inputs.
            lines: of the journal, from earlier starts.

        Raises:
            ValueError: the inputs cannot be put so.
        """
        whole = [line["item"] for line in lines if line["outcome"] == Outcome.ANSWERED]
        batches = [[int(place) for place in name.split(",")] for name in whole]
        known = {place for batch in batches for place in batch}
        left = [place for place in range(len(call.rows)) if place not in known]
        size = 1 if self.is_per_item else call.batch_size
        batches += [left[start : start + size] for start in range(0, len(left), size)]
        made: list[tuple[Item, Sequence[int]]] = []
        for batch in batches:
            # The batch as text names the request.
            messages = [{"role": "user", "content": self.body([call.rows[one] for one in batch])}]
            made.append((Item(",".join(map(str, batch)), messages, call.data_class), batch))
        return made

    def body(self, batch: Sequence[Row]) -> str:
        """Return a batch as text."""
        return json.dumps(batch, default=repr)

    def config(self, call: Call) -> RunConfig:
        """Return how the run is made: a batch with a failed output is asked again, as a whole."""

        def can_read(item: Item, text: str) -> bool:
            outputs = self._aligned(text, item.id.count(",") + 1, 1)
            return not any("error" in output for output in outputs)

        again = frozenset(Outcome) - {Outcome.ANSWERED}
        return RunConfig(concurrency=1, retries=self._retries, retry=again, can_read=can_read)

    def answering(self, call: Call) -> Self:
        """Return who answers the items of these inputs."""
        asked = copy(self)
        asked._call = call
        return asked

    def predict(self, batch: list[Row], call: Call) -> Any:
        """Return the outputs of a batch, for a model of this process."""
        if self.is_per_item:
            return [self.function(row, **call.options) for row in batch]
        return self.function(batch, **call.options)

    async def ask(self, request: Request) -> Completion:
        """See `Model`."""
        batch = [self._call.rows[int(place)] for place in request.item.id.split(",")]
        text = await self.reply(batch, request)
        return Completion(text, finish_reason="stop", model=self.model)

    async def reply(self, batch: list[Row], request: Request) -> str:
        """Return the outputs of a batch as JSON; values that JSON lacks are errors.

        Whatever a function raises is an error, also what would end the caller; KeyboardInterrupt
        alone stays what it is. Its message is left out: it may hold an input's text.

        Raises:
            CallFailedError: there are none.
        """
        try:
            outputs = whole_json(self.predict(batch, self._call))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  whatever a user's function raises
            failure = Failure(Kind.CALLABLE, code=type(error).__name__)
        else:
            is_list = isinstance(outputs, list | tuple)
            return json.dumps([writable(each) for each in outputs] if is_list else None)
        raise CallFailedError(failure)

    async def close(self) -> None:
        """See `Model`."""

    def outputs(self, line: Line | None, count: int, call: Call) -> list[Row]:
        """Return the outputs of an item of so many inputs; `{"error": ...}` for a failed one."""
        if line is None or "text" not in line:
            size = None if self.is_per_item else count
            return [failed_line(line, batch=size) for _ in range(count)]
        return self._aligned(line["text"], count, line["measured"]["attempts"])

    def output(self, given: Any, attempts: int) -> Row:
        """Return one output if it is a mapping; anything else is an error of its item."""
        return given if isinstance(given, dict) else failed("NotAMapping", attempts)

    def _aligned(self, text: str, count: int, attempts: int) -> list[Row]:
        """Return one output for each input of a batch, none of them shifted."""
        given, kind, wrong = json.loads(text), "NotAList", {"batch": count}
        if isinstance(given, list):
            if len(given) == count:
                return [self.output(each, attempts) for each in given]
            kind, wrong["returned"] = "WrongLength", len(given)
        return [failed(kind, attempts, **wrong) for _ in range(count)]


def imported_model(
    model_path: str | Path | None,
    module_path: str | None = None,
    load_func: str = "load_model",
    **more: Any,
) -> BatchModel:
    """Load a model through a function of an importable module.

    Args:
        model_path: handed to the function; a file or folder of the model.
        module_path: of the module, as in an import.
        load_func: the function's name.
        more: handed to the function.

    Raises:
        ValueError: an argument is missing, the module has no such function, or what it returns
            can be neither called nor asked to predict.
        ImportError: the module cannot be imported.
    """
    if model_path is None or not module_path:
        missing = "model_path" if model_path is None else "module_path"
        raise ValueError(
            f"a local model needs {missing}: the path of the model, and the import path of the"
            f" module whose {load_func} loads it"
        )
    module = import_module(module_path)
    load = getattr(module, load_func, None)
    if not callable(load):
        raise ValueError(f"module {module_path} has no function {load_func}")
    loaded = load(str(model_path), **more)
    function = loaded if callable(loaded) else getattr(loaded, "predict", None)
    if not callable(function):
        kind = type(loaded).__name__
        raise ValueError(f"{module_path}.{load_func} returned a {kind}, which cannot be called")
    settings = {"model_path": str(model_path), "module": module_path, "load_func": load_func}
    settings["files_sha256"] = state_of(model_path, getattr(module, "__file__", None) or "")
    return BatchModel("function", loaded, {**settings, "per_item": False}, function)


def state_of(*places: str | Path) -> str:
    """Return a hash that changes with the files that a model is made of.

    It is of a file's content, and of the names, sizes and times of a folder's files, as weights
    are large.
    """
    states: list[Any] = []
    for path in map(Path, places):
        if path.is_file():
            states.append(hashlib.sha256(path.read_bytes()).hexdigest())
            continue
        for file in sorted(path.rglob("*")) if path.is_dir() and path.name else ():
            status = file.stat()
            states.append([str(file.relative_to(path)), status.st_size, status.st_mtime_ns])
    return hashlib.sha256(json.dumps(states).encode()).hexdigest()


def file_model(
    path: str | Path,
    callable: str = "predict",  # noqa: A002  the word of the documented form
    per_item: bool = False,
) -> BatchModel:
    """Load a function from a Python file.

    Args:
        path: of the file.
        callable: the function's name.
        per_item: it takes one input and returns one output, instead of lists.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no Python file, or has no such function.
        ImportError: the file cannot be run.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no model file {file}")
    function: Any = getattr(module_of(file), callable, None)
    if not isinstance(function, Callable):  # type: ignore[arg-type]
        raise ValueError(f"{file} has no function {callable}")
    settings: dict[str, Any] = {"path": str(file), "callable": callable, "per_item": per_item}
    settings["sha256"] = state_of(file)
    return BatchModel("function", function, settings, function, is_per_item=per_item)


def object_model(model: Any = None) -> BatchModel:
    """Take an object with `predict`, `model_id` and `metadata`.

    Raises:
        ValueError: it has no `predict`.
    """
    predict = getattr(model, "predict", None)
    if not callable(predict):
        raise ValueError(
            "an interface model needs model=..., an object with predict(list) -> list, model_id"
            " and metadata"
        )
    settings = {
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "model_id": str(getattr(model, "model_id", "")),
        "metadata": getattr(model, "metadata", None) or {},
        "per_item": False,
    }
    return BatchModel("function", model, settings, predict)
