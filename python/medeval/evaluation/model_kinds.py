"""The kinds of models that the runner loads, and those that are Python: functions and objects.

Each kind is a function that loads a model. What it returns puts a call to the engine of `run`:
who is asked, which items, and how outputs are read from the lines of the journal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from medeval.errors import UserError
from medeval.inference.errors import Failure, Kind, RetryPolicy
from medeval.inference.guard import IN_PROCESS
from medeval.inference.journal import Line
from medeval.inference.openai_model import ParameterFallbacks
from medeval.inference.python_model import module_of
from medeval.inference.run import RunConfig
from medeval.inference.types import Model, Outcome, Reply, Request, Sample
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
    """

    rows: Sequence[Row]
    batch_size: int
    task: MedicalTask | None
    data_class: str | None
    options: Mapping[str, Any]


# Gives the outputs of a batch.
Predict = Callable[[list[Row], Call], Any]


class Asked(NamedTuple):
    """A call as the engine runs it.

    Attributes:
        model: who answers.
        items: what is asked, each with the places of the inputs that it is made of.
        config: how it is run.
        read: gives an output for each of these places, from the line of the item if it has one.
    """

    model: Model
    items: Sequence[tuple[Sample, Sequence[int]]]
    config: RunConfig
    read: Callable[[Line | None, Sequence[int]], list[Row]]


@dataclass
class LoadedModel:
    """A model that was loaded under a name.

    Attributes:
        settings: what decides its answers, as JSON values, and never a key.
        put: puts a call, knowing the lines of earlier starts; a ValueError if it cannot.
        handle: what loading it returns: the object behind it where there is one.
        folder: where its answers are kept; None if it keeps none of its own accord.
        unload: gives back the memory that it holds.
        asked: how many items of the last call were asked, and not known from earlier ones.
        measured: what is known of each input of the last call.
    """

    settings: Mapping[str, Any]
    put: Callable[[Call, Iterable[Line]], Asked]
    handle: Any = None
    folder: Path | None = None
    unload: Callable[[], object] | None = None
    asked: int = 0
    measured: Sequence[Mapping[str, Any]] = ()


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


class BatchModel:
    """Who answers batches, to the engine: an item is named by the places of its inputs.

    Args:
        name: what the audit calls the model.
        answer: gives the outputs of a batch, as JSON values, or why there are none.
        address: where it is.
        close: gives back what was opened for it.
    """

    def __init__(
        self,
        name: str,
        answer: Callable[[Request], Awaitable[Any]],
        address: str = IN_PROCESS,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.model, self.address, self._answer, self._close = name, address, answer, close
        self.parameters: Mapping[str, Any] = {}
        self.fallbacks = ParameterFallbacks()

    async def ask(self, request: Request) -> Reply | Failure:
        """See `Model`."""
        given = await self._answer(request)
        if isinstance(given, Failure):
            return given
        return Reply(json.dumps(given), finish_reason="stop", model=self.model)

    async def close(self) -> None:
        """See `Model`."""
        if self._close is not None:
            await self._close()


def in_batches(
    model: BatchModel,
    call: Call,
    lines: Iterable[Line],
    *,
    is_per_item: bool = False,
    bare_labels: bool = False,
    retries: RetryPolicy | None = None,
) -> Asked:
    """Put a call in batches; one that was answered stays as it was made, whatever its size.

    A batch that fails, or is answered with another number of outputs, is an error for each of its
    items and for no other. One with a failed output is asked again as a whole.

    Args:
        model: who answers.
        call: the inputs.
        lines: of the journal, from earlier starts.
        is_per_item: one input at a time.
        bare_labels: an output that is no mapping is a label; else it is an error of its item.
        retries: when and how often a failed batch is asked again; never if not given.
    """
    whole = [line["item"] for line in lines if line["outcome"] == Outcome.ANSWERED]
    batches = [[int(place) for place in name.split(",")] for name in whole]
    known = {place for batch in batches for place in batch}
    left = [place for place in range(len(call.rows)) if place not in known]
    size = 1 if is_per_item else call.batch_size
    batches += [left[start : start + size] for start in range(0, len(left), size)]
    items = []
    for batch in batches:
        # The batch as text names the request.
        body = json.dumps([call.rows[one] for one in batch], default=repr)
        messages = [{"role": "user", "content": body}]
        items.append((Sample(",".join(map(str, batch)), messages, call.data_class), batch))

    def output(given: Any, attempts: int) -> Row:
        if isinstance(given, dict):
            return given
        if not bare_labels:
            return failed("NotAMapping", attempts)
        return failed("empty", attempts) if given is None else {"label": str(given), "score": 1.0}

    def aligned(text: str, count: int, attempts: int) -> list[Row]:
        """Return one output for each input of a batch, none of them shifted."""
        given, kind, wrong = json.loads(text), "NotAList", {"batch": count}
        if isinstance(given, list):
            if len(given) == count:
                return [output(each, attempts) for each in given]
            kind, wrong["returned"] = "WrongLength", len(given)
        return [failed(kind, attempts, **wrong) for _ in range(count)]

    def can_read(item: Sample, text: str) -> bool:
        return not any("error" in output for output in aligned(text, item.id.count(",") + 1, 1))

    def read(line: Line | None, places: Sequence[int]) -> list[Row]:
        if line is None or "text" not in line:
            size = None if is_per_item else len(places)
            return [failed_line(line, batch=size) for _ in places]
        return aligned(line["text"], len(places), line["measured"]["attempts"])

    config = RunConfig(
        concurrency=1,
        retries=retries or RetryPolicy(attempts=1),
        retry=frozenset(Outcome) - {Outcome.ANSWERED},
        can_read=can_read,
    )
    return Asked(model, items, config, read)


def python_model(
    handle: Any,
    settings: Mapping[str, Any],
    predict: Predict,
    *,
    per_item: bool = False,
    unload: Callable[[], object] | None = None,
) -> LoadedModel:
    """Return what predicts in this process as a model.

    Whatever it raises is an error of the batch, also what would end the caller; KeyboardInterrupt
    alone stays what it is. Its message is left out: it may hold an input's text.
    """

    def put(call: Call, lines: Iterable[Line]) -> Asked:
        async def answer(request: Request) -> Any:
            batch = [call.rows[int(place)] for place in request.item.id.split(",")]
            try:
                given = whole_json(predict(batch, call))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  whatever a user's function raises
                return Failure(Kind.CALLABLE, code=type(error).__name__)
            is_list = isinstance(given, list | tuple)
            return [writable(each) for each in given] if is_list else None

        return in_batches(BatchModel("function", answer), call, lines, is_per_item=per_item)

    return LoadedModel({**settings, "per_item": per_item}, put, handle, unload=unload)


def _applied(function: Callable[..., Any], per_item: bool = False) -> Predict:
    """Return how a user's function of lists, or of one input, predicts."""
    if per_item:
        return lambda batch, call: [function(row, **call.options) for row in batch]
    return lambda batch, call: function(batch, **call.options)


def imported_model(
    model_path: str | Path | None,
    module_path: str | None = None,
    load_func: str = "load_model",
    **more: Any,
) -> LoadedModel:
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
    return python_model(loaded, settings, _applied(function))


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
) -> LoadedModel:
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
    settings = {"path": str(file), "callable": callable, "sha256": state_of(file)}
    return python_model(function, settings, _applied(function, per_item), per_item=per_item)


def object_model(model: Any = None) -> LoadedModel:
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
    }
    return python_model(model, settings, _applied(predict))
