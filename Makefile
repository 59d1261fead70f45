# Every target makes .venv first; that costs nothing when nothing changed.
.PHONY: setup demo check test

PYTHON := .venv/bin/python

setup:
	@tools/bootstrap

# One whole session with real programs: saved, compacted, killed, resumed and recalled, every step proven.
demo: setup
	@$(PYTHON) -m tools.demo

# Format, lint, sizes, directions, types.
check: setup
	@$(PYTHON) -m tools.check

# All tests: the fast and pure ones first, those that drive the real Tau and Basic Memory last.
test: setup
	@$(PYTHON) -m pytest --cov
