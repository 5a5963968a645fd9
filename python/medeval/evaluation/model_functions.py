"""Models that are Python: a function by import path or from a file, or an object that predicts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeGuard

from medeval.evaluation.model_kinds import Call, as_row
from medeval.inference.python_model import aligned_outputs, module_of
from medeval.models.schemas import Row

Function = Callable[..., Any]


class FunctionModel:
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
        self.handle = handle
        self.settings: Mapping[str, Any] = {**settings, "per_item": is_per_item}
        self._function = function
        self._is_per_item = is_per_item

    def outputs(self, inputs: list[Row], call: Call) -> list[Row]:
        """Call the function batch by batch; what it raises is an error of that batch alone."""
        function = partial(self._function, **call.options)
        outputs = aligned_outputs(function, inputs, call.batch_size, self._is_per_item)
        return [as_row(output) for output in outputs]

    def measured(self) -> list[dict[str, Any]]:
        """Nothing is measured."""
        return []

    def close(self) -> None:
        """Nothing was opened."""


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
    settings = {"model_path": str(model_path), "module": module_path, "load_func": load_func}
    return FunctionModel(_predicting(loaded, f"{module_path}.{load_func}"), loaded, settings)


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
    content = file.read_bytes()
    function = getattr(module_of(file), callable, None)
    if not _is_function(function):
        raise ValueError(f"{file} has no function {callable}")
    settings = {"path": str(file), "callable": callable, "sha256": _sha256(content)}
    return FunctionModel(function, function, settings, per_item)


def object_model(model: Any) -> FunctionModel:
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


def _predicting(loaded: Any, place: str) -> Function:
    for candidate in (loaded, getattr(loaded, "predict", None)):
        if _is_function(candidate):
            return candidate
    raise ValueError(f"{place} returned a {type(loaded).__name__}, which cannot be called")


def _is_function(candidate: Any) -> TypeGuard[Function]:
    return callable(candidate)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
