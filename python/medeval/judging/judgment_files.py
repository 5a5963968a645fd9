"""The files of one judge, read back: what it said, of whom, and whether it came to its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from medeval.errors import UserError
from medeval.inference.cost import kept_spending
from medeval.inference.journal import Line, read_journal
from medeval.inference.run import Progress, RunFile, read_file
from medeval.inference.types import Item, Request
from medeval.judging.asking import Asking
from medeval.judging.judge_report import JudgeReport
from medeval.judging.prompt import ASKS_PER_REPEAT, PROMPT
from medeval.judging.verdicts import Status

# In the record: why the judge was not asked about all answers; null if it was.
STOPPED = "stopped"


class JudgeRecord(RunFile):
    """All that the record of a judge may say."""

    model_config = ConfigDict(extra="forbid")

    judge: str = ""
    stopped: str | None = None


def read_report(judge: str, record_file: Path, journal: Path, asking: Asking) -> JudgeReport:
    """Return what became of a judge; nobody is asked and no key is needed.

    Args:
        judge: its name.
        record_file: how it was asked.
        journal: of its calls; it may have made none.
        asking: what it was to be asked.

    Raises:
        UserError: there is no such record, it is of another prompt, or the journal has a line that
            is none or that judges other texts.
    """
    record = _record(record_file)
    settings = record["settings"]
    if settings["prompt_version"] != asking.prompt.version:
        raise UserError(
            f"{record_file} is of another prompt or rubric"
            f" ({settings['prompt_version']}, not {asking.prompt.version})."
        )
    lines = list(read_journal(journal)) if journal.exists() else []
    own = list(_own_lines(lines, asking, settings, journal))
    progress, further = Progress(), Progress()
    for line in own:
        progress.add(line, is_new=False)
    for line in lines:
        if line["item"] in asking.subjects and not _is_wanted(line, asking):
            further.add(line, is_new=False)
    judgments = tuple(asking.judgments(judge, own))
    # More may have been asked of it than is read here: repeats for an audit, of which it stopped.
    is_whole = all(judgment.status is Status.OK for judgment in judgments)
    return JudgeReport(
        judge=judge,
        model=settings["model"],
        endpoint=settings["endpoint"],
        judgments=judgments,
        progress=progress,
        further=further,
        spent=kept_spending(journal),
        learned=record.get("learned", {}),
        stopped="" if is_whole else record.get(STOPPED) or "",
    )


def prompt_of(record_files: Iterable[Path]) -> str:
    """Return the name of the prompt that a judging was begun with; the newest if it was not."""
    for path in record_files:
        if path.exists():
            begun = _record(path)["settings"].get("judging")
            return str(begun.get("prompt")) if isinstance(begun, dict) else PROMPT
    return PROMPT


def _own_lines(
    lines: Iterable[Line], asking: Asking, settings: Mapping[str, Any], journal: Path
) -> Iterator[Line]:
    """Yield the lines of these subjects, which must answer the very prompts that are made of them.

    Repeats beyond those that are wanted are left out: an audit may have asked for them, or an
    earlier start that had more.

    Raises:
        UserError: a subject was judged with other texts.
    """
    for line in lines:
        subject = asking.subjects.get(line["item"])
        if subject is None or not _is_wanted(line, asking):
            continue
        item = Item(
            subject.name,
            asking.prompt.messages(subject, line["sample"]),
            subject.data_class,
            line["sample"],
        )
        request = Request(
            item,
            settings["endpoint"],
            settings["model"],
            settings["parameters"],
            settings["prompt_version"],
        )
        if request.key != line["key"]:
            raise UserError(
                f"{journal}: {subject.id!r} (sample {subject.sample}) was judged with another"
                " question, answer or reference. Judge again into another folder."
            )
        yield line


def _is_wanted(line: Line, asking: Asking) -> bool:
    return bool(line["sample"] < asking.repeats * ASKS_PER_REPEAT)


def _record(path: Path) -> dict[str, Any]:
    try:
        return read_file(path, JudgeRecord).model_dump()
    except FileNotFoundError:
        raise UserError(f"{path}: there are no judgments. Run the judges first.") from None
