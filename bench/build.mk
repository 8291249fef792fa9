# SPDX-License-Identifier: GPL-2.0-only
# How the C programs are built: bench/NAME/*.c and bench/common/*.c make pv-NAME.
#
#   build/ARCH/bin    static, for guests and hosts, against the sysroot that bench/sysroot/ARCH.base pins:
#                     the same bytes of malloc on every machine
#   build/native/bin  for this machine (pv-compare, and every program for the tests)
#   build/asan/bin    the same with AddressSanitizer and UndefinedBehaviorSanitizer

ARCH ?= x86_64
GUEST_PROGRAMS := ebizzy ebizzy-json tlb kcbench guest collect
PROGRAMS := $(GUEST_PROGRAMS) compare

GUEST_BINS := $(GUEST_PROGRAMS:%=build/$(ARCH)/bin/pv-%)
NATIVE_BINS := build/native/bin/pv-compare
C_FILES := $(wildcard bench/*/*.c bench/*/*.h)

CLANG ?= clang-19
CSTD := -std=gnu11 -Wall -Wextra -Werror -pthread -Ibench/common
LIBS := -ljansson -lm
LIBS_compare := -lgsl -lgslcblas

sources = $(wildcard bench/$1/*.c bench/common/*.c)
headers = $(wildcard bench/$1/*.h bench/common/*.h)

SYSROOT = $(shell bench/lab/fetch/pv-fetch get bench/sysroot/$(ARCH).base)

build/%/sysroot: bench/sysroot/%.base
	@mkdir -p $(@D)
	ln -sfn "$$(bench/lab/fetch/pv-fetch get $<)" $@

build/$(ARCH)/bin/pv-%: $$(call sources,$$*) $$(call headers,$$*) bench/build.mk | build/$(ARCH)/sysroot
	@mkdir -p $(@D)
	$(CLANG) --target=$(ARCH)-linux-gnu --sysroot=$(CURDIR)/build/$(ARCH)/sysroot/ -fuse-ld=lld -static -O2 -g \
		$(CSTD) $(filter %.c,$^) $(LIBS_$*) $(LIBS) -o $@

build/native/bin/pv-%: $$(call sources,$$*) $$(call headers,$$*) bench/build.mk
	@mkdir -p $(@D)
	$(CC) -O2 -g $(CSTD) $(filter %.c,$^) $(LIBS_$*) $(LIBS) -o $@

build/asan/bin/pv-%: $$(call sources,$$*) $$(call headers,$$*) bench/build.mk
	@mkdir -p $(@D)
	$(CC) -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
		$(CSTD) $(filter %.c,$^) $(LIBS_$*) $(LIBS) -o $@

.PHONY: test-programs
test-programs: $(PROGRAMS:%=build/native/bin/pv-%) $(PROGRAMS:%=build/asan/bin/pv-%)

# The guest image: Debian's kernel and busybox, our runner as init, the workloads.
build/guest/%/tree: bench/guest/%.base
	@mkdir -p $(@D)
	ln -sfn "$$(bench/lab/fetch/pv-fetch get $<)" $@

build/guest/%/vmlinuz: build/guest/%/tree
	cp -f $</boot/vmlinuz-* $@

build/guest/%/initramfs: bench/guest/pack bench/guest/mkinitramfs.sh build/guest/%/tree $(GUEST_BINS)
	bench/guest/pack $(ARCH)
