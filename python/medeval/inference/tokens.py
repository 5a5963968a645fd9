"""How many tokens a conversation has, counted by whoever can, and how many the model takes.

The server's own tokenizer counts exactly, with the template around the messages. Without it
tiktoken counts if it is installed, and else a rule of thumb estimates. Which one it was belongs in
the record of the run.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from medeval.errors import UserError
from medeval.inference import errors
from medeval.inference.cost import longest_reply
from medeval.inference.errors import CallFailedError, Failure, Kind, RetryPolicy, json_or_none
from medeval.inference.openai_model import AS_USER, SYSTEM_ROLE, OpenAIModel, sent_messages
from medeval.inference.openai_replies import count_at, value_at
from medeval.inference.types import OPEN, Model, Request, Sample, canonical

DEFAULT_LIMIT = 8192

_ENCODING = "o200k_base"
# What the templates of chat models put around a message, and before the reply.
_PER_MESSAGE = 4
_BEFORE_THE_REPLY = 3
# Clinical English has about four bytes a token; with numbers and abbreviations fewer.
_BYTES_PER_TOKEN = 3.5


@dataclass(frozen=True)
class EstimatedTokens:
    """Counts the tokens of prompts without asking anybody.

    Attributes:
        encoding: of tiktoken, whose tables stand for those of models it does not know; None for a
            rule of thumb: a token for each three and a half bytes, and the template's.
        counted_by: which of them: `tiktoken` or `estimate`.
    """

    encoding: Any = None
    counted_by: str = "estimate"

    async def count(self, item: Sample) -> int:
        """Return the tokens of an item's messages and tools, with the template around them."""
        contents = (message.get("content") for message in item.messages)
        called = (message.get("tool_calls") for message in item.messages)
        texts = [content for content in contents if isinstance(content, str)]
        texts += [canonical(calls) for calls in called if calls]
        texts += [canonical(its) for name, its in item.parameters.items() if name == "tools"]
        if self.encoding is None:
            size = sum(len(text.encode("utf-8", "replace")) for text in texts)
            tokens = math.ceil(size / _BYTES_PER_TOKEN)
        else:
            tokens = sum(len(self.encoding.encode(text, disallowed_special=())) for text in texts)
        return tokens + _PER_MESSAGE * len(item.messages) + _BEFORE_THE_REPLY


@dataclass
class ServerTokens:
    """Counts with the tokenizer of the server, as vLLM offers it beside the chat endpoint.

    Attributes:
        provider: whose guard the text passes here too.
        retries: of a count that failed.
    """

    provider: OpenAIModel
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    counted_by: str = "server"

    async def count(self, item: Sample) -> int:
        """Return the tokens of an item's messages and tools, with the template around them.

        Raises:
            CallFailedError: the server did not reply.
        """
        attempt = 1
        while isinstance(answer := await self.attempt(item), Failure):
            if self.retries.asks_too_much(answer) or not self.retries.may_retry(answer, attempt):
                raise CallFailedError(answer)
            await asyncio.sleep(self.retries.wait(answer, item.name, attempt))
            attempt += 1
        return answer

    async def attempt(self, item: Sample) -> int | Failure:
        """Ask the server once; what its template refuses is learned as from a reply."""
        provider = self.provider
        request = Request(item, provider.address, provider.model, provider.parameters, "")
        body: dict[str, Any] = {"model": provider.model, "add_generation_prompt": True}
        body["messages"] = sent_messages(item.messages, provider.learned)
        body |= {name: item.parameters[name] for name in ("tools",) if name in item.parameters}
        # The tokenizer stands beside the versioned part of the address, on the same server.
        address = f"{provider.address.removesuffix('/v1')}/tokenize"
        sent = await provider.send(address, request, body)
        if not isinstance(sent, Failure):
            counted = count_at(json_or_none(sent), "count")
            detail = "the reply holds no count of tokens"
            return Failure(Kind.BROKEN, 200, detail=detail) if counted is None else counted
        if sent.code != errors.NO_SYSTEM_ROLE or SYSTEM_ROLE in provider.learned:
            return sent
        provider.learned = {**provider.learned, SYSTEM_ROLE: AS_USER}
        return await self.attempt(item)


Counter = EstimatedTokens | ServerTokens


@dataclass(frozen=True)
class ContextWindow:
    """What a model takes in, and how much of it a prompt may fill.

    Attributes:
        limit: tokens of prompt and reply together.
        limit_from: who said so: `server`, `user`, or nobody, the `default`.
        counter: counts prompts.
        kept_free: tokens that no prompt fills.
    """

    limit: int
    limit_from: str
    counter: Counter
    kept_free: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return what the record of a run says of it."""
        return {
            "limit": self.limit,
            "limit_from": self.limit_from,
            "tokens_counted_by": self.counter.counted_by,
        }

    async def holds(self, item: Sample) -> bool:
        """Tell whether a prompt fits.

        Raises:
            CallFailedError: the server counts and did not reply.
        """
        size = self.limit - self.kept_free
        # No prompt has more tokens than its JSON has bytes: most need not be counted.
        if len(canonical([list(map(dict, item.messages)), dict(item.parameters)])) <= size:
            return True
        return await self.counter.count(item) <= size

    async def cut_to_fit(self, text: str, item_with: Callable[[str], Sample]) -> str:
        """Return as much of the beginning of a text as fits into a prompt.

        Args:
            text: to be cut.
            item_with: makes the prompt with a text in its place.
        """
        if not text or await self.holds(item_with(text)):
            return text
        bare = await self.counter.count(item_with(""))
        room = max(0, self.limit - self.kept_free - bare)
        for _ in range(12):
            tokens = await self.counter.count(item_with(text)) - bare
            if tokens <= room:
                return text
            # A little more than the mean length of its tokens says.
            text = text[: int(len(text) * room / tokens * 0.97)]
        return ""


# For models of this process, and prompts that nobody shortens.
UNLIMITED = ContextWindow(sys.maxsize, "default", EstimatedTokens())


async def context_window(
    provider: Model,
    is_open: bool,
    limit: int | None = None,
    margin: int = 0,
    retries: RetryPolicy | None = None,
) -> ContextWindow:
    """Find out how much a model takes and who counts; before a run, outside of it.

    Args:
        provider: who will be asked; a longest reply among its parameters is kept free.
        is_open: whether all cases of the run are open; if not, the endpoint must be declared.
        limit: as the user says; None to ask the server.
        margin: tokens that are kept free at least.
        retries: of counts that fail.

    Raises:
        UserError: nothing may be sent to the endpoint, or what is kept free leaves no room for a
            prompt.
    """
    counter: Counter | None = None
    told: int | None = None
    if isinstance(provider, OpenAIModel):
        try:
            provider.guard.check(provider.address, is_open)
            found = await provider.send("/models")
            read = None if isinstance(found, Failure) else json_or_none(found)
            models = value_at(read, "data")
            listed = models if isinstance(models, list) else []
            its_own = (one for one in listed if value_at(one, "id") == provider.model)
            told = count_at(next(its_own, None), "max_model_len")
            counter = ServerTokens(provider, retries or RetryPolicy())
            # Whether the server counts is asked with a word that is nobody's.
            item = Sample("tokenizer", [{"role": "user", "content": "Hello"}], OPEN)
            counter = None if isinstance(await counter.attempt(item), Failure) else counter
        finally:
            await provider.close()
    if counter is None:
        try:
            counter = EstimatedTokens(import_module("tiktoken").get_encoding(_ENCODING), "tiktoken")
        except (ImportError, OSError):  # not installed, or its tables neither here nor to be had
            counter = EstimatedTokens()
    limit_from = "user" if limit else "server" if told else "default"
    size = limit or told or DEFAULT_LIMIT
    reply = longest_reply(provider) or 0
    if size <= max(margin, reply):
        kept = f"max_tokens keeps {reply:,} for the reply"
        if reply <= margin:
            kept = f"{margin} are always kept free"
        says = {"user": " (--context-limit)", "server": " (so the server says)"}
        raise UserError(
            f"The model takes {size:,} tokens{says.get(limit_from, '')} and {kept}: none are left"
            " for a prompt. Set max_tokens lower, or --context-limit to what the model takes."
        )
    return ContextWindow(size, limit_from, counter, max(margin, reply))
