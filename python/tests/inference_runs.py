"""Runs against the tests' own endpoint, and what their journals hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from model_server import prompt_hash

from medeval.inference.errors import TOO_LONG, CallFailedError, Failure, Kind, RetryPolicy
from medeval.inference.guard import DataUseGuard
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.run import AUDIT, RESPONSES, Run, RunConfig, RunResult, settings_of
from medeval.inference.types import AskModel, Finished, Model, Outcome, Sample

MODEL = "tested-model"
QUICK = RetryPolicy(attempts=8, first_wait=0.01, longest_wait=0.05)

# Of a dialogue.
TURNS = 4


@dataclass(frozen=True)
class Dialogue:
    """An episode whose every question depends on the answer before.

    It ends where a tool is called; it fails of itself with the kind in `fails`; a conversation
    that is too long is unparsed, or errored if that is how it is to end.
    """

    id: str
    data_class: str | None = "open"
    sample: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fails: str = ""
    too_long: str = "unparsed"

    @property
    def opening(self) -> Sample:
        first = [{"role": "user", "content": f"{self.id} turn 0"}]
        return Sample(self.id, first, self.data_class, self.sample, self.parameters)

    async def play(self, ask: AskModel) -> Finished:
        if self.fails:
            raise CallFailedError(Failure(Kind(self.fails)))
        messages = list(self.opening.messages)
        text = ""
        for number in range(TURNS):
            turn = await ask(replace(self.opening, messages=messages))
            if turn.completion is None and self.too_long == "errored":
                return Finished(Outcome.ERRORED, failure=Failure(Kind.REQUEST, code=TOO_LONG))
            if turn.completion is None:
                return Finished(Outcome.UNPARSED, text, "too_long", {"asked": number})
            if turn.completion.tool_calls:
                called = [call.name for call in turn.completion.tool_calls]
                return Finished(turn.outcome, record={"called": called})
            text = turn.completion.text
            messages = [
                *messages,
                {"role": "assistant", "content": text},
                {"role": "user", "content": f"{self.id} turn {number + 1} after {text}"},
            ]
        return Finished(Outcome.ANSWERED, text, record={"asked": TURNS})


def open_items(count: int) -> list[Sample]:
    return [open_item(f"item-{number:03}") for number in range(count)]


def open_item(name: str) -> Sample:
    return Sample(name, [{"role": "user", "content": f"question {name}"}], "open")


def usual_answer(item: Sample) -> str:
    """Return what the server answers unless a script says otherwise."""
    return f"answer {prompt_hash({'messages': item.messages})}"


def provider_of(
    url: str, folder: Path, gate: DataUseGuard | None = None, **changed: Any
) -> OpenAIModel:
    given = {"address": url, "model": MODEL, "timeout": 5.0, **changed}
    return OpenAIModel(guard=gate or DataUseGuard({}, folder / AUDIT), **given)


def ask(
    url: str,
    folder: Path,
    items: Iterable[Sample],
    options: RunConfig | None = None,
    gate: DataUseGuard | None = None,
    **changed: Any,
) -> RunResult:
    """Run the items against an endpoint; `changed` goes to its model."""
    folder.mkdir(exist_ok=True)
    model = provider_of(url, folder, gate, **changed)
    return run_of(folder, model).execute(items, options or RunConfig(retries=QUICK))


def run_of(folder: Path, model: Model, prompt_version: str = "") -> Run:
    return Run(folder, settings_of(model, prompt_version), model)


def lines(folder: Path) -> list[dict[str, Any]]:
    text = (folder / RESPONSES).read_text(encoding="utf-8")
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def content(folder: Path) -> list[dict[str, Any]]:
    """Return the journal in the order of items, without what differs from run to run."""
    kept = [{k: v for k, v in line.items() if k != "measured"} for line in lines(folder)]
    return sorted(kept, key=lambda line: (line["item"], line["sample"]))


def run_record(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return record
