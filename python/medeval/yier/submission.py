"""Records as they are handed in: the test file's own, with `predict_answers` added."""

from __future__ import annotations

from collections.abc import Mapping

from medeval.errors import UserError
from medeval.yier.layouts import Document, Raw
from medeval.yier.matching import Answers, answer_texts
from medeval.yier.records import sample_id_of

PREDICTION = "predict_answers"


def fill(
    document: Document, answers: Mapping[str, Answers], *, overwrite: bool = False
) -> Document:
    """Return a document whose records all have answers; one that is not named has none.

    Official texts come in the order of the selection, each once; what is no option comes after.
    Of records with one id the first is the question, so that has the answers.

    Args:
        document: the questions as they stand in the file.
        answers: by sample_id.
        overwrite: replace predictions that are there.

    Raises:
        UserError: a record has a prediction already, or answers name no record.
    """
    left = dict(answers)
    records = [
        _with_answers(raw, left.pop(sample_id_of(raw) or "", Answers()), overwrite)
        for raw in document.records
    ]
    if left:
        raise UserError(
            f"{len(left):,} answered sample_id are not in the file of questions, the first is"
            f" {next(iter(left))!r}. Is it the file that the run was made with?"
        )
    return Document(records, document.layout, False, document.envelope, document.key)


def _with_answers(raw: Raw, answers: Answers, overwrite: bool) -> Raw:
    """Return a record with answers; all else stays as it is."""
    if raw.get(PREDICTION) and not overwrite:
        raise UserError(
            f"record {raw.get('sample_id')!r} has {PREDICTION} already; --overwrite replaces them."
        )
    # A record that is no question has no answers, and perhaps no options either.
    selection = answer_texts(raw["selection"]) if answers.options else []
    return {**raw, PREDICTION: answers.texts(selection)}
