"""The audit and the tokenizer of a server, beside the calls of a run."""

from __future__ import annotations

import asyncio
import resource
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from inference_runs import open_item, provider_of
from model_server import RuledEndpoint, model_server

from medeval.errors import UserError
from medeval.inference.guard import DataUseGuard
from medeval.inference.tokens import ServerTokens
from medeval.inference.types import Item, Request


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


def test_a_tokenizer_that_takes_no_system_message_counts_without(tmp_path: Path) -> None:
    rules = [
        {"role": "system", "status": 400, "message": "System role not supported"},
        {"body": '{"count": 7}'},
    ]

    async def counted(url: str) -> int:
        provider = provider_of(url, tmp_path)
        messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
        try:
            return await ServerTokens(provider).count(Item("a", messages, "open"))
        finally:
            await provider.close()

    with model_server(RuledEndpoint(rules).script) as server:
        assert asyncio.run(counted(server.url)) == 7
        assert server.seen.bodies[-1]["messages"] == [{"role": "user", "content": "s\n\nu"}]
