# What to do here: `make help`.

MAKEFLAGS += --no-print-directory
SKYROW = .build/release/skyrow
BUILD = scripts/build-release

PREFIX = /usr/local
COMPLETIONS = $(addprefix $(DESTDIR)$(PREFIX)/share/,\
	bash-completion/completions zsh/site-functions fish/vendor_completions.d)

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-late test-tsan test-clients attack setup build install install-files install-systemd install-unit package test-package manual format check check-format check-imports check-docs docs check-client-only fuzz races budget bench bench-check bench-extra clean

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: setup ## Build the release and serve on http://127.0.0.1:3000, data in ./data; ARGS="--port 8080" is passed on
	@$(BUILD) $(BUILD_OPTIONS)
	@exec $(SKYROW) serve --development $(ARGS)

test: ## Build and run the tests; ARGS="--filter Name" is passed on
	@scripts/setup test
	@scripts/test $(ARGS)

test-all: ## Build and run every test, with browsers, proxies and Patroni, and with more drawn values
	@scripts/setup test
	@scripts/test --all

test-late: ## Run the tests while notices, changes and timers come late by random times; SKYROW_TEST_LATE=SEED repeats them
	@scripts/setup test
	@scripts/test-late $(ARGS)

test-tsan: ## Run the tests of what threads share under the thread sanitizer; a data race fails
	@scripts/setup test
	@scripts/test-tsan $(ARGS)

test-clients: ## Follow live queries, transfer files and run functions with programs from PyPI, which this downloads; ARGS="files --only curl" chooses
	@scripts/setup clients
	@scripts/test-clients $(ARGS)

attack: ## Attack a release build as strangers would, and check that others notice nothing (Documentation/Security.md)
	@scripts/setup attack
	@$(BUILD) $(BUILD_OPTIONS)
	@Tests/Attack/run --binary $(SKYROW) $(ARGS)

setup: ## Install the system packages that are missing for a build (run and build do this)
	@scripts/setup

build: setup ## Build the release
	@$(BUILD) $(BUILD_OPTIONS)

install: build install-files ## Install the program, its man pages and completions below PREFIX (/usr/local)

# Of a program that was built before, which makes its man pages and completions itself.
install-files:
	@install -D -m 755 $(SKYROW) $(DESTDIR)$(PREFIX)/bin/skyrow
	@install -d $(DESTDIR)$(PREFIX)/share/man/man1
	@set -e; pages=$$(mktemp -d); trap 'rm -rf "$$pages"' EXIT; $(SKYROW) manual "$$pages"; \
		install -m 644 "$$pages"/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	@install -d $(COMPLETIONS)
	@$(SKYROW) completion bash >$(word 1,$(COMPLETIONS))/skyrow
	@$(SKYROW) completion zsh >$(word 2,$(COMPLETIONS))/_skyrow
	@$(SKYROW) completion fish >$(word 3,$(COMPLETIONS))/skyrow.fish

install-systemd: install install-unit ## And the unit skyrow.service with its user, and /etc/skyrow/skyrow.json if it does not exist

install-unit:
	@install -d $(addprefix $(DESTDIR),$(PREFIX)/lib/systemd/system $(PREFIX)/lib/sysusers.d /etc/skyrow)
	@sed 's|/usr/local/bin|$(PREFIX)/bin|' packaging/systemd/skyrow.service \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/skyrow.service
	@install -m 644 packaging/systemd/skyrow.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/skyrow.conf
	@[ -e $(DESTDIR)/etc/skyrow/skyrow.json ] || \
		install -m 644 packaging/skyrow.json $(DESTDIR)/etc/skyrow/skyrow.json

# skyrow-dbgsym has the lines.
package: BUILD_OPTIONS = -debug-info-format dwarf
package: ## Make a Debian package, its SBOM and SHA256SUMS in .build/package
	@scripts/setup package
	@$(BUILD) $(BUILD_OPTIONS)
	@scripts/package $(ARGS)

test-package: ## Install, use, upgrade, remove and purge the package in a new Debian 12; needs root
	@scripts/setup package
	@scripts/test-package $(ARGS)

manual: setup ## Make Documentation/Settings.md and the tables of Documentation/Protocol from the program
	@swift build --product skyrow
	@rm -rf .build/manual
	@.build/debug/skyrow manual .build/manual Documentation/Protocol/*.md
	@cp .build/manual/Settings.md Documentation/Settings.md
	@echo "The man pages are in .build/manual/man: man -l .build/manual/man/skyrow.1"

format: ## Format the sources
	@scripts/check-format --fix

check: check-format check-imports check-docs docs check-client-only ## Everything CI checks besides the tests

check-format: ## The format of the sources
	@scripts/check-format

check-imports: setup ## That targets import only what the manifest says they may
	@scripts/check-imports

check-docs: ## Links and citations of documents, docstrings, the protocol manual
	@scripts/check-docs

docs: setup ## Build the documentation of the public modules, without a warning
	@scripts/docs

check-client-only: setup ## That SkyrowClient alone resolves no other package
	@scripts/check-client-only

fuzz: ## Fuzz the JSON parser, and run the tests that draw values with random seeds
	@scripts/setup test
	@scripts/fuzz $(ARGS)

races: ## Run the races of accounts and roles for 500 rounds; ARGS="50" for fewer
	@scripts/setup test
	@scripts/races $(ARGS)

budget: ## Say which figure that must not creep exceeds its budget: executable, libraries, instructions of a request
	@scripts/setup benchmark
	@Benchmarks/budget $(ARGS)

bench: ## Measure beside pgbench, write Benchmarks/Results.md
	@scripts/setup benchmark
	@Benchmarks/run $(ARGS)

bench-check: ## Say which figure is beyond Benchmarks/budgets; ARGS="--against PATH" measures an older executable in turns
	@scripts/setup benchmark
	@Benchmarks/check $(ARGS)

bench-extra: ## Measure what is looked at once (10 M rows, TLS, PocketBase, ...); ARGS="tls idle" chooses
	@scripts/setup benchmark
	@Benchmarks/extra $(ARGS)

clean: ## Remove what was built; ./data stays
	@rm -rf .build .build-*
