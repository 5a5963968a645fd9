"""Conversations about hand-made cases with a scripted endpoint, and exports of such cases."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from case_files import write_manifest
from cdm_cases import MADE, facts, names
from commands import PROJECT_ROOT
from inference_runs import QUICK, provider_of
from model_server import Body

from medeval.inference.guard import DataUseGuard
from medeval.inference.run import Run, RunConfig, RunResult, settings_of
from medeval.inference.types import Episode, Model
from medeval.models.clinical_case import ClinicalCase
from medeval.tasks.cdm.episode import ToolEpisode
from medeval.tasks.cdm.export import LINES, MAPPING, PROVENANCE
from medeval.tasks.cdm.facts import PROMPT_VERSION
from medeval.tasks.cdm.task import CdmOptions

# Written into every part of the case that no model may see.
MARKS = (
    *("QQAGE", "8877", "QQGENDER", "QQTRUTH", "QQTREATMENT", "QQCODE", "QQNOTE"),
    *("2150-01-01", "20055"),
)


def loops(of: Iterable[ClinicalCase], options: CdmOptions | None = None) -> Iterable[Episode]:
    known = {"facts": facts(), "names": names(), "options": options or CdmOptions()}
    return [ToolEpisode(one, **known) for one in of]


def bedside(
    url: str,
    folder: Path,
    episodes: Iterable[Episode],
    options: RunConfig | None = None,
    gate: DataUseGuard | None = None,
    provider: Model | None = None,
    **changed: Any,
) -> RunResult:
    """Run episodes against an endpoint; `changed` goes to its settings."""
    folder.mkdir(exist_ok=True)
    provider = provider or provider_of(url, folder, gate, **changed)
    run = Run(folder, settings_of(provider, PROMPT_VERSION), provider)
    return run.execute(episodes, options or RunConfig(retries=QUICK))


def calling(*calls: tuple[str, Any]) -> dict[str, Any]:
    """Return a message that calls tools; arguments that are no text are written as JSON."""
    functions = [
        {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)}
        for name, given in calls
    ]
    parts = [
        {"id": f"c{number}", "type": "function", "function": function}
        for number, function in enumerate(functions)
    ]
    return {"content": None, "tool_calls": parts, "finish_reason": "tool_calls"}


def answering(diagnosis: str = "Acute appendicitis", **changed: Any) -> str:
    answer = {"thought": "why", "final_diagnosis": diagnosis, "treatment": ["antibiotics"]}
    return json.dumps({**answer, **changed})


def in_order(*replies: str | dict[str, Any]) -> Callable[[Body], str | dict[str, Any]]:
    """Return a script's replies one after the other; the last one again and again."""
    left = list(replies)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


def leaks(bodies: Sequence[Any], of: ClinicalCase, marks: Sequence[str] = MARKS) -> list[str]:
    """Return the marks and the terms of the case's diagnosis that stand in requests."""
    path = PROJECT_ROOT / "seeds" / "cdm" / "cdm_scrub_terms.csv"
    with path.open(encoding="utf-8", newline="") as file:
        terms = [row["term"] for row in csv.DictReader(file) if row["pathology"] == of.pathology]
    sent = json.dumps(bodies, ensure_ascii=False).lower()
    return [word for word in (*marks, *terms) if word.lower() in sent]


def export_of(folder: Path, cases: Sequence[ClinicalCase], classes: Sequence[Any] = ()) -> Path:
    """Write cases as an open export does, with a class of each beside them if there are any."""
    folder.mkdir(exist_ok=True)
    lines = [one.model_dump_json(exclude={"data_class"} if classes else None) for one in cases]
    (folder / LINES).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / MAPPING).write_text(json.dumps(MADE["tests"]), encoding="utf-8")
    if classes:
        pairs = zip(cases, classes, strict=True)
        told = [json.dumps({"hadm_id": one.hadm_id, "data_class": its}) for one, its in pairs]
        (folder / PROVENANCE).write_text("\n".join(told) + "\n", encoding="utf-8")
    write_manifest(folder)
    return folder
