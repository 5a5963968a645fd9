"""Runs against the tests' own endpoint, and what their journals hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from medeval.inference.errors import RetryPolicy
from medeval.inference.run import (
    AUDIT,
    RESPONSES,
    RunConfig,
    RunFolder,
    RunResult,
    run,
    settings_of,
)
from medeval.inference.types import Item

from medeval.inference.guard import DataUseGuard
from medeval.inference.openai_model import EndpointSettings, OpenAIModel

MODEL = "tested-model"
QUICK = RetryPolicy(attempts=8, first_wait=0.01, longest_wait=0.05)


def open_items(count: int) -> list[Item]:
    return [open_item(f"item-{number:03}") for number in range(count)]


def open_item(name: str) -> Item:
    return Item(name, [{"role": "user", "content": f"question {name}"}], "open")


def usual_answer(item: Item) -> str:
    """Return what the server answers unless a script says otherwise."""
    prompt = str(item.messages[-1]["content"])
    return f"answer {hashlib.sha256(prompt.encode()).hexdigest()[:12]}"


def provider_of(
    url: str, folder: Path, gate: DataUseGuard | None = None, **changed: Any
) -> OpenAIModel:
    settings = EndpointSettings(
        **{"base_url": url, "model": MODEL, "timeout": 5.0, "opening": 0.5, **changed}
    )
    return OpenAIModel(settings, gate or DataUseGuard({}, folder / AUDIT))


def ask(
    url: str,
    folder: Path,
    items: Iterable[Item],
    options: RunConfig | None = None,
    gate: DataUseGuard | None = None,
    **changed: Any,
) -> RunResult:
    """Run the items against an endpoint; `changed` goes to its settings."""
    options = options or RunConfig(retries=QUICK)
    folder.mkdir(exist_ok=True)
    provider = provider_of(url, folder, gate, **changed)
    place = RunFolder(folder, settings_of(provider, options.prompt_version))
    return run(items, provider, place, options)


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
