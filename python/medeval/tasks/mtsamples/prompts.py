"""What a model is asked about a procedure note, what of its reply is the answer, and a demo."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

from medeval.inference.types import Message
from medeval.text import split_thinking

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
_UP_TO_THE_LAST_CLOSING = re.compile(r"(?P<thought>.*)</think>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?think>", re.IGNORECASE)
# Of the demo: what it takes out of a note, and what it always says.
_SENTENCE = re.compile(r"[^.\n]+\.")
_HEADING = re.compile(r"^[A-Z][A-Za-z /&-]*:\s*")
_WORTH_REPEATING = re.compile(
    r"diagnos|follow|return|medicat|antibiot|pain|continue|recommend|procedure|complication",
    re.IGNORECASE,
)
_MOST = 4
_ALWAYS = (
    "Observe until awake and stable.",
    "Give medication for pain as needed.",
    "Follow up in clinic in one to two weeks.",
    "Return at once for fever, bleeding or worsening pain.",
)


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

    def split(self, reply: str, reasoning: str = "") -> tuple[str, str]:
        """Return what judges get of a reply, thinking in tags still in it, and what was thought.

        Asked to think, a model that never closes its thinking has given no answer: all of it is
        thinking. Where the server has split the thinking off, there are no tags to be closed.

        Args:
            reply: as it came.
            reasoning: what the server has split off.
        """
        is_split = bool(reasoning.strip()) and "think>" not in reply.lower()
        if self.use_think and reply.strip() and not is_split:
            closed = _UP_TO_THE_LAST_CLOSING.match(reply)
            own = _TAG.sub("\n", reply if closed is None else closed["thought"]).strip()
            reply = f"<think>{reply}" if closed is None else reply[closed.end() :].strip()
        else:
            own = split_thinking(reply).thinking
        return reply, "\n".join(part for part in (reasoning, own) if part)


def demo_plan(question: str) -> str:
    """Return the plan of a model that needs no network: sentences of the note, and what is usual.

    What it earns says nothing but that the way from note to reward works.
    """
    sentences = [_HEADING.sub("", found.strip()) for found in _SENTENCE.findall(question)]
    told = [sentence for sentence in sentences if _WORTH_REPEATING.search(sentence)]
    return " ".join([*told[-_MOST:], *_ALWAYS])
