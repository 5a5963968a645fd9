"""The kinds of models that the runner loads, and those that are Python: functions and objects.

Each kind is a `LoadedModel`. A call is put to the engine of `run` in items: batches of inputs, or
for a chat model one conversation each. Outputs are read from the lines of the journal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.inference.errors import Failure, Kind, RetryPolicy
from medeval.inference.guard import IN_PROCESS
from medeval.inference.journal import Line
from medeval.inference.python_model import module_of
from medeval.inference.run import RunConfig
from medeval.inference.types import Model, Outcome, Reply, Request, Sample
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row
from medeval.text import sha256_of, whole_json


class MissingExtraError(UserError, ImportError):
    """A part of the package is wanted whose dependencies are not installed."""


@dataclass(eq=False)
class Call(Model):
    """Inputs that are put to a model in batches, each named by the places of its inputs.

    Attributes:
        loaded: the model.
        rows: the inputs.
        batch_size: inputs at a time, for models that take several.
        task: which the inputs are of; None if the caller does not say.
        data_class: of the inputs; what is not `open` may not go to an endpoint at will.
        options: more for the model's own function.
    """

    loaded: LoadedModel
    rows: Sequence[Row]
    batch_size: int
    task: MedicalTask | None
    data_class: str | None
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Take the name and the place of the model."""
        self.model, self.address = self.loaded.name, self.loaded.address

    async def ask(self, request: Request) -> Reply | Failure:
        """Return one output for each input of a batch, none of them shifted."""
        rows = [self.rows[int(place)] for place in request.item.id.split(",")]
        given = await self.loaded.answer(request, rows, self)
        if isinstance(given, Failure):
            return given
        if not isinstance(given, list | tuple):
            outputs = [failed("NotAList", batch=len(rows))] * len(rows)
        elif len(given) != len(rows):
            outputs = [failed("WrongLength", batch=len(rows), returned=len(given))] * len(rows)
        else:
            outputs = list(map(writable, given))
        return Reply(json.dumps(outputs), finish_reason="stop", model=self.model)


def failed(kind: str, attempts: int | None = None, **more: Any) -> Row:
    """Return what stands in the place of an output.

    Args:
        kind: class of the error, or outcome of the item.
        attempts: calls that were made for it.
        more: what else is known.
    """
    known = {"type": kind, "attempts": attempts, **more}
    return {"error": {key: value for key, value in known.items() if value is not None}}


def failed_line(line: Line | None, batch: int | None) -> Row:
    """Return the error of an item without a reply; what an endpoint wrote may quote the input."""
    if line is None:
        return failed("not_asked", 0)
    error = line.get("error") or {}
    kind, code = error.get("kind"), error.get("code")
    if line["outcome"] != Outcome.ERRORED:
        kind = line["outcome"]
    elif kind == Kind.CALLABLE:
        kind, code = code, None
    attempts = line["measured"]["attempts"]
    return failed(str(kind), attempts, status=error.get("status"), code=code, batch=batch)


def writable(output: Any) -> Any:
    """Return an output, or the error of one that holds values that JSON lacks."""
    try:
        json.dumps(output, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return failed("NotJson", 1)
    return output


class LoadedModel:
    """A model under a name; this one predicts in this process.

    Attributes:
        settings: what decides its answers, as JSON values, and never a key.
        handle: what loading it returns: the object behind it where there is one.
        per_item: it takes one input at a time.
        folder: where its answers are kept; None if it keeps none of its own accord.
        name: what the audit calls it.
        address: where it is.
        config: how a call is run.
        asked: how many items of the last call were asked, and not known from earlier ones.
        measured: what is known of each input of the last call.
    """

    folder: Path | None = None
    name = "function"
    address = IN_PROCESS
    config = RunConfig(
        concurrency=1,
        retries=RetryPolicy(attempts=1),
        retry=frozenset(Outcome) - {Outcome.ANSWERED},
    )
    asked = 0
    measured: Sequence[Mapping[str, Any]] = ()

    def __init__(
        self,
        settings: Mapping[str, Any],
        function: Callable[..., Any] | None = None,
        handle: Any = None,
        per_item: bool = False,
    ) -> None:
        """Take a user's function of lists, or of one input, and what it belongs to."""
        self.settings: Mapping[str, Any] = {**settings, "per_item": per_item}
        self.handle, self.per_item, self._function = handle, per_item, function

    def predict(self, rows: list[Row], call: Call) -> Any:
        """Return the outputs of a batch."""
        function: Any = self._function
        if self.per_item:
            return [function(row, **call.options) for row in rows]
        return function(rows, **call.options)

    def unload(self) -> None:
        """Give back the memory that it holds."""

    def items(self, call: Call, lines: Iterable[Line]) -> list[tuple[Sample, list[int]]]:
        """Return what is asked, each with the places of the inputs that it is made of.

        A batch that was answered stays as it was made, whatever its size. One that fails, or is
        answered with another number of outputs, is an error for each of its inputs and for no
        other. One with a failed output is asked again as a whole.

        Args:
            call: the inputs.
            lines: of the journal, from earlier starts.

        Raises:
            ValueError: the call cannot be put to this kind.
        """
        whole = [line["item"] for line in lines if line["outcome"] == Outcome.ANSWERED]
        batches = [[int(place) for place in name.split(",")] for name in whole]
        known = {place for batch in batches for place in batch}
        left = [place for place in range(len(call.rows)) if place not in known]
        size = 1 if self.per_item else call.batch_size
        batches += [left[start : start + size] for start in range(0, len(left), size)]
        items = []
        for batch in batches:
            # The batch as text names the request.
            body = json.dumps([call.rows[one] for one in batch], default=repr)
            messages = [{"role": "user", "content": body}]
            items.append((Sample(",".join(map(str, batch)), messages, call.data_class), batch))
        return items

    def asker(self, call: Call) -> Model:
        """Return who answers the items of a call."""
        return call

    def read(self, call: Call, text: str, places: Sequence[int]) -> Sequence[Row | None]:
        """Return the output for each place of an item; None where a reply has none."""
        return [self.output(given) for given in json.loads(text)]

    async def answer(self, request: Request, rows: list[Row], call: Call) -> Any:
        """Return the outputs of a batch, or why there are none.

        Whatever a function raises is an error of the batch, also what would end the caller;
        KeyboardInterrupt alone stays what it is. Its message may hold an input's text.
        """
        try:
            return whole_json(self.predict(rows, call))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  whatever a user's function raises
            return Failure(Kind.CALLABLE, code=type(error).__name__)

    def output(self, given: Any) -> Row:
        """Return an output as a mapping."""
        return given if isinstance(given, dict) else failed("NotAMapping")


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
        raise ValueError(f"a local model needs {missing}; its module's {load_func} loads its files")
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
    return LoadedModel(settings, function, loaded)


def state_of(*places: str | Path) -> str:
    """Return a hash that changes with the files that a model is made of.

    It is of a file's content, and of the names, sizes and times of a folder's files, as weights
    are large.
    """
    states: list[Any] = []
    for path in map(Path, places):
        if path.is_file():
            states.append(sha256_of(path.read_bytes()))
            continue
        for file in sorted(path.rglob("*")) if path.is_dir() and path.name else ():
            status = file.stat()
            states.append([str(file.relative_to(path)), status.st_size, status.st_mtime_ns])
    return sha256_of(json.dumps(states))


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
    if not hasattr(function, "__call__"):  # noqa: B004  `callable` is a parameter here
        raise ValueError(f"{file} has no function {callable}")
    settings = {"path": str(file), "callable": callable, "sha256": state_of(file)}
    return LoadedModel(settings, function, function, per_item)


def object_model(model: Any = None) -> LoadedModel:
    """Take an object with `predict`, `model_id` and `metadata`.

    Raises:
        ValueError: it has no `predict`.
    """
    predict = getattr(model, "predict", None)
    if not callable(predict):
        raise ValueError("an interface model needs model=, an object with predict(list) -> list")
    settings = {
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "model_id": str(getattr(model, "model_id", "")),
        "metadata": getattr(model, "metadata", None) or {},
    }
    return LoadedModel(settings, predict, model)
