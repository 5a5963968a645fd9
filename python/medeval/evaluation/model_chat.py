"""A chat model behind an OpenAI-compatible endpoint, asked by the prompts of the task types."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medeval.evaluation.model_kinds import Call, failed, finished
from medeval.evaluation.task_prompts import (
    TASK_PROMPT_VERSION,
    messages_for,
    output_from_reply,
    response_format_for,
)
from medeval.inference.errors import RetryPolicy
from medeval.inference.guard import DataUseGuard
from medeval.inference.journal import Journal, Line
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.run import Run, RunConfig, settings_of
from medeval.inference.types import Item, Outcome, canonical
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row

_WHOLE = frozenset({Outcome.ANSWERED, Outcome.UNPARSED})
_KEPT_MEASURES = ("outcome", "model", "fingerprint", "usage", "cost")


class ModelStoppedWarning(UserWarning):
    """A model was not asked about all inputs; those without an answer are errors."""


class ChatModel:
    """A chat model with its answers on disk.

    Each answer is kept under the hash of its messages, in a folder for the endpoint, model,
    parameters and prompt version; what is there is not asked again, errors are. Identical inputs
    of a call are asked once.

    Args:
        name: what the runner calls it.
        gate: passed by every request before its first byte.
        folder: in which the folders of answers are made.
        base_url: of the endpoint, up to and with `/v1`.
        model: as the endpoint calls it; the name if not given.
        key_variable: the environment variable that holds the endpoint's key; None if it needs
            none. The key itself is never taken.
        temperature: None to leave it to the endpoint.
        max_tokens: of a reply; None to leave it to the endpoint.
        seed: None to leave it to the endpoint.
        json_schema: hold replies to the task's JSON schema, where the endpoint can.
        parameters: others that the endpoint takes.
        concurrency: requests under way at a time.
        max_retries: further requests for an item after a failed one.
        backoff_factor: seconds before the first of them, doubled each time, with jitter.
        timeout: seconds for one request as a whole.

    Raises:
        ValueError: there is no address.
        UserError: the address or a parameter cannot be meant, or the key is not there.
    """

    def __init__(
        self,
        name: str,
        gate: DataUseGuard,
        folder: Path,
        *,
        base_url: str | None = None,
        model: str | None = None,
        key_variable: str | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        seed: int | None = 0,
        json_schema: bool = True,
        parameters: Mapping[str, Any] | None = None,
        concurrency: int = 8,
        max_retries: int = 5,
        backoff_factor: float = 1.0,
        timeout: float = 600.0,
    ) -> None:
        if not base_url:
            raise ValueError("an openai model needs base_url, the endpoint's address with /v1")
        given = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        self._parameters: dict[str, Any] = {
            **{key: value for key, value in given.items() if value is not None},
            **(parameters or {}),
        }
        self.handle = self
        self._name = name
        self._gate = gate
        self._folder = folder
        self._base_url = base_url
        self._model = model or name
        self._key_variable = key_variable
        self._timeout = timeout
        self._json_schema = json_schema
        self._concurrency = concurrency
        self._retries = RetryPolicy(max_retries + 1, backoff_factor)
        self._measured: list[dict[str, Any]] = []
        # Made only to be checked: an address, a parameter or a key that is wrong is so at once.
        self.address = self._asked_model().address

    def __repr__(self) -> str:
        """Return model and address."""
        return f"ChatModel({self._model!r}, base_url={self.address!r})"

    @property
    def settings(self) -> Mapping[str, Any]:
        """What decides its answers."""
        return {
            "endpoint": self.address,
            "model": self._model,
            "parameters": dict(self._parameters),
            "json_schema": self._json_schema,
            "prompt_version": TASK_PROMPT_VERSION,
        }

    def outputs(self, inputs: list[Row], call: Call) -> list[Row]:
        """Ask for each input that has no answer on disk.

        Raises:
            ValueError: no task is given, or an input has nothing to show.
            UserError: an input may not go to the endpoint, another run writes to the same answers,
                or the disk is full.
        """
        task = call.task
        if task is None:
            raise ValueError(
                "an openai model needs task=..., whose type and schemas say what is asked"
            )
        items = [self._item(task, row, call.data_class) for row in inputs]
        lines, stopped = finished(self._lines(task, items))
        if stopped:
            warnings.warn(stopped, ModelStoppedWarning, stacklevel=3)
        self._measured = [_measures(line) for line in lines]
        return [_output(task, line) for line in lines]

    def measured(self) -> list[dict[str, Any]]:
        """Return outcome, tokens, cost and seconds of each input of the last call."""
        return [dict(each) for each in self._measured]

    def close(self) -> None:
        """Nothing stays open between calls."""

    def _item(self, task: MedicalTask, row: Row, data_class: str | None) -> Item:
        messages = messages_for(task, row)
        form = {"response_format": response_format_for(task)} if self._json_schema else {}
        name = hashlib.sha256(canonical([messages, form]).encode()).hexdigest()[:32]
        return Item(name, messages, data_class, parameters=form)

    async def _lines(
        self, task: MedicalTask, items: Sequence[Item]
    ) -> tuple[list[Line | None], str]:
        """Return the journal's line of each item, None without one, and why the run stopped."""
        model = self._asked_model()
        settings = settings_of(model, TASK_PROMPT_VERSION)
        run = Run(self._folder / _folder_name(model.model, settings), settings, model)

        def can_read(item: Item, text: str) -> bool:
            return output_from_reply(task, text) is not None

        config = RunConfig(
            concurrency=self._concurrency,
            retries=self._retries,
            retry=frozenset({Outcome.ERRORED}),
            can_read=can_read,
        )
        different = {item.id: item for item in items}
        result = await run.process(different.values(), config)
        with Journal(run.journal) as journal:
            return [journal.read(item.id, item.sample) for item in items], result.stopped

    def _asked_model(self) -> OpenAIModel:
        return OpenAIModel(
            self._base_url,
            self._model,
            self._gate,
            parameters=self._parameters,
            key_variable=self._key_variable,
            timeout=self._timeout,
        )


def _folder_name(model: str, settings: Mapping[str, Any]) -> str:
    readable = re.sub(r"[^\w.-]+", "-", model).strip("-.")[:60]
    return f"{readable}-{hashlib.sha256(canonical(settings).encode()).hexdigest()[:16]}"


def _output(task: MedicalTask, line: Line | None) -> Row:
    if line is None:
        return failed("not_asked", 0)
    outcome = Outcome(line["outcome"])
    attempts = line["measured"]["attempts"]
    if outcome in _WHOLE:
        return output_from_reply(task, line["text"]) or failed(str(Outcome.UNPARSED), attempts)
    error = line.get("error") or {}
    kind = error.get("kind") if outcome is Outcome.ERRORED else None
    return failed(kind or str(outcome), attempts, status=error.get("status"))


def _measures(line: Line | None) -> dict[str, Any]:
    if line is None:
        return {}
    kept = {key: line[key] for key in _KEPT_MEASURES if key in line}
    return {**kept, **{key: line["measured"][key] for key in ("seconds", "attempts")}}
