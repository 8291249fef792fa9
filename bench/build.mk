# SPDX-License-Identifier: GPL-2.0-only
# How the C programs are built: bench/NAME/*.c and bench/common/*.c make pv-NAME.
#
#   build/ARCH/guest  static, for guests, against the sysroot that bench/sysroot/ARCH.base pins: the same malloc
#                     whatever machine builds it
#   build/ARCH/host   the same, for hosts
#   build/native/bin  for this machine (pv-compare, and every program for the tests)
#   build/asan/bin    the same with AddressSanitizer and UndefinedBehaviorSanitizer

ARCH ?= x86_64
GUEST_PROGRAMS := ebizzy ebizzy-json tlb kcbench stale guest
HOST_PROGRAMS := collect
PROGRAMS := $(GUEST_PROGRAMS) $(HOST_PROGRAMS) compare

GUEST_BINS := $(GUEST_PROGRAMS:%=build/$(ARCH)/guest/pv-%)
HOST_BINS := $(HOST_PROGRAMS:%=build/$(ARCH)/host/pv-%)
NATIVE_BINS := build/native/bin/pv-compare
C_FILES = $(shell git ls-files "*.c" "*.h")

CLANG ?= clang-19
CSTD := -std=gnu11 -Wall -Wextra -Werror -pthread -Ibench/common
LIBS := -ljansson -lm
LIBS_compare := -lgsl -lgslcblas

# Programs of one file that other trees take as they are: without bench/common.
STANDALONE := stale

sources = $(wildcard bench/$1/*.c $(if $(filter $1,$(STANDALONE)),,bench/common/*.c))
headers = $(wildcard bench/$1/*.h bench/common/*.h)

# Trees of packages live in the cache; build/ARCH/NAME.tree is a link to one, the stamp says when it was made.
build/$(ARCH)/sysroot.stamp: bench/sysroot/$(ARCH).base
build/$(ARCH)/guest.stamp: bench/guest/$(ARCH).base
build/$(ARCH)/sysroot.stamp build/$(ARCH)/guest.stamp:
	@mkdir -p $(@D)
	ln -sfn "$$(bench/lab/fetch/pv-fetch get $<)" $(@:stamp=tree)
	@touch $@

define static_program
	@mkdir -p $(@D)
	$(CLANG) --target=$(ARCH)-linux-gnu --sysroot=$(CURDIR)/build/$(ARCH)/sysroot.tree/ -fuse-ld=lld -static -s -O2 \
		$(CSTD) $(filter %.c,$^) $(LIBS_$*) $(LIBS) -o $@
endef

build/$(ARCH)/guest/pv-%: $$(call sources,$$*) $$(call headers,$$*) bench/build.mk build/$(ARCH)/sysroot.stamp
	$(static_program)

build/$(ARCH)/host/pv-%: $$(call sources,$$*) $$(call headers,$$*) bench/build.mk build/$(ARCH)/sysroot.stamp
	$(static_program)

build/native/bin/pv-%: $$(call sources,$$*) $$(call headers,$$*) bench/build.mk
	@mkdir -p $(@D)
	$(CC) -O2 -g $(CSTD) $(filter %.c,$^) $(LIBS_$*) $(LIBS) -o $@

build/asan/bin/pv-%: $$(call sources,$$*) $$(call headers,$$*) bench/build.mk
	@mkdir -p $(@D)
	$(CC) -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
		$(CSTD) $(filter %.c,$^) $(LIBS_$*) $(LIBS) -o $@

.PHONY: test-programs
test-programs: $(PROGRAMS:%=build/native/bin/pv-%) $(PROGRAMS:%=build/asan/bin/pv-%)

# The guest image: Debian's kernel and busybox, our runner as init, the workloads. LoongArch: our kernel, without modules.
GUEST_IMAGE := build/$(ARCH)/guest.image
GUEST_KERNEL ?= mainline

ifeq ($(ARCH),loongarch64)
# Which kernel the cache has for the patches of now, only kernel-patches/build knows.
.PHONY: guest-kernel
$(GUEST_IMAGE)/vmlinuz: guest-kernel
	@mkdir -p $(@D)
	kernel=$$(kernel-patches/build $(GUEST_KERNEL))/vmlinux.efi; cmp -s "$$kernel" $@ || cp -f "$$kernel" $@
else
GUEST_MODULES := drivers/block/virtio_blk fs/squashfs/squashfs fs/overlayfs/overlay
$(GUEST_IMAGE)/vmlinuz: build/$(ARCH)/guest.stamp
	@mkdir -p $(@D)
	cp -f $(<:stamp=tree)/boot/vmlinuz-* $@
	@touch $@
endif

$(GUEST_IMAGE)/initramfs.cpio.gz: build/$(ARCH)/guest.stamp bench/guest/mkinitramfs.sh $(GUEST_BINS)
	@mkdir -p $(@D)
	bench/guest/mkinitramfs.sh $@ $(<:stamp=tree)/usr/bin/busybox build/$(ARCH)/guest \
		$(GUEST_MODULES:%=$(<:stamp=tree)/usr/lib/modules/*/kernel/%.ko*)
