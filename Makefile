# Two commands to know: `make demo` and `make test`. Both install what is missing (scripts/bootstrap), build with
# Meson into build/, and run. Everything here is a thin name for a script that can be run by hand.

PREFIX ?= /usr/local
DESTDIR ?=
MAKEFLAGS += --no-print-directory

.PHONY: all build demo test check bench install uninstall clean help

all: build

build:
	@scripts/bootstrap build
	@scripts/build build -Dprefix=$(PREFIX)

demo: build
	@build/killick demo

test:
	@scripts/bootstrap test
	@scripts/build build -Dprefix=$(PREFIX)
	@scripts/test-report build --no-suite long

check:
	@scripts/bootstrap check
	@scripts/build build -Dprefix=$(PREFIX)
	@scripts/check

bench:
	@scripts/bootstrap bench
	@scripts/build build -Dprefix=$(PREFIX)
	@bench/run --write

install: build
	@DESTDIR='$(DESTDIR)' meson install -C build --no-rebuild --quiet
	@echo "installed $(DESTDIR)$(PREFIX)/bin/killick"

uninstall:
	@DESTDIR='$(DESTDIR)' ninja -C build uninstall

clean:
	rm -rf build build-*

help:
	@echo 'make           build into build/; build/killick works in place'
	@echo 'make demo      what a plain client leaves behind, and what killick leaves behind'
	@echo 'make test      the test suite'
	@echo 'make check     the same, then sanitizers, static analysis, fuzzing and the long runs'
	@echo 'make bench     measure against the bare server and other wrappers; writes bench/RESULTS.md'
	@echo 'make install   into PREFIX (default /usr/local), below DESTDIR'
	@echo 'make clean     remove what was built'
