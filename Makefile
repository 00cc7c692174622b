# The two main commands are `make demo` and `make test`. Both install missing packages (scripts/bootstrap), build with
# Meson into build/, and run. Every target calls a script that can also be run by hand.

PREFIX ?= /usr/local
LIBDIR ?=
DESTDIR ?=
MAKEFLAGS += --no-print-directory
# an empty environment (env -i) has no PATH
export PATH := $(or $(PATH),/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
# LIBDIR is relative to PREFIX; when it is empty scripts/libdir finds the directory that this system searches
places = -Dprefix='$(PREFIX)' -Dlibdir='$(LIBDIR)'

.PHONY: all build demo test test-windows check bench pictures dist install uninstall clean help

all: build

build:
	@scripts/bootstrap build
	@scripts/build build product $(places)

demo: build
	@build/killick demo

test:
	@scripts/bootstrap test
	@scripts/build build all $(places) -Dtests=true -Dbench=true
	@scripts/test-report build --no-suite long

test-windows:
	@scripts/bootstrap windows
	@scripts/test-windows

check:
	@scripts/bootstrap check
	@scripts/build build all $(places) -Dtests=true -Dbench=true
	@scripts/check

bench: # with the tests' hostile servers
	@scripts/bootstrap test bench
	@scripts/build build all $(places) -Dtests=true -Dbench=true
	@bench/run --write

pictures: build
	@scripts/bootstrap bench
	@scripts/picture docs/pictures/demo.svg build/killick demo
	@bench/chart

dist:
	@scripts/bootstrap dist
	@scripts/dist

install: build
	@DESTDIR='$(DESTDIR)' scripts/install build

uninstall:
	@DESTDIR='$(DESTDIR)' scripts/install --undo build '$(PREFIX)'

clean:
	rm -rf build build-*

help:
	@echo 'make            build into build/; build/killick works in place'
	@echo 'make demo       compare what a plain client and killick leave behind'
	@echo 'make test       run the tests'
	@echo 'make test-windows  build for Windows with mingw-w64 and run the tests of Windows in Wine'
	@echo 'make check      run the tests, sanitizers, static analysis, compile checks, fuzzing, the long runs, and a fresh machine'
	@echo 'make bench      measure against the bare server and other wrappers; write bench/RESULTS.md'
	@echo 'make pictures   draw docs/pictures: the demo, and the charts of bench/RESULTS.md'
	@echo 'make dist       make the packages: static tarballs, .deb, npm; into build-dist/packages'
	@echo 'make install    install into PREFIX (default /usr/local), below DESTDIR'
	@echo 'make uninstall  remove the files that make install with the same PREFIX and DESTDIR installed'
	@echo 'make clean      remove the build directories'
