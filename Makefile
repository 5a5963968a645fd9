# What there is to do. The logic lives in the commands, not here.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test lint docs bench clean

setup: .venv/ready medeval.duckdb

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv
	if command -v uv >/dev/null; then uv pip install --python $(BIN)/python -q -c constraints.txt -e '.[dev]'; \
	else $(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'; fi
	touch $@

# Unit tests and the SQL lint need every table once.
medeval.duckdb: | .venv/ready
	$(BIN)/dbt build --quiet --select mimic3 --resource-type seed --resource-type model

demo: .venv/ready
	$(BIN)/dbt build --select mimic3
	$(BIN)/python -m medeval export --timeseries

test: setup
	$(BIN)/dbt test --quiet
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sqlfluff lint models tests

docs: setup
	$(BIN)/dbt docs generate --static

bench: setup
	$(BIN)/python -m benchmarks.mimic3

clean:
	rm -rf .venv target logs exports medeval.duckdb .medeval-tmp
