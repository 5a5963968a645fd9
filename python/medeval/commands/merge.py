"""The command `merge`."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medeval.commands.options import command_of
from medeval.errors import UserError, os_error_as
from medeval.files import replace_file
from medeval.inference.cost import merge_spending
from medeval.inference.journal import read_journal, read_lines
from medeval.inference.run import AUDIT, RESPONSES, RUN, differences
from medeval.tasks import registry
from medeval.tasks.run_record import RunRecord, part_of, read_record
from medeval.tasks.task_run import new_folder

# Of a line of a journal: its item and sample.
Key = tuple[str, int]


def merge(**given: Any) -> None:
    """Make one run of all shards of `run --shard`.

    The shards stay as they are.
    """
    records = _in_order([read_record(run) for run in given["runs"]])
    first = records[0]
    items = registry.resume(first, {}).items(first.limit)
    places = {(item.id, item.sample): place for place, item in enumerate(items)}
    lines = [line for record in records for line in _lines(record, places)]
    asked = {key for key, _ in lines}
    missing = Counter(place % len(records) for key, place in places.items() if key not in asked)
    if missing:
        told = "; ".join(
            f"{count:,} of shard {records[number].shard}, go on with"
            f" `{command_of('run', '--resume', records[number].folder)}`"
            for number, count in sorted(missing.items())
        )
        raise UserError(f"{missing.total():,} items were not asked: {told}.")
    lines.sort(key=lambda line: places[line[0]])
    folder = _write(records, [text for _, text in lines], given["out"])
    print(f"run {folder}")
    print(command_of("score", folder))


def _in_order(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the shards from the first to the last.

    Raises:
        UserError: a run is no shard, or of another run; or a shard is missing, or there twice.
    """
    first = records[0]
    for record in records:
        if not record.shard:
            raise UserError(f"{record.folder} is no shard of a run: it was begun without --shard.")
        ours, theirs = (
            {"task": one.task, "limit": one.limit, **one.settings} for one in (first, record)
        )
        if told := differences(ours, theirs, "is {} and {}"):
            raise UserError(f"{first.folder} and {record.folder} are of two runs: {told}.")
    by_number = sorted(records, key=lambda record: part_of(record.shard)[0])
    count = max(part_of(record.shard)[1] for record in records)
    wanted = [f"{number}/{count}" for number in range(1, 1 + count)]
    if [record.shard for record in by_number] != wanted:
        named = ", ".join(record.shard for record in by_number)
        raise UserError(
            f"These are the shards {named}; name each of {wanted[0]} to {wanted[-1]} once."
        )
    return by_number


def _lines(record: RunRecord, places: Mapping[Key, int]) -> list[tuple[Key, bytes]]:
    """Return the lines of a shard, each with its item.

    Raises:
        UserError: there is none, or one of an item that the task or the shard does not have.
    """
    journal = record.folder / RESPONSES
    number, count = part_of(record.shard)
    keys = [(line["item"], line["sample"]) for line in read_journal(journal)]
    for key in keys:
        if key not in places or places[key] % count != number - 1:
            raise UserError(f"{journal}: item {key[0]} is not of shard {record.shard}.")
    return list(zip(keys, (text for _, text in read_lines(journal)), strict=True))


def _write(records: Sequence[RunRecord], lines: Sequence[bytes], out: Path) -> Path:
    """Write the merged run, all of it or nothing, and return its folder."""
    first = records[0]
    content = json.loads((first.folder / RUN).read_bytes())
    content.pop("shard")
    for record in records:
        content["learned"] = {**content.get("learned", {}), **record.learned}
        content["started_at"] = min(content.get("started_at", ""), record.started_at)
    errored: dict[str, dict[str, int | str]] = {}
    for record in records:
        for reason, told in record.errored.items():
            before = errored.get(reason, {"items": 0})
            errored[reason] = {**told, "items": int(before["items"]) + int(told["items"])}
    content |= {"errored": errored} if errored else {}
    content["shards"] = [record.folder.name for record in records]
    folder = new_folder(out, first.task, first.asked_model)
    staged = folder.with_name(f"{folder.name}.new")
    with os_error_as(f"{folder} cannot be made ({{why}})."):
        staged.mkdir(mode=0o700, parents=True)
        try:
            text = json.dumps(content, indent=2, ensure_ascii=False)
            replace_file(staged / RUN, f"{text}\n".encode())
            replace_file(staged / RESPONSES, b"".join(lines))
            merge_spending((one.folder / RESPONSES for one in records), staged / RESPONSES)
            audits = [path.read_bytes() for one in records if (path := one.folder / AUDIT).exists()]
            if audits:
                replace_file(staged / AUDIT, b"".join(audits))
            staged.replace(folder)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    return folder
