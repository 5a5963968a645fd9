"""The model runner: models of several kinds, loaded under names and run on the engine of `run`.

Whatever kind a model is, it gives one output for each input, in their order. An input that it
could not be asked about, or has no usable answer to, has `{"error": {"type", "attempts", ...}}`.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from medeval.evaluation.model_kinds import (
    BatchModel,
    Call,
    file_model,
    imported_model,
    object_model,
)
from medeval.inference.guard import DataUseGuard, read_endpoints
from medeval.inference.run import AUDIT, Run, settings_of
from medeval.inference.types import Outcome
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row

if TYPE_CHECKING:
    from medeval.evaluation.model_endpoints import ChatModel

_KEPT_MEASURES = ("outcome", "model", "fingerprint", "usage", "cost")
_TIMES = ("seconds", "attempts")
MODEL_TYPES = ("local", "api", "huggingface", "interface", "openai")

Inputs = Sequence[Mapping[str, Any]]


class ModelStoppedWarning(UserWarning):
    """A model was not asked about all inputs; those without an answer are errors."""


class ModelRunner:
    """Loads models and runs them.

    Args:
        gate: passed by every request to an endpoint before its first byte. Without one, the
            declarations are read from `endpoints` when the first such model is loaded, and the
            audit is kept in `folder`.
        folder: where answers of endpoints and the audit are kept; made when it is needed.
        endpoints: the file of declarations.
    """

    def __init__(
        self,
        gate: DataUseGuard | None = None,
        *,
        folder: str | Path = "runs/models",
        endpoints: str | Path = "endpoints.toml",
    ) -> None:
        self._gate, self._folder, self._endpoints = gate, Path(folder), Path(endpoints)
        self._models: dict[str, BatchModel | ChatModel] = {}

    @property
    def loaded(self) -> tuple[str, ...]:
        """The names of the models that are loaded, in the order in which they were."""
        return tuple(self._models)

    def load_model(
        self,
        model_name: str | Mapping[str, Any],
        model_type: str = "local",
        model_path: str | Path | None = None,
        **parameters: Any,
    ) -> Any:
        """Load a model under a name; a name that is loaded already keeps its model.

        Types and what they take:
            `local`: `model_path`, `module_path` and `load_func` (see `imported_model`); or `path`,
                `callable` and `per_item` (see `file_model`).
            `api`: `endpoint`, `api_key` or `key_variable`, and more (see `ApiModel`).
            `huggingface`: `model_path` and `hf_task`, and more (see `HuggingFaceModel`).
            `interface`: `model`, an object with `predict`, `model_id` and `metadata`.
            `openai`: `base_url`, `model`, `key_variable`, and more (see `ChatModel`).

        Args:
            model_name: the name; or all of it as one mapping: `type`, `name` and the parameters.
                Without a name, a model from a file has that of the file without its suffix.
            model_type: one of `MODEL_TYPES`.
            model_path: of the model's files.
            parameters: what else the type takes.

        Returns:
            The object behind the model, where there is one.

        Raises:
            ValueError: another type, or a parameter is missing or not to be used.
            TypeError: a parameter that the type does not take.
            ImportError: a module or an extra is missing.
            UserError: an endpoint cannot be used as it is given.
        """
        if isinstance(model_name, Mapping):
            if parameters or model_path is not None:
                raise TypeError("a model given as one mapping has all its parameters there")
            parameters = dict(model_name)
            model_type = parameters.pop("type", "local")
            model_path = parameters.pop("model_path", None)
            model, path = parameters.get("model"), parameters.get("path")
            of_model = getattr(model, "model_id", model) or model_path
            name = parameters.pop("name", None) or (Path(path).stem if path else of_model)
            if not isinstance(name, (str, Path)):
                raise ValueError("a model given as a mapping needs a name, or a path to take it of")
            model_name = str(name)
        if model_name in self._models:
            warnings.warn(
                f"model {model_name!r} is loaded already and stays as it is; unload it first to"
                " load another under its name",
                UserWarning,
                stacklevel=2,
            )
        else:
            model = self._new(model_name, model_type, model_path, parameters)
            model.settings = {"name": model_name, "type": model_type, **model.settings}
            self._models[model_name] = model
        return self._models[model_name].handle

    def unload_model(self, model_name: str) -> None:
        """Let go of a model; a name that is not loaded is none."""
        if model_name in self._models:
            self._models.pop(model_name).unload()

    def model(self, name: str) -> BatchModel | ChatModel:
        """Return a loaded model, with its settings and what is known of its last run.

        Raises:
            ValueError: no such model is loaded.
        """
        if name not in self._models:
            known = ", ".join(self._models) or "none"
            raise ValueError(f"model {name!r} is not loaded; loaded are: {known}")
        return self._models[name]

    def run_model(
        self,
        model_id: str | Inputs,
        inputs: Inputs | None = None,
        batch_size: int = 8,
        *,
        task: MedicalTask | None = None,
        data_class: str | None = None,
        folder: Path | None = None,
        ask_anew: bool = False,
        **options: Any,
    ) -> list[Row]:
        """Run a model on inputs.

        Args:
            model_id: the model's name; it may be left out while exactly one is loaded.
            inputs: mappings; models get copies of them, without the keys that give the answer of
                `task` away.
            batch_size: inputs per call, for models that take several.
            task: which the inputs are of; a chat model cannot be asked without it.
            data_class: of the inputs; by default that of the task, and without one credentialed.
            folder: where answers are kept, for a model that keeps none of its own accord; the same
                call goes on with it, and asks what has no answer there. None keeps none.
            ask_anew: take no answer from that folder.
            options: handed to the model's own function with each call.

        Returns:
            One output for each input, in their order.

        Raises:
            ValueError: no such model, inputs that are no mappings, or a batch size below 1.
            UserError: the inputs may not go where the model is.
        """
        if isinstance(model_id, str):
            name = model_id
        elif inputs is not None:
            raise ValueError("the first argument is the name of the model")
        elif len(self._models) != 1:
            known = ", ".join(self._models) or "none"
            raise ValueError(
                f"name the model to be run, as not exactly one is loaded; loaded are: {known}"
            )
        else:
            name, inputs = self.loaded[0], model_id
        model = self.model(name)
        if batch_size < 1:
            raise ValueError("batch_size must be at least 1")
        if inputs is None or isinstance(inputs, (str, Mapping)):
            raise ValueError("inputs must be a list of mappings")
        for index, row in enumerate(inputs):
            if not isinstance(row, Mapping):
                raise ValueError(f"inputs[{index}] is a {type(row).__name__}, not a mapping")
        if not inputs:
            return []
        rows = [deepcopy(dict(row)) for row in inputs]
        rows = [task.without_answers(row) for row in rows] if task else rows
        stated = data_class or (task.data_class if task is not None else None)
        call = Call(rows, batch_size, task, stated, options)
        with TemporaryDirectory() as passing:
            place = model.folder or folder or Path(passing) / "run"
            return _outputs(model, call, place, ask_anew and place == folder)

    async def run_model_async(self, *given: Any, **more: Any) -> list[Row]:
        """Run a model in a thread of its own; see `run_model`."""
        return await asyncio.to_thread(self.run_model, *given, **more)

    def _new(
        self, name: str, model_type: str, model_path: str | Path | None, parameters: dict[str, Any]
    ) -> BatchModel | ChatModel:
        from medeval.evaluation.model_endpoints import ApiModel, ChatModel
        from medeval.evaluation.model_huggingface import HuggingFaceModel

        if model_type not in MODEL_TYPES:
            known = ", ".join(MODEL_TYPES)
            raise ValueError(f"unknown model type {model_type!r}: use one of {known}")
        if model_type == "huggingface":
            return HuggingFaceModel(name if model_path is None else model_path, **parameters)
        if model_type == "local" and "path" not in parameters:
            return imported_model(model_path, **parameters)
        if model_path is not None:
            raise ValueError(f"a model of type {model_type} that is loaded so has no model_path")
        if model_type in ("local", "interface"):
            return (file_model if model_type == "local" else object_model)(**parameters)
        if self._gate is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._gate = DataUseGuard(read_endpoints(self._endpoints), self._folder / AUDIT)
        if model_type == "api":
            return ApiModel(name, self._gate, **parameters)
        return ChatModel(name, self._gate, self._folder, **parameters)


def _outputs(model: BatchModel | ChatModel, call: Call, place: Path, ask_anew: bool) -> list[Row]:
    """Run a model on the engine, and put outputs where their inputs stand."""
    config = model.config(call)
    if ask_anew:
        config = replace(config, retry=frozenset(Outcome))
    asked = model.answering(call)
    run = Run(place, settings_of(asked, str(model.settings.get("prompt_version", ""))), asked)
    items = model.items(call, () if ask_anew else run.lines())
    samples = [item for item, _ in items]
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        ended = run.execute(samples, config)
    else:  # in a notebook
        with ThreadPoolExecutor(max_workers=1) as pool:
            ended = pool.submit(run.execute, samples, config).result()
    if ended.stopped:
        warnings.warn(ended.stopped, ModelStoppedWarning, stacklevel=3)
    lines = {line["item"]: line for line in run.lines()}
    outputs: list[Row] = [{} for _ in call.rows]
    measured: list[dict[str, Any]] = [{} for _ in call.rows]
    for item, places in items:
        line = lines.get(item.id)
        if line is not None:
            known = {key: line[key] for key in _KEPT_MEASURES if key in line}
            known |= {key: line["measured"][key] for key in _TIMES}
            for at in places:
                measured[at] = known
        for at, output in zip(places, model.outputs(line, len(places), call), strict=True):
            outputs[at] = output
    model.asked, model.measured = len(items) - ended.progress.before, measured
    return outputs
