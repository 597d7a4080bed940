PYTHON ?= python3
BIN := .venv/bin
# Waiting threads soon sleep: on a busy machine, spinning can cost a hundredfold.
export GOMP_SPINCOUNT ?= 1000

# A folder of its own for each demo, so that none writes over another.
DEMO := runs/demo-$(shell date +%Y%m%d-%H%M%S)

.PHONY: demo test test-all lint bench fuzz soak clean

demo: .venv/installed
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

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .pytest_cache .ruff_cache .import_linter_cache
