"""The metrics by name: what each gives for a reference and an output, and what holds for all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from scipy.stats import binomtest
from sklearn.metrics import precision_recall_fscore_support
from tables import refused, table

from medeval.evaluation.harness import CATEGORIES
from medeval.metrics.concepts import UNITS, Lexicon, common_lexicon, number_facts
from medeval.metrics.matching import Synonyms, common_synonyms, normalised
from medeval.metrics.metric import Metric, Sample
from medeval.metrics.registry import ALIASES, MetricRegistry, default_registry
from medeval.metrics.texts import TYPES, plain_rouge_l, rouge
from medeval.models.scores import Interval
from medeval.scoring.table import interval, wilson

TABLES = table("metrics")

LEXICON = Lexicon(TABLES["LEXICON"])
REGISTRY = default_registry()
NAMES = [metric.name for metric in REGISTRY]
# Undefined for an output that claims nothing; all else must be at its worst.
NOTHING_CLAIMED = {"brier", "expected_calibration_error", "number_precision", "readability"}
NOTHING_CLAIMED |= {"factual_consistency", "evidence_rate"}
GOLD: list[dict[str, Any]] = TABLES["GOLD"]
SOURCE = {"id": 77, "case": "Fever of 39, no cough", "age": 45}

MEAN = Metric("mean", "a number", lambda item: item.output["value"], "no number")
SHARE = Metric("share", "0 or 1", lambda item: item.output["value"], "no number", binary=True)


def items_of(outputs: list[dict[str, Any]]) -> list[Sample]:
    return [
        Sample({"case": gold["answer"]}, gold, output, "answer")
        for gold, output in zip(GOLD, outputs, strict=True)
    ]


def aggregate(metric: Metric, items: list[Sample], **options: Any) -> Interval:
    return interval(metric.column(items), **options)


def value_of(name: str, reference: Any, output: Any, source: Any = "") -> Any:
    """Score one item; texts stand for answers, mappings for whole records."""
    records = [one if isinstance(one, dict) else {"answer": one} for one in (reference, output)]
    given = source if isinstance(source, dict) else {"case": source}
    registry = default_registry(lexicon=LEXICON)
    return aggregate(registry.find(name), [Sample(given, *records, "answer")], draws=0).value


@pytest.mark.parametrize("name", NAMES)
def test_the_gold_scores_the_maximum_and_an_empty_output_the_minimum_or_nothing(name: str) -> None:
    metric = REGISTRY.find(name)
    value = aggregate(metric, items_of(GOLD), draws=0).value
    if metric.direction == "neither":
        assert value is not None
    elif name == "clinical_relevance_proxy":
        assert value is not None  # looks for fixed words, whatever the gold says
        assert 0 < value < 1
    else:
        assert value == pytest.approx(0 if metric.direction == "lower" else 1)
    empty = aggregate(metric, items_of([{}, {}, {}]), draws=0)
    undefined = (None, 3, metric.undefined)
    if name in NOTHING_CLAIMED:
        assert (empty.value, empty.n_undefined, empty.reason) == undefined
    else:
        # The documented blind spot of one proxy: no number, no fault.
        assert empty.value == (1 if name == "factual_consistency_proxy" else 0)
        assert empty.n_undefined == 0


TEXT = st.sampled_from(
    [*(gold["answer"] for gold in GOLD), "", "MI", "no pain 5 mg", "高血压 3", "."]
)
PARTS = {"answer": TEXT, "rationale": TEXT, "confidence": st.floats(-0.5, 1.5)}
OUTPUT = st.fixed_dictionaries({}, optional={**PARTS, "differential_diagnosis": st.lists(TEXT)})
SOURCES = st.fixed_dictionaries({"case": TEXT})
SOME_ITEMS = st.lists(
    st.builds(Sample, SOURCES, OUTPUT, OUTPUT, st.just("answer")), min_size=1, max_size=6
)


@given(items=SOME_ITEMS, data=st.data())
def test_values_are_bounded_and_no_order_matters(items: list[Sample], data: st.DataObject) -> None:
    other = data.draw(st.permutations(items))
    for metric in REGISTRY:
        found = aggregate(metric, items, draws=20)
        again = aggregate(metric, other, draws=20)
        assert found == again, metric.name
        assert found.n + found.n_undefined == len(items)
        if found.value is not None and metric.direction != "neither":
            assert -1e-12 <= found.value <= 1 + 1e-12, metric.name
        if metric.binary:
            assert set(metric.column(items).item_scores) <= {0, 1, None}, metric.name


def test_names_are_taken_once_and_aliases_lead_to_their_metric() -> None:
    assert sorted(set(NAMES)) == NAMES
    for alias, name in ALIASES.items():
        assert REGISTRY.find(alias) is REGISTRY.find(name)
    for proxy in (name for name in NAMES if name.endswith("_proxy")):
        assert REGISTRY.find(proxy) is not REGISTRY.find(proxy.removesuffix("_proxy"))
    for names, aliases in (
        ([MEAN, MEAN], {}),
        ([MEAN], {"a": "median"}),
        ([MEAN], {"mean": "mean"}),
    ):
        with pytest.raises(ValueError, match=r"a metric 'mean' already|taken or leads"):
            MetricRegistry(names, aliases)
    refused(r"Unknown metric 'rouge_L'\. Did you mean .*rouge_l", REGISTRY.find, "rouge_L")
    refused("Known: accuracy, accuracy_proxy", REGISTRY.find, "???")


# Abbreviations are written out.
OF_TEXTS = [
    *TABLES["what_two_texts_score"],
    *(["diagnostic_accuracy", *row] for row in TABLES["abbreviations"]),
    *(["clinical_correctness", *row] for row in TABLES["abbreviations"]),
]


@pytest.mark.parametrize(
    ("name", "reference", "output", "expected", "source"),
    [[*row, ""] for row in OF_TEXTS] + [[*row, SOURCE] for row in TABLES["what_records_score"]],
)
def test_what_two_texts_or_records_score(
    name: str, reference: Any, output: Any, expected: Any, source: Any
) -> None:
    assert value_of(name, reference, output, source) == pytest.approx(expected)


def test_common_abbreviations_are_known_and_name_one_disease_each() -> None:
    names = ["MI", "CHF", "COPD", "PE", "DVT", "AKI", "CKD", "TIA", "UTI", "GERD", "AF", "HTN"]
    assert all(common_synonyms().expanded(name) != normalised(name) for name in names)
    with pytest.raises(ValueError, match="means both"):
        Synonyms({"multiple sclerosis": ["MS"], "mitral stenosis": ["MS"]})


PAIRS = table("wrong_answers")
READ = ("clinical_relevance", "factual_consistency")


@pytest.mark.parametrize(("fault", "gold", "wrong"), PAIRS["wrong"])
def test_a_wrong_drug_dose_side_or_denial_is_never_right(fault: str, gold: str, wrong: str) -> None:
    for reference, output in ((gold, wrong), (wrong, gold)):
        item = Sample({"id": 1}, {"answer": reference}, {"answer": output}, "answer")
        assert [name for name in READ if REGISTRY.find(name).record(item) == 1] == []
        same = Sample({"id": 1}, {"answer": reference}, {"answer": reference}, "answer")
        assert [REGISTRY.find(name).record(same) for name in READ] == [1, 1]


@pytest.mark.parametrize(("one", "other"), PAIRS["right"])
def test_other_words_for_the_same_score_as_right(one: str, other: str) -> None:
    for reference, output in ((one, other), (other, one)):
        item = Sample({}, {"answer": reference}, {"answer": output}, "answer")
        assert [REGISTRY.find(name).record(item) for name in READ] == [1, 1]


WORDS = "no not left right bilateral arm mass zorbanol aspirin 5 mg two tablets daily 120/80 or and"
WORDS += " , . without fever was ruled out stopped cannot be excluded non tender 高血压 it given"


@given(st.lists(st.sampled_from(WORDS.split()), max_size=14), st.booleans())
def test_a_text_is_right_about_itself_whatever_the_case_says(words: list[str], other: bool) -> None:
    text = " ".join(words)
    source = " ".join(reversed(words)) if other else ""
    item = Sample({"case": source}, {"answer": text}, {"answer": text}, "answer")
    assert {REGISTRY.find(name).record(item) for name in READ} <= {1, None}


def test_a_gold_of_unknown_words_leaves_the_score_undefined_and_says_so() -> None:
    gold = "Quiet sonorous harmony, gentle colourful landscapes and one fever."
    items = [Sample({}, {"answer": text}, {"answer": text}, "answer") for text in (gold, "Fever.")]
    for name in READ:
        column = REGISTRY.find(name).column(items)
        assert column.item_scores == [None, 1]
        assert column.reason is not None
        assert "less than half of the reference's words" in column.reason
        assert column.coverage == pytest.approx((1 / 7 + 1) / 2)


LABELS = st.sampled_from(["entailment", "neutral", "contradiction", "no idea"])


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=40))
def test_macro_averages_equal_scikit_learns(pairs: list[tuple[str, str]]) -> None:
    items = [Sample({}, {"answer": one}, {"answer": other}, "answer") for one, other in pairs]
    wanted, guessed = np.array(pairs).T
    expected = precision_recall_fscore_support(
        wanted, guessed, labels=sorted(set(wanted)), average="macro", zero_division=0
    )
    for name, value in zip(("precision", "recall", "f1"), expected, strict=False):
        column = REGISTRY.find(name).column(items)
        assert column.value() == pytest.approx(value)
        assert column.item_scores == [None] * len(items)


def test_calibration_error_is_the_mean_distance_over_bins() -> None:
    # Four at 0.75, half of them right: 0.25 off. One right at 1.0: in the last bin, on the spot.
    stated = [("MI", 0.75), ("MI", 0.75), ("gout", 0.75), ("gout", 0.75), ("MI", 1.0), ("MI", None)]
    items = [
        Sample({}, {"diagnosis": "MI"}, {"diagnosis": given, "confidence": sure}, "diagnosis")
        for given, sure in stated
    ]
    found = aggregate(REGISTRY.find("expected_calibration_error"), items)
    assert (found.value, found.n_undefined) == (pytest.approx(0.25 * 4 / 5), 1)


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        *((normalised, *row) for row in TABLES["normalised"]),
        *((number_facts, *row) for row in TABLES["number_facts"]),
    ],
)
def test_texts_are_read_as_listed(read: Callable[[str], Any], text: str, expected: Any) -> None:
    found = read(text)
    assert (found if isinstance(found, str) else [list(fact) for fact in found]) == expected


def test_every_unit_is_read_glued_and_spaced() -> None:
    for spelling, unit in UNITS.items():
        for text in (f"7{spelling}", f"7 {spelling}", f"7-{spelling}", f"7 {spelling.upper()}."):
            assert number_facts(text) == [("7", unit)]


@pytest.mark.parametrize(("text", "affirmed", "negated"), TABLES["findings"])
def test_findings(text: str, affirmed: str, negated: str) -> None:
    expected = {(concept, "affirmed") for concept in affirmed.split()}
    expected |= {(concept, "negated") for concept in negated.split()}
    assert LEXICON.findings(text) == expected


def test_lexicons() -> None:
    refused("means both 'a' and 'b'", Lexicon, {"a": ["Fever"], "b": ["fever"]}, error=ValueError)
    refused("without a word", Lexicon, {"a": ["-"]}, error=ValueError)
    text = "58M with HTN and DM, short of breath, denies chest pain. Started aspirin."
    known = {"hypertension", "diabetes", "dyspnea", "chest_pain", "aspirin"}
    assert {concept for concept, polarity in common_lexicon().findings(text)} == known


ENGLISH = "the patient's patients fevers, fever: 38.5 resolving\nresolved resolve Resolved. was"
ENGLISH += " running runs x-ray (no) cells/mm3 mg/dL ponies generalizations a of, and;"
SOME_ENGLISH = st.lists(st.sampled_from(ENGLISH.split(" ")), max_size=12).map(" ".join)


@pytest.mark.parametrize("name", TYPES)
@given(SOME_ENGLISH, SOME_ENGLISH)
def test_plain_english_scores_as_in_the_package(name: str, reference: str, hypothesis: str) -> None:
    scorer = RougeScorer([TYPES[name], "rougeL"], use_stemmer=True)
    expected = scorer.score(reference, hypothesis)
    found = rouge(name, reference, hypothesis)
    none = expected[TYPES[name]].fmeasure == 0
    assert none if found is None else found == tuple(expected[TYPES[name]])
    assert plain_rouge_l(reference, hypothesis) == pytest.approx(expected["rougeL"].fmeasure)


@pytest.mark.parametrize("name", TYPES)
def test_a_cjk_character_is_a_token_of_rouge(name: str) -> None:
    text = "患者高血压\uff0c规律服药。"
    assert value_of(name, text, text) == 1
    found = rouge("rouge_1", "患者 BP 120/80 \uff4d\uff4d\uff28\uff47", "BP 120/80 mmHg 正常")
    assert found is not None
    # 患 者 bp 120 80 mmhg against bp 120 80 mmhg 正 常.
    assert (found.precision, found.recall) == pytest.approx((4 / 6, 4 / 6))


def scored(value: float | None) -> Sample:
    return Sample({}, {}, {"value": value}, "value")


def test_undefined_items_are_left_out_and_counted() -> None:
    found = aggregate(MEAN, [scored(1.0), scored(None), scored(0.5)])
    assert (found.value, found.n, found.n_undefined, found.reason) == (0.75, 2, 1, "no number")
    assert MEAN.column([scored(1.0), scored(None)]).item_scores == [1.0, None]
    none = aggregate(MEAN, [scored(None)])
    assert (none.value, none.low, none.reason) == (None, None, "no number")
    assert aggregate(MEAN, []).reason == "no items"
    one = aggregate(MEAN, [scored(0.5)])
    assert (one.value, one.low, one.high, one.method, one.reason) == (0.5, None, None, "", None)


@given(st.integers(1, 300), st.data())
def test_a_share_has_wilsons_interval_which_equals_scipys(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    items = [scored(float(place < successes)) for place in range(n)]
    found = aggregate(SHARE, [*items, scored(None)])
    expected = binomtest(successes, n).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (found.value, found.n, found.method) == (successes / n, n, "wilson")
    assert (found.low, found.high) == wilson(successes / n, n)


def test_a_category_has_as_many_metrics_as_documented() -> None:
    documented = {"diagnostics": 6, "safety": 4, "communication": 5, "summarization": 8}
    assert {name: len(metrics) for name, metrics in CATEGORIES.items()} == documented


@pytest.mark.parametrize("number", range(20))
def test_numbers_and_concepts_are_those_of_hand_work(shared: Path, number: int) -> None:
    path = shared / "golden" / "medaisure" / "proper_metrics.json"
    given = json.loads(path.read_text(encoding="utf-8"))
    assert len(given["cases"]) == 20
    case, lexicon = given["cases"][number], Lexicon(given["lexicon"])
    registry = default_registry(lexicon=lexicon)
    output = {"summary": case["hypothesis"]}
    item = Sample({"case": case["source"]}, {"summary": case["reference"]}, output, "summary")
    expected = case["expected"]
    listed = {
        "number_facts": [list(fact) for fact in number_facts(case["hypothesis"])],
        "concepts": sorted(map(list, lexicon.findings(case["hypothesis"]))),
    }
    assert listed == {name: expected[name] for name in listed}
    for name, value in expected.items():
        if name not in listed:
            same = None if value is None else pytest.approx(value, rel=0, abs=1e-9)
            assert registry.find(name).record(item) == same, name
