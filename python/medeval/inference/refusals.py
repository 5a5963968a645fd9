"""Refusals of conversations: a prompt that is too long, which a shorter one mends, and tools."""

from __future__ import annotations

import re
from dataclasses import replace

from medeval.inference.failures import Failure, Kind, refuses_tools_by

CODE = "context_length_exceeded"
_OTHER_CODES = {"exceed_context_size_error", "string_above_max_length"}
_CONTENT_TOO_LARGE = 413
_STATUSES = {400, _CONTENT_TOO_LARGE, 422}
# As the endpoints in use say it: OpenAI and vLLM, llama.cpp, Anthropic, Gemini, SGLang, TGI.
_TEXT = re.compile(
    r"maximum context length|context[ _](?:length|size|window)|max_model_len"
    r"|prompt is too long|input (?:is|length) (?:too long|exceeds)"
    r"|token count[^.]{0,40} exceeds|longer than the model's|`?inputs`? tokens \+",
    re.IGNORECASE,
)


def is_overflow(failure: Failure) -> bool:
    """Tell whether a request failed because its prompt is too long."""
    if failure.kind is not Kind.REQUEST or failure.status not in _STATUSES:
        return False
    if failure.status == _CONTENT_TOO_LARGE:
        return True  # the status says it, whatever the words are
    return failure.code in {CODE, *_OTHER_CODES} or _TEXT.search(failure.detail) is not None


def with_overflow_named(failure: Failure) -> Failure:
    """Return the failure with the one code, so that it is known again without its message.

    The message may repeat the prompt, so the journal does not keep it for every item.
    """
    return replace(failure, code=CODE) if is_overflow(failure) else failure


def refuses_tools(failure: Failure) -> bool:
    """Tell whether the endpoint takes no tools, or none for this model."""
    return failure.kind is Kind.REQUEST and refuses_tools_by(failure.status, failure.detail)
