"""From the bytes of a response, or a line of a batch, to a reply: read here and nowhere else.

Bytes come in bounded pieces, as UTF-8 whatever the header says, as JSON or as an event stream.
Calls of tools that stand in the text are read where exactly one reading exists: between tags, or as
one bare JSON object.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from medeval.inference import errors
from medeval.inference.errors import Failure, error_of, json_or_none, word
from medeval.inference.types import Outcome, Reply, ToolCall, Usage
from medeval.text import compiled, split_thinking, whole_json

if TYPE_CHECKING:
    import httpx2

# A count beyond it is none.
_MOST_TOKENS = 10**12
# Many times the longest reply of a model; no more of a response is held in memory.
LONGEST = 8 * 1024 * 1024
# Tells zlib to take both forms.
_GZIP_OR_ZLIB = 47
# So much is shown of what is in another form.
_SHOWN = 200
_DECODER = json.JSONDecoder()
_DONE = "[DONE]"
_END_MARK = re.compile(r"\s*(?:data:\s*)?\[DONE\]\s*")
# Fields of an event, or a comment, which some send to keep the line open.
_EVENT = re.compile(r"(?:data|event|id|retry)?:")
_DATA = re.compile(r"^data:.*", re.MULTILINE)
_BETWEEN_EVENTS = re.compile(r"\n\s*\n|\r\n?\r\n?")
# Calls of tools, or parts of a content, in one message.
_MOST_PARTS = 200
# Fields of a message and types of parts of its content that hold thought, whatever they are called.
_THOUGHT = re.compile("reason|think|thought", re.IGNORECASE)
# Parts of a call of a tool that some servers repeat in each piece.
_SENT_WHOLE = {"id", "name", "role", "type"}
# Calls of tools that a server hands over as text, since its own parser for them is off.
_CALLS = compiled(errors.VENDORS["calls_in_text"], {}, re.IGNORECASE | re.DOTALL)


async def keep_bounded(response: httpx2.Response) -> None:
    """Read a body before the client does; a hook for responses.

    Raises:
        httpx2.DecodingError: it has more than `LONGEST` bytes once it is decompressed, or cannot be
            decompressed.
    """
    import httpx2

    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise httpx2.DecodingError("not gzip, which is what was asked for")
    is_plain = encoding in ("", "identity")
    unpacked = zlib.decompressobj(_GZIP_OR_ZLIB)
    body = bytearray()
    try:
        async for piece in response.stream:  # type: ignore[union-attr]  # of an asynchronous client
            left = LONGEST + 1 - len(body)
            body += piece[:left] if is_plain else unpacked.decompress(piece, left)
            if len(body) > LONGEST:
                raise httpx2.DecodingError(f"longer than {LONGEST} bytes")
    except zlib.error as error:
        raise httpx2.DecodingError("not gzip, which is what was asked for") from error
    await response.stream.aclose()  # type: ignore[union-attr]
    response.headers.pop("content-encoding", None)
    response.stream = httpx2.ByteStream(bytes(body))
    response.encoding = "utf-8-sig"


class NoCompletionError(ValueError):
    """The body is no chat completion; the message names the field, never what was in it.

    Attributes:
        code: the reason for which the endpoint broke off, if it is one word; else empty.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


def read_reply(body: str, asked: str) -> Reply | Failure:
    """Read a chat completion; whatever it is instead is the failure of its item.

    It may come as an event stream, or with the end mark of one behind it. What is in another form
    has its first characters in the detail of the failure.

    Args:
        body: of a response that is no error by its status.
        asked: the texts of the request.
    """
    told = code = ""
    try:
        read = _json_in(body.strip())
        if error := error_of(read):
            number = word(error.get("code", error.get("status")))
            status = int(number) if re.fullmatch("[45][0-9]{2}", number) else 500
            text = json.dumps(read, ensure_ascii=False)
            return errors.failure_of_response(status, {}, text, asked=asked)
        return read_completion(read)
    except NoCompletionError as error:
        told, code = str(error), error.code
    except (ValueError, RecursionError):
        told = "the body is not JSON"
    start = "" if code else f": {' '.join(body[: 2 * _SHOWN].split())[:_SHOWN]}"
    return Failure(errors.Kind.BROKEN, status=200, code=code, detail=told + start)


def _json_in(text: str) -> Any:
    """Return the JSON of a body, or that which its events come to.

    Raises:
        ValueError: it is neither, or its events break off.
    """
    if not _EVENT.match(text):
        read, end = _DECODER.raw_decode(text)
        if text[end:].strip() and not _END_MARK.fullmatch(text, end):
            raise ValueError("more than one value")
        return read
    events, is_done = _events(text)
    if ends := [one for one in events if not isinstance(one, dict) or error_of(one)]:
        return ends[0]
    lists = [choices for one in events if isinstance(choices := one.get("choices"), list)]
    firsts = [one for each in lists for one in each if isinstance(one, dict)]
    firsts = [one for one in firsts if not one.get("index")]
    completion, choice = _last_values(events), _last_values(firsts)
    if not (is_done or choice.get("finish_reason")):
        raise NoCompletionError("the event stream breaks off", "stream_cut")
    message = _merged([one.get("delta") or one.get("message") for one in firsts])
    return completion | ({"choices": [{**choice, "message": message}]} if choice else {})


def _events(text: str) -> tuple[list[Any], bool]:
    """Return the values of a stream up to its end mark, and whether it has one."""
    events: list[Any] = []
    for block in _BETWEEN_EVENTS.split(text):
        lines = [line[5:].strip() for line in _DATA.findall(block)]
        told = [line for line in lines if line not in ("", _DONE)]
        try:
            events += [_DECODER.decode(line) for line in told]
        except ValueError:  # one event on several lines
            events.append(_DECODER.decode("\n".join(told)))
        if _DONE in lines:
            return events, True
    return events, False


def _last_values(pieces: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {name: value for one in pieces for name, value in one.items() if value is not None}


def _merged(pieces: Iterable[Any]) -> dict[str, Any]:
    """Return the object that pieces of it come to: texts joined, parts of lists merged by index.

    Of a name that changes its kind the last value counts.

    Raises:
        ValueError: a list in it has more parts than a message has.
    """
    values: defaultdict[str, list[Any]] = defaultdict(list)
    for piece in pieces:
        for name, value in piece.items() if isinstance(piece, dict) else ():
            values[name] += [] if value in (None, "") and values[name] else [value]
    merged: dict[str, Any] = {}
    for name, told in values.items():
        last = merged[name] = told[-1]
        if isinstance(last, dict):
            merged[name] = _merged(told)
        elif isinstance(last, str) and name not in _SENT_WHOLE:
            merged[name] = "".join(value for value in told if isinstance(value, str))
        elif isinstance(last, list) and all(isinstance(each, dict) for each in last):
            parts: defaultdict[str, list[Any]] = defaultdict(list)
            for value in told:
                for n, each in enumerate(value if isinstance(value, list) else ()):
                    parts[str(each.get("index", n) if isinstance(each, dict) else n)].append(each)
            if len(parts) > _MOST_PARTS:
                raise ValueError("too many parts")
            merged[name] = [_merged(own) for own in parts.values()]
    return merged


@lru_cache(maxsize=256)
def end_of(finish_reason: str) -> str | None:
    """Tell how a reply ended (`complete`, `cut_off`, `declined`); None if it broke off.

    What stands behind a colon explains the reason ("content_filter: SAFETY").
    """
    name = re.sub(r"[\W_]+", "_", finish_reason.split(":")[0].lower()).strip("_")
    return next((end for end, names in errors.FINISH_REASONS.items() if name in names), None)


def read_completion(body: object) -> Reply:
    """Read the body of a chat completion; halves of surrogate pairs in it become U+FFFD.

    Raises:
        NoCompletionError: it has no first choice with a message of text, or the endpoint broke off.
    """
    body = whole_json(body)
    choices = value_at(body, "choices")
    if not isinstance(choices, list) or not choices:
        raise NoCompletionError("the body has no choices")
    # Several may come though one is asked for, in any order; the first is the one of index 0.
    number = next((n for n, each in enumerate(choices) if value_at(each, "index") == 0), 0)
    choice = choices[number]
    finish_reason = _text_at(choice, "finish_reason").lower()
    if value_at(choice, "error") or end_of(finish_reason) is None:
        named = "" if finish_reason == "error" else word(finish_reason)
        raise NoCompletionError("the endpoint broke off", named)
    message = value_at(choice, "message")
    if message is None and end_of(finish_reason) != "complete":
        message = {}  # as Gemini sends what it declines
    if not isinstance(message, Mapping):
        raise NoCompletionError(f"choices.{number}.message is no JSON object")
    calls = tuple(_tool_calls(message))
    usage, content = value_at(body, "usage"), message.get("content")
    parts = content if isinstance(content, list) else []
    thoughts = [value for name, value in message.items() if _THOUGHT.search(name)]
    thoughts += [part for part in parts if _THOUGHT.search(_text_at(part, "type"))]
    thought = next(filter(None, thoughts), "")
    return Reply(
        text=text_of(content),
        reasoning=thought if isinstance(thought, str) else json.dumps(thought, ensure_ascii=False),
        refusal="".join(_text_at(part, "refusal") for part in (message, *parts)),
        finish_reason=finish_reason,
        model=_text_at(body, "model"),
        fingerprint=_text_at(body, "system_fingerprint"),
        # Whatever is absent or no count stays unknown.
        usage=Usage(
            count_at(usage, "prompt_tokens"),
            count_at(usage, "prompt_tokens_details", "cached_tokens"),
            count_at(usage, "completion_tokens"),
            count_at(usage, "completion_tokens_details", "reasoning_tokens"),
        ),
        tool_calls=calls,
        message=message if calls else None,
    )


def _tool_calls(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    """Yield the calls of a message; the oldest endpoints have one, under another name."""
    calls = message.get("tool_calls")
    if not (isinstance(calls, list) and calls):
        called = message.get("function_call")
        calls = [{"function": called}] if isinstance(called, Mapping) else []
    ids: set[str] = set()
    for number, call in enumerate(calls):
        arguments = value_at(call, "function", "arguments")
        # Some endpoints send the arguments read already.
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        given = _text_at(call, "id")
        name = given if given and given not in ids else f"call_{number}"
        ids.add(name)
        yield ToolCall(name, _text_at(call, "function", "name"), text)


def text_of(content: object) -> str:
    """Return the text of a message, which some endpoints send in parts, without those of thought.

    Raises:
        NoCompletionError: it is an object.
    """
    if isinstance(content, Mapping):
        raise NoCompletionError("the content of the message is a JSON object, not text")
    if isinstance(content, list):
        said = [part for part in content if not _THOUGHT.search(_text_at(part, "type"))]
        return "".join(part if isinstance(part, str) else _text_at(part, "text") for part in said)
    return content if isinstance(content, str) else ""


def value_at(value: Any, *path: str) -> Any:
    """Return what stands in objects within objects; None if it is not there."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _text_at(value: Any, *path: str) -> str:
    found = value_at(value, *path)
    return found if isinstance(found, str) else ""


def count_at(value: Any, *path: str) -> int | None:
    """Return the count that stands in objects within objects; None if there is none."""
    found = value_at(value, *path)
    return found if type(found) is int and 0 <= found < _MOST_TOKENS else None


def outcome_of(completion: Reply) -> Outcome:
    """Tell what kind of reply a completion is; whether a task can read it is the task's word."""
    end = end_of(completion.finish_reason)
    if completion.refusal or end == "declined":
        return Outcome.REFUSED
    reply = split_thinking(completion.text)
    if end == "cut_off":
        usage = completion.usage
        hidden = usage.reasoning_tokens and usage.reasoning_tokens >= (usage.output_tokens or 0)
        has_thought = completion.reasoning or reply.thinking or hidden
        if reply.state == "complete" or (reply.state == "empty" and not has_thought):
            return Outcome.TRUNCATED
        return Outcome.TRUNCATED_REASONING
    return Outcome.ANSWERED if reply.state == "complete" else Outcome(reply.state)


def with_calls_in_text(reply: Reply, tools: Sequence[Mapping[str, Any]]) -> Reply | None:
    """Return a reply with the calls that stand in its text; as it is if there are none.

    None stands for calls that cannot be read, or not in one way alone.
    """
    text = split_thinking(reply.text).answer
    names = [tool["function"]["name"] for tool in tools]
    found = [*_CALLS["block"].finditer(text)] or [*_CALLS["function"].finditer(text)]
    bare = _CALLS["fenced"].fullmatch(text)
    inside = [each[1] if each.re is _CALLS["block"] else each[0] for each in found]
    inside = inside or [bare[1] if bare else text]
    calls = [call for call in map(_call, inside) if call and call["name"] in names]
    if len(calls) < len(inside):
        is_call = found or (_CALLS["mark"].search(text) and any(name in text for name in names))
        return None if is_call else reply
    left = text[: found[0].start()].strip() if found else ""
    parts = [{"id": f"call_{n}", "type": "function", "function": c} for n, c in enumerate(calls)]
    message = {"role": "assistant", "content": left or None, "tool_calls": parts}
    return replace(reply, tool_calls=tuple(_tool_calls(message)), message=message)


def _call(text: str) -> dict[str, str] | None:
    """Return `name` and `arguments` of a call: between tags, or a JSON object that has both.

    The object may stand under `function` of another.
    """
    arguments: Any
    if function := _CALLS["function"].fullmatch(text.strip()):
        name, inside = function[1], function[2].strip()
        arguments = _object(inside) if inside.startswith("{") else _parameters(inside)
    else:
        read = _object(text) or {}
        read = read["function"] if isinstance(read.get("function"), dict) else read
        name, arguments = read.get("name"), read.get("arguments", read.get("parameters"))
        arguments = _object(arguments) if isinstance(arguments, str) else arguments
    is_call = isinstance(name, str) and isinstance(arguments, dict)
    return {"name": name, "arguments": json.dumps(arguments)} if is_call else None


def _parameters(text: str) -> dict[str, str] | None:
    """Return the parameters that a text is made of; None if it holds anything else."""
    *parts, rest = _CALLS["end_of_parameter"].split(text)
    read = [_CALLS["parameter"].fullmatch(part) for part in parts]
    if rest.strip() or None in read:
        return None
    return {each[1]: each[2].strip() for each in read if each}


def _object(text: str) -> dict[str, Any] | None:
    read = json_or_none(text, is_strict=False)
    return read if isinstance(read, dict) else None
