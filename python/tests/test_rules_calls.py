"""Rules of retries, of a budget and of the audit that a small change could break unseen."""

from __future__ import annotations

import asyncio
import resource
import signal
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path

from inference_runs import QUICK, ask, open_item, open_items
from model_server import SERVER, Body, Fault, Script, model_server, slow

from medeval.errors import UserError
from medeval.inference.cost import Budget
from medeval.inference.errors import Failure, Kind, RetryPolicy
from medeval.inference.guard import DataUseGuard
from medeval.inference.run import RunConfig
from medeval.inference.types import Request


def test_only_a_failure_that_may_pass_asks_for_too_long_a_wait() -> None:
    policy = RetryPolicy(longest_told=300)
    assert policy.asks_too_much(Failure(Kind.LIMIT, 429, retry_after=301))
    assert not policy.asks_too_much(Failure(Kind.REQUEST, 400, retry_after=301))


def test_money_that_is_there_to_the_last_cent_may_be_spent() -> None:
    async def calls() -> list[bool]:
        budget = Budget(Decimal(10))
        return [
            await budget.set_aside(Decimal(10)),
            await Budget(Decimal(10)).set_aside(Decimal(11)),
        ]

    assert asyncio.run(calls()) == [True, False]


def test_only_a_call_that_was_one_too_many_means_fewer_at_a_time(tmp_path: Path) -> None:
    together: list[int] = []

    def fault(body: Body, before: int) -> Fault:
        if before == 0:
            return SERVER
        together.append(server.seen.open_now)
        return slow(0.1)

    with model_server(Script(fault)) as server:
        options = RunConfig(concurrency=4, retries=QUICK)
        ended = ask(server.url, tmp_path, open_items(12), options)
    assert ended.progress.ledger.as_json()["answered"] == 12
    assert max(together) == 4


def admitted_on_a_full_disk(path: str) -> str:
    """Record requests in an audit that may not grow; return what is told."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    request = Request(open_item("a"), "https://x.org/v1", "m", {}, "1")
    gate = DataUseGuard({}, Path(path))
    gate.authorize(request, b"{}", "answer")
    limit = Path(path).stat().st_size + 10
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        gate.authorize(request, b"{}", "answer")
    except UserError as error:
        return str(error)
    return "nothing"


def test_what_stands_in_no_audit_as_a_whole_is_not_sent(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        told = pool.submit(admitted_on_a_full_disk, str(tmp_path / "audit.jsonl")).result()
    assert "the disk is full. Nothing was sent." in told
