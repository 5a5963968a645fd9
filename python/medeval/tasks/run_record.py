"""The file of a run of a task: which task it is of, how it was asked, what came of it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from medeval.errors import UserError, os_error_as
from medeval.inference.cost import kept_spending
from medeval.inference.journal import Line, read_journal
from medeval.inference.run import RESPONSES, RUN, Progress, RunFile, read_file
from medeval.inference.secrets import VARIABLE
from medeval.inference.types import Sample, digest
from medeval.judging.jury import Jury

RUNS = Path("runs")
SHARD = r"^([1-9]\d*/[1-9]\d*)?$"
# No tokenizer has longer tokens in ordinary text; three bytes to five are usual.
_MOST_BYTES_OF_A_TOKEN = 10
_SEVERAL = 3


class RunRecord(RunFile, extra="forbid"):
    """All that `run.json` may say.

    Attributes:
        task: its name.
        limit: how many items were asked at most; None for all.
        shard: which of them, `2/8` for the second of eight parts; empty for all.
        shards: the names of the runs that it was merged of.
        key_variable: the environment variable that held the endpoint's key; None if it took none.
        judgings: who judged the answers, the oldest first.
        asked_model: the model as the user named it, by which a run is resumed.
        max_cost: the limit on cost of its newest start; empty without one.
        prices: the file of prices of its newest start; empty without one.
        asked_task: FILE.py:CLASS, if the task is a class in a file; else empty.
        folder: where the record is; not in it.
    """

    task: str
    started_at: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    limit: Annotated[int, Field(ge=1)] | None = None
    shard: Annotated[str, Field(pattern=SHARD)] = ""
    shards: tuple[str, ...] = ()
    key_variable: Annotated[str, Field(pattern=VARIABLE)] | None = None
    judgings: tuple[Jury, ...] = ()
    asked_model: str = ""
    max_cost: str = ""
    prices: str = ""
    asked_task: str = ""
    folder: Annotated[Path, Field(exclude=True)] = Path()

    @property
    def model(self) -> str:
        """The model as reports call it."""
        return str(self.settings["model"])


def part_of(shard: str) -> tuple[int, int]:
    """Return the number of a shard, from 1, and how many there are; of none the one of all."""
    number, _, count = (shard or "1/1").partition("/")
    return int(number), int(count)


def read_record(folder: Path, task: str | None = None) -> RunRecord:
    """Read the file of a run of a task that is put to models.

    Args:
        folder: of the run.
        task: of which it must be, as it is recorded; None for any.

    Raises:
        UserError: the folder holds no such run, or its file says something that is not known.
    """
    with os_error_as(f"{folder / RUN} cannot be read ({{why}}). Name the folder of a run."):
        record = read_file(folder / RUN, RunRecord)
    record.folder = folder
    # Runs of before do not say how their model was named.
    record.asked_model = record.asked_model or record.model
    if task not in (None, record.task):
        raise UserError(f"{folder} is a run of {record.task}, not of {task}.")
    return record


def content_of(folder: Path) -> dict[str, Any]:
    """Return what the file of a run says, whatever task it is of; nothing if a path is no run's."""
    try:
        content = json.loads((folder / RUN).read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}  # something else that somebody keeps there


def options_of(folder: Path) -> str:
    """Return how a run's task was set, as `name value` with commas; empty where no record says.

    Places of files and hashes are left out: a report may be shown to others.
    """
    settings = content_of(folder).get("settings")
    of_task = [*settings.values()] if isinstance(settings, dict) else []
    of_task = [one for one in of_task if isinstance(one, dict)]
    return ", ".join(
        f"{name} {json.dumps(value) if isinstance(value, bool) else value}"
        for one in of_task
        for name, value in one.items()
        if isinstance(value, str | int | float) and value != ""
        if not name.endswith("sha256") and "/" not in str(value) and "\\" not in str(value)
    )


def newest_run(*names: str, file: str = RESPONSES) -> Path | None:
    """Return the newest run of a task, by its names; names of runs start with their time.

    Args:
        names: as runs may be recorded.
        file: that the run must have.
    """
    for journal in sorted(RUNS.glob(f"*/{file}"), reverse=True):
        # A run that was refused before its first item is none; a baseline's run has no journal.
        # Whether it can be used is for its reader to say: an older one is none in its place.
        if journal.stat().st_size and content_of(journal.parent).get("task") in names:
            return journal.parent
    return None


def progress_of(
    lines: Iterable[Line], due: Set[tuple[str, int]]
) -> tuple[Progress, Counter[str], dict[str, str]]:
    """Return what became of items that are due, by id and sample.

    What the journal has beyond them does not count.

    Returns:
        The sums, how often each model replied, and how each item's first sample ended.
    """
    waiting, progress, models, ends = set(due), Progress(), Counter[str](), dict[str, str]()
    for line in lines:
        name = (line["item"], line["sample"])
        if line["sample"] == 0:
            ends[line["item"]] = line["outcome"]
        if name in waiting:
            waiting.discard(name)
            progress.add(line, is_new=False)
            models.update([line["model"]] if line.get("model") else [])
    return progress, models, ends


def facts_of_run(record: RunRecord, items: Iterable[Sample]) -> dict[str, Any]:
    """Return what every report says of a run: who answered, how, and what became of each item.

    Args:
        record: of the run.
        items: all that were to be asked.

    Raises:
        UserError: none of them was asked, or it is a shard.
    """
    if record.shard:
        raise UserError(
            f"{record.folder} is shard {record.shard} of a run. Merge all of them first:"
            " `python -m medeval merge RUN...`."
        )
    from medeval.models.benchmark_report import OUTCOMES  # runs start without it

    due = {(item.id, item.sample) for item in items}
    progress, models, ends = progress_of(read_journal(record.folder / RESPONSES), due)
    if not (asked := progress.ledger.asked):
        raise UserError(
            f"No item of {record.folder} was asked yet. Go on with it:"
            f" `python -m medeval run --resume {record.folder}`."
        )
    ledger = progress.ledger.as_json()
    usage = {name: value for name, value in progress.as_json().items() if name not in ledger}
    if (spent := kept_spending(record.folder / RESPONSES)) is not None:
        # Also calls whose item has no line: those of items that were asked again.
        usage["all_calls"] = spent.as_json()
    ids = sorted({item for item, _ in due})
    return {
        "run_id": record.folder.name,
        "model": record.model,
        **{name: record.settings[name] for name in ("endpoint", "parameters", "prompt_version")},
        "models_reported": dict(sorted(models.items())),
        "ledger": ledger,
        "not_asked": len(due) - asked,
        "items_sha256": digest(ids),
        "usage": usage,
        OUTCOMES: ends,
    }


def warning_of_cut_prompts(items: Iterable[Sample], lines: Iterable[Line]) -> str:
    """Return a warning if the endpoint's counts of input do not grow with the prompts.

    That is so where it counts the same for three or more prompts that differ by more than a third,
    or for three or more fewer tokens than any text of that length has. Of a conversation the mean
    of its turns is taken, none of which is shorter than its opening.

    Args:
        items: that were to be asked; of conversations their openings.
        lines: of the journal.

    Returns:
        A sentence; empty if there is nothing to say.
    """
    counts: dict[tuple[str, int], float] = {}
    for line in lines:
        if (counted := (line.get("usage") or {}).get("input_tokens")) is not None:
            turns = line.get("episode", {}).get("turns", 1)
            counts[line["item"], line["sample"]] = counted / max(1, turns)
    sizes: dict[float, set[int]] = defaultdict(set)
    too_few: list[tuple[int, float]] = []
    for item in items:
        if (count := counts.get((item.id, item.sample))) is not None:
            parts = [list(map(dict, item.messages)), item.parameters.get("tools", [])]
            size = len(json.dumps(parts, ensure_ascii=False).encode("utf-8", "replace"))
            sizes[count].add(size)
            too_few += [(size, count)] if count * _MOST_BYTES_OF_A_TOKEN < size else []
    seen = [
        f"the same {count:,.0f} for {len(found):,} of {min(found):,} to {max(found):,} bytes"
        for count, found in sizes.items()
        if len(found) >= _SEVERAL and 3 * max(found) > 4 * min(found)
    ]
    if len(too_few) >= _SEVERAL:
        size, count = max(too_few)
        seen.append(f"{count:,.0f} for one of {size:,} bytes, and as few for others")
    if not seen:
        return ""
    return (
        f"The tokens of input that the endpoint counts do not grow with the prompts ({seen[0]}):"
        " the server may cut prompts. See how long a context it is started with (vLLM:"
        " --max-model-len, Ollama: num_ctx), and run again."
    )
