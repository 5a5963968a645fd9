"""The record of a run, read back: which task it is of, how it was asked, what came of it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from medeval.errors import UserError
from medeval.inference.cost import kept_spending
from medeval.inference.guard import VARIABLE
from medeval.inference.journal import read_journal
from medeval.inference.run import RESPONSES, RUN, Progress, Record, checked_record
from medeval.inference.types import Item, canonical
from medeval.judging.jury import Jury

RUNS = Path("runs")


class _File(Record):
    """All that `run.json` may say."""

    model_config = ConfigDict(extra="forbid")

    task: str
    started_at: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    limit: Annotated[int, Field(ge=1)] | None = None
    key_variable: Annotated[str, Field(pattern=VARIABLE)] | None = None
    judgings: tuple[Jury, ...] = ()
    asked_model: str = ""
    max_cost: str = ""
    prices: str = ""


@dataclass(frozen=True)
class RunRecord:
    """What `run.json` says.

    Attributes:
        folder: of the run.
        task: its name.
        settings: all that decided the answers.
        limit: how many items were asked at most; None for all.
        key_variable: the environment variable that held the endpoint's key; None if it took none.
        judgings: who judged the answers, the oldest first.
        max_cost: the limit on cost of its newest start; empty without one.
        prices: the file of prices of its newest start; empty without one.
        asked_model: the model as the user named it, by which a run goes on.
    """

    folder: Path
    task: str
    settings: Mapping[str, Any]
    limit: int | None
    key_variable: str | None = None
    judgings: Sequence[Jury] = ()
    asked_model: str = ""
    max_cost: str = ""
    prices: str = ""

    @property
    def model(self) -> str:
        """The model as reports call it."""
        return str(self.settings["model"])


def read_record(folder: Path) -> RunRecord:
    """Read the record of a run of a task that is put to models.

    Raises:
        UserError: the folder holds no such run, or its record says something that is not known.
    """
    try:
        file = checked_record(folder / RUN, _File)
    except OSError as error:
        raise UserError(
            f"{folder / RUN} cannot be read ({error.strerror or error}). Name the folder of a run."
        ) from None
    kept = {one.name: getattr(file, one.name) for one in fields(RunRecord)[1:]}
    settings = file.settings.model_dump()
    named = file.asked_model or file.settings.model
    return RunRecord(folder, **{**kept, "settings": settings, "asked_model": named})


def newest_run(task: str, runs: Path = RUNS) -> Path | None:
    """Return the newest run of a task; names of runs start with their time."""
    if not runs.is_dir():
        return None
    for folder in sorted((one for one in runs.iterdir() if one.is_dir()), reverse=True):
        journal = folder / RESPONSES
        # A run that was refused before its first item is none; a baseline's run has no journal.
        if not (journal.is_file() and journal.stat().st_size):
            continue
        try:
            content = json.loads((folder / RUN).read_bytes())
        except (OSError, ValueError):
            continue  # something else that somebody keeps there
        # Whether it can be used is for its reader to say: an older one is none in its place.
        if isinstance(content, dict) and content.get("task") == task:
            return folder
    return None


def facts_of_run(record: RunRecord, items: Iterable[Item]) -> dict[str, Any]:
    """Return what every report says of a run: who answered, how, and what became of each item.

    Args:
        record: of the run.
        items: all that were to be asked; what the journal has beyond them does not count.

    Raises:
        UserError: none of them was asked.
    """
    due = [(item.id, item.sample) for item in items]
    waiting = set(due)
    progress = Progress()
    models: Counter[str] = Counter()
    for line in read_journal(record.folder / RESPONSES):
        name = (line["item"], line["sample"])
        if name in waiting:
            waiting.discard(name)
            progress.add(line, is_new=True)
            if line.get("model"):
                models[line["model"]] += 1
    if len(waiting) == len(due):
        raise UserError(
            f"No item of {record.folder} was asked yet. Go on with it:"
            f" `python -m medeval run --resume {record.folder}`."
        )
    sums = progress.as_json()
    spent = kept_spending(record.folder / RESPONSES)
    if spent is not None:
        # Also calls whose item has no line: those of items that were asked again.
        sums["all_calls"] = spent.as_json()
    ledger = {name: sums.pop(name) for name in progress.ledger.as_json()}
    return {
        "run_id": record.folder.name,
        "model": record.model,
        "endpoint": record.settings.get("endpoint"),
        "parameters": record.settings.get("parameters", {}),
        "prompt_version": record.settings.get("prompt_version"),
        "models_reported": dict(sorted(models.items())),
        "ledger": ledger,
        "not_asked": len(waiting),
        "items_sha256": hashlib.sha256(
            canonical(sorted({name for name, _ in due})).encode()
        ).hexdigest(),
        "usage": sums,
    }
