"""Batch files in OpenAI's format: prompts out, answers in, joined by name and never by position.

A batch file leaves the machine by the user's hand, so the guard decides about it before it is
written, as it would about a request.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from medeval.errors import UserError, os_error_as
from medeval.files import read_text, replacing
from medeval.inference.cost import CostLedger, Prices
from medeval.inference.errors import Failure, Kind, failure_of_response, json_or_none
from medeval.inference.guard import DataUseGuard
from medeval.inference.journal import Journal, line_of
from medeval.inference.openai_replies import NoCompletionError, read_completion
from medeval.inference.run import CanRead, Progress, Run
from medeval.inference.types import Outcome, Reply, Request, Sample, body_of, canonical, digest
from medeval.text import split_thinking

URL = "/v1/chat/completions"
_SHOWN = 10
_TIMED_OUT = {"batch_expired", "request_timeout"}


def custom_id(request: Request) -> str:
    """Return a request's name in a batch: a hash, which says nothing of the patient."""
    return digest([request.item.id, request.item.sample, request.key])


def export_batch(run: Run, items: Iterable[Sample], guard: DataUseGuard, path: Path) -> int:
    """Write the prompts as a batch file with mode 0600; return how many.

    Raises:
        UserError: the file is there already, an item comes twice, or the text of an item may not
            go to the endpoint. Then there is no file.
    """
    if path.exists():
        raise UserError(f"{path} is there already. Move it away or name another file.")
    written = 0
    with os_error_as(f"{path}: {{why}}."), replacing(path) as file:
        for request in _requests(run, items):
            body = body_of(request, request.all_parameters)
            guard.authorize(request, canonical(body).encode(), "answer")
            if not request.item.is_open:
                guard.check_place(request.endpoint)
            name = {"custom_id": custom_id(request), "method": "POST", "url": URL}
            file.write(f"{json.dumps({**name, 'body': body})}\n".encode())
            written += 1
    return written


def import_batch(
    run: Run,
    items: Iterable[Sample],
    answers: Sequence[Path],
    prices: Prices | None = None,
    can_read: CanRead | None = None,
) -> Counter[str]:
    """Put the answers of batch files (output and error files) into the journal of a run.

    Args:
        run: with the settings of the export. Items that it has stay as they are, but for those that
            ended in an error and are answered now.
        items: those that were exported.
        answers: the files that the endpoint gave back, in any order.
        prices: what tokens cost in a batch.
        can_read: tells whether the task finds an answer to an item in a reply, as in a live run.

    Returns:
        How many items are `new`: they came to an end by it, of one that had ended in an error in
        its place; `known`, which the journal had already; and `expired`, those without an answer
        that the endpoint did not come to in time.

    Raises:
        UserError: a line cannot be read, an answer comes twice, or one belongs to none of the
            items: then prompts, parameters or model are not those of the export.
    """
    price = (prices or Prices()).of(run.settings["endpoint"], run.settings["model"])
    imported, unmatched = Counter[str](), _by_custom_id(answers)
    with Journal(run.journal) as journal, CostLedger(run.journal, journal.lines()) as ledger:
        matched: list[tuple[Request, Reply | Failure]] = []
        mended: set[tuple[str, int]] = set()
        for request in _requests(run, items):
            if (read := unmatched.pop(custom_id(request), None)) is None:
                continue
            name = request.item.id, request.item.sample
            before = journal.read(*name)
            is_failed = isinstance(read, Failure) and read.outcome is Outcome.ERRORED
            if isinstance(read, Failure) and read.kind is Kind.TIMEOUT:
                imported["expired"] += 1
            elif before is None or (before["outcome"] == Outcome.ERRORED and not is_failed):
                matched.append((request, read))
                mended |= {name} if before else set()
            else:
                imported["known"] += 1
        if unmatched:
            shown = ", ".join(name[:12] for name in list(unmatched)[:_SHOWN])
            raise UserError(
                f"{len(unmatched)} answers belong to none of the items (custom_id {shown}...)."
                " Import with the items, model, parameters and prompt version of the export."
            )
        imported["new"] = len(matched)
        if mended:
            journal.discard(lambda line: (line["item"], line["sample"]) in mended)
        for request, read in matched:
            measured: dict[str, Any] = {"seconds": None, "attempts": 1}
            cost = None
            if isinstance(read, Reply):
                cost = price.cost(read.usage) if price else None
                measured["charged"] = str(cost or Decimal(0))
                if price is not None or ledger.is_kept:
                    ledger.end(ledger.begin(Decimal(0)), cost, cost or Decimal(0))
            line = line_of(request, read, cost, measured)
            if line["outcome"] == Outcome.ANSWERED and can_read is not None:
                is_read = can_read(request.item, split_thinking(line["text"]).answer)
                line["outcome"] = str(Outcome.ANSWERED if is_read else Outcome.UNPARSED)
            journal.append(line)
        progress = Progress()
        for line in journal.lines():
            progress.add(line, is_new=False)
        run.record_errors(progress)
    return imported


def _requests(run: Run, items: Iterable[Sample]) -> Iterator[Request]:
    """Yield the request of each item.

    Raises:
        UserError: an item comes twice.
    """
    seen: set[tuple[str, int]] = set()
    for item in items:
        if (item.id, item.sample) in seen:
            raise UserError(f"Item {item.id!r} (sample {item.sample}) comes twice.")
        seen.add((item.id, item.sample))
        yield run.request(item)


def _by_custom_id(paths: Iterable[Path]) -> dict[str, Reply | Failure]:
    found: dict[str, Reply | Failure] = {}
    for path in paths:
        for number, line in enumerate(read_text(path).split("\n"), 1):
            if not line.strip():
                continue
            read = json_or_none(line)
            name = read.get("custom_id") if isinstance(read, Mapping) else None
            if not isinstance(name, str):
                raise UserError(f"{path}, line {number}: not a line of a batch's answers.")
            if name in found:
                raise UserError(f"{path}, line {number}: custom_id {name[:12]}... comes twice.")
            found[name] = _answer(read)
    return found


def _answer(line: Mapping[str, Any]) -> Reply | Failure:
    """Return what one line brought; a request that the endpoint did not come to is a timeout."""
    told, response = line.get("error"), line.get("response")
    if isinstance(told, Mapping):
        code = str(told.get("code", ""))
        return Failure(Kind.TIMEOUT if code in _TIMED_OUT else Kind.REQUEST, code=code[:60])
    if not isinstance(response, Mapping):
        return Failure(Kind.BROKEN)
    status, body = response.get("status_code"), response.get("body")
    if isinstance(status, int) and status != 200:
        return failure_of_response(status, {}, json.dumps(body))
    try:
        return read_completion(body)
    except NoCompletionError as error:
        return Failure(Kind.BROKEN, status=200, code=error.code)
