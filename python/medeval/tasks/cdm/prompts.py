"""The words around a case, and the tools as models are told of them: `data/prompts.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_DATA = tomllib.loads((Path(__file__).with_name("data") / "prompts.toml").read_text("utf-8"))


def _text(name: str) -> str:
    text: str = _DATA["texts"][name]
    for part, words in _DATA["parts"].items():
        text = text.replace(f"{{{part}}}", words)
    return text


PROMPT_VERSION: str = _DATA["version"]
SYSTEM_NATIVE = _text("system_native")
SYSTEM_FULL_INFORMATION = _text("system_full_information")
SYSTEM_SUMMARY = _text("system_summary")
ASK_AGAIN_NATIVE = _text("ask_again_native")
ASK_AGAIN_TEXT = _text("ask_again_text")
ASK_AGAIN_FULL_INFORMATION = _text("ask_again_full_information")
DECIDE_NATIVE = _text("decide_native")
DECIDE_TEXT = _text("decide_text")
BAD_ARGUMENTS = _text("bad_arguments")
TOO_MANY_CALLS = _text("too_many_calls")
NO_MORE_CALLS = _text("no_more_calls")
NO_REPLY = _text("no_reply")
# Each tool with its arguments, all of them texts that must be there, and what they mean.
ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    name: tool.get("arguments", {}) for name, tool in _DATA["tools"].items()
}


def history(text: str) -> str:
    """Return the first words of the user: the history and nothing else."""
    return _text("history").replace("{text}", text.strip())


def found_so_far(summary: str) -> str:
    """Return what stands in place of the steps that were taken out of a conversation."""
    return _text("found_so_far").replace("{text}", summary)


def definitions(tools: Sequence[str]) -> list[dict[str, Any]]:
    """Return tools as OpenAI-compatible endpoints take them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool,
                "description": _DATA["tools"][tool]["description"],
                "parameters": {
                    "type": "object",
                    "properties": {
                        name: {"type": "string", "description": meaning}
                        for name, meaning in ARGUMENTS[tool].items()
                    },
                    "required": list(ARGUMENTS[tool]),
                    "additionalProperties": False,
                },
            },
        }
        for tool in tools
    ]


def system_text(tools: Sequence[str]) -> str:
    """Return the system prompt of the text protocol with the tools in words."""
    words = []
    for tool in tools:
        takes = "; ".join(f"{name}: {meaning}" for name, meaning in ARGUMENTS[tool].items())
        words.append(f"- {tool}: {_DATA['tools'][tool]['description']} Input: {takes or 'none'}")
    return _text("system_text").replace("{tools}", "\n".join(words))
