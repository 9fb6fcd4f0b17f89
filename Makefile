# Everything needs Python 3.11 or later and make; the rest is installed here, in .venv.
.SHELLFLAGS := -euc
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BENCH := .venv-bench
# Activated as a shell would, so that the programs run here find `aacl` and `atc` on PATH.
activate = unset PYTHONHOME; VIRTUAL_ENV="$(CURDIR)/$(1)"; PATH="$$VIRTUAL_ENV/bin:$$PATH"; export VIRTUAL_ENV PATH
# pip takes its indexes and options from its own configuration and PIP_* variables; the versions are ours.
PIP_INSTALL := python -m pip install -qq --disable-pip-version-check --constraint constraints.txt
# A stamp newer than these makes the second time quick. An environment holds absolute paths, so a stamp
# names the folder that it was made in: one that was copied or moved here is made anew.
INPUTS := pyproject.toml constraints.txt Makefile
# So is one that another version of Python made.
STAMP := $(subst $() ,:,$(CURDIR) $(shell $(PYTHON) -c 'import platform; print(platform.python_version())'))
moved = $(if $(filter-out $(STAMP),$(file <$(1)/.installed)),$(1)/.moved)

.PHONY: help install demo test check format docs fuzz bench clean

help:  ## Say what there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/' | expand -t 12

install: $(VENV)/.installed  ## Make .venv, with the package and what its tests and demo need

demo: install  ## Run the demo
	@$(call activate,$(VENV)); python examples/magika_demo.py $(ARGS)

test: install  ## Run the tests, on asyncio and on uvloop
	@$(call activate,$(VENV)); python -m pytest $(ARGS)

check: install  ## Lint, check formats, types and layers
	@$(call activate,$(VENV)); ruff check .
	@$(call activate,$(VENV)); ruff format --check .
	@$(call activate,$(VENV)); mypy
	@$(call activate,$(VENV)); lint-imports

format: install  ## Put the sources in format
	@$(call activate,$(VENV)); ruff check --fix .
	@$(call activate,$(VENV)); ruff format .

docs: install  ## Make the pages of docs that are made from tests and programs
	@$(call activate,$(VENV)); python -m tools.acl_page
	@$(call activate,$(VENV)); python -m tools.operators_page
	@$(call activate,$(VENV)); python -m tools.onnx_nodes
	@$(call activate,$(VENV)); python -m tools.models_page
	@$(call activate,$(VENV)); python -m tools.onnx_models

fuzz: install  ## Give damaged files to all that reads files, and any arguments to all calls of acl
	@$(call activate,$(VENV)); python -m tools.fuzz $(ARGS)

bench: $(BENCH)/.installed  ## Measure, beside the peers that can be installed
	@$(call activate,$(BENCH)); python -m benchmarks $(ARGS)

clean:  ## Remove what was made here
	rm -rf $(VENV) $(BENCH) out build dist .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The build tools come first, pinned like the rest, so that the build needs no environment of its own.
$(VENV)/.installed: $(INPUTS) $(call moved,$(VENV))
	$(call environment,$(VENV))
	@$(call activate,$(VENV)); $(PIP_INSTALL) --no-build-isolation --editable '.[demo,dev]'
	@echo "$(STAMP)" > $@

$(BENCH)/.installed: $(INPUTS) $(call moved,$(BENCH))
	$(call environment,$(BENCH))
	@$(call activate,$(BENCH)); $(PIP_INSTALL) --no-build-isolation --editable .
	@$(call activate,$(BENCH)); python -c "$$LIST_PEERS" | while read -r peer; do \
	    $(PIP_INSTALL) "$$peer" || echo "bench: $$peer cannot be installed here; it is left out of the comparison"; done
	@echo "$(STAMP)" > $@

define LIST_PEERS
import tomllib
with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["project"]["optional-dependencies"]["bench"], sep="\n")
endef
export LIST_PEERS

define environment
@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else f"aacl needs Python 3.11 or later; \
$(PYTHON) is {sys.version.split()[0]}: name another one with make PYTHON=python3.11")'
@rm -f $(1)/.installed
@echo "Setting up $(1)"
@$(PYTHON) -m venv $(if $(call moved,$(1)),--clear) $(1)
@$(call activate,$(1)); $(PIP_INSTALL) hatchling editables
endef

%/.moved: ;
.PHONY: $(VENV)/.moved $(BENCH)/.moved
