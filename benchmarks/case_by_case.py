"""The CDM benchmark with the demo model as a short script would have it: one case after the other.

The baseline of bench_cdm_loop. The rules of the built-in model are called in a loop over the cases
of an export, with the same prompts and tools. Answers are in memory until the end; there is no
journal, no audit, no limit on steps, and nothing to go on with when it is stopped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from medeval.tasks.cdm.cases import read_case_files
from medeval.tasks.cdm.demo import reply_to
from medeval.tasks.cdm.facts import LabNames, load_facts, prompt
from medeval.tasks.cdm.text_protocol import definitions
from medeval.tasks.cdm.tools import TOOLS, Toolbox


def answer(export: str, out: str, first: str = "") -> None:
    """Write what the model says at last of each case, and in how many turns it came there."""
    files, facts = read_case_files(Path(export)), load_facts()
    names = LabNames(files.tests, facts.labs)
    lines = []
    for case in files.cases[: int(first) if first else None]:
        toolbox = Toolbox(case, facts, names)
        history = case.history_of_present_illness.strip()
        parameters = {"tools": definitions(TOOLS)}
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": prompt("system_native")},
            {"role": "user", "content": prompt("history", text=history)},
        ]
        turns = 1
        while calls := (reply := reply_to(messages, parameters)).tool_calls:
            asked = [
                {
                    "id": c.id,
                    "type": "function",
                    "function": {"name": c.name, "arguments": c.arguments},
                }
                for c in calls
            ]
            messages.append({"role": "assistant", "content": reply.text, "tool_calls": asked})
            for call in calls:
                text, _ = toolbox.call(call.name, json.loads(call.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
            turns += 1
        lines.append({"item": str(case.hadm_id), "text": reply.text, "turns": turns})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    Path(out).write_text(text, encoding="utf-8")
