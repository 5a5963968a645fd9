"""What a model is asked about a procedure note, and which part of its reply is the answer."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

from medeval.inference.requests import Message
from medeval.inference.thinking import split_thinking

Style = Literal["medarc", "helm"]

PROMPT_VERSION = "mtsamples-1"
# The benchmark's own sentence, word for word.
INSTRUCTION = (
    "Here are information about a patient, return a reasonable treatment plan for the patient."
)
THINK = (
    f"{INSTRUCTION} First think it through between <think> and </think>, then give the plan after"
    " the closing tag."
)
_LAST_CLOSING = re.compile(r".*</think>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """How notes are put to a model.

    Attributes:
        style: `medarc` has the instruction as system message and the note by itself; `helm` has
            both in one message.
        use_think: the model is asked to think between tags first.
    """

    style: Style = "medarc"
    use_think: bool = False

    def messages(self, question: str) -> list[Message]:
        """Return the conversation about one note."""
        instruction = THINK if self.use_think else INSTRUCTION
        if self.style == "helm":
            text = f"{instruction}\n\nPatient Notes: {question}\nAnswer:"
            return [{"role": "user", "content": text}]
        return [
            {"role": "system", "content": instruction},
            {"role": "user", "content": question},
        ]

    @property
    def sha256(self) -> str:
        """The hash of the prompt without a note in it."""
        return hashlib.sha256(str(self.messages("")).encode()).hexdigest()

    def to_be_judged(self, reply: str) -> str:
        """Return what judges get of a reply, from which thinking in tags is still to be taken.

        Asked to think, a model that never closes its thinking has given no answer: all of it is
        thinking.
        """
        if not self.use_think or not reply.strip():
            return reply
        closed = _LAST_CLOSING.match(reply)
        return f"<think>{reply}" if closed is None else reply[closed.end() :].strip()

    def thinking(self, reply: str) -> str:
        """Return what was thought in the reply itself."""
        if not self.use_think:
            return split_thinking(reply).thinking
        closed = _LAST_CLOSING.match(reply)
        thought = reply if closed is None else closed[0]
        return thought.replace("<think>", "").removesuffix("</think>").strip()
