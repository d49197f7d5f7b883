# Every target sets up what it needs, from Python and the package registry alone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SPARK_VENV := .venv-spark
SPARK_READY := $(SPARK_VENV)/.ready
SPARK_TESTS = PYTHONPATH=tests:tests/support $(SPARK_VENV)/bin/python -m pytest --confcutdir=tests/spark tests/spark

# Where the benchmarks keep their tables and the peers their environments, and the largest table.
BENCH := .bench
LARGEST ?= 10000000
# Tables made by others, where they are at hand.
DATA ?= ../shared/data
SIZES = $(foreach n,1000 5000 10000 100000 1000000 10000000,$(shell [ $(n) -le $(LARGEST) ] && echo $(n)))
# One process a core; the tests of a file stay together, since they share what is slow to make.
TESTS := -n auto --dist loadfile --no-loadscope-reorder
# What `make test-fast` runs of every layer: parts and figures worked by hand, without whole audits.
FAST := $(addprefix tests/,house/test_house.py house/test_docs.py house/test_dependencies.py \
  tables/test_column_kinds.py tables/test_groups.py tables/test_hierarchy.py tables/test_identity.py \
  tables/test_protected_values.py tables/test_row_hash.py \
  operators/test_operators.py operators/test_operator_edges.py \
  search/test_engines.py search/test_machine.py search/test_search_parts.py attack/test_draw_by_cluster.py \
  evaluation/test_arx_figures.py evaluation/test_attack_rates.py evaluation/test_calibration.py \
  evaluation/test_evaluation_parts.py evaluation/test_figure_edges.py evaluation/test_figures_by_hand.py \
  evaluation/test_group_parts.py evaluation/test_inference_parts.py evaluation/test_interval_parts.py \
  evaluation/test_person_ranking.py evaluation/test_rounded_rates.py evaluation/test_singling_out_parts.py \
  assessment/test_gate_rules.py assessment/test_verdict_rules.py assessment/test_warning_rules.py \
  config/test_config.py config/test_misspelt_settings.py config/test_odd_yaml.py files datasets \
  laboratory/test_frame.py laboratory/test_k_anonymity.py reports/test_people.py reports/test_wording.py \
  against_oracle/test_oracle_by_hand.py against_oracle/test_oracle_verdict_by_hand.py without_spark/test_cluster_parts.py)

.PHONY: demo test test-fast test-full test-spark test-spark-sample oracle lint compiled bench peers docs reproduction real-data suite lock lowest audit-dependencies clean

demo: $(READY)
	$(BIN)/cvpl demo

test: $(READY)
	$(MAKE) --jobs 2 lint compiled
	$(BIN)/python -m pytest $(TESTS)

# Ruff and some tests of every layer, in less than a minute; the first time its loops are compiled, for some minutes.
test-fast: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest $(TESTS) $(FAST)

# The same tests with twenty times as many random examples; it takes about an hour.
test-full: $(READY)
	$(MAKE) --jobs 2 lint compiled
	CVPL_EXAMPLES=20 $(BIN)/python -m pytest $(TESTS)

# Tables in a Spark cluster on this machine, in an environment of its own; it needs Java 17, and takes hours.
test-spark: $(SPARK_READY)
	CVPL_EXAMPLES=20 $(SPARK_TESTS)

# A sample of these tests, in minutes.
test-spark-sample: $(SPARK_READY)
	$(SPARK_TESTS)

# Whole audits of 2,000 random worlds against the second implementation; it takes an hour or so. Stopped, it goes on
# where it was; changed code begins anew.
oracle: $(READY)
	$(MAKE) compiled
	PYTHONPATH=tests $(BIN)/python tests/support/oracle_worlds.py --worlds 2000 --seed 1 --out $(BENCH)/oracle_worlds.jsonl --processes 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Compiled once, before several test processes need it at the same time.
compiled: $(READY)
	$(BIN)/python tests/support/compile_first.py

bench: $(READY)
	$(BIN)/python benchmarks/times.py start $(BENCH)
	$(BIN)/python benchmarks/times.py growth $(BENCH) $(SIZES)
	$(BIN)/python benchmarks/times.py family $(BENCH) $(or $(filter 10000 100000 1000000,$(SIZES)),$(SIZES))
	$(BIN)/python benchmarks/plan.py $(BENCH)/plan $(if $(wildcard $(DATA)/stroke),--data $(DATA))
	$(BIN)/python benchmarks/times.py search $(BENCH) $(or $(filter-out 1000 5000,$(SIZES)),$(SIZES))
	$(BIN)/python benchmarks/times.py reproduction $(BENCH)
	$(BIN)/python benchmarks/times.py rare_values $(BENCH) $(or $(filter 10000 100000 1000000,$(SIZES)),$(SIZES))
	$(BIN)/python benchmarks/times.py compatible $(BENCH) $(or $(filter 100000 1000000,$(SIZES)),$(SIZES))
	$(BIN)/python benchmarks/verdict_bench.py $(BENCH)/verdict.jsonl --processes 2
	$(BIN)/python benchmarks/households.py $(BENCH)/households.jsonl --processes 2
	$(BIN)/python benchmarks/blinder_bench.py $(BENCH)/blinders.jsonl --processes 2
	if [ -d $(DATA)/adult_study_2021 ]; then $(BIN)/python benchmarks/adult_study.py $(DATA)/adult_study_2021 $(BENCH)/adult_study; fi

# Other tools, each in an environment of its own, on the same tables.
peers: $(READY)
	$(BIN)/python benchmarks/against_peers.py $(BENCH) $(BENCH)/peers
	$(BIN)/python benchmarks/against_pycanon.py $(BENCH)/k_anonymity $(BENCH)/peers
	if [ -d $(DATA)/adult_study_2021 ]; then $(BIN)/python benchmarks/membership_peers.py $(DATA)/adult_study_2021 $(BENCH)/membership $(BENCH)/peers; fi
	if [ -d $(DATA)/adult_study_2021 ]; then $(BIN)/python benchmarks/real_synthesizer.py $(DATA)/adult_study_2021 $(BENCH)/real_synthesizer $(BENCH)/peers; fi

docs: $(READY)
	$(BIN)/python docs/make.py $(wildcard $(DATA))

# The paper's experiments, whole: minutes on two cores. Stopped, it goes on where it was.
reproduction: $(READY)
	$(BIN)/cvpl reproduce --out $(BENCH)/reproduction --overwrite
	mkdir -p docs/reproduction
	cp $(BENCH)/reproduction/*.md $(BENCH)/reproduction/*.csv $(BENCH)/reproduction/*.svg docs/reproduction

# Every release of the public tables on one leaderboard; it takes long. Stopped, it goes on where it was. A release that
# could not be audited is a row that says so, and exit code 3.
suite: $(READY)
	rm -f $(BENCH)/suite/leaderboard.md
	$(BIN)/cvpl benchmark benchmarks/manifests/*.yaml --data $(DATA) --out $(BENCH)/suite --overwrite || [ $$? -eq 3 ]
	mkdir -p docs/benchmark
	cp $(BENCH)/suite/leaderboard.md docs/benchmark/leaderboard.md

# The paper's protocol on real tables, where they are at hand.
real-data: $(READY)
	$(BIN)/cvpl reproduce --data $(DATA) --out $(BENCH)/real_data --overwrite
	mkdir -p docs/reproduction
	cp $(BENCH)/real_data/real-data.md docs/reproduction

# The environment: the locked versions first, then the package itself, editable.
$(READY): pyproject.toml requirements/dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(READY)

$(SPARK_READY): pyproject.toml requirements/spark.txt
	$(PYTHON) -m venv $(SPARK_VENV)
	$(SPARK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/spark.txt
	$(SPARK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(SPARK_READY)

# Resolve the lock anew, for every platform, without naming where packages come from.
lock: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --group dev pyproject.toml -o requirements/dev.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --group spark pyproject.toml -o requirements/spark.txt
	$(BIN)/python requirements/sbom.py

# The package with the lowest versions that it declares, in an environment of its own.
lowest:
	.ci/lowest $(BENCH)/lowest $(PYTHON)

# Known vulnerabilities of the locked versions; it asks an advisory database, so it needs the network.
audit-dependencies: $(READY)
	$(PYTHON) -m venv $(BENCH)/audit
	$(BENCH)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BENCH)/audit/bin/pip-audit --strict --require-hashes --disable-pip -r requirements/dev.txt

clean:
	rm -rf $(VENV) $(SPARK_VENV) $(BENCH) demo dist build
