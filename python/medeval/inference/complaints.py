"""What endpoints complain of in words of their own that a changed conversation mends.

A prompt that is too long, which a shorter one mends, and a system message, which some templates of
chat models do not take. Each has one code here, whatever the endpoint calls it.
"""

from __future__ import annotations

import re
from collections.abc import Set

from medeval.inference.error_bodies import Words

TOO_LONG = "context_length_exceeded"
NO_SYSTEM_ROLE = "system_role_not_supported"

_TOO_LARGE = 413
_STATUSES = {400, _TOO_LARGE, 422, 500}
# Of llama.cpp and OpenAI by name, of Zhipu by number.
_CODES = {"exceed_context_size_error", "string_above_max_length", "1261"}
_CONTEXT = r"context[ _](?:length|size|window|limit)"
# As the endpoints in use say it: OpenAI and vLLM, llama.cpp and LM Studio, Anthropic, Gemini,
# SGLang, TGI, Bedrock, Cohere, Mistral, xAI, Moonshot, Zhipu, DashScope, LMDeploy.
_TOO_LONG_TEXT = re.compile(
    r"maximum (?:context|prompt) length"
    rf"|exceed\w{{0,20}}\b[^.]{{0,60}}\b{_CONTEXT}|{_CONTEXT}\b[^.]{{0,40}}\bexceed"
    rf"|(?:larg|long|great|bigg)er than\b[^.]{{0,40}}\b{_CONTEXT}"
    rf"|tokens[^.]{{0,60}}\b{_CONTEXT} (?:is|of)\b|context (?:the )?overflow"
    rf"|{_CONTEXT}_exceeded"
    r"|prompt (?:is |tokens )?too (?:long|big|large)|prompt exceeds max|longer than the m\w+ model"
    r"|input (?:is |length )?too long(?! for (?:the )?(?:field|parameter))"
    r"|input length\b[^.]{0,30} exceed"
    r"|exceed\w{0,20} (?:the )?(?:model(?:'s)? token limit|max message tokens)"
    r"|token count[^.]{0,40} exceeds|longer than the model's|too many tokens(?! per)"
    r"|inputs?`? tokens \+|inputs?`? must have (?:less|fewer) than \d+ tokens"
    r"|range of input length should be|beyond the session_len",
    re.IGNORECASE,
)
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
# The templates of Gemma and Mistral, and OpenAI and Gemini of single models. A template that takes
# one system message says "After the optional system message, conversation roles must alternate".
_NO_SYSTEM_TEXT = re.compile(
    r"system[ _](?:role|messages?|prompts?|instructions?)\b[^.]{0,30}?"
    r"(?:not|n't|un)[ -]?(?:be )?(?:supported|allowed|enabled)"
    r"|(?:not|n't) support[^.]{0,20}?\bsystem\b"
    r"|developer instruction is not enabled"
    r"|only user\b[^.]{0,40} roles? (?:is|are) (?:supported|allowed)"
    r"|(?<!message, )conversation roles must alternate",
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
    if NO_SYSTEM_ROLE in codes or (message if message.own else body).find(_NO_SYSTEM_TEXT):
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
    is_said = status == _TOO_LARGE or bool(codes & _CODES)
    return is_said or any(text.find(_TOO_LONG_TEXT) for text in (message, body))
