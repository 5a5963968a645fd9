"""Texts compared by their words (ROUGE) or embeddings (BERTScore), and how hard they are to read.

ROUGE comes from the rouge-score package, with a tokenizer for Chinese, Japanese and Korean: the
package's own keeps a-z and 0-9 alone, so that two equal Chinese texts share no token, and an
accented letter splits its word.

BERTScore (Zhang et al., ICLR 2020) is the extra `bertscore`. Which model embeds the texts decides
the numbers, so there is none by default: `MEDEVAL_BERTSCORE_MODEL` names the folder of one, and
`MEDEVAL_BERTSCORE_LAYER` the layer whose embeddings are taken (the last one if it is not set).
Nothing is ever downloaded.

Readability is the grade level of Flesch and Kincaid (Kincaid, Fishburne, Rogers and Chissom 1975,
Research Branch Report 8-75): 0.39 words per sentence + 11.8 syllables per word - 15.59. Syllables
are counted by rule, not by dictionary.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from medeval.errors import UserError
from medeval.metrics.metric import CJK, NO_REFERENCE, Metric, Sample, fold_accents, has_cjk, metric

# Our names, and the package's.
TYPES = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL", "rouge_lsum": "rougeLsum"}
_CJK_TOKEN = re.compile(f"[{CJK}]|[a-z0-9]+")
# As the package: shorter words are left as they are.
_LONGEST_UNSTEMMED = 3
_LATIN_WORD = re.compile(r"[a-z]+(?:['\u2019][a-z]+)*")
_VOWELS = re.compile(r"[aeiouy]+")
_SENTENCE_END = re.compile(r"(?<![.!?])[.!?]+(?=\s|$)|\n+")
# The e of "made" is silent, that of "table" is not.
_SILENT_E = re.compile(r"(?<![aeiouyl])e$|(?<=[aeiouy]l)e$")
# Of the model of BERTScore: its folder, and a layer.
MODEL_VARIABLE = "MEDEVAL_BERTSCORE_MODEL"
LAYER_VARIABLE = "MEDEVAL_BERTSCORE_LAYER"


class Agreement(NamedTuple):
    """How far a hypothesis has what its reference has: precision, recall, their harmonic mean."""

    precision: float
    recall: float
    f: float


def rouge(name: str, reference: str, hypothesis: str) -> Agreement | None:
    """Return one kind of ROUGE, words taken as their stems, accented letters as base letters.

    Args:
        name: a key of `TYPES`.
        reference: the gold text.
        hypothesis: the model's text.

    Returns:
        None where the reference has nothing to find: no token, or no pair of tokens for ROUGE-2.
    """
    reference, hypothesis = fold_accents(reference), fold_accents(hypothesis)
    by_character = has_cjk(reference) or has_cjk(hypothesis)
    tokens, scorer = _scorer(name, by_character)
    if len(tokens(reference)) < (2 if name == "rouge_2" else 1):
        return None
    return Agreement(*map(float, scorer.score(reference, hypothesis)[TYPES[name]]))


def plain_rouge_l(reference: str, hypothesis: str) -> float:
    """Return the F of ROUGE-L exactly as the package gives it, with stemming."""
    return float(_scorer("rouge_l", False)[1].score(reference, hypothesis)["rougeL"].fmeasure)


@cache
def _scorer(name: str, by_character: bool) -> tuple[Callable[[str], list[str]], Any]:
    """Return a function that makes tokens of a text, and the package's scorer with it.

    By character there is one token per CJK character, and one stem per run of Latin letters and
    digits.
    """
    from rouge_score.rouge_scorer import RougeScorer  # type: ignore[import-untyped]
    from rouge_score.tokenizers import DefaultTokenizer  # type: ignore[import-untyped]

    if by_character:
        from nltk.stem.porter import PorterStemmer  # type: ignore[import-untyped]

        stem = PorterStemmer().stem

        def split(text: str) -> list[str]:
            found = _CJK_TOKEN.findall(unicodedata.normalize("NFKC", text).lower())
            return [str(stem(one)) if len(one) > _LONGEST_UNSTEMMED else one for one in found]
    else:
        split = DefaultTokenizer(use_stemmer=True).tokenize
    # Each text is compared more than once, and tokenizing it is most of the work.
    tokens = lru_cache(maxsize=4096)(split)
    return tokens, RougeScorer([TYPES[name]], tokenizer=SimpleNamespace(tokenize=tokens))


def _part(name: str, place: int, reference: str, hypothesis: str) -> float | None:
    found = rouge(name, reference, hypothesis)
    return None if found is None else found[place]


for _name in TYPES:
    for _place, _ending in enumerate(("_precision", "_recall", "")):
        metric(f"{_name}{_ending}", of_texts=True)(partial(_part, _name, _place))


@metric("readability")
def readability(item: Sample) -> float | None:
    """Return the grade of the output; None without a word, or with Chinese, Japanese or Korean."""
    plain = fold_accents(item.output_text).lower()
    if has_cjk(plain) or not (found := _LATIN_WORD.findall(plain)):
        return None
    sentences = sum(bool(_LATIN_WORD.search(part)) for part in _SENTENCE_END.split(plain))
    syllables = sum(max(len(_VOWELS.findall(_SILENT_E.sub("", word))), 1) for word in found)
    return 0.39 * len(found) / sentences + 11.8 * syllables / len(found) - 15.59


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


def bertscore() -> Iterator[Metric]:
    """Yield the metric if the extra is installed."""
    if not all(find_spec(name) for name in ("torch", "transformers")):
        return
    place = os.environ.get(MODEL_VARIABLE, "")
    by = f"by {Path(place).name}" if place else f"by the model in {MODEL_VARIABLE}"
    yield Metric("bertscore", f"F of BERTScore {by}", _bert_score, NO_REFERENCE)


def _bert_score(item: Sample) -> float | None:
    folder, layer = (os.environ.get(one, "").strip() for one in (MODEL_VARIABLE, LAYER_VARIABLE))
    if not folder:
        raise UserError(
            f"The metric bertscore needs {MODEL_VARIABLE}, the folder of a model of transformers."
            " Nothing is downloaded."
        )
    if layer and not layer.isdecimal():
        raise UserError(f"{LAYER_VARIABLE} is the number of a layer, not {layer!r}.")
    scorer = _bert_scorer(folder, int(layer) if layer else None)
    found = scorer.score(item.reference_text, item.output_text)
    return None if found is None else found.f


_bert_scorer = cache(BertScorer)
