"""What a metric looks at: one item of a task with the model's output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from medeval.metrics.text import text_of

# Names the item; says nothing about the patient.
_NOT_SOURCE = ("id",)


@dataclass(frozen=True)
class Item:
    """One item of a task.

    Attributes:
        source: what the model was given.
        reference: the gold output.
        output: what the model returned.
        target: the key of reference and output that holds the answer.
    """

    source: Mapping[str, Any]
    reference: Mapping[str, Any]
    output: Mapping[str, Any]
    target: str

    @property
    def source_text(self) -> str:
        """Everything the model was given, one line per value."""
        return text_of({key: value for key, value in self.source.items() if key not in _NOT_SOURCE})

    @property
    def reference_text(self) -> str:
        """The gold answer."""
        return text_of(self.reference.get(self.target))

    @property
    def output_text(self) -> str:
        """The model's answer."""
        return text_of(self.output.get(self.target))


def rationale_of(record: Mapping[str, Any]) -> str:
    """Return the reasons given in a record: its `explanation`, else its `rationale`."""
    return text_of(record.get("explanation")) or text_of(record.get("rationale"))
