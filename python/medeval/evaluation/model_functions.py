"""Models that are Python: a function by import path or from a file, or an object that predicts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeGuard

from medeval.evaluation.model_kinds import BatchModel, Call, called
from medeval.inference.python_model import module_of
from medeval.inference.types import Request
from medeval.models.schemas import Row

Function = Callable[..., Any]


class FunctionModel(BatchModel):
    """A function of inputs in this process.

    Args:
        function: takes a list of inputs and returns a list of outputs, or one of each.
        handle: what loading it returns.
        settings: what decides its answers.
        is_per_item: the function takes one input.
    """

    def __init__(
        self,
        function: Function,
        handle: Any,
        settings: Mapping[str, Any],
        is_per_item: bool = False,
    ) -> None:
        told = {**settings, "per_item": is_per_item}
        super().__init__("function", handle, told, is_per_item=is_per_item)
        self._function = function

    async def reply(self, batch: list[Row], request: Request, call: Call) -> str:
        """See `BatchModel`."""
        function = partial(self._function, **call.options)
        return called(self._each(function) if self.is_per_item else function, batch)

    @staticmethod
    def _each(function: Function) -> Function:
        return lambda batch: [function(row) for row in batch]


def imported_model(
    model_path: str | Path | None,
    module_path: str | None = None,
    load_func: str = "load_model",
    **more: Any,
) -> FunctionModel:
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
    load = getattr(import_module(module_path), load_func, None)
    if not callable(load):
        raise ValueError(f"module {module_path} has no function {load_func}")
    loaded = load(str(model_path), **more)
    function = loaded if _is_function(loaded) else getattr(loaded, "predict", None)
    if not _is_function(function):
        kind = type(loaded).__name__
        raise ValueError(f"{module_path}.{load_func} returned a {kind}, which cannot be called")
    settings = {"model_path": str(model_path), "module": module_path, "load_func": load_func}
    return FunctionModel(function, loaded, settings)


def file_model(
    path: str | Path,
    callable: str = "predict",  # noqa: A002  the word of the documented form
    per_item: bool = False,
) -> FunctionModel:
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
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    function = getattr(module_of(file), callable, None)
    if not _is_function(function):
        raise ValueError(f"{file} has no function {callable}")
    settings = {"path": str(file), "callable": callable, "sha256": digest}
    return FunctionModel(function, function, settings, per_item)


def object_model(model: Any = None) -> FunctionModel:
    """Take an object with `predict`, `model_id` and `metadata`.

    Raises:
        ValueError: it has no `predict`.
    """
    predict = getattr(model, "predict", None)
    if not _is_function(predict):
        raise ValueError(
            "an interface model needs model=..., an object with predict(list) -> list, model_id"
            " and metadata"
        )
    settings = {
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "model_id": str(getattr(model, "model_id", "")),
        "metadata": getattr(model, "metadata", None) or {},
    }
    return FunctionModel(predict, model, settings)


def _is_function(candidate: Any) -> TypeGuard[Function]:
    return callable(candidate)
