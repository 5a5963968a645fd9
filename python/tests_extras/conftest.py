"""Tiny models with random weights, made on the spot: nothing comes from the net."""

from __future__ import annotations

import os

# Before transformers is imported: whatever a test does, nothing is fetched.
os.environ["HF_HUB_OFFLINE"] = "1"

from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from tokenizers.normalizers import Lowercase

from medeval.metrics.texts import LAYER_VARIABLE, MODEL_VARIABLE

WORDS = [
    "patient",
    "with",
    "fever",
    "cough",
    "chest",
    "pain",
    "no",
    "blood",
    "pressure",
    "is",
    "high",
    "low",
    "answer",
    "yes",
]
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LONGEST = 32
SIZES = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16}


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    vocabulary = {token: number for number, token in enumerate([*MARKS, *WORDS, *"abc.,"])}
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    raw.normalizer = Lowercase()
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=LONGEST,
    )


def bert(**more: object) -> transformers.BertConfig:
    return transformers.BertConfig(
        vocab_size=len(tokenizer()),
        intermediate_size=32,
        max_position_embeddings=LONGEST,
        **SIZES,
        **more,
    )


def saved(folder: Path, model: transformers.PreTrainedModel) -> Path:
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def _no_model_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (MODEL_VARIABLE, LAYER_VARIABLE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    return saved(tmp_path_factory.mktemp("encoder"), transformers.BertModel(bert()))


@pytest.fixture(scope="session")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    names = {0: "entailment", 1: "neutral", 2: "contradiction"}
    config = bert(id2label=names, label2id={name: number for number, name in names.items()})
    model = transformers.BertForSequenceClassification(config)
    # Random weights of the usual size give every text the same label.
    with torch.no_grad():
        model.classifier.weight.normal_(std=5.0)
    return saved(tmp_path_factory.mktemp("classifier"), model)


@pytest.fixture(scope="session")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer()),
        n_positions=256,
        n_layer=2,
        n_head=2,
        n_embd=16,
        bos_token_id=2,
        eos_token_id=3,
        pad_token_id=0,
    )
    return saved(tmp_path_factory.mktemp("generator"), transformers.GPT2LMHeadModel(config))


@pytest.fixture(scope="session")
def summarizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=len(tokenizer()),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        pad_token_id=0,
        eos_token_id=3,
        decoder_start_token_id=0,
    )
    return saved(
        tmp_path_factory.mktemp("summarizer"), transformers.T5ForConditionalGeneration(config)
    )
