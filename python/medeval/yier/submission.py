"""Records as they are handed in: the test file's own, with `predict_answers` added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medeval.errors import UserError
from medeval.yier.layouts import Document, Raw
from medeval.yier.matching import Answers, Options, answer_texts

PREDICTION = "predict_answers"


def with_prediction(raw: Raw, prediction: object, *, overwrite: bool = False) -> Raw:
    """Return a record with a prediction; all else stays as it is.

    Args:
        raw: the record as it stands in the file.
        prediction: letters or texts; None is no answer.
        overwrite: replace a prediction that is there.

    Raises:
        UserError: the record has a prediction already.
    """
    options = Options(answer_texts(raw["selection"]))
    return with_answers(raw, options.answers(prediction), overwrite=overwrite)


def with_answers(raw: Raw, answers: Answers, *, overwrite: bool = False) -> Raw:
    """Return a record with answers that are matched already.

    Official texts come in the order of the selection, each once; what is no option comes after.

    Raises:
        UserError: the record has a prediction already.
    """
    if raw.get(PREDICTION) and not overwrite:
        raise UserError(
            f"record {raw.get('sample_id')!r} has {PREDICTION} already; --overwrite replaces them."
        )
    selection = answer_texts(raw["selection"])
    written = [*(selection[place] for place in answers.options), *answers.unknown]
    return {**raw, PREDICTION: written}


def fill(
    document: Document, answers: Mapping[str, Answers], *, overwrite: bool = False
) -> Document:
    """Return a document whose records all have answers; one that is not named has none.

    Args:
        document: the questions as they stand in the file.
        answers: by sample_id.
        overwrite: replace predictions that are there.

    Raises:
        UserError: a record has a prediction already, or answers name no record.
    """
    ids = [str(raw["sample_id"]).strip() for raw in document.records]
    _require_known(list(answers), ids)
    records = [
        with_answers(raw, answers.get(sample_id, Answers()), overwrite=overwrite)
        for raw, sample_id in zip(document.records, ids, strict=True)
    ]
    return Document(records, document.layout, False, document.envelope, document.key)


def _require_known(given: Sequence[str], ids: Sequence[str]) -> None:
    known = set(ids)
    foreign = [sample_id for sample_id in given if sample_id not in known]
    if foreign:
        raise UserError(
            f"{len(foreign):,} answered sample_id are not in the file of questions, the first is"
            f" {foreign[0]!r}. Is it the file that the run was made with?"
        )
