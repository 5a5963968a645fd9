"""What endpoints complain of in words of their own that a changed conversation mends.

A prompt that is too long, which a shorter one mends, and a system message, which some templates of
chat models do not take. Each has one code here, whatever the endpoint calls it.
"""

from __future__ import annotations

import re
from collections.abc import Set

from medeval.inference.error_bodies import CODES, TEXTS, Words

TOO_LONG = "context_length_exceeded"
NO_SYSTEM_ROLE = "system_role_not_supported"

_TOO_LARGE = 413
_STATUSES = {400, _TOO_LARGE, 422, 500}
_PARTS_OF_A_PROMPT = {"", "messages", "prompt", "input", "inputs", "input_text", "input_tokens"}
_OF_ANOTHER_PARAMETER = re.compile(
    r"\A\W*(?:(?:unsupported|unknown|unrecogni[sz]ed|unexpected|invalid)"
    r" (?:parameter|argument|field)"
    r"|max_\w*tokens\b|temperature\b|top_[pk]\b|stop\b|seed\b|user\b|context_\w+\b)",
    re.IGNORECASE,
)
# vLLM blames max_tokens for a prompt that leaves no room for it: (1024 > 8192 - 7500).
_TOKENS_OF_PROMPT = re.compile(
    r"\d (?:input|prompt) tokens"
    r"(?:[^.]{0,20}\((?P<reply>\d{1,12}) > (?P<limit>\d{1,12}) - \d{1,12}\))?",
    re.IGNORECASE,
)


def complaint(
    status: int | None, codes: Set[str], parameter: str, message: Words, body: Words
) -> str:
    """Return the code of what an endpoint complains of; empty if it is neither of both.

    Args:
        status: of the response.
        codes: the endpoint's own words for it.
        parameter: that it names; empty if it names none.
        message: its sentence, whole.
        body: all that it says: gateways put the endpoint's own answer beside a sentence of theirs.
    """
    if status not in _STATUSES:
        return ""
    if TOO_LONG in codes or _is_too_long(status, codes, parameter, message, body):
        return TOO_LONG
    if NO_SYSTEM_ROLE in codes or (message if message.own else body).find(TEXTS["no_system_role"]):
        return NO_SYSTEM_ROLE if status != _TOO_LARGE else ""
    return ""


def _is_too_long(
    status: int | None, codes: Set[str], parameter: str, message: Words, body: Words
) -> bool:
    told = message.find(_TOKENS_OF_PROMPT)
    if told is not None:
        if told["reply"] and int(told["reply"]) >= int(told["limit"]):
            return False  # no prompt is so short that this reply has room
    else:
        is_of_the_prompt = re.split(r"[.\[]", parameter)[0] in _PARTS_OF_A_PROMPT
        if not is_of_the_prompt or _OF_ANOTHER_PARAMETER.match(message.own):
            return False
    # A request that is too large as a whole is mended by a shorter prompt, whatever the words are.
    is_said = status == _TOO_LARGE or bool(codes & CODES["too_long"])
    return is_said or any(text.find(TEXTS["too_long"]) for text in (message, body))
