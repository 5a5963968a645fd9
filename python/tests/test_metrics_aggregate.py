"""The registry, values with intervals, and what holds for every metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from medeval.errors import UserError
from medeval.metrics.item import Item
from medeval.metrics.metric import Metric
from medeval.metrics.registry import ALIASES, MetricRegistry, default_registry
from medeval.models.scores import Interval
from medeval.scoring.table import interval, wilson

REGISTRY = default_registry()
NAMES = [metric.name for metric in REGISTRY]
PROXIES = {name for name in NAMES if name.endswith("_proxy")}
# Undefined for an output that claims nothing; all else must be at its worst.
NOTHING_CLAIMED = {"brier", "expected_calibration_error", "number_precision", "readability"}
NOTHING_CLAIMED |= {"factual_consistency", "evidence_rate"}
GOLD: list[dict[str, Any]] = [
    {
        "answer": "Chest pain at rest due to MI, no fever, BP 150/90 and aspirin 300 mg given.",
        "rationale": "Based on chest pain and BP 150/90.",
        "confidence": 1.0,
    },
    {
        "answer": "Denies cough. Patient history: hypertension for 10 years.",
        "rationale": "Given hypertension for 10 years.",
        "confidence": 1.0,
    },
    {
        "answer": "Pneumonia with fever of 39.5, treated with antibiotics for 7 days.",
        "rationale": "Because of fever.",
        "confidence": 1.0,
    },
]


def items_of(outputs: list[dict[str, Any]], target: str = "answer") -> list[Item]:
    return [
        Item({"case": gold["answer"]}, gold, output, target)
        for gold, output in zip(GOLD, outputs, strict=True)
    ]


def scored(value: float | None) -> Item:
    return Item({}, {}, {"value": value}, "value")


def aggregate(metric: Metric, items: list[Item], **options: Any) -> Interval:
    return interval(metric.column(items), **options)


MEAN = Metric("mean", "a number", lambda item: item.output["value"], "no number")
SHARE = Metric("share", "0 or 1", lambda item: item.output["value"], "no number", binary=True)


@pytest.mark.parametrize("name", NAMES)
def test_the_gold_scores_the_maximum(name: str) -> None:
    metric = REGISTRY.find(name)
    value = aggregate(metric, items_of(GOLD), draws=0).value
    if metric.direction == "neither":
        assert value is not None
    elif name == "clinical_relevance_proxy":
        assert value is not None  # looks for fixed words, whatever the gold says
        assert 0 < value < 1
    else:
        assert value == pytest.approx(0 if metric.direction == "lower" else 1)


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_output_scores_the_minimum_or_nothing(name: str) -> None:
    found = aggregate(REGISTRY.find(name), items_of([{}, {}, {}]), draws=0)
    if name in NOTHING_CLAIMED:
        assert found.value is None
        assert found.n_undefined == 3
        assert found.reason == REGISTRY.find(name).undefined
    elif name == "factual_consistency_proxy":
        assert found.value == 1  # the documented blind spot: no number, no fault
    else:
        assert found.value == 0
        assert found.n_undefined == 0


TEXT = st.sampled_from(
    [*(gold["answer"] for gold in GOLD), "", "MI", "no pain 5 mg", "高血压 3", "."]
)
OUTPUT = st.fixed_dictionaries(
    {},
    optional={
        "answer": TEXT,
        "rationale": TEXT,
        "differential_diagnosis": st.lists(TEXT),
        "confidence": st.floats(-0.5, 1.5),
    },
)
SOME_ITEMS = st.lists(
    st.builds(Item, st.fixed_dictionaries({"case": TEXT}), OUTPUT, OUTPUT, st.just("answer")),
    min_size=1,
    max_size=6,
)


@given(items=SOME_ITEMS, data=st.data())
def test_values_are_bounded_and_the_order_of_items_does_not_matter(
    items: list[Item], data: st.DataObject
) -> None:
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


def test_true_metrics_and_proxies_have_names_of_their_own() -> None:
    assert len(set(NAMES)) == len(NAMES) == len(REGISTRY)
    assert sorted(PROXIES) == [
        "accuracy_proxy",
        "clinical_correctness_proxy",
        "clinical_relevance_proxy",
        "diagnostic_accuracy_proxy",
        "factual_consistency_proxy",
        "rouge_l_proxy",
    ]
    for proxy in PROXIES:
        assert REGISTRY.find(proxy) is not REGISTRY.find(proxy.removesuffix("_proxy"))


def test_rouge_comes_with_precision_and_recall() -> None:
    output = {"answer": "chest pain"}
    one = [Item({}, {"answer": "chest pain at rest"}, output, "answer")]
    names = ("rouge_1", "rouge_1_precision", "rouge_1_recall")
    values = [aggregate(REGISTRY.find(name), one).value for name in names]
    assert values == pytest.approx([2 / 3, 1, 1 / 2])


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_aliases_lead_to_their_metric(alias: str, name: str) -> None:
    assert alias in REGISTRY
    assert REGISTRY.find(alias).name == name


def test_f1_score_is_f1_and_says_that_it_is_the_macro_average() -> None:
    assert REGISTRY.find("f1_score") is REGISTRY.find("f1")
    assert "macro average" in REGISTRY.find("f1").description


def test_an_unknown_name_is_an_error_that_helps() -> None:
    with pytest.raises(UserError, match=r"Unknown metric 'rouge_L'\. Did you mean .*rouge_l"):
        REGISTRY.find("rouge_L")
    with pytest.raises(UserError, match="Known: exact_match, accuracy"):
        REGISTRY.find("???")


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="a metric 'mean' already"):
        MetricRegistry([MEAN, MEAN])
    with pytest.raises(ValueError, match="taken or leads nowhere"):
        MetricRegistry([MEAN], {"average": "median"})
    with pytest.raises(ValueError, match="taken or leads nowhere"):
        MetricRegistry([MEAN, SHARE], {"share": "mean"})
    registry = MetricRegistry([MEAN], {"average": "mean"})
    with pytest.raises(ValueError, match="a metric 'average' already"):
        registry.add(Metric("average", "", MEAN.record, ""))


def test_undefined_items_are_left_out_and_counted() -> None:
    found = aggregate(MEAN, [scored(1.0), scored(None), scored(0.5)])
    assert (found.value, found.n, found.n_undefined) == (0.75, 2, 1)
    assert MEAN.column([scored(1.0), scored(None)]).item_scores == [1.0, None]
    assert found.reason == "no number"


def test_no_value_has_a_reason() -> None:
    assert aggregate(MEAN, [scored(0.5)]).reason is None
    found = aggregate(MEAN, [scored(None)])
    assert (found.value, found.low, found.reason) == (None, None, "no number")
    assert aggregate(MEAN, []).reason == "no items"


def test_one_item_has_no_bootstrap_interval() -> None:
    found = aggregate(MEAN, [scored(0.5)])
    assert (found.value, found.low, found.high, found.method) == (0.5, None, None, "")


def test_a_bootstrap_interval_is_the_percentiles_of_the_means() -> None:
    scores = np.random.default_rng(7).random(200)
    found = aggregate(MEAN, [scored(float(score)) for score in scores], draws=2000)
    assert (found.method, found.level, found.n) == ("bootstrap_percentile", 0.95, 200)
    half = 1.96 * scores.std() / np.sqrt(len(scores))
    assert found.low == pytest.approx(scores.mean() - half, abs=0.1 * half)
    assert found.high == pytest.approx(scores.mean() + half, abs=0.1 * half)


def test_the_seed_and_nothing_else_decides_the_draws() -> None:
    items = [scored(value / 10) for value in range(11)]
    first, again, other = (aggregate(MEAN, items, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_another_level_gives_another_interval() -> None:
    items = [scored(value / 10) for value in range(11)]
    wide, narrow = (aggregate(MEAN, items, level=level) for level in (0.95, 0.5))
    ends = [wide.low, narrow.low, narrow.high, wide.high]
    assert None not in ends
    assert ends == sorted(ends, key=lambda end: end or 0)
    assert len(set(ends)) == 4


@given(st.integers(1, 300), st.data())
def test_wilsons_interval_equals_scipys(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    low, high = wilson(successes / n, n)
    expected = binomtest(successes, n).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert low <= successes / n <= high


def test_scores_of_0_and_1_get_wilsons_interval() -> None:
    found = aggregate(SHARE, [scored(1.0), scored(0.0), scored(None), scored(1.0)])
    assert (found.low, found.high) == wilson(2 / 3, 3)
    assert (found.value, found.n, found.method) == (2 / 3, 3, "wilson")


def test_a_metric_of_the_whole_task_has_an_interval_but_no_item_scores() -> None:
    golds = ["yes", "no", "maybe"] * 10
    outputs = ["yes", "no", "no"] * 10
    items = [
        Item({}, {"answer": gold}, {"answer": output}, "answer")
        for gold, output in zip(golds, outputs, strict=True)
    ]
    found = aggregate(REGISTRY.find("f1"), items)
    assert found.value == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert REGISTRY.find("f1").column(items).item_scores == [None] * 30
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high
    assert found.n == 30


def test_calibration_is_read_from_confidence_and_correctness() -> None:
    items = [
        Item({}, {"diagnosis": "MI"}, {"diagnosis": given, "confidence": stated}, "diagnosis")
        for given, stated in (("heart attack", 0.9), ("gout", 0.9), ("MI", None))
    ]
    brier = aggregate(REGISTRY.find("brier"), items)
    assert brier.value == pytest.approx((0.1**2 + 0.9**2) / 2)
    assert brier.n_undefined == 1
    error = aggregate(REGISTRY.find("expected_calibration_error"), items)
    assert error.value == pytest.approx(0.4)


def test_ranked_diagnoses_are_read_from_the_differential() -> None:
    output = {"diagnosis": "gout", "differential_diagnosis": ["sepsis", "MI"]}
    items = [Item({}, {"diagnosis": "heart attack"}, output, "diagnosis")]
    values = {
        name: aggregate(REGISTRY.find(name), items).value
        for name in ("diagnostic_accuracy", "top_1", "top_3", "mrr")
    }
    assert values == {"diagnostic_accuracy": 0, "top_1": 0, "top_3": 1, "mrr": 1 / 3}
