# What there is to do. The logic lives in the commands, not here.
PYTHON ?= python3
BIN := .venv/bin
# The demo and the set-up read demo/, whatever MIMIC the user's shell names.
DEMO := env -u MEDEVAL_MIMIC3_DIR -u MEDEVAL_MIMIC3_DB -u MEDEVAL_MIMIC4_DIR -u MEDEVAL_MIMIC4_DB \
	-u MEDEVAL_MIMIC4_NOTE_DIR -u MEDEVAL_CDM_EXTRACT_DIR -u MEDEVAL_YIER -u MEDEVAL_MTSAMPLES \
	-u MTSAMPLES_PROCEDURES_CACHE_DIR MEDEVAL_TARGET=duckdb

# Nothing is installed whose hash is not in a lock, the tools that build packages included.
INSTALL := python -m pip install --quiet --no-build-isolation

# Compiled once, not again by each process of the tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup spark demo check test test-all test-extras docs parity bench lock

# A warehouse that is there is the user's.
setup: .venv/ready $(if $(wildcard medeval.duckdb),,medeval.duckdb)

.venv/ready: pyproject.toml constraints-build.txt constraints.txt
	$(PYTHON) -m venv --clear .venv
	$(BIN)/$(INSTALL) --require-hashes -r constraints-build.txt
	if command -v uv >/dev/null; \
	then uv pip install --quiet --python $(BIN)/python --no-build-isolation --require-hashes -r constraints.txt; \
	else $(BIN)/$(INSTALL) --require-hashes -r constraints.txt; fi
	$(BIN)/$(INSTALL) --no-deps -e .
	$(BIN)/python -m pip check
	touch $@

# Spark is half a GB, so a set-up does without it.
spark: .venv/spark

.venv/spark: .venv/ready constraints-spark.txt
	$(BIN)/$(INSTALL) --require-hashes -r constraints-spark.txt
	$(BIN)/python -m pip check
	touch $@

# The demo's warehouse as the tests read it: apart from the user's, and built again when its sources change.
TEST_WAREHOUSE := target/demo/medeval.duckdb
MADE_OF := models macros seeds demo dbt_project.yml profiles.yml python/dbt_medeval.py python/medeval/duckdb_files.py
$(TEST_WAREHOUSE): $(shell find $(MADE_OF) -type f | sed 's/ /\\ /g') | .venv/ready
	rm -rf $(@D) $(@D).new
	mkdir -p $(@D).new
	$(DEMO) MEDEVAL_DUCKDB=$(@D).new/$(@F) $(BIN)/dbt --quiet build \
	--select cdm mimic3 mimic3_features mtsamples yier --resource-type seed --resource-type model
	mv $(@D).new $(@D)

medeval.duckdb: | $(TEST_WAREHOUSE)
	cp $(TEST_WAREHOUSE) $@

demo: .venv/ready
	$(DEMO) $(BIN)/dbt build --select cdm mimic3 mimic3_features mtsamples yier
	$(DEMO) $(BIN)/python -m medeval export --timeseries
	for task in in_hospital_mortality decompensation length_of_stay phenotyping; do \
	$(DEMO) $(BIN)/python -m medeval predict --task $$task --model logistic || exit; \
	$(DEMO) $(BIN)/python -m medeval score --task $$task --out exports/$${task}_results.json || exit; \
	done
	for task in cdm yier clinical_summarization_basic mtsamples; do \
	judge=$$(test $$task = mtsamples && echo --judge-model local); \
	$(DEMO) $(BIN)/python -m medeval run --task $$task --model demo $$judge || exit; \
	$(DEMO) $(BIN)/python -m medeval score --task $$task || exit; \
	done
	$(DEMO) $(BIN)/python -m medeval doctor --task all
	$(DEMO) $(BIN)/python -m medeval report "$$(ls -d runs/*-cdm-demo | tail -1)" --out exports/cdm_report.html
	$(DEMO) $(BIN)/python -m medeval report "$$(ls -d runs/*-phenotyping-logistic | tail -1)" --out exports/phenotyping_report.html
	$(DEMO) $(BIN)/python -m medeval leaderboard runs --out exports/leaderboard.html
	$(DEMO) $(BIN)/python -m medeval publish runs
	$(DEMO) $(BIN)/dbt --quiet build --select results

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --processes 2 models
	$(BIN)/sqlfluff lint --templater jinja --exclude-rules LT02,AM04,ST06 macros

# What stays together and what comes first, conftest.py says; what is slow, the tests.
PYTEST := MEDEVAL_TEST_WAREHOUSE=$(CURDIR)/$(TEST_WAREHOUSE) $(BIN)/python -m pytest \
	-n logical --dist loadgroup --no-loadscope-reorder --durations 25

test: setup $(TEST_WAREHOUSE)
	$(PYTEST) -m "not slow"

test-all: setup $(TEST_WAREHOUSE)
	$(PYTEST)

# Models on this machine, which need some GB: apart from all else.
test-extras: .venv-extras/ready
	.venv-extras/bin/python -m pytest python/tests_extras

# torch by its version alone: whether it is the build for CPU or for CUDA is the machine's affair.
.venv-extras/ready: pyproject.toml constraints-build.txt constraints.txt constraints-extras.txt
	$(PYTHON) -m venv --clear .venv-extras
	.venv-extras/bin/$(INSTALL) --require-hashes -r constraints-build.txt
	.venv-extras/bin/$(INSTALL) --require-hashes -r constraints.txt -r constraints-extras.txt
	.venv-extras/bin/$(INSTALL) torch==2.13.0
	.venv-extras/bin/$(INSTALL) --no-deps -e .
	touch $@

# Makes the locks anew from what pyproject.toml asks for; needs uv. LOCK_FLAGS=--upgrade takes newer versions.
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate $(LOCK_FLAGS)
lock:
	printf 'pip\nsetuptools\n' | $(LOCK) - -o constraints-build.txt
	$(LOCK) pyproject.toml --extra dev -o constraints.txt
	printf 'transformers>=5.0\nsympy\n' | $(LOCK) - --constraint constraints.txt -o constraints-extras.txt
	printf 'dbt-spark[PyHive]~=1.11.0\npyspark>=4.0,<5\n' | $(LOCK) - --constraint constraints.txt -o constraints-spark.txt
	printf 'mkdocs-material>=9.6\n' | $(LOCK) - --constraint constraints.txt -o constraints-docs.txt

# One site in site/, which needs no network; dbt's page of every table and column is a file of it.
docs: setup .venv-docs/ready
	$(BIN)/dbt docs generate --static
	mkdir -p docs/dbt
	cp target/static_index.html docs/dbt/index.html
	chmod 644 docs/dbt/index.html
	.venv-docs/bin/mkdocs build --quiet --clean

# Pages need nothing of what builds and scores: apart from it.
.venv-docs/ready: pyproject.toml constraints-build.txt constraints-docs.txt
	$(PYTHON) -m venv --clear .venv-docs
	.venv-docs/bin/$(INSTALL) --require-hashes -r constraints-build.txt
	.venv-docs/bin/$(INSTALL) --require-hashes -r constraints-docs.txt
	touch $@

# How far scores are from those of the reference programs, in docs/parity.md.
parity: setup
	$(BIN)/python tools/parity.py

bench: setup
	$(BIN)/python -m benchmarks
