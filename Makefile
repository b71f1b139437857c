# Every command of the project. `make demo` and `make test` each start from nothing: they make their own
# virtual environment in .venv and build the package into it. `make demo` installs what the package needs,
# `make test` adds what the tests need and builds nothing again.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find native tests/native/lab -name '*.[ch]pp') optctx/include/optctx/interface.h CMakeLists.txt pyproject.toml

.PHONY: demo test test-long lint docs docs-test wheels images registries numba bench conformance fuzz probe soak mutants sanitize upstream clean

demo: $(VENV)/.built
	$(BIN)/optctx sweep examples/kernel.ll --passes 'default<O3>' \
	  --try unroll-count=1,2,4,8 --try force-vector-width=1,4,8 --verify

# One process more than there are processors, since many a test waits for a child; JOBS=0 for none but pytest's own.
# A file is one process's, so that its fixtures are made once.
# Where PYTHONDONTWRITEBYTECODE is set, each of pytest's processes would rewrite the assertions of all tests (4 s), and
# each of a thousand others compile the package for itself (0.4 s).
JOBS ?= $(shell expr $$(nproc) + 1)
test: $(VENV)/.tests
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(JOBS) --dist loadfile

# Before a release, hours: what `make test` shows, more often and on more ways, and the tools beside the tests.
# STAGES='soak fuzz' runs some of it, STAGES=/path/to/python3.15 `make test` with that interpreter; one that is missing
# is named and is exit status 3 (tests/long/__main__.py).
test-long: $(VENV)/.tests
	$(BIN)/python -m tests.long $(STAGES)

lint: $(VENV)/.lint optctx/_native.pyi
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	$(BIN)/codespell *.md docs design examples packaging optctx evidence
	$(BIN)/clang-format --dry-run --Werror $$(find native optctx/include examples tests evidence -name '*.[ch]pp' -o -name interface.h)

bench: $(VENV)/.tests
	$(BIN)/python -m evidence.benchmarks

# LLVM's own regression tests as the judge, the second time with process-wide values spoilt and every page of them
# watched. Takes their sources from Debian's source package (apt-get source).
conformance: $(VENV)/.tests
	$(BIN)/python -m evidence.conformance Transforms Analysis CodeGen
	$(BIN)/python -m evidence.conformance Transforms Analysis --spoil --audit

# Modules with hostile attributes and stamps, and sets of tuning options, against exits, crashes, hangs, prints and
# changes; the kernel ends what opens, starts or loads anything:
# make fuzz MINUTES=60 SEED=1000
# FUZZ='--target modules' fuzzes one of them, SANITIZER=address (or undefined, thread) the code built under a sanitizer.
MINUTES ?= 10
SEED ?= 1
fuzz: $(if $(SANITIZER),build/$(SANITIZER)/.made,$(VENV)/.tests)
	$(if $(SANITIZER),$(SANITIZED) build/$(SANITIZER)/bin,$(BIN))/python -m tests.long.fuzz \
	  --minutes $(MINUTES) --seed $(SEED) $(FUZZ)

# Every option with hostile values, wherever LLVM reads it: what modules may set does nothing but tune (two hours).
# Then sets of such options, until half an hour is over: pairs that end the process although neither does alone.
probe: $(VENV)/.tests
	$(BIN)/python -m tests.long.probe
	$(BIN)/python -m tests.long.fuzz --target sets --minutes 30 --seconds 60 --llvm-tests Transforms CodeGen

# Random programs on threads: make soak MINUTES=60 SEED=1
soak: $(VENV)/.tests
	$(BIN)/python -m tests.long.soak --minutes $(MINUTES) --seed $(SEED)

# Mistakes on purpose, each built into a copy under build/mutants: the core part of the tests must see every one.
# make mutants MUTANTS='--keep outer-scope-lost' tries one; tests/long/mutants/mutations.txt has them all.
mutants: $(VENV)/.tests
	$(BIN)/python -m tests.long.mutants $(MUTANTS)

# The tests with the native code built under a sanitizer: make sanitize SANITIZER=address (or undefined, thread).
# Freed memory waits in a quarantine of 16 MB, which is full before the tests that measure growth begin to.
# Children of forks start threads.
USED = $(or $(SANITIZER),address)
RUNTIME = $(shell $(CXX) -print-file-name=lib$(subst address,asan,$(subst undefined,ubsan,$(subst thread,tsan,$(USED)))).so)
SANITIZED = LD_PRELOAD=$(RUNTIME):$$($(CXX) -print-file-name=libstdc++.so) \
  ASAN_OPTIONS=detect_leaks=0:handle_segv=0:quarantine_size_mb=16 UBSAN_OPTIONS=handle_segv=0:suppressions=$(CURDIR)/tests/support/ubsan.supp \
  TSAN_OPTIONS=handle_segv=0:die_after_fork=0:suppressions=$(CURDIR)/tests/support/tsan.supp
sanitize: build/$(USED)/.made
	$(SANITIZED) build/$(USED)/bin/pytest -s -p no:faulthandler -m '' --deselect tests/project/test_stub.py

# Capstone's package is loaded by dlopen with RTLD_DEEPBIND, at which a sanitizer ends the process.
build/%/.made: $(SOURCES)
	$(PYTHON) -m venv build/$*
	build/$*/bin/pip install --quiet --disable-pip-version-check \
	  --config-settings=cmake.define.OPTCTX_SANITIZE=$* --config-settings=cmake.define.OPTCTX_LAB=ON --config-settings=build-dir=build/$*/cmake \
	  -e '.[$(call EXTRA,$(PYTHON))]'
	echo 'import os; os.RTLD_DEEPBIND = 0' > $$(echo build/$*/lib/python*/site-packages)/sanitizer.pth
	touch $@

# The types of the native module's bindings, which the build works out, where mypy and editors look for them.
optctx/_native.pyi: $(VENV)/.built
	cp $$($(BIN)/python -c 'from optctx import _native; print(_native.__file__.rsplit("/", 2)[0])')/_native.pyi optctx/

# The extra of pyproject.toml that has wheels for an interpreter.
EXTRA = test$(if $(filter 1,$(shell $(1) -c 'import sysconfig; print(sysconfig.get_config_var("Py_GIL_DISABLED"))')),-free-threaded)

# The editable install finds changed Python files by itself. Of changed native code, the units that changed are compiled:
# what builds is in the environment, so its paths stay the same. UNITY=OFF compiles changed files alone.
UNITY ?= ON
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation \
  $(addprefix --config-settings=cmake.define.OPTCTX_,WERROR=ON LAB=ON PORTABLE=ON UNITY=$(UNITY)) -e
$(VENV)/.built: $(VENV)/.tools $(SOURCES)
	$(INSTALL) '.[demo]'
	touch $@

# optctx itself is there and stays. What has no wheel for an interpreter (psutil on 3.15t) is built as its authors say.
$(VENV)/.tests: $(VENV)/.built
	$(BIN)/pip install --quiet --disable-pip-version-check 'optctx[$(call EXTRA,$(BIN)/python)]'
	touch $@

# Dependency groups need pip 25.1.
docs: $(VENV)/.docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -b html docs build/docs
	@echo "open build/docs/index.html"

# Numba's own tests inside a scope, and what does not pass there stock and attached; prints what differs.
# make numba NUMBA=--all runs all of them (hours), NUMBA='dispatcher nrt' some modules.
numba: $(VENV)/.tests
	$(BIN)/python -m tests.long.numba_suite $(NUMBA)

# Into dist/, each tried in an empty environment: make wheels PYTHONS='python3.11 python3.12 python3.14t'
PYTHONS ?= $(PYTHON)
wheels:
	$(PYTHON) packaging/wheels.py $(PYTHONS)

# Every llvmlite that optctx takes, each in an environment of its own under build/images, with the Numba that needs it;
# prints the matrix of design/facts.md, with the libLLVMs that are installed: make images IMAGES='--limit 300 0.45.1 0.47.0'
images: $(VENV)/.tests
	$(BIN)/python packaging/images.py $(IMAGES)

# How the registries of Triton's and JAX's LLVMs lie in memory, read beside those libraries; downloads two
# gigabytes.
registries: $(VENV)/.tests
	$(BIN)/python packaging/registries.py

# The prototype at LLVM's source: patches for Debian's LLVM 19, built in front of llvm-19-dev's archives, tested and
# measured (evidence/upstream/README.md). ALL=1 rebuilds every file that knows options, LIT='Transforms/LICM' runs
# LLVM's tests of that folder, LLVM= names another prefix of llvm-19-dev, UPSTREAM=--help tells more.
upstream: $(VENV)/.tests
	$(BIN)/python -m evidence.upstream $(if $(ALL),--all) $(if $(LIT),--lit $(LIT)) $(if $(LLVM),--llvm $(LLVM)) $(UPSTREAM)

# In a real browser: needs Debian's chromium.
docs-test: docs
	$(BIN)/pytest -q -n0 docs

$(VENV)/.docs: $(VENV)/.tests pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet --disable-pip-version-check --group docs
	touch $@

$(VENV)/.lint: $(VENV)/.tests
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet --disable-pip-version-check --group lint
	touch $@

$(VENV)/.tools: $(VENV)/.made pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check $(BUILD_NEEDS)
	touch $@

# Debian has venv in a package of its own (python3-venv); virtualenv does as well.
$(VENV)/.made:
	$(PYTHON) -m venv $(VENV) || $(PYTHON) -m virtualenv $(VENV) || \
	  { echo "make: need Python's venv: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 1; }
	touch $@

# What pyproject.toml says under [build-system], and what its backend runs.
BUILD_NEEDS = cmake ninja $(shell sed -n 's/^requires = \[\(.*\)\]$$/\1/p' pyproject.toml | sed 's/", "/" "/g')

clean:
	rm -rf $(VENV) build
