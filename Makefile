# make run        everything, on the bundled corpora: the environment from the lock, then the DAG
# make test       the tests of minutes; make test-slow: the long ones, and properties on new examples
# make lint       format, lint, and that what is generated is current
# make bench      the measured claims
# make lock       resolve envs/*.in anew into envs/*.txt
# make clean      remove the environment and what can be built again; runs/ and data/ stay

# Eight Ascend NPUs where the driver shows them, else the CPU; `make run PROFILE=...` says otherwise.
PROFILE ?= $(if $(wildcard /dev/davinci0),ascend8,profiles/cpu)
LOCK    ?= $(if $(wildcard /dev/davinci0),envs/ascend.txt,envs/cpu.txt)
# On some machines Python 3.11 is only called python3.
PYTHON  ?= $(firstword $(shell command -v python3.11) python3)
BIN     := .venv/bin
# Where Python may not keep its bytecode, each process of a run compiles MindSpore anew: 5 s each.
export PYTHONDONTWRITEBYTECODE =

.PHONY: run environment test test-slow lint bench lock clean

run: environment
	$(BIN)/snakemake --profile $(PROFILE)

# uv, fetched by hash, installs the lock in a seventh of pip's time. The stamp holds what was
# installed, so that nothing is done again while it is what the lock says.
environment:
	@cat envs/uv.txt $(LOCK) pyproject.toml | cmp -s - .venv/installed || $(MAKE) --no-print-directory .venv

.PHONY: .venv
.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
	  || { echo "Python 3.11 is needed, found: $$($(PYTHON) --version 2>&1); name it: make run PYTHON=/path/to/python3.11" >&2; exit 1; }
	rm -f .venv/installed
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r envs/uv.txt
	$(BIN)/uv pip sync --python $(BIN)/python --require-hashes envs/uv.txt $(LOCK)
	$(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m danlu.corpus.kernels
	$(BIN)/python -c 'import danlu.records.han_kernels, danlu.records.packing_kernels'
	@cat envs/uv.txt $(LOCK) pyproject.toml > .venv/installed

# Two at a time, a file to one of them: what a file's tests share is made once.
test: environment
	$(BIN)/python -m pytest -m "not slow" --numprocesses 2 --dist loadfile

test-slow: environment
	$(BIN)/python -m pytest -m slow
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile search --numprocesses 2 --dist loadfile

lint: environment
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/snakemake --lint

bench: environment
	@for script in $(sort $(wildcard bench/*.py)); do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

# The address of the registry stays out of the locks: it is the machine's business.
COMPILE = uv pip compile --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-emit-find-links
lock: environment
	$(BIN)/$(COMPILE) --quiet envs/uv.in -o envs/uv.txt
	$(BIN)/$(COMPILE) --quiet envs/cpu.in -o envs/cpu.txt
	$(BIN)/$(COMPILE) --quiet --python-platform aarch64-manylinux_2_28 envs/ascend.in -o envs/ascend.txt

clean:
	rm -rf .venv build latest .snakemake .pytest_cache .ruff_cache .hypothesis
