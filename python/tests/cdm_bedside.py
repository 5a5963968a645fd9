"""Cases made by hand with marks that no model may see, and runs of them against an endpoint."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from commands import PROJECT_ROOT
from inference_runs import QUICK, provider_of
from model_server import Body

from medeval.cdm import prompts
from medeval.cdm.cases import LINES, MAPPING, PROVENANCE
from medeval.cdm.context import ContextBudget
from medeval.cdm.demo import reply_to
from medeval.cdm.episode import LoopOptions, tool_loops
from medeval.cdm.facts import Facts, load_facts
from medeval.cdm.lab_names import LabMapping
from medeval.inference.engine import STEPS
from medeval.inference.guard import DataUseGuard
from medeval.inference.run import Run, RunConfig, RunResult, settings_of
from medeval.inference.types import Completion, Episode, Model
from medeval.models.clinical_case import ClinicalCase

# Written into every part of a case that no model may see.
MARKS = (
    *("QQAGE", "8877", "QQGENDER", "QQTRUTH", "QQTREATMENT", "QQCODE", "QQNOTE"),
    *("2150-01-01", "20055"),
)
HISTORY = "Pain that began around the navel and moved down. Past Medical History: none."
EXAMINATION = "Abdomen: tender in the right lower quadrant with rebound."
ULTRASOUND = "FINDINGS: A blind-ending tube of 9 mm that does not compress."
CT = "FINDINGS: The appendix is dilated with stranding of the fat."
CHEST = "FINDINGS: The lungs are clear."


def lab(itemid: int, name: str, value: str, **changed: Any) -> dict[str, Any]:
    return {
        "itemid": itemid,
        "test_name": name,
        "fluid": "Blood",
        "category": "Chemistry",
        "value": value,
        "ref_range_lower": 0.0,
        "ref_range_upper": 5.0,
        "charttime": "2150-01-01T09:00:00",
        "sequence_num": 1,
        **changed,
    }


def report(number: int, modality: str, text: str, **changed: Any) -> dict[str, Any]:
    return {
        "note_id": f"QQNOTE-RR-{number}",
        "exam_name": f"{modality.upper()} ABDOMEN",
        "region": "Abdomen",
        "modality": modality,
        "text": text,
        "charttime": f"2150-01-01T1{number}:00:00",
        "sequence_num": 1,
        **changed,
    }


def case(number: int = 1, **changed: Any) -> ClinicalCase:
    """Return a case of appendicitis; `changed` are fields of its JSON."""
    fields: dict[str, Any] = {
        "hadm_id": 20055000 + number,
        "pathology": "appendicitis",
        "demographics": {"age": 8877, "gender": "QQGENDER", "age_at_admission": 8877},
        "history_of_present_illness": HISTORY,
        "lab_results": [
            lab(51301, "White Blood Cells", "15.2 K/uL", ref_range_lower=4.0, ref_range_upper=11.0),
            lab(50889, "C-Reactive Protein", "88 mg/L"),
            lab(50956, "Lipase", "30 IU/L", ref_range_upper=60.0),
        ],
        "microbiology_events": [
            {
                "test_itemid": 90201,
                "test_name": "Blood Culture",
                "spec_type_desc": "BLOOD CULTURE",
                "organism_name": None,
                "comments": "NO GROWTH.",
                "charttime": None,
                "sequence_num": 1,
            }
        ],
        "radiology_reports": [
            report(1, "Ultrasound", ULTRASOUND),
            report(2, "CT", CT),
            report(3, "Radiograph", CHEST, region="Chest", exam_name="CHEST (PA AND LAT)"),
        ],
        "physical_exams": EXAMINATION,
        "ground_truth": {
            "primary_diagnosis": ["Acute appendicitis QQTRUTH"],
            "treatments": [
                {"title": "appendectomy QQTREATMENT", "icd_code": "QQCODE", "is_coded": True}
            ],
        },
        "data_class": "open",
        **changed,
    }
    return ClinicalCase.model_validate_json(json.dumps(fields))


def cases(count: int, **changed: Any) -> list[ClinicalCase]:
    return [case(number, **changed) for number in range(1, count + 1)]


@cache
def facts() -> Facts:
    return load_facts(PROJECT_ROOT)


def mapping() -> LabMapping:
    labels = {51301: "White Blood Cells", 50889: "C-Reactive Protein", 50956: "Lipase"}
    rows = [
        {"itemid": itemid, "label": label, "corresponding_ids": [itemid]}
        for itemid, label in labels.items()
    ]
    return LabMapping(rows)


def loops(
    of: Iterable[ClinicalCase],
    options: LoopOptions | None = None,
    budget: ContextBudget | None = None,
) -> Iterable[Episode]:
    return tool_loops(of, facts(), mapping(), options or LoopOptions(), budget)


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
    settings = settings_of(provider, prompts.PROMPT_VERSION)
    options = options or RunConfig(retries=QUICK)
    return Run(folder, settings, provider).execute(episodes, options)


def demo_reply(body: Body) -> dict[str, Any]:
    """Return what the demo policy answers, as the server's message."""
    parameters = {name: body[name] for name in ("tools", "tool_choice") if name in body}
    return as_message(reply_to(body["messages"], parameters))


def as_message(completion: Completion) -> dict[str, Any]:
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in completion.tool_calls
    ]
    message: dict[str, Any] = {"content": completion.text, "finish_reason": "stop"}
    return {**message, "tool_calls": calls, "finish_reason": "tool_calls"} if calls else message


def calling(*calls: tuple[str, Any]) -> dict[str, Any]:
    """Return a message that calls tools; arguments that are no text are written as JSON."""
    parts = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
            },
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    return {"content": None, "tool_calls": parts, "finish_reason": "tool_calls"}


def answering(diagnosis: str = "Acute appendicitis", **changed: Any) -> str:
    answer = {"thought": "why", "final_diagnosis": diagnosis, "treatment": ["antibiotics"]}
    return json.dumps({**answer, **changed})


def in_order(*replies: str | dict[str, Any]) -> Callable[[Body], str | dict[str, Any]]:
    """Return a script's replies one after the other; the last one again and again."""
    left = list(replies)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


def steps(folder: Path) -> list[dict[str, Any]]:
    text = (folder / STEPS).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def scrub_terms(pathology: str) -> list[str]:
    path = PROJECT_ROOT / "seeds" / "cdm" / "cdm_scrub_terms.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [row["term"] for row in csv.DictReader(file) if row["pathology"] == pathology]


def leaks(bodies: Sequence[Body], of: ClinicalCase, marks: Sequence[str] = MARKS) -> list[str]:
    """Return the marks and the terms of the case's diagnosis that stand in requests."""
    terms = scrub_terms(of.pathology) if of.pathology else []
    sent = json.dumps(bodies, ensure_ascii=False).lower()
    return [word for word in (*marks, *terms) if word.lower() in sent]


def export_of(folder: Path, cases: Sequence[ClinicalCase], classes: Sequence[Any] = ()) -> Path:
    """Write cases as an open export does, with a class of each beside them if there are any."""
    lines = [one.model_dump_json(exclude={"data_class"} if classes else None) for one in cases]
    (folder / LINES).write_text("\n".join(lines) + "\n", encoding="utf-8")
    tests = [{"itemid": 50956, "label": "Lipase", "corresponding_ids": [50956]}]
    (folder / MAPPING).write_text(json.dumps(tests), encoding="utf-8")
    if classes:
        told = [
            json.dumps({"hadm_id": one.hadm_id, "data_class": its})
            for one, its in zip(cases, classes, strict=True)
        ]
        (folder / PROVENANCE).write_text("\n".join(told) + "\n", encoding="utf-8")
    files = [
        {"path": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        for file in folder.iterdir()
        if file.is_file()
    ]
    manifest = {"data_class": "open", "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder
