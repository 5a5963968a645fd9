"""ROUGE where it differs from the package's own, and where it does not."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from medeval.metrics.rouge import TYPES, rouge
from medeval.metrics.text import fold_accents, has_cjk


def f_of(name: str, reference: str, hypothesis: str, **options: bool) -> float | None:
    found = rouge(name, reference, hypothesis, **options)
    return None if found is None else found.f


@pytest.mark.parametrize("name", TYPES)
@given(
    st.lists(st.sampled_from(["the", "patient's", "fevers,", "38.5", "resolving\nresolved"])),
    st.lists(st.sampled_from(["a", "patient", "fever:", "38.5", "resolve\nnow"])),
)
def test_plain_english_scores_as_in_the_package(
    name: str, reference: list[str], hypothesis: list[str]
) -> None:
    texts = " ".join(reference), " ".join(hypothesis)
    expected = RougeScorer([TYPES[name]], use_stemmer=True).score(*texts)[TYPES[name]]
    found = rouge(name, *texts)
    if found is None:
        assert expected.fmeasure == 0
    else:
        assert (found.precision, found.recall, found.f) == expected


@pytest.mark.parametrize("name", TYPES)
def test_equal_chinese_texts_score_1(name: str) -> None:
    text = "患者高血压\uff0c规律服药。"
    assert f_of(name, text, text) == 1


def test_a_cjk_character_and_a_latin_run_are_tokens() -> None:
    found = rouge("rouge_1", "患者 BP 120/80 \uff4d\uff4d\uff28\uff47", "BP 120/80 mmHg 正常")
    assert found is not None
    # 患 者 bp 120 80 mmhg against bp 120 80 mmhg 正 常.
    assert (found.precision, found.recall) == pytest.approx((4 / 6, 4 / 6))


def test_latin_words_in_chinese_text_are_stemmed() -> None:
    assert f_of("rouge_1", "服用 medications", "服用 medication") == 1


def test_words_are_stemmed_unless_they_are_not_to_be() -> None:
    for texts in (("medications", "medication"), ("服用 medications", "服用 medication")):
        assert f_of("rouge_1", *texts) == 1
    assert f_of("rouge_1", "medications", "medication", stem=False) == 0
    assert f_of("rouge_1", "服用 medications", "服用 medication", stem=False) == pytest.approx(
        2 / 3
    )


def test_order_counts_for_rouge_l_alone() -> None:
    reference, hypothesis = "chest pain resolved after aspirin", "aspirin after resolved pain chest"
    assert f_of("rouge_1", reference, hypothesis) == 1
    assert f_of("rouge_l", reference, hypothesis) == pytest.approx(0.2)
    assert f_of("rouge_2", reference, hypothesis) == 0


def test_sentences_on_lines_of_their_own_may_change_places() -> None:
    reference, hypothesis = "fever resolved\ncough persists", "cough persists\nfever resolved"
    assert f_of("rouge_lsum", reference, hypothesis) == 1
    assert f_of("rouge_l", reference, hypothesis) == 0.5


def test_accents_are_folded_unless_told_not_to() -> None:
    assert f_of("rouge_l", "Ménière disease", "Meniere disease") == 1
    unfolded = f_of("rouge_l", "Ménière disease", "Meniere disease", fold=False)
    assert unfolded == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sjögren", "Sjogren"),
        ("Sjo\u0308gren", "Sjogren"),
        ("fœtus, Straße, Ødem", "foetus, Strasse, Odem"),
        ("ガーゼ", "ガーゼ"),
        ("10 µg", "10 µg"),
    ],
)
def test_fold_accents(text: str, expected: str) -> None:
    assert fold_accents(text) == expected


@pytest.mark.parametrize(
    ("name", "reference"),
    [("rouge_1", ""), ("rouge_l", "..."), ("rouge_2", "fever"), ("rouge_lsum", "חום")],
)
def test_a_reference_with_nothing_to_find_has_no_score(name: str, reference: str) -> None:
    assert rouge(name, reference, reference) is None


@pytest.mark.parametrize("name", TYPES)
def test_an_empty_output_scores_0(name: str) -> None:
    assert f_of(name, "fever and cough", "") == 0


@pytest.mark.parametrize("text", ["高", "の", "한", "𠀀"])
def test_cjk_is_seen(text: str) -> None:
    assert has_cjk(f"BP {text}")


def test_no_cjk_is_seen_in_other_scripts() -> None:
    assert not has_cjk("Ménière ά \u0431 120/80 \u2013 \u201cx\u201d")


def test_the_package_loads_without_rouge() -> None:
    code = (
        "import sys, medeval.metrics.registry as r; r.default_registry();"
        " assert not {'nltk', 'rouge_score'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
