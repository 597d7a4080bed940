PYTHON ?= python3
BIN := .venv/bin
# Waiting threads soon sleep: on a busy machine, spinning can cost a hundredfold.
export GOMP_SPINCOUNT ?= 1000

# A folder of its own for each demo, so that none writes over another.
DEMO := runs/demo-$(shell date +%Y%m%d-%H%M%S)

.PHONY: demo test test-all test-newest test-others check-package lint docs bench fuzz soak clean

# The demo needs a part of what the tests do; whoever has installed for these has it.
demo: .venv/demo
	@echo "trains 10 members for 240,000 frames each and writes a page: one to two minutes on two cores"
	$(BIN)/dico train navigation --snd 0 0.3 1 2 free --seeds 2 --run $(DEMO)
	$(BIN)/dico report $(DEMO)

# Two processes of one thread each: the tests are too small for more threads.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist worksteal

test: .venv/installed
	$(PYTEST)
	$(PYTEST) tests -m "unchecked and not slow" --unchecked

test-all: .venv/installed
	$(PYTEST) -m "not unchecked"
	$(PYTEST) tests -m unchecked --unchecked

lint: .venv/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports

# Kills, spoilt folders, hostile words and calls, for so many minutes; docs/reliability.md has what came out.
MINUTES ?= 5
fuzz: .venv/installed
	cd tests && OMP_NUM_THREADS=1 ../$(BIN)/python -m fuzzing $(MINUTES)

# An hour and more of training, a checkpoint after every iteration: does anything grow?
soak: .venv/installed
	cd tests && OMP_NUM_THREADS=1 ../$(BIN)/python -m fuzzing.soak $(MINUTES)

bench: .venv/installed
	$(BIN)/python benchmarks/snd.py
	$(BIN)/python benchmarks/tasks.py
	$(BIN)/python benchmarks/train.py

# Wheel and source distribution as strangers get them: checked, and installed into empty environments, an extra in each.
check-package: .venv/installed
	$(BIN)/python tests/empty_environments.py

# The newest released torch, TorchRL, BenchMARL and VMAS, and whose it is if something breaks; no part of .ci/run.
TORCH ?= torch
test-newest:
	$(PYTHON) tests/newest.py --torch "$(TORCH)"

# Packages that read what we write, some of which need an older pandas than ours: in an environment of their own.
OTHERS := build/others
test-others:
	$(PYTHON) -m venv $(OTHERS)
	$(OTHERS)/bin/pip install --disable-pip-version-check --quiet torch==2.13.0 '.[tensorboard]' 'pandas<3' rliable wandb mlflow pytest hypothesis beartype colorama
	$(OTHERS)/bin/pip install --disable-pip-version-check --quiet --no-deps id-marl-eval
	$(OTHERS)/bin/pytest -W default -rs --unchecked -m "slow or not slow" tests/analysis/test_exchange.py tests/training/test_training_loggers.py

# The site, into build/site: its notebooks are run, and a warning is an error.
docs: .venv/docs
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/site
	@echo "wrote build/site/index.html"

INSTALL = $(PYTHON) -m venv .venv && $(BIN)/pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable

.venv/demo: pyproject.toml constraints.txt
	@echo "installs PyTorch, Matplotlib and a few more into .venv: 1.2 GB with PyTorch for CPUs, several more with CUDA; a minute or two, and the download"
	$(INSTALL) '.[viz]'
	touch $@

.venv/docs: pyproject.toml constraints.txt
	$(INSTALL) '.[docs]'
	touch $@

.venv/installed: pyproject.toml constraints.txt
	$(INSTALL) '.[dev]'
	touch $@ .venv/demo

clean:
	rm -rf .venv .pytest_cache .ruff_cache .import_linter_cache
