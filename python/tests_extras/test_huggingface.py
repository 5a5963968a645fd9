"""Models of transformers in the model runner, on tiny ones with random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import transformers

from medeval.evaluation.model_runner import ModelRunner
from medeval.evaluation.task_loader import TaskLoader, bundled_tasks_dir

TEXTS = [{"text": text} for text in ("patient with fever", "no cough", "blood pressure is high")]
LABELS = {"entailment", "neutral", "contradiction"}


def loaded(place: Path, task: str, **more: Any) -> ModelRunner:
    runner = ModelRunner()
    runner.load_model("m", model_type="huggingface", model_path=place, hf_task=task, **more)
    return runner


def test_a_classifier_gives_label_score_and_input(classifier: Path) -> None:
    outputs = loaded(classifier, "text-classification").run_model("m", TEXTS)
    assert [output["input"] for output in outputs] == TEXTS
    for output in outputs:
        assert set(output) == {"label", "score", "raw_label", "input"}
        assert output["label"] == output["raw_label"]
        assert output["label"] in LABELS
        assert 1 / 3 <= output["score"] <= 1
    assert len({output["score"] for output in outputs}) == len(TEXTS)


def test_classification_is_the_default_and_equals_that_of_a_pipeline(classifier: Path) -> None:
    runner = ModelRunner()
    runner.load_model("m", model_type="huggingface", model_path=classifier)
    outputs = runner.run_model("m", TEXTS)
    pipeline = transformers.pipeline("text-classification", model=str(classifier), device="cpu")
    for output, expected in zip(outputs, pipeline([row["text"] for row in TEXTS]), strict=True):
        assert output["label"] == expected["label"]
        assert output["score"] == pytest.approx(expected["score"], abs=1e-5)


def test_labels_can_be_given_other_names(classifier: Path) -> None:
    names = {name: name.upper() for name in LABELS}
    outputs = loaded(classifier, "text-classification", label_map=names).run_model("m", TEXTS)
    assert all(output["label"] == output["raw_label"].upper() for output in outputs)


def test_a_premise_and_a_hypothesis_are_read_as_a_pair(classifier: Path) -> None:
    runner = loaded(classifier, "text-classification")
    pairs = [{"premise": "fever", "hypothesis": other} for other in ("no fever", "high fever")]
    one, other = runner.run_model("m", pairs)
    assert one["score"] != other["score"]


def test_batches_give_what_single_inputs_give(classifier: Path, summarizer: Path) -> None:
    runner = loaded(classifier, "text-classification")
    singles = runner.run_model("m", TEXTS, batch_size=1)
    for one, other in zip(singles, runner.run_model("m", TEXTS, batch_size=3), strict=True):
        assert one["score"] == pytest.approx(other["score"], abs=1e-5)
    runner = loaded(summarizer, "summarization", generation_kwargs={"max_new_tokens": 5})
    assert runner.run_model("m", TEXTS, batch_size=1) == runner.run_model("m", TEXTS, batch_size=3)


@pytest.mark.parametrize("task", ["summarization", "text2text-generation"])
def test_a_summarizer_gives_the_summary_twice(summarizer: Path, task: str) -> None:
    runner = loaded(summarizer, task, generation_kwargs={"max_new_tokens": 5})
    rows = [{"document": "patient with fever"}, {"note": "no cough"}]
    outputs = runner.run_model("m", rows)
    assert outputs == runner.run_model("m", rows)
    for output, row in zip(outputs, rows, strict=True):
        assert set(output) == {"summary", "prediction", "input"}
        assert output["summary"] == output["prediction"]
        assert output["input"] == row
        assert len(output["summary"].split()) <= 5


def test_a_generator_gives_only_what_it_adds(generator: Path) -> None:
    runner = loaded(generator, "text-generation", generation_kwargs={"max_new_tokens": 4})
    outputs = runner.run_model("m", TEXTS)
    assert outputs == runner.run_model("m", TEXTS, batch_size=1)
    for output, row in zip(outputs, TEXTS, strict=True):
        assert set(output) == {"text", "prediction", "input"}
        assert not output["text"].startswith(row["text"])
        assert len(output["text"].split()) <= 4


def test_a_generator_is_asked_by_the_prompt_of_a_task_and_read_by_its_schema(
    generator: Path,
) -> None:
    loader = TaskLoader(bundled_tasks_dir())
    runner = loaded(generator, "text-generation", generation_kwargs={"max_new_tokens": 4})
    qa = loader.load_task("clinical_qa_basic")
    for output in runner.run_model("m", qa.inputs[:2], task=qa):
        assert output.get("answer") == output["text"] or output["error"]["type"] in (
            "empty",
            "unparsed",
        )
    diagnosis = loader.load_task("diagnostic_reasoning_basic")
    for output in runner.run_model("m", diagnosis.inputs[:2], task=diagnosis):
        assert output["error"]["type"] in ("empty", "unparsed")


def test_an_input_without_text_fails_its_batch_alone(classifier: Path) -> None:
    runner = loaded(classifier, "text-classification")
    outputs = runner.run_model("m", [TEXTS[0], {"age": 3}, TEXTS[1]], batch_size=1)
    assert outputs[1] == {"error": {"type": "ValueError", "attempts": 1, "batch": 1}}
    assert outputs[0]["label"] in LABELS
    assert outputs[2]["label"] in LABELS
    keyed = loaded(classifier, "text-classification", text_key="story")
    assert keyed.run_model("m", [{"story": "fever"}])[0]["label"] in LABELS


def test_a_text_beyond_the_models_length_is_cut(classifier: Path) -> None:
    runner = loaded(classifier, "text-classification")
    long, longer = ({"text": "fever " * count} for count in (100, 200))
    scores = [output["score"] for output in runner.run_model("m", [long, longer])]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_a_model_that_is_not_here_is_not_fetched(tmp_path: Path) -> None:
    for place in (tmp_path, "some-organisation/some-model"):
        with pytest.raises(ValueError, match="nothing is downloaded unless"):
            loaded(Path(place), "text-classification")
    with pytest.raises(ValueError, match="unknown hf_task 'translation'"):
        loaded(tmp_path, "translation")


def test_the_description_tells_of_the_model(classifier: Path) -> None:
    runner = loaded(classifier, "text-classification")
    described = runner.model("m").settings
    assert described["hf_task"] == "text-classification"
    assert described["parameters"] > 1000
    json.dumps(described)
    runner.unload_model("m")
    assert runner.loaded == ()
