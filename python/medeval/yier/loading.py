"""Any file of questions as clean JSON Lines, which the warehouse reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from medeval.models.text_files import save_text
from medeval.yier.layouts import Document, Raw
from medeval.yier.reading import QuestionFile, as_text
from medeval.yier.records import Checked, Outcome, check_records

# What the check finds amiss with a record, written beside it for the models.
REFUSED = "refused_by_check"


@dataclass(frozen=True)
class CleanQuestions:
    """The records of a file, and what was found out about them.

    Attributes:
        records: those that can be used with the official texts of their options and answers, the
            others as they are but for the id and what is amiss: the warehouse counts them.
        checked: the finding on each record.
    """

    records: list[Raw]
    checked: Checked

    def summary(self, file: QuestionFile) -> list[str]:
        """Say in lines how the file was read and what is amiss with its records."""
        lines = [
            f"{file.name}: {len(self.records):,} records, {file.encoding}, layout {file.layout}"
            + (", mended: it is no JSON as it stands" if file.repaired else "")
            + f"; {self.checked.n_labelled:,} with answers."
        ]
        states = Counter(outcome.state for outcome in self.checked.findings)
        if states["error"]:
            lines.append(
                f"{states['error']:,} records cannot be used; see yier_attrition once built."
            )
        return lines + [str(outcome) for outcome in self.checked.findings[:10]]


def clean_questions(file: QuestionFile) -> CleanQuestions:
    """Put the official texts in place of what options and answers are called.

    An answer may be written as a letter, with a label or in other forms of the same signs.
    """
    checked = check_records(file.records)
    records = [
        _clean(raw, outcome) for raw, outcome in zip(file.records, checked.outcomes, strict=True)
    ]
    return CleanQuestions(records, checked)


def _clean(raw: Raw, outcome: Outcome) -> Raw:
    record = outcome.record
    if record is None:
        # What is no text is no id; else the models would make one of it.
        return {**raw, "sample_id": outcome.sample_id, REFUSED: "; ".join(outcome.findings)}
    return {
        # Of a file that was loaded before and is mended by now.
        **{key: value for key, value in raw.items() if key != REFUSED},
        "sample_id": outcome.sample_id,
        "selection": list(record.selection),
        "answer_choices": [record.selection[place] for place in record.gold.options],
    }


def write_lines(clean: CleanQuestions, path: Path) -> None:
    """Write one record a line, whole or not at all.

    Raises:
        UserError: the file cannot be written.
    """
    save_text(path, as_text(Document(clean.records, "lines")))


def record_rows(clean: CleanQuestions) -> Iterator[tuple[int, str]]:
    """Yield one row a record, its place and its text."""
    # Texts hold signs that `splitlines` takes for line ends.
    return enumerate(as_text(Document(clean.records, "lines")).split("\n")[:-1], start=1)
