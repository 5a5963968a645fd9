"""Models that the runner puts to work itself: behind an address, chats, and of transformers.

Batches are posted to an address; chats are asked by the prompts of the task types. Models of the
transformers library, the extra `huggingface`, run in this process. Nothing is downloaded unless
that is asked for: such a model is a folder, or lies in the library's own cache.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from medeval.evaluation import task_prompts
from medeval.evaluation.model_kinds import Call, LoadedModel, MissingExtraError, failed, state_of
from medeval.evaluation.task_prompts import messages_for, output_from_reply
from medeval.files import toml_beside
from medeval.inference.errors import Failure, Kind, RetryPolicy, failure_of_response
from medeval.inference.guard import DataUseGuard, is_loopback, normalized
from medeval.inference.journal import Line
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.run import RunConfig, settings_of
from medeval.inference.secrets import key_from_environment, without_key
from medeval.inference.types import Model, Outcome, Request, Sample, digest, texts_of
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row
from medeval.text import whole_json


class ApiModel(LoadedModel):
    """A model that is asked by posting batches as JSON.

    Args:
        name: what the audit calls the model.
        gate: passed by every request before its first byte.
        endpoint: the address.
        api_key: sent as a bearer token; kept in memory and written nowhere. An address of this
            machine needs none.
        key_variable: the environment variable that holds the key, instead of the key itself.
        timeout: seconds for one request as a whole.
        max_retries: further requests after a failed one.
        backoff_factor: seconds before the first of them, doubled each time, with jitter.
        headers: sent with every request; their values are written nowhere.

    Raises:
        ValueError: there is no endpoint or no key, or the key cannot be sent.
        UserError: the address cannot be meant, or the variable is not set.
    """

    def __init__(
        self,
        name: str,
        gate: DataUseGuard,
        *,
        endpoint: str | None = None,
        api_key: str | None = None,
        key_variable: str | None = None,
        timeout: float = 30.0,
        max_retries: int = 0,
        backoff_factor: float = 0.5,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if not endpoint:
            raise ValueError("an api model needs endpoint, the address that batches are posted to")
        address, key = normalized(endpoint), api_key or ""
        if not key and key_variable is not None:
            key = key_from_environment(key_variable, os.environ)
        if not key and not is_loopback(address):
            raise ValueError(
                "an api model that is not on this machine needs api_key, or"
                " key_variable, the name of the environment variable that holds it"
            )
        if not (key.isascii() and key.isprintable()):
            raise ValueError("the key of the endpoint has characters that no header can carry")
        super().__init__({})
        self.settings = {"endpoint": address, "header_names": sorted(headers or {})}
        self.name, self.address = name, address
        self.config = replace(self.config, retries=RetryPolicy(max_retries + 1, backoff_factor))
        self._gate, self._timeout, self._key = gate, timeout, key
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        own = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        self._headers = {**bearer, **(headers or {}), **own}

    def items(self, call: Call, lines: Iterable[Line]) -> list[tuple[Sample, list[int]]]:
        """See `LoadedModel`."""
        if call.options:
            raise ValueError(f"an api model takes no options: {', '.join(sorted(call.options))}")
        try:
            json.dumps(call.rows, allow_nan=False)
        except (TypeError, ValueError) as error:
            kind = type(error).__name__
            raise ValueError(f"an input cannot be posted as JSON ({kind})") from None
        return super().items(call, lines)

    async def answer(self, request: Request, rows: list[Row], call: Call) -> Any:
        """Post a batch: the one place from which text leaves the machine."""
        import httpx2

        body = str(request.item.messages[0]["content"]).encode()
        self._gate.authorize(request, body, "answer")
        client = self._gate.client(self.address, self._timeout)
        try:
            async with asyncio.timeout(self._timeout), client:
                response = await client.post(self.address, content=body, headers=self._headers)
                text = without_key(response.text, self._key)
            if response.is_success:
                return whole_json(json.loads(text))
            told, asked = response.headers, texts_of(rows)
            return failure_of_response(response.status_code, told, text, asked=asked)
        except (TimeoutError, httpx2.TimeoutException):
            return Failure(Kind.TIMEOUT)
        except httpx2.RequestError as error:
            kind = Kind.BROKEN if isinstance(error, httpx2.DecodingError) else Kind.CONNECTION
            return Failure(kind, code=type(error).__name__)
        except (ValueError, RecursionError):
            return Failure(Kind.BROKEN, status=response.status_code)

    def output(self, given: Any) -> Row:
        """Return an output; what is no mapping is a label."""
        if given is None:
            return failed("empty")
        return given if isinstance(given, dict) else {"label": str(given), "score": 1.0}


class ChatModel(LoadedModel):
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
        named = {key: value for key, value in given.items() if value is not None}
        # One for each call, as an event loop has its own connections; one now, to be checked.
        self._client = partial(
            OpenAIModel,
            base_url,
            model or name,
            gate,
            parameters={**named, **(parameters or {})},
            key_variable=key_variable,
            timeout=timeout,
        )
        made, self._json_schema = self._client(), json_schema
        super().__init__({}, handle=made, per_item=True)
        retries = RetryPolicy(max_retries + 1, backoff_factor)
        self.config = RunConfig(concurrency, retries, retry=frozenset({Outcome.ERRORED}))
        decisive = settings_of(made, task_prompts.TASK_PROMPT_VERSION)
        self.settings = {**decisive, "json_schema": json_schema}
        readable = re.sub(r"[^\w.-]+", "-", made.model).strip("-.")[:60]
        self.folder = folder / f"{readable}-{digest(decisive)[:16]}"

    def items(self, call: Call, lines: Iterable[Line]) -> list[tuple[Sample, list[int]]]:
        """Return each input as the conversation that its task makes of it."""
        if (task := call.task) is None:
            raise ValueError("an openai model needs task=, which says what is asked")
        form = task_prompts.parameters_for(task) if self._json_schema else {}
        found: dict[str, tuple[Sample, list[int]]] = {}
        messages_of = messages_for(task)
        for place, row in enumerate(call.rows):
            messages = messages_of(row)
            key = digest([messages, form])[:32]
            item = Sample(key, messages, call.data_class, parameters=form)
            found.setdefault(key, (item, []))[1].append(place)
        return list(found.values())

    def asker(self, call: Call) -> Model:
        """See `LoadedModel`."""
        return self._client()

    def read(self, call: Call, text: str, places: Sequence[int]) -> Sequence[Row | None]:
        """See `LoadedModel`."""
        task = cast("MedicalTask", call.task)
        return [output_from_reply(task, text, call.rows[at]) for at in places]


# What each task loads, other words for tasks, and where the text of an input stands.
_TOLD = toml_beside(__file__, "data/huggingface.toml")
_NEW_TOKENS = 256


class HuggingFaceModel(LoadedModel):
    """A model that classifies, summarizes or continues texts.

    Texts are cut at the length that the model takes. Decoding is greedy unless
    `generation_kwargs` say otherwise, so the same inputs get the same outputs.

    Args:
        place: folder of the model, or its name in the library's cache.
        hf_task: `text-classification`, `summarization` (or `text2text-generation`) or
            `text-generation`.
        text_key: where the text of an input stands; by default the usual keys are tried.
        label_map: what labels of the model are called in outputs.
        device: as torch names it.
        generation_kwargs: for `generate`.
        model_kwargs: for loading the model.
        tokenizer_kwargs: for loading the tokenizer.
        trust_remote_code: run code that comes with the model.
        allow_download: fetch the model from the hub if it is not there.
        seed: of torch, set before each batch.

    Raises:
        MissingExtraError: transformers or torch is not installed.
        ValueError: another task, or a model that cannot be loaded.
    """

    def __init__(
        self,
        place: str | Path,
        *,
        hf_task: str = "text-classification",
        text_key: str | None = None,
        label_map: Mapping[str, str] | None = None,
        device: str = "cpu",
        generation_kwargs: Mapping[str, Any] | None = None,
        model_kwargs: Mapping[str, Any] | None = None,
        tokenizer_kwargs: Mapping[str, Any] | None = None,
        trust_remote_code: bool = False,
        allow_download: bool = False,
        seed: int = 0,
    ) -> None:
        self._task = _TOLD["aliases"].get(hf_task, hf_task)
        if self._task not in _TOLD["loaders"]:
            known = ", ".join([*_TOLD["loaders"], *_TOLD["aliases"]])
            raise ValueError(f"unknown hf_task {hf_task!r}: use one of {known}")
        try:
            self._torch, library = import_module("torch"), import_module("transformers")
        except ImportError as error:
            raise MissingExtraError(
                f"A huggingface model needs {error.name}: pip install 'medeval[huggingface]'"
            ) from error
        common = {"local_files_only": not allow_download, "trust_remote_code": trust_remote_code}
        try:
            self._tokenizer = library.AutoTokenizer.from_pretrained(
                str(place), **common, **(tokenizer_kwargs or {})
            )
            loader = getattr(library, _TOLD["loaders"][self._task])
            self._model = loader.from_pretrained(str(place), **common, **(model_kwargs or {}))
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{place} cannot be loaded as a model for {self._task} ({type(error).__name__});"
                " nothing is downloaded unless allow_download=True."
            ) from error
        self._model.to(device).eval()
        self._device, self._text_key, self._seed = device, text_key, seed
        self._labels = dict(label_map or {})
        greedy = {"do_sample": False, "max_new_tokens": _NEW_TOKENS}
        self._generation = {**greedy, **(generation_kwargs or {})}
        settings = {
            "model_path": str(place),
            "files_sha256": state_of(place),
            "hf_task": self._task,
            "generation_kwargs": dict(self._generation),
            "text_key": text_key,
            "label_map": self._labels,
            "parameters": int(self._model.num_parameters()),
            "seed": seed,
        }
        super().__init__(settings, handle=self._model)

    def predict(self, batch: list[Row], call: Call) -> list[Row]:
        """See `LoadedModel`."""
        self._torch.manual_seed(self._seed)
        with self._torch.inference_mode():
            if self._task == "text-classification":
                found = self._classified(batch)
            elif self._task == "summarization":
                texts = self._generated([self._texts(row)[0] for row in batch])
                found = [{"summary": text, "prediction": text} for text in texts]
            else:
                # One at a time: with padding, the same prompt could be continued otherwise.
                found = [self._continued(row, call.task) for row in batch]
        return [{**output, "input": row} for output, row in zip(found, batch, strict=True)]

    def unload(self) -> None:
        """See `LoadedModel`."""
        self._model.to("cpu")
        if self._torch.cuda.is_available():
            self._torch.cuda.empty_cache()

    def _classified(self, batch: list[Row]) -> list[Row]:
        texts = [self._texts(row) for row in batch]
        second = [pair[1] for pair in texts] if all(len(pair) > 1 for pair in texts) else None
        encoded = self._encoded([pair[0] for pair in texts], second)
        found = []
        for share in self._model(**encoded).logits.float().softmax(dim=-1):
            best = int(share.argmax())
            raw = str(self._model.config.id2label[best])
            label = self._labels.get(raw, raw)
            found.append({"label": label, "score": float(share[best]), "raw_label": raw})
        return found

    def _continued(self, row: Row, task: MedicalTask | None) -> Row:
        if task is None:
            prompt = self._texts(row)[0]
        elif self._tokenizer.chat_template:
            prompt = self._tokenizer.apply_chat_template(
                messages_for(task)(row), tokenize=False, add_generation_prompt=True
            )
        else:
            prompt = "\n\n".join([*(one["content"] for one in messages_for(task)(row)), ""])
        (text,) = self._generated([prompt], shows_prompt=True)
        read: Row = {}
        if task:
            read = output_from_reply(task, text, row) or failed("unparsed" if text else "empty", 1)
        return {"text": text, "prediction": text, **read}

    def _generated(self, texts: Sequence[str], shows_prompt: bool = False) -> list[str]:
        """Return what the model writes; `shows_prompt` if it repeats the text first."""
        encoded = self._encoded(texts)
        written = self._model.generate(**encoded, **self._generation)
        shown = encoded["input_ids"].shape[1] if shows_prompt else 0
        decoded = self._tokenizer.batch_decode(written[:, shown:], skip_special_tokens=True)
        return [text.strip() for text in decoded]

    def _texts(self, row: Row) -> list[str]:
        """Return the text of an input; two of them for a premise and a hypothesis."""
        if self._text_key is not None:
            return [str(row[self._text_key])]
        if all(key in row for key in _TOLD["pair"]):
            return [str(row[key]) for key in _TOLD["pair"]]
        for key in _TOLD["text_keys"]:
            if isinstance(row.get(key), str) and row[key].strip():
                return [row[key]]
        raise ValueError(f"no text under any of {', '.join(_TOLD['text_keys'])}; name text_key")

    def _encoded(self, texts: Sequence[str], second: Sequence[str] | None = None) -> Any:
        stated = getattr(self._model.config, "max_position_embeddings", None)
        limit = min(int(each) for each in (self._tokenizer.model_max_length, stated) if each)
        encoded = self._tokenizer(
            list(texts),
            None if second is None else list(second),
            padding=len(texts) > 1,
            truncation=True,
            # Without a limit of its own a tokenizer states a number beyond all measure.
            max_length=limit if limit < 1_000_000 else None,
            return_tensors="pt",
        )
        return encoded.to(self._device)
