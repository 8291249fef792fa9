# SPDX-License-Identifier: GPL-2.0-only
# virt-pv-check and its tests; included by the top Makefile.

VPC := libvirt/virt-pv-check
VPC_CORE := $(wildcard $(VPC)/core/*.c)
VPC_SOURCES := $(wildcard $(VPC)/*.c) $(VPC_CORE) bench/common/pv.c
VPC_HEADERS := $(wildcard $(VPC)/*.h $(VPC)/core/*.h) bench/common/pv.h
VPC_CFLAGS = $(CSTD) -I$(VPC) $(shell pkg-config --cflags libxml-2.0)
VPC_LIBS := -lxml2 -ljansson
VPC_SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
VPC_FUZZERS := domain host capabilities policy qmp agent
FUZZ_SECONDS ?= 600
PREFIX ?= /usr/local

build/native/bin/virt-pv-check: $(VPC_SOURCES) $(VPC_HEADERS) $(VPC)/build.mk
	@mkdir -p $(@D)
	$(CC) -O2 -g $(VPC_CFLAGS) $(filter %.c,$^) $(VPC_LIBS) -lvirt-qemu -lvirt -o $@

build/asan/bin/virt-pv-check: $(VPC_SOURCES) $(VPC_HEADERS) $(VPC)/build.mk
	@mkdir -p $(@D)
	$(CC) $(VPC_SANITIZE) $(VPC_CFLAGS) $(filter %.c,$^) $(VPC_LIBS) -lvirt-qemu -lvirt -o $@

build/%/bin/virt-pv-check-unit: $(VPC)/tests/unit.c $(VPC_CORE) $(VPC_HEADERS) $(VPC)/build.mk
	@mkdir -p $(@D)
	$(CC) $(if $(filter asan,$*),$(VPC_SANITIZE),-O2 -g) $(VPC_CFLAGS) $(filter %.c,$^) $(VPC_LIBS) -o $@

# A kernel that answers what the test wants, preloaded.
build/%/bin/virt-pv-check-kernel.so: $(VPC)/tests/kernel.c $(VPC)/build.mk
	@mkdir -p $(@D)
	$(CC) -O1 -g $(CSTD) -shared -fPIC $< -ldl -o $@

build/fuzz/bin/%: $(VPC)/tests/fuzz.c $(VPC_CORE) $(VPC_HEADERS) $(VPC)/build.mk
	@mkdir -p $(@D)
	$(CLANG) -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all $(VPC_CFLAGS) -DTARGET_$* \
		$(filter %.c,$^) $(VPC_LIBS) -o $@

VPC_TESTED = build/$1/bin/virt-pv-check build/$1/bin/virt-pv-check-unit build/$1/bin/virt-pv-check-kernel.so

##@ virt-pv-check: will this guest survive the move?
.PHONY: virt-pv-check check-programs check-test check-lab check-fuzz check-scale check-install
virt-pv-check: build/native/bin/virt-pv-check ## the checker (libvirt/virt-pv-check)
check-programs: $(call VPC_TESTED,native) $(call VPC_TESTED,asan) $(VPC_FUZZERS:%=build/fuzz/bin/%)
check-test: setup-test ## its tests, plain and sanitized, and a few seconds of fuzzing
	.ci/tests check
check-lab: setup-test check-programs ## real refusals: the hook of two hosts on the emulated x86 host
	status=0; $(VPC)/tests/lab-hook.sh || status=$$?; bench/lab/pv-lab stop; exit $$status
check-fuzz: $(VPC_FUZZERS:%=build/fuzz/bin/%) ## fuzz each of its parsers for FUZZ_SECONDS (600)
	$(VPC)/tests/fuzz $(FUZZ_SECONDS)
check-scale: build/native/bin/virt-pv-check ## its benchmark: 10,000 domains x 1,000 hosts
	$(VPC)/tests/scale
check-install: build/native/bin/virt-pv-check ## install it: PREFIX (/usr/local), DESTDIR; the hook is not switched on
	install -D $< $(DESTDIR)$(PREFIX)/bin/virt-pv-check
	install -D -m 644 $(VPC)/virt-pv-check.1 $(DESTDIR)$(PREFIX)/share/man/man1/virt-pv-check.1
	install -D -m 644 $(VPC)/virt-pv-check.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/virt-pv-check
	install -D -m 644 docs/virt-pv-check/policy.schema.json $(DESTDIR)$(PREFIX)/share/virt-pv-check/policy.schema.json
	install -D -m 644 docs/virt-pv-check/host.schema.json $(DESTDIR)$(PREFIX)/share/virt-pv-check/host.schema.json
	install -D $(VPC)/50-virt-pv-check $(DESTDIR)$(PREFIX)/share/virt-pv-check/50-virt-pv-check
