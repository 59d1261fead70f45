# Every target makes .venv first; that costs nothing when nothing changed.
.PHONY: setup demo killcourt simulate mutants bench-privacy bench-load bench-turn check test

PYTHON := .venv/bin/python

setup:
	@tools/bootstrap

# One whole session with real programs: saved, compacted, killed, resumed and recalled, every step proven.
demo: setup
	@$(PYTHON) -m tools.demo

# SIGKILLs around real writes, and whether the journal was right each time; the same command goes on where it stopped.
KILLS ?= 10
SEED ?= 1
killcourt: setup
	@$(PYTHON) -m tools.killcourt --kills $(KILLS) --seed $(SEED) $(COURT)

# Made-up lives of the machine, each named by its seed, and whether it was ever wrong about what is known. DEPTH searches
# every order of events of the intent protocol to so many moves; BUGS=1 plants known bugs and sees them noticed.
SEEDS ?= 0:+200
DEPTH ?= 0
simulate: setup
	@$(PYTHON) -m tests.simulation $(SEEDS) --depth $(DEPTH) $(if $(STEPS),--steps $(STEPS)) $(if $(BUGS),--bugs)

# Changes of the pure core that no test notices; ONLY='continuity.due.*' tries some of them.
ONLY ?=
mutants: setup
	@$(PYTHON) -m tools.mutants $(if $(ONLY),'$(ONLY)')

# Samples with and without credentials, made from SEED: what is masked whole, what is taken for one by mistake, how fast.
bench-privacy: setup
	@$(PYTHON) -m tools.bench.privacy --seed $(SEED)

# How long Tau takes to its first accepted key with us and without, in PAIRS rounds; a quiet machine says more.
PAIRS ?= 31
bench-load: setup
	@$(PYTHON) -m tools.bench.load --pairs $(PAIRS)

# What our handlers add to a turn, whatever memory does, in sessions of three sizes.
TURNS ?= 20
bench-turn: setup
	@$(PYTHON) -m tools.bench.turn --turns $(TURNS)

# Format, lint, sizes, directions, types.
check: setup
	@$(PYTHON) -m tools.check

# The tests: the fast and pure ones first, those that drive the real Tau and Basic Memory last; a file stays in one process.
# LONG=1 adds the longest walks.
WORKERS ?= 3
LONG ?=
test: setup
	@$(PYTHON) -m pytest --cov -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(if $(LONG),,-m "not long")
