# The two commands: `make demo` and `make test`. Both install what they need.
.PHONY: demo test setup setup-dev check test-fast soak bench bench-scale lock format reference clean
.DEFAULT_GOAL := help

PY := .venv/bin/python
PYTEST := env -u TMUX -u TMUX_PANE $(PY) -m pytest

help: ## what the targets do
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 20

setup: ## install what windlass needs; leaves .venv/bin/wl
	@scripts/setup runtime
	@$(if $(filter setup,$(MAKECMDGOALS)),scripts/setup next)

setup-dev: setup ## ... and the tools that check it
	@scripts/setup dev

demo: setup ## a board is worked off on a scratch repository: no account needed
	@.venv/bin/wl demo

check: setup-dev ## lint, types, import contracts
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@.venv/bin/lint-imports --no-cache

test: check ## everything
	@$(PYTEST) -n 3 --dist worksteal -m "not soak"

test-fast: setup-dev ## the pure part, in seconds
	@$(PYTEST) -q -m "not slow and not soak"

soak: setup-dev ## long chaos runs, boxed too
	@$(PYTEST) -n 3 --dist worksteal -m soak

bench: setup-dev ## the budgets, measured side by side
	@$(PY) bench/run.py

bench-scale: setup-dev ## big repositories, 200 agents and a year of history beside plain git
	@$(PY) bench/scale/run.py

format: setup-dev ## let the formatter have its way
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

lock: setup ## pin the requirement files anew
	@scripts/lock

reference: setup-dev ## write docs/commands.md and docs/events.md from the code
	@$(PY) scripts/reference

clean: ## remove what the targets built
	@rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache
