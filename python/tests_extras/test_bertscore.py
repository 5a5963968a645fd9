"""BERTScore on a model of two layers: the arithmetic is checked, not the judgment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers

from medeval.errors import UserError
from medeval.metrics.metric import Sample
from medeval.metrics.registry import default_registry
from medeval.metrics.texts import BertScorer

REFERENCE = "patient with fever no cough"
HYPOTHESIS = "patient is with chest pain"


def item(output: str, reference: str = REFERENCE) -> Sample:
    return Sample({}, {"summary": reference}, {"summary": output}, "summary")


def test_the_score_is_the_one_of_the_definition(encoder: Path) -> None:
    model = transformers.AutoModel.from_pretrained(encoder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder)

    def embedded(text: str) -> list[torch.Tensor]:
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
        return list(states.hidden_states[1][0])

    def best(one: torch.Tensor, others: list[torch.Tensor]) -> float:
        return max(float(torch.cosine_similarity(one, other, dim=0)) for other in others)

    wanted, given = embedded(REFERENCE), embedded(HYPOTHESIS)
    # The marks at both ends are matched, not scored.
    precision = sum(best(each, wanted) for each in given[1:-1]) / (len(given) - 2)
    recall = sum(best(each, given) for each in wanted[1:-1]) / (len(wanted) - 2)
    score = BertScorer(encoder, layer=1).score(REFERENCE, HYPOTHESIS)
    assert score is not None
    assert score.precision == pytest.approx(precision, abs=1e-6)
    assert score.recall == pytest.approx(recall, abs=1e-6)
    assert score.f == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-6)
    assert score.precision != pytest.approx(score.recall)


def test_the_same_text_scores_one_and_another_less(encoder: Path) -> None:
    scorer = BertScorer(encoder)
    same, other = scorer.score(REFERENCE, REFERENCE), scorer.score(REFERENCE, HYPOTHESIS)
    assert same is not None
    assert other is not None
    assert same.f == pytest.approx(1)
    assert other.f < 0.999


def test_layers_differ_and_the_last_is_the_default(encoder: Path) -> None:
    scores = [BertScorer(encoder, layer).score(REFERENCE, HYPOTHESIS) for layer in (0, 1, 2, None)]
    assert scores[2] == scores[3]
    assert len({score.f for score in scores if score is not None}) == 3


def test_empty_texts_have_no_score_or_none_at_all(encoder: Path) -> None:
    scorer = BertScorer(encoder)
    assert scorer.score(" ", "text") is None
    nothing = scorer.score(REFERENCE, " \n")
    assert nothing is not None
    assert nothing.f == 0


def test_a_text_beyond_the_models_length_is_cut(encoder: Path) -> None:
    scorer = BertScorer(encoder)
    longest = "fever " * 30
    assert scorer.score(longest, longest + "cough " * 100) == scorer.score(longest, longest)


def test_the_metric_takes_its_model_from_the_environment(
    encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDEVAL_BERTSCORE_MODEL", str(encoder))
    metric = default_registry().find("bertscore")
    assert metric.description == f"F of BERTScore by {encoder.name}"
    last = BertScorer(encoder).score(REFERENCE, HYPOTHESIS)
    assert last is not None
    assert metric.record(item(HYPOTHESIS)) == last.f
    assert metric.record(item(HYPOTHESIS, "")) is None
    monkeypatch.setenv("MEDEVAL_BERTSCORE_LAYER", "0")
    assert metric.record(item(HYPOTHESIS)) != last.f


def test_without_a_model_it_says_what_to_do(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = default_registry().find("bertscore")
    with pytest.raises(UserError, match="needs MEDEVAL_BERTSCORE_MODEL"):
        metric.record(item(HYPOTHESIS))
    with pytest.raises(UserError, match="holds no model that BERTScore can use"):
        BertScorer(tmp_path)
    with pytest.raises(UserError, match="holds no model"):
        BertScorer("bert-base-uncased")
    with pytest.raises(UserError, match="has layers 0 to 2; 3 is none"):
        BertScorer(encoder, 3)
    monkeypatch.setenv("MEDEVAL_BERTSCORE_MODEL", str(encoder))
    monkeypatch.setenv("MEDEVAL_BERTSCORE_LAYER", "last")
    with pytest.raises(UserError, match="the number of a layer, not 'last'"):
        metric.record(item(HYPOTHESIS))


def test_the_list_of_metrics_imports_nothing_heavy() -> None:
    code = (
        "import sys, json; from medeval.metrics.registry import default_registry;"
        "found = 'bertscore' in default_registry();"
        "print(json.dumps([found, 'torch' in sys.modules, 'transformers' in sys.modules]))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert json.loads(shown.stdout) == [True, False, False]
