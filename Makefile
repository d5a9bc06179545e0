# Every target sets up what it needs: a virtual environment with the pinned versions of constraints.txt.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXPERIMENT ?= uci_pruning
# Without a word from the user: the paper's sizes where CUDA is there, else minutes on a laptop.
BUDGET ?= $(shell $(BIN)/python -c "import torch; print('paper' if torch.cuda.is_available() else 'laptop')" 2>/dev/null || echo laptop)
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup extra test test-extras fuzz chaos lint reproduce reproduce-all verify report readme benchmark benchmark-peers uci-settings pbp group-rivals inclusion remarks gradients selection-rates deployment clean

help:  ## what can be typed
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17
	@echo; echo "For those who work on it:"
	@grep -hE '^[a-z-]+:.*#- ' $(MAKEFILE_LIST) | sed -E 's/:.*#- /\t/' | expand -t 17

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

setup: $(STAMP)  ## make the virtual environment and install the pinned versions

reproduce: setup  ## run one experiment: make reproduce EXPERIMENT=uci_pruning [BUDGET=smoke|laptop|overnight|paper]
	$(BIN)/sbnn-run experiment=$(EXPERIMENT) budget=$(BUDGET) $(ARGS)

reproduce-all: setup  ## run every experiment that is not done yet, and write the page of them all [BUDGET=...] [FORCE=1]
	$(BIN)/sbnn-reproduce budget=$(BUDGET) $(if $(filter-out 0,$(FORCE)),force=true) $(ARGS)

report: setup  ## draw all tables, figures and the page again from results/, no training
	$(BIN)/sbnn-report

test: setup lint  ## lint, then run the tests, in two processes of one thread each
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

extra: setup  #- add a launcher, a sweeper or TensorBoard: make extra EXTRA=joblib|submitit|ray|optuna|tensorboard
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(EXTRA)]'

test-extras: setup  #- install every launcher and sweeper, and run the tests of sweeps with them
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,joblib,submitit,ray,optuna]'
	$(BIN)/python -m pytest tests/commands/test_sweep.py

fuzz: setup  #- a thousand random configurations: each is refused in one sentence, or runs
	SBNN_FUZZ=1000 $(BIN)/python -m pytest tests/runs/test_fuzz.py

chaos: setup  #- kill a hundred runs at random moments, resume them, and compare byte for byte
	$(BIN)/python scripts/chaos.py $(ARGS)

lint: setup  #- check style, formatting, and the types of the library
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

verify: setup  #- run one cheap cell of every experiment again, and compare it with the committed numbers
	OMP_NUM_THREADS=1 $(BIN)/python scripts/verify.py $(ARGS)

readme: setup  #- write README's tables again from results/
	$(BIN)/python scripts/update_readme.py

benchmark: setup  #- what a step costs, in time and memory, against a plain network's: into results/benchmark
	OMP_NUM_THREADS=1 $(BIN)/python scripts/benchmark.py $(ARGS)

benchmark-peers: setup  #- the same with torchbnn, bayesian-torch, blitz and torch_blue among the contenders
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	OMP_NUM_THREADS=1 $(BIN)/python scripts/benchmark.py $(ARGS)

uci-settings: setup  #- what steps, start, spike and width decide on the UCI data: into results/uci_settings
	OMP_NUM_THREADS=1 $(BIN)/python scripts/uci_settings.py $(ARGS)

pbp: setup  #- probabilistic backpropagation on the UCI data, the benchmark's own method: into results/pbp
	OMP_NUM_THREADS=1 $(BIN)/python scripts/pbp.py $(ARGS)

group-rivals: setup  #- BC-GNJ, BC-GHS and HS-BNN, whose groups of weights share a scale: into results/group_rivals
	OMP_NUM_THREADS=1 $(BIN)/python scripts/group_rivals.py $(ARGS)

inclusion: setup  #- how inclusion and snr rank while a network trains: into results/inclusion
	OMP_NUM_THREADS=1 $(BIN)/python scripts/inclusion.py $(ARGS)

remarks: setup  #- the paper's remarks on the inclusion probability, as curves: into results/remarks
	OMP_NUM_THREADS=1 $(BIN)/python scripts/remarks.py $(ARGS)

gradients: setup  #- the closed-form gradient of the penalty against the sampled one: into results/gradients
	OMP_NUM_THREADS=1 $(BIN)/python scripts/gradients.py $(ARGS)

selection-rates: setup  #- how many of the features that SpikeSlabSelector selects are false: into results/selection_rates
	OMP_NUM_THREADS=1 $(BIN)/python scripts/fdr_check.py $(ARGS)

deployment: setup  #- how small and fast pruned networks are, as files and on one thread: into results/deployment
	OMP_NUM_THREADS=1 $(BIN)/python scripts/deployment.py $(ARGS)

clean:  #- remove the virtual environment and caches
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .mypy_cache
