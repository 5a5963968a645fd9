"""The model runner: models of several kinds, loaded under names and run on the engine of `run`.

Whatever kind a model is, it gives one output for each input, in their order. An input that it
could not be asked about, or has no usable answer to, has `{"error": {"type", "attempts", ...}}`.

Of how a model is loaded everything but secrets is recorded. A secret is known by the name of its
parameter. It is left out of records and cache keys, and its text is taken out of whatever else
quotes it.
"""

from __future__ import annotations

import asyncio
import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from medeval.evaluation import model_kinds
from medeval.evaluation.model_kinds import Call, LoadedModel
from medeval.inference.guard import DataUseGuard, read_endpoints
from medeval.inference.run import AUDIT, Run, settings_of
from medeval.inference.secrets import WITHHELD, holds_secret, split_secrets
from medeval.inference.types import Outcome, Sample
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row

_KEPT_MEASURES = ("outcome", "model", "fingerprint", "usage", "cost")
_TIMES = ("seconds", "attempts")
# Of headers the names alone are written: what they carry is for their reader.
_HEADERS = "headers"
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
# What stands before a key in a header.
_SCHEME = re.compile(r"\A(?:Bearer|Basic|Token)\s+(?=\S+\Z)", re.IGNORECASE)
# Shorter texts are words of their own, and taking them out would garble what is written.
_SHORTEST_SECRET = 6
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
        self._models: dict[str, LoadedModel] = {}

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
            told = f"model {model_name!r} is loaded already and stays as it is; unload it first"
            warnings.warn(told, UserWarning, stacklevel=2)
        else:
            model = self._new(model_name, model_type, model_path, parameters)
            model.settings = {"name": model_name, "type": model_type, **model.settings}
            self._models[model_name] = model
        loaded = self._models[model_name]
        return loaded if loaded.handle is None else loaded.handle

    def unload_model(self, model_name: str) -> None:
        """Let go of a model; a name that is not loaded is none."""
        if loaded := self._models.pop(model_name, None):
            loaded.unload()

    def model(self, name: str) -> LoadedModel:
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
        if not isinstance(model_id, str):
            if inputs is not None:
                raise ValueError("the first argument is the name of the model")
            if len(self._models) != 1:
                known = ", ".join(self._models) or "none"
                raise ValueError(f"name the model to be run; loaded are: {known}")
            inputs, model_id = model_id, self.loaded[0]
        model = self.model(model_id)
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
        if task is not None:
            rows = task.without_answers(rows)
            data_class = data_class or task.data_class
        call = Call(model, rows, batch_size, task, data_class, options)
        with TemporaryDirectory() as passing:
            place = model.folder or folder or Path(passing) / "run"
            return _outputs(call, place, ask_anew and place == folder)

    async def run_model_async(self, *given: Any, **more: Any) -> list[Row]:
        """Run a model in a thread of its own; see `run_model`."""
        return await asyncio.to_thread(self.run_model, *given, **more)

    def _new(
        self, name: str, model_type: str, model_path: str | Path | None, parameters: dict[str, Any]
    ) -> LoadedModel:
        from medeval.evaluation.model_types import ApiModel, ChatModel, HuggingFaceModel

        if model_type not in MODEL_TYPES:
            known = ", ".join(MODEL_TYPES)
            raise ValueError(f"unknown model type {model_type!r}: use one of {known}")
        if model_type == "huggingface":
            return HuggingFaceModel(model_path or name, **parameters)
        if model_type == "local" and "path" not in parameters:
            return model_kinds.imported_model(model_path, **parameters)
        if model_path is not None:
            raise ValueError(f"a model of type {model_type} that is loaded so has no model_path")
        if model_type == "local":
            return model_kinds.file_model(**parameters)
        if model_type == "interface":
            return model_kinds.object_model(**parameters)
        if self._gate is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._gate = DataUseGuard(read_endpoints(self._endpoints), self._folder / AUDIT)
        if model_type == "api":
            return ApiModel(name, self._gate, **parameters)
        return ChatModel(name, self._gate, self._folder, **parameters)


def _outputs(call: Call, place: Path, ask_anew: bool) -> list[Row]:
    """Run a model on the engine, and put outputs where their inputs stand."""
    model, asker = call.loaded, call.loaded.asker(call)
    run = Run(place, settings_of(asker, str(model.settings.get("prompt_version", ""))), asker)
    items = model.items(call, () if ask_anew else run.lines())
    places_of, samples = {item.id: places for item, places in items}, [item for item, _ in items]

    def can_read(item: Sample, text: str) -> bool:
        outputs = model.read(call, text, places_of[item.id])
        return not any(output is None or "error" in output for output in outputs)

    retry = frozenset(Outcome) if ask_anew else model.config.retry
    config = replace(model.config, can_read=can_read, retry=retry)
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
        read: Sequence[Row | None] = [None] * len(places)
        known: dict[str, Any] = {}
        if line is not None:
            known = {key: line[key] for key in _KEPT_MEASURES if key in line}
            known |= {key: line["measured"][key] for key in _TIMES}
            if line["outcome"] in (Outcome.ANSWERED, Outcome.UNPARSED):
                read = model.read(call, line["text"], places)
        for at, output in zip(places, read, strict=True):
            size = None if model.per_item else len(places)
            outputs[at] = model_kinds.failed_line(line, size) if output is None else output
            if known and isinstance(error := outputs[at].get("error"), dict):
                error.setdefault("attempts", known["attempts"])
            measured[at] = known
    model.asked, model.measured = len(samples) - ended.progress.before, measured
    return outputs


class ModelSettings:
    """How a model was loaded, fit to be written down.

    Attributes:
        model_id: its name.
        recorded: name, type, parameters and the runner's description as JSON values, without
            secrets.
        is_data: it is told apart by these: no parameter is an object of the program, and the model
            was not loaded elsewhere.
        scrubbed: takes the secrets out of a text.
    """

    def __init__(
        self,
        model_id: str,
        model_type: str | None,
        parameters: Mapping[str, Any],
        described: Mapping[str, Any],
    ) -> None:
        """Take what may be recorded of a model.

        Args:
            model_id: its name.
            model_type: as the runner calls it; None for one that was loaded before.
            parameters: what it was loaded with.
            described: what the runner says of it.
        """
        self.model_id, self.is_data = model_id, model_type is not None
        found: set[str] = set()
        recorded = {
            "id": model_id,
            "type": model_type or described.get("type"),
            "parameters": self._written(parameters, found),
            "described": self._written(described, found),
        }
        # The longest first, as one may hold another.
        secrets = sorted((one for one in found if len(one) >= _SHORTEST_SECRET), key=len)[::-1]
        self.scrubbed = _without(secrets)
        scrubbed = _without([json.dumps(one)[1:-1] for one in secrets])  # as JSON writes them
        text = _JSON_STRING.sub(lambda string: scrubbed(string[0]), json.dumps(recorded))
        self.recorded: Mapping[str, Any] = json.loads(text)

    def _written(self, value: Any, secrets: set[str], is_hidden: bool = False) -> Any:
        """Return a value as JSON without what is hidden by its name; `secrets` gets the texts."""
        if isinstance(value, Mapping):
            written = {}
            for name, each in value.items():
                is_secret = holds_secret(str(name), each)
                one = self._written(each, secrets, is_hidden or is_secret or name == _HEADERS)
                if is_hidden or not is_secret:
                    written[str(name)] = one
            return written
        if isinstance(value, list | tuple):
            value = [self._written(each, secrets, is_hidden) for each in value]
        elif isinstance(value, str | Path):
            text = str(value)
            value, found = split_secrets(text)
            secrets.update(found, {text, _SCHEME.sub("", text)} if is_hidden else ())
        elif not (value is None or isinstance(value, bool | int | float)):
            self.is_data = False
            value = f"{type(value).__module__}.{type(value).__qualname__}"
        return WITHHELD if is_hidden else value


def _without(texts: Sequence[str]) -> Callable[[str], str]:
    return partial(re.compile("|".join(map(re.escape, texts)) or r"(?!)").sub, WITHHELD)
