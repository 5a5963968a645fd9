# What there is to do. The logic lives in the commands, not here.
PYTHON ?= python3
BIN := .venv/bin
# The demo and the set-up read demo/, whatever MIMIC the user's shell names.
DEMO := env -u MEDEVAL_MIMIC3_DIR -u MEDEVAL_MIMIC3_DB -u MEDEVAL_MIMIC4_DIR -u MEDEVAL_MIMIC4_DB \
	-u MEDEVAL_MIMIC4_NOTE_DIR -u MEDEVAL_CDM_EXTRACT_DIR -u MEDEVAL_YIER MEDEVAL_TARGET=duckdb

.PHONY: setup demo test lint docs bench

setup: .venv/ready medeval.duckdb

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv
	if command -v uv >/dev/null; \
	then uv pip install --quiet --python $(BIN)/python --constraint constraints.txt -e '.[dev]'; \
	else $(BIN)/python -m pip install --quiet --constraint constraints.txt -e '.[dev]'; fi
	touch $@

medeval.duckdb: | .venv/ready
	$(DEMO) $(BIN)/dbt --quiet build --select cdm mimic3 mimic3_features yier --resource-type seed --resource-type model

demo: .venv/ready
	$(DEMO) $(BIN)/dbt build --select cdm mimic3 mimic3_features yier
	$(DEMO) $(BIN)/python -m medeval export --timeseries
	for task in in_hospital_mortality decompensation length_of_stay phenotyping; do \
	$(DEMO) $(BIN)/python -m medeval predict --task $$task --model logistic || exit; \
	$(DEMO) $(BIN)/python -m medeval score --task $$task --out exports/$${task}_results.json || exit; \
	done

test: setup lint
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --processes 2 models

docs: setup
	$(BIN)/dbt docs generate --static

bench: setup
	$(BIN)/python -m benchmarks.mimic3
	$(BIN)/python -m benchmarks.bench_cdm
	$(BIN)/python -m benchmarks.bench_scoring
	$(BIN)/python -m benchmarks.bench_runner
