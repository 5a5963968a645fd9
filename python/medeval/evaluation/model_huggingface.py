"""Models of the transformers library, run in this process: the extra `huggingface`.

Nothing is downloaded unless that is asked for: a model is a folder, or lies in the library's own
cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from medeval.evaluation.model_kinds import Call, LoadedModel, MissingExtraError, failed, state_of
from medeval.evaluation.task_prompts import messages_for, output_from_reply
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row

# What each task loads, and another word for one of them.
_LOADERS = {
    "text-classification": "AutoModelForSequenceClassification",
    "summarization": "AutoModelForSeq2SeqLM",
    "text-generation": "AutoModelForCausalLM",
}
_ALIASES = {"text2text-generation": "summarization"}
# Where the text of an input stands, the first of these that it has.
_TEXT_KEYS = ("text", "document", "note", "prompt", "question", "case", "patient_message")
_PAIR = ("premise", "hypothesis")
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
        self._task = _ALIASES.get(hf_task, hf_task)
        if self._task not in _LOADERS:
            known = ", ".join([*_LOADERS, *_ALIASES])
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
            loader = getattr(library, _LOADERS[self._task])
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
                messages_for(task, row), tokenize=False, add_generation_prompt=True
            )
        else:
            prompt = "\n\n".join([*(one["content"] for one in messages_for(task, row)), ""])
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
        if all(key in row for key in _PAIR):
            return [str(row[key]) for key in _PAIR]
        for key in _TEXT_KEYS:
            if isinstance(row.get(key), str) and row[key].strip():
                return [row[key]]
        raise ValueError(f"no text under any of {', '.join(_TEXT_KEYS)}; name text_key")

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
