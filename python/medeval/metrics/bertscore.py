"""BERTScore (Zhang et al., ICLR 2020): texts compared by the contextual embeddings of their tokens.

The extra `bertscore`. Which model embeds the texts decides the numbers, so there is none by
default: `MEDEVAL_BERTSCORE_MODEL` names the folder of one, and `MEDEVAL_BERTSCORE_LAYER` the layer
whose embeddings are taken (the last one if it is not set). Nothing is ever downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.metrics.metric import NO_REFERENCE, Item, Metric
from medeval.metrics.text import Agreement

MODEL_VARIABLE = "MEDEVAL_BERTSCORE_MODEL"
LAYER_VARIABLE = "MEDEVAL_BERTSCORE_LAYER"


class BertScorer:
    """A model that embeds texts, which are cut at the length it takes.

    As in the authors' own code, the marks at the ends of a text have no score of their own but may
    be what a token is most similar to; tokens are not weighted, and no baseline is taken off.

    Args:
        folder: of a model of transformers with its tokenizer.
        layer: of the embeddings, from 0 for the one before the first layer; None for the last.

    Raises:
        UserError: there is no such model or layer.
    """

    def __init__(self, folder: str | Path, layer: int | None = None) -> None:
        library = import_module("transformers")
        self._torch: Any = import_module("torch")
        try:
            self._tokenizer = library.AutoTokenizer.from_pretrained(
                str(folder), local_files_only=True
            )
            self._model = library.AutoModel.from_pretrained(str(folder), local_files_only=True)
        except (OSError, ValueError) as error:
            raise UserError(
                f"{folder} holds no model that BERTScore can use ({type(error).__name__})."
                f" Put the folder of a model into {MODEL_VARIABLE}; nothing is downloaded."
            ) from error
        self._model.eval()
        layers = int(self._model.config.num_hidden_layers)
        self._layer = layers if layer is None else layer
        if not 0 <= self._layer <= layers:
            raise UserError(
                f"{folder} has layers 0 to {layers}; {self._layer} is none of them."
                f" Set {LAYER_VARIABLE} to one, or leave it out for the last."
            )

    def score(self, reference: str, hypothesis: str) -> Agreement | None:
        """Compare two texts by the cosine similarity of their tokens.

        Precision is the mean over the hypothesis' tokens of the best similarity in the reference,
        recall that over the reference's tokens. None without a reference, 0 without a hypothesis.
        """
        if not reference.strip():
            return None
        if not hypothesis.strip():
            return Agreement(0.0, 0.0, 0.0)
        wanted, of_reference = self._embedded(reference)
        given, of_hypothesis = self._embedded(hypothesis)
        if not of_reference.any() or not of_hypothesis.any():
            return Agreement(0.0, 0.0, 0.0)
        similarity = given @ wanted.T
        precision = float(similarity.max(dim=1).values[of_hypothesis].mean())
        recall = float(similarity.max(dim=0).values[of_reference].mean())
        both = precision + recall
        return Agreement(precision, recall, 2 * precision * recall / both if both else 0.0)

    def _embedded(self, text: str) -> tuple[Any, Any]:
        """Return the tokens' embeddings, each of length 1, and which of them are the text's own."""
        longest = int(getattr(self._model.config, "max_position_embeddings", 1 << 30))
        limit = min(int(self._tokenizer.model_max_length), longest)
        encoded = self._tokenizer(
            text.strip(),
            truncation=True,
            max_length=limit,
            return_special_tokens_mask=True,
            return_tensors="pt",
        )
        is_mark = encoded.pop("special_tokens_mask")[0].bool()
        with self._torch.inference_mode():
            states = self._model(**encoded, output_hidden_states=True).hidden_states
        embeddings = states[self._layer][0].double()
        return embeddings / embeddings.norm(dim=-1, keepdim=True), ~is_mark


def installed() -> Iterator[Metric]:
    """Yield the metric if the extra is installed."""
    if not all(find_spec(name) for name in ("torch", "transformers")):
        return
    place = os.environ.get(MODEL_VARIABLE, "")
    by = f"by {Path(place).name}" if place else f"by the model in {MODEL_VARIABLE}"
    yield Metric("bertscore", f"F of BERTScore {by}", _score, NO_REFERENCE)


def _score(item: Item) -> float | None:
    folder, layer = (os.environ.get(one, "").strip() for one in (MODEL_VARIABLE, LAYER_VARIABLE))
    if not folder:
        raise UserError(
            f"The metric bertscore needs {MODEL_VARIABLE}, the folder of a model of transformers."
            " Nothing is downloaded."
        )
    if layer and not layer.isdecimal():
        raise UserError(f"{LAYER_VARIABLE} is the number of a layer, not {layer!r}.")
    scorer = _scorer(folder, int(layer) if layer else None)
    found = scorer.score(item.reference_text, item.output_text)
    return None if found is None else found.f


_scorer = cache(BertScorer)
